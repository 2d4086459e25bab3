package reporter

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/rules/request"
)

// After a dry run, its old wishes are not written on the pull requests.
func TestAnOldWishIsNotWrittenAnyMore(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run(r.config(r.log, nil))
		r.try("r1", "t1")
		pass(4 * 24 * time.Hour)
		r.record(events.CommentWanted{Key: "answer-9", Revision: 1, Purpose: events.CommentAnswer, Repo: repo, PR: pr, Body: "news"})
		r.start()
		pass(time.Minute)
		r.want("news")
		if n := count[events.CommentRefused](r); n != 1 {
			t.Errorf("%d given up", n)
		}
	})
}

// A reporter that starts long after late results does not make their report anew if they changed nothing.
func TestResultsOfLongAgoEditNothing(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		stop := r.start()
		r.try("r1", "t1")
		pass(time.Minute)
		r.record(r.measured("j1"))
		pass(5 * time.Minute)
		stop()
		pass(4 * 24 * time.Hour)
		r.mu.Lock()
		r.text = "other words after an upgrade"
		r.mu.Unlock()
		r.start()
		pass(10 * time.Minute)
		r.want("no change")
	})
}

// Results that come while a report is made are not lost, also if that report's text is already posted.
func TestResultsThatComeWhileTheReportIsMade(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		late := r.measured("j1")
		c, n := r.config(r.log, r.client), 0
		c.Report = func(context.Context, request.Request, events.Seq) (Report, error) {
			if n++; n == 1 {
				return Report{Body: "no change"}, nil
			}
			if n == 2 {
				r.record(late)
				<-time.After(time.Second)
				return Report{Body: "no change"}, nil
			}
			return Report{Body: "it got slower"}, nil
		}
		r.run(c)
		r.try("r1", "t1")
		pass(time.Minute)
		r.record(late)
		pass(10 * time.Minute)
		r.want("it got slower")
	})
}

// The pull requests of other suites are those of other repositories.
func TestOtherSuitesAreNotReported(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		c := r.config(r.log, r.client)
		c.Suite = "rustc"
		r.run(c)
		r.record(
			events.RequestCreated{RequestID: "r9", Kind: events.Master, Suite: "llvm", Tag: "t9", PR: pr, Key: "t9", State: events.StateArtifactsReady},
			events.RequestStarted{RequestID: "r9"}, events.RequestCompleted{RequestID: "r9"},
		)
		r.try("r1", "t1")
		pass(time.Minute)
		r.want("no change")
	})
}

// labels refuses to add a label, or fails, so many times.
type labels struct {
	GitHub
	mu   sync.Mutex
	name string
	kind githubapi.Kind
	left int
}

// AddLabels implements GitHub.
func (l *labels) AddLabels(ctx context.Context, repo events.RepoName, pr int, names []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(names) > 0 && names[0] == l.name && l.left > 0 {
		l.left--
		return &githubapi.Error{Kind: l.kind, Call: "label", Err: errors.New("no")}
	}
	return l.GitHub.AddLabels(ctx, repo, pr, names)
}

const waitingLabel = "S-waiting-on-perf"

// A label that an answer waits to set is not set once the report has removed it.
func TestALabelThatComesTooLateIsNotSet(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run(r.config(r.log, &labels{GitHub: r.client, name: waitingLabel, kind: githubapi.Fault, left: 6}))
		w := answer("answer-1", "awaiting")
		w.AddLabels = []string{waitingLabel}
		r.record(w)
		pass(time.Second)
		r.try("r1", "t1")
		pass(time.Hour)
		r.want("[awaiting]", "no change")
		if got := strings.Join(r.pulls.Labels(pr), " "); got != "perf-regression" {
			t.Errorf("labels %q", got)
		}
	})
}

// A label that cannot be set does not keep the others from being set or removed.
func TestALabelThatIsRefusedLeavesNoOther(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		if err := r.client.AddLabels(t.Context(), repo, pr, []string{waitingLabel}); err != nil {
			t.Fatal(err)
		}
		r.run(r.config(r.log, &labels{GitHub: r.client, name: "perf-regression", kind: githubapi.Refused, left: 100}))
		r.try("r1", "t1")
		pass(time.Minute)
		if got := r.pulls.Labels(pr); len(got) != 0 {
			t.Errorf("labels %q", got)
		}
	})
}

