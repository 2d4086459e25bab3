package reporter

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/shell"
)

func TestAnswersThenOneReport(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.start()
		r.record(answer("answer-1", "awaiting"))
		pass(time.Second)
		r.want("awaiting")
		if body := r.pulls.Comments(pr)[0].Body; body != "awaiting\n\n<!-- tacho:answer-1 -->" {
			t.Errorf("body %q", body)
		}
		r.try("r1", "t1")
		pass(5 * time.Second)
		r.want("[awaiting]", "no change")
		if labels := strings.Join(r.pulls.Labels(pr), " "); labels != "perf-regression" {
			t.Errorf("labels %q", labels)
		}
		// A temporary answer that comes after the report is not written.
		r.record(answer("answer-2", "too late"))
		pass(time.Minute)
		r.want("[awaiting]", "no change")
		if n := count[events.CommentRefused](r); n != 1 {
			t.Errorf("%d given up", n)
		}
		// A reporter that starts now finds nothing to do.
		head, _ := r.log.Head(context.Background())
		r.start()
		pass(time.Hour)
		if after, _ := r.log.Head(context.Background()); after.Last != head.Last {
			t.Errorf("%d events more", after.Last-head.Last)
		}
	})
}

func TestLateResultsEditTheReport(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		stop := r.start()
		r.try("r1", "t1")
		pass(5 * time.Second)
		r.want("no change")
		late := r.measured("j1")
		r.mu.Lock()
		r.text = "it got slower"
		r.mu.Unlock()
		r.record(late)
		pass(time.Minute)
		r.want("no change")
		// A reporter that starts in between knows it too.
		stop()
		r.start()
		r.record(late)
		pass(5 * time.Minute)
		r.want("it got slower")
		if n := count[events.CommentWanted](r); n != 2 {
			t.Errorf("%d wishes", n)
		}
		// Results that change nothing cause no edit.
		r.record(late)
		pass(5 * time.Minute)
		if n := count[events.CommentPosted](r); n != 2 {
			t.Errorf("posted %d times", n)
		}
	})
}

// A job that is run again after the report, and ends without a new result, may change the report. A job of another
// request does not.
func TestTheEndOfARepairEditsTheReport(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.start()
		r.try("r1", "t1")
		pass(5 * time.Second)
		r.want("no change")
		r.mu.Lock()
		r.text = "it failed again"
		r.mu.Unlock()
		r.ended("j1", "r2", 1)
		pass(5 * time.Minute)
		r.want("no change")
		r.ended("j2", "r1", 2)
		pass(5 * time.Minute)
		r.want("it failed again")
	})
}

func TestGitHubFailsForAnHour(t *testing.T) {
	for name, fault := range map[string]fakegithub.Fault{
		"500":     {Do: fakegithub.Status(500)},
		"drop":    {Do: fakegithub.Drop()},
		"garbage": {Do: fakegithub.Garbage()},
		"401":     {Do: fakegithub.Status(401)},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				broken := r.github.Break(fault)
				c := r.config(r.log, r.client)
				alarm := &control.Alarm{Control: &control.Control{Log: r.log, Clock: time.Now}, Kind: events.AlertReport, About: string(repo), Action: "look", Logger: c.Logger}
				c.Failing = func(outcome error) { alarm.Note(t.Context(), outcome) }
				r.run(c)
				r.try("r1", "t1")
				pass(10 * time.Minute)
				if n := count[events.AlertRaised](r); n != 1 {
					t.Errorf("%d alerts", n)
				}
				pass(50 * time.Minute)
				if n := broken.Hits(); n < 10 || n > 120 {
					t.Errorf("GitHub was asked %d times in an hour", n)
				}
				r.want()
				broken.Mend()
				pass(10 * time.Minute)
				r.want("no change")
				if n := count[events.AlertCleared](r); n != 1 {
					t.Errorf("the alert is cleared %d times", n)
				}
				if n := count[events.CommentPostponed](r); n < 10 {
					t.Errorf("postponed %d times", n)
				}
			})
		})
	}
}

func TestTheSecondaryLimitIsObeyed(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		broken := r.github.Break(fakegithub.Fault{Method: "POST", Times: 1, Do: fakegithub.SecondaryLimit(10 * time.Minute)})
		r.start()
		r.record(answer("answer-1", "one"), answer("answer-2", "two"))
		pass(9 * time.Minute)
		r.want()
		if n := len(r.github.Requests("POST", "")); n != 1 || broken.Hits() != 1 {
			t.Errorf("GitHub was asked %d times", n)
		}
		pass(3 * time.Minute)
		if got := r.comments(); len(got) != 2 {
			t.Errorf("%q", got)
		}
	})
}

