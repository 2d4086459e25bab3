package reporter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/internal/githubapi"
)

// mallory comments with the marker of a wish, before the wish is there. GitHub would let us edit the comment: we may
// write in the repository.
func (r *rig) mallory(key events.OutboxKey) fakegithub.Comment {
	r.pulls.SetStanding(r.bot, "write", "MEMBER")
	return r.pulls.Comment(pr, r.github.AddUser("mallory"), "ha\n\n"+key.Marker())
}

// untouched checks that the comments of mallory are as they were, and returns the others as comments does.
func (r *rig) untouched() string {
	r.t.Helper()
	var others []string
	shown := r.comments()
	for i, c := range r.pulls.Comments(pr) {
		if c.Author.Login != "mallory" {
			others = append(others, shown[i])
			continue
		}
		if !strings.HasPrefix(c.Body, "ha\n") || len(c.Edits) > 0 || c.Minimized {
			r.t.Errorf("the stranger's comment was touched: %+v", c)
		}
	}
	return strings.Join(others, " | ")
}

// slower has the report say something new, because of results that come late.
func (r *rig) slower() {
	r.mu.Lock()
	r.text = "slower"
	r.mu.Unlock()
	r.record(r.measured("j1"))
}

// Somebody who knows the markers writes them first. The comments stay as they are, and our own stand once, whenever
// the reporter is killed: before or after any of its steps.
func TestAStrangersMarkerIsNotOurs(t *testing.T) {
	for _, after := range []bool{false, true} {
		for k, survived := 1, false; !survived; k++ {
			t.Run(fmt.Sprintf("step %d, after %v", k, after), func(t *testing.T) {
				inRig(t, func(t *testing.T, r *rig) {
					r.mallory("answer-1")
					r.mallory(events.ReportKey("r1"))
					m := &mortal{Log: r.log, GitHub: r.client, left: k, after: after, dead: make(chan struct{})}
					stop := r.run(r.config(m, m))
					r.record(answer("answer-1", "awaiting"))
					pass(time.Minute)
					r.try("r1", "t1")
					pass(time.Minute)
					r.slower()
					select {
					case <-m.dead:
					case <-time.After(20 * time.Minute):
						survived = true
					}
					stop()
					r.start()
					pass(20 * time.Minute)
					got := r.untouched()
					// A report may be there before the answer was written at all.
					if got != "[awaiting] | slower" && (got != "slower" || survived) {
						t.Errorf("our comments are %q", got)
					}
				})
			})
			if survived && k < 12 {
				t.Errorf("only %d steps", k)
			}
		}
	}
}

// A log says that a stranger's comment stands for ours: a version that did not know who it was had taken it. The
// comment is not written into any more, and is not folded away; our own says what is new, once.
func TestAStrangersCommentThatStandsIsLeftAlone(t *testing.T) {
	for _, after := range []bool{false, true} {
		for k, survived := 1, false; !survived; k++ {
			t.Run(fmt.Sprintf("step %d, after %v", k, after), func(t *testing.T) {
				inRig(t, func(t *testing.T, r *rig) {
					taken := func(key events.OutboxKey) {
						c := r.mallory(key)
						r.record(
							events.CommentAttempted{Key: key, Revision: 1, Attempt: 1, Instance: "old"},
							events.CommentPosted{Key: key, Revision: 1, CommentID: c.ID, NodeID: c.NodeID, Found: true},
						)
					}
					r.record(answer("answer-1", "awaiting"))
					taken("answer-1")
					r.try("r1", "t1")
					r.record(events.CommentWanted{Key: events.ReportKey("r1"), Revision: 1, Purpose: events.CommentReport, Repo: repo, PR: pr, Body: "no change", RequestID: "r1"})
					taken(events.ReportKey("r1"))
					m := &mortal{Log: r.log, GitHub: r.client, left: k, after: after, dead: make(chan struct{})}
					stop := r.run(r.config(m, m))
					pass(time.Minute)
					r.slower()
					select {
					case <-m.dead:
					case <-time.After(20 * time.Minute):
						survived = true
					}
					stop()
					r.start()
					pass(20 * time.Minute)
					if got := r.untouched(); got != "slower" {
						t.Errorf("our comments are %q", got)
					}
					// What comes later is written into our own.
					r.mu.Lock()
					r.text = "slowest"
					r.mu.Unlock()
					r.record(r.measured("j2"))
					pass(20 * time.Minute)
					if got := r.untouched(); got != "slowest" {
						t.Errorf("our comments are %q", got)
					}
				})
			})
			if survived && k < 6 {
				t.Errorf("only %d steps", k)
			}
		}
	}
}

// Whoever may write and does not know who it is could take any comment for its own: it does not run at all.
func TestAReporterThatMayWriteKnowsWhoItIs(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		for _, self := range []githubapi.Account{{}, {Login: "tacho[bot]"}, {ID: -1}} {
			c := r.config(r.log, r.client)
			c.Self = self
			if err := New(c).Run(t.Context()); !errors.Is(err, errNobody) {
				t.Errorf("%+v: %v", self, err)
			}
		}
		if n := len(r.github.Requests("", "")); n != 0 {
			t.Errorf("GitHub was asked %d times", n)
		}
	})
}