// A request that is cancelled in another way than by a comment leaves no label behind.
func TestACancelledRequestLeavesNoLabel(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.start()
		w := answer("answer-1", "awaiting")
		w.AddLabels = []string{waitingLabel}
		r.record(events.RequestCreated{RequestID: "r1", Kind: events.Try, Suite: "rustc", PR: pr, Key: "k", State: events.StateWaitingForArtifacts}, w)
		pass(time.Minute)
		other := answer("answer-2", "awaiting, too")
		other.RequestID, other.AddLabels = "r2", w.AddLabels
		r.record(events.RequestCreated{RequestID: "r2", Kind: events.Try, Suite: "rustc", PR: pr, Key: "l", State: events.StateWaitingForArtifacts}, other)
		pass(time.Minute)
		r.record(events.RequestCancelled{RequestID: "r1", Reason: "by the command line"})
		pass(time.Minute)
		if got := r.pulls.Labels(pr); len(got) != 1 {
			t.Errorf("labels %q: another request waits", got)
		}
		r.record(events.RequestCancelled{RequestID: "r2", Reason: "by the command line"})
		pass(time.Minute)
		if got := r.pulls.Labels(pr); len(got) != 0 {
			t.Errorf("labels %q", got)
		}
		r.want("[awaiting]", "[awaiting, too]")
	})
}

// A report that cannot be made is not tried every second, and does not block others.
func TestAReportThatCannotBeMadeIsTriedWithPauses(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		c, n := r.config(r.log, r.client), 0
		c.Report = func(ctx context.Context, _ request.Request, _ events.Seq) (Report, error) {
			n++
			select {
			case <-ctx.Done():
			case <-time.After(patience):
			}
			return Report{}, errTablesLate
		}
		r.run(c)
		for _, id := range []events.RequestID{"a", "b", "c", "d", "e", "f"} {
			r.try(id, events.Tag(id))
		}
		pass(time.Second)
		r.record(answer("answer-1", "hello"))
		pass(2 * patience)
		r.want("hello")
		pass(time.Hour)
		if n > 6*30 { // the pauses are random; once a second would be 6*3600
			t.Errorf("made %d times in an hour", n)
		}
	})
}

// Two reporters that were paused in the middle of writing both continue at last: one comment remains.
func TestTwoPausedReportersCleanUp(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		first := &slow{GitHub: r.client, held: make(chan struct{}), entered: make(chan struct{})}
		second := &slow{GitHub: r.client, held: make(chan struct{}), entered: make(chan struct{})}
		r.run(r.config(r.log, first))
		r.try("r1", "t1")
		<-first.entered
		r.run(r.config(r.log, second))
		<-second.entered
		close(first.held)
		pass(time.Minute)
		close(second.held)
		pass(time.Minute)
		r.want("no change")
	})
}

// slowEdit delays the first edit.
type slowEdit struct {
	GitHub
	once          sync.Once
	entered, held chan struct{}
}

// EditComment implements GitHub.
func (s *slowEdit) EditComment(ctx context.Context, repo events.RepoName, id int64, body string) (githubapi.Comment, error) {
	s.once.Do(func() { close(s.entered); <-s.held })
	return s.GitHub.EditComment(ctx, repo, id, body)
}

// A reporter that was paused in the middle of an edit does not leave its old text behind.
func TestAPausedEditDoesNotLast(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		late := r.measured("j1")
		say := func(text string) {
			r.mu.Lock()
			r.text = text
			r.mu.Unlock()
			r.record(late)
		}
		paused := &slowEdit{GitHub: r.client, held: make(chan struct{}), entered: make(chan struct{})}
		r.run(r.config(r.log, paused))
		r.try("r1", "t1")
		pass(time.Minute)
		say("slower")
		<-paused.entered
		r.start()
		pass(2 * lease)
		r.want("slower")
		say("slowest")
		pass(2 * lease)
		r.want("slowest")
		close(paused.held)
		pass(time.Minute)
		r.want("slowest")
	})
}

// If no other process can run, the reporter takes up an earlier process's attempts at once.
func TestAloneNobodyIsWaitedFor(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.record(answer("answer-1", "awaiting"), events.CommentAttempted{Key: "answer-1", Revision: 1, Attempt: 1, Instance: "dead"})
		c := r.config(r.log, r.client)
		c.Alone = true
		r.run(c)
		pass(5 * time.Second)
		r.want("awaiting")
	})
}