func TestAWriteWhoseAnswerWasLostIsFound(t *testing.T) {
	for name, do := range map[string]fakegithub.Failure{"dropped": fakegithub.Drop(), "500": fakegithub.Status(502), "slow": fakegithub.Slow(time.Minute)} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				r.github.Break(fakegithub.Fault{Method: "POST", Times: 2, Landed: true, Do: do})
				r.start()
				r.try("r1", "t1")
				pass(10 * time.Minute)
				r.want("no change")
				if n := count[events.CommentPosted](r); n != 1 {
					t.Errorf("posted %d times", n)
				}
			})
		})
	}
}

func TestWhatGitHubRefusesIsGivenUp(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		broken := r.github.Break(fakegithub.Fault{Method: "POST", Do: fakegithub.Status(422)})
		r.start()
		r.try("r1", "t1")
		pass(time.Hour)
		if broken.Hits() != 1 || count[events.CommentRefused](r) != 1 {
			t.Errorf("asked %d times, given up %d times", broken.Hits(), count[events.CommentRefused](r))
		}
	})
}

func TestWithoutCredentialsNothingIsWritten(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run(r.config(r.log, nil))
		r.try("r1", "t1")
		pass(time.Hour)
		if n := count[events.CommentWanted](r); n != 1 || len(r.github.Requests("", "")) != 0 {
			t.Errorf("%d wishes, %d requests", n, len(r.github.Requests("", "")))
		}
		// With credentials the wishes are written.
		r.start()
		pass(time.Minute)
		r.want("no change")
	})
}

func TestManyReportersWriteOneComment(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		for range 4 {
			r.start()
		}
		for i := range 5 {
			r.try(events.RequestID(fmt.Sprint("r", i)), events.Tag(fmt.Sprint("t", i)))
		}
		pass(30 * time.Minute)
		if got := r.comments(); len(got) != 5 {
			t.Errorf("%q", got)
		}
	})
}

// A reporter that pauses in the middle of writing, for so long that another one writes instead, removes its own
// comment.
func TestAPausedReporterCleansUp(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		paused := &slow{GitHub: r.client, held: make(chan struct{}), entered: make(chan struct{})}
		r.run(r.config(r.log, paused))
		r.try("r1", "t1")
		<-paused.entered
		r.start()
		pass(2 * lease)
		r.want("no change")
		close(paused.held)
		pass(time.Minute)
		r.want("no change")
		if n := count[events.CommentPosted](r); n != 1 {
			t.Errorf("posted %d times", n)
		}
	})
}

// slow delays the first comment.
type slow struct {
	GitHub
	once          sync.Once
	entered, held chan struct{}
}

// CreateComment implements GitHub.
func (s *slow) CreateComment(ctx context.Context, repo events.RepoName, pr int, body string) (githubapi.Comment, error) {
	s.once.Do(func() { close(s.entered); <-s.held })
	return s.GitHub.CreateComment(ctx, repo, pr, body)
}

// errKilled is the error that only a killed process sees.
var errKilled = errors.New("this process is dead")

// mortal is the log and GitHub as a process sees them that is killed at a step: before the step is carried out, or
// right after.
type mortal struct {
	eventlog.Log
	GitHub
	mu    sync.Mutex
	left  int
	after bool
	dead  chan struct{}
}

func (m *mortal) step(do func() error) error {
	m.mu.Lock()
	m.left--
	dies, dead := m.left == 0, m.left < 0
	m.mu.Unlock()
	if dead || dies && !m.after {
		m.die()
		return errKilled
	}
	err := do()
	if dies {
		m.die()
		return errKilled
	}
	return err
}

func (m *mortal) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.dead:
	default:
		close(m.dead)
	}
}

// Append implements eventlog.Log.
func (m *mortal) Append(ctx context.Context, parts ...eventlog.Append) (seq events.Seq, err error) {
	err = m.step(func() error { seq, err = m.Log.Append(ctx, parts...); return err })
	return seq, err
}

// CreateComment implements GitHub.
func (m *mortal) CreateComment(ctx context.Context, repo events.RepoName, pr int, body string) (c githubapi.Comment, err error) {
	err = m.step(func() error { c, err = m.GitHub.CreateComment(ctx, repo, pr, body); return err })
	return c, err
}

// EditComment implements GitHub.
func (m *mortal) EditComment(ctx context.Context, repo events.RepoName, id int64, body string) (c githubapi.Comment, err error) {
	err = m.step(func() error { c, err = m.GitHub.EditComment(ctx, repo, id, body); return err })
	return c, err
}

// Comments implements GitHub.
func (m *mortal) Comments(ctx context.Context, repo events.RepoName, pr int, since time.Time) iter.Seq2[githubapi.Comment, error] {
	var found iter.Seq2[githubapi.Comment, error]
	if err := m.step(func() error { found = m.GitHub.Comments(ctx, repo, pr, since); return nil }); err != nil {
		return func(yield func(githubapi.Comment, error) bool) { yield(githubapi.Comment{}, err) }
	}
	return found
}

