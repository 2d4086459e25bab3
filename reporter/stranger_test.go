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

// mallory comments with the marker of a wish, before the wish exists. GitHub would let us edit the comment: we may
// write in the repository.
func (r *rig) mallory(key events.OutboxKey) fakegithub.Comment {
	r.pulls.SetStanding(r.bot, "write", "MEMBER")
	return r.pulls.Comment(pr, r.github.AddUser("mallory"), "ha\n\n"+key.Marker())
}

// untouched checks that mallory's comments are unchanged, and returns the others as comments does.
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

// slower changes the report's text by late results.
func (r *rig) slower() {
	r.mu.Lock()
	r.text = "slower"
	r.mu.Unlock()
	r.record(r.measured("j1"))
}

// A stranger who knows the markers writes them first. The stranger's comments stay as they are, and each of ours
// exists once, whenever the reporter is killed: before or after any of its steps.
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
					// The report may be posted before the answer is written at all.
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

// By the log, a stranger's comment is posted as ours: an older version, which did not know its account, took it for
// ours. The comment is not edited any more and not folded away; our own comment says what is new, once.
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
					// Later texts go into our own comment.
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

// A reporter that may write and does not know its account could take any comment for its own: it does not run at all.
func TestAReporterThatMayWriteKnowsWhoItIs(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		for _, self := range []githubapi.Account{{}, {Login: "tacho[bot]"}, {ID: -1}} {
			c := r.config(r.log, r.client)
			c.Self = self
			if err := New(c).Run(t.Context()); !errors.Is(err, errNoAccount) {
				t.Errorf("%+v: %v", self, err)
			}
		}
		if n := len(r.github.Requests("", "")); n != 0 {
			t.Errorf("GitHub was asked %d times", n)
		}
	})
}