// Comment implements GitHub.
func (m *mortal) Comment(ctx context.Context, repo events.RepoName, id int64) (c githubapi.Comment, err error) {
	err = m.step(func() error { c, err = m.GitHub.Comment(ctx, repo, id); return err })
	return c, err
}

// AddLabels implements GitHub.
func (m *mortal) AddLabels(ctx context.Context, repo events.RepoName, pr int, labels []string) error {
	return m.step(func() error { return m.GitHub.AddLabels(ctx, repo, pr, labels) })
}

// RemoveLabel implements GitHub.
func (m *mortal) RemoveLabel(ctx context.Context, repo events.RepoName, pr int, name string) error {
	return m.step(func() error { return m.GitHub.RemoveLabel(ctx, repo, pr, name) })
}

// Minimise implements GitHub.
func (m *mortal) Minimise(ctx context.Context, node string) error {
	return m.step(func() error { return m.GitHub.Minimise(ctx, node) })
}

// The reporter is killed before or after any step, and started again. At the end there is one report, the answer is
// folded away, and the labels are set.
func TestKilledBetweenAnyTwoSteps(t *testing.T) {
	for _, after := range []bool{false, true} {
		for k := 1; ; k++ {
			survived := false
			t.Run(fmt.Sprintf("step %d, after %v", k, after), func(t *testing.T) {
				inRig(t, func(t *testing.T, r *rig) {
					m := &mortal{Log: r.log, GitHub: r.client, left: k, after: after, dead: make(chan struct{})}
					stop := r.run(r.config(m, m))
					r.record(answer("answer-1", "awaiting"))
					pass(time.Minute)
					r.try("r1", "t1")
					select {
					case <-m.dead:
					case <-time.After(10 * time.Minute):
						survived = true
					}
					stop()
					r.start()
					pass(10 * time.Minute)
					got := strings.Join(r.comments(), " | ")
					// The report may be posted before the answer is written at all.
					if got != "[awaiting] | no change" && (got != "no change" || survived) {
						t.Errorf("comments are %q", got)
					}
					if labels := strings.Join(r.pulls.Labels(pr), " "); labels != "perf-regression" {
						t.Errorf("labels %q", labels)
					}
				})
			})
			if survived {
				if k < 9 {
					t.Errorf("only %d steps", k)
				}
				break
			}
		}
	}
}

// gapped is a damaged log.
type gapped struct{ eventlog.Log }

// Follow implements eventlog.Log.
func (gapped) Follow(context.Context, events.Seq) (eventlog.Cursor, error) { return gap{}, nil }

type gap struct{}

// Next implements eventlog.Cursor.
func (gap) Next(context.Context, int) ([]events.Stored, error) {
	return nil, &eventlog.GapError{Want: 2, Got: 4}
}

// Close implements eventlog.Cursor.
func (gap) Close() {}

// On a damaged log the reporter reports nothing, and the reader of the log reports the damage.
func TestADamagedLogIsSaid(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		c := r.config(r.log, r.client)
		s := shell.New(shell.Config{Log: gapped{r.log}, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
		c.Ledger = s
		r.run(c)
		r.try("r1", "t1")
		var gone *eventlog.GapError
		if err := s.Run(t.Context()); !errors.As(err, &gone) {
			t.Errorf("got %v", err)
		}
		pass(time.Minute)
		r.want()
	})
}

// Answers about a request that ends without being measured are folded away, or not written any more.
func TestAnswersAboutWhatIsOverAreFoldedAway(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.start()
		r.record(
			events.RequestCreated{RequestID: "r1", Kind: events.Try, Suite: "rustc", PR: pr, Key: "k", State: events.StateWaitingForArtifacts},
			answer("answer-1", "awaiting"),
		)
		pass(time.Minute)
		r.want("awaiting")
		r.record(events.RequestSuperseded{RequestID: "r1", By: "r2"})
		pass(time.Minute)
		r.want("[awaiting]")
		r.record(answer("answer-2", "too late"))
		pass(time.Minute)
		r.want("[awaiting]")
	})
}

// A newly connected repository does not get the history of the farm. A reporter that was down for a night reports
// what it missed.
func TestOldRequestsAreNotReported(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.try("r1", "t1")
		pass(4 * 24 * time.Hour)
		r.try("r2", "t2")
		pass(12 * time.Hour)
		r.start()
		pass(time.Minute)
		r.want("no change")
		if n := count[events.CommentWanted](r); n != 1 {
			t.Errorf("%d wishes", n)
		}
	})
}
