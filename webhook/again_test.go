package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// measured makes a request of pull request 14 that has failed, and returns it with its job.
func (r *rig) measured(key string) (events.RequestID, events.JobSpec) {
	r.t.Helper()
	made, _, err := r.control().CreateRequest(context.Background(), control.By{Actor: "test"}, control.NewRequest{
		Suite: "small", Kind: events.Try, Key: key, Tag: merged, Parent: parent1, PR: 14, KeepOlder: true,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	d := small()
	a := events.Artifact{Suite: "small", Tag: merged, Kind: events.Try}
	j := events.JobSpec{Artifact: a, Kind: "compile", Target: "here", Backend: "llvm", Profile: "opt", Definitions: d.Digest(), RequestID: made.ID}
	j.ID = j.First()
	r.record(events.RequestStarted{RequestID: made.ID, Definitions: d.Digest(), Jobs: 1})
	r.record(events.JobsCreated{RequestID: made.ID, Jobs: []events.JobSpec{j}})
	r.record(events.RequestFailed{RequestID: made.ID, Jobs: 1, FailedJobs: 1})
	return made.ID, j
}

// schedules answers wishes as a scheduler does: with what answer returns.
func (r *rig) schedules(answer func(events.GraphWanted) []events.Fact) {
	r.goes(func(ctx context.Context) error {
		for answered := map[string]bool{}; ctx.Err() == nil; pause(ctx, 20*time.Millisecond) {
			for _, w := range facts[events.GraphWanted](r) {
				if key := string(w.RequestID) + w.Key; !answered[key] {
					answered[key] = true
					for _, f := range answer(w) {
						r.record(f)
					}
				}
			}
		}
		return nil
	})
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// comes delivers a comment, and returns how it was handled once the bot had time to hear a scheduler.
func (r *rig) comes(id int64, user int64, body string) events.DeliveryHandled {
	r.t.Helper()
	delivery := r.post("issue_comment", from(id, user, body).payload())
	pass(10 * time.Second)
	return r.handled(delivery)
}

func TestRetryAndNoiseAreWishes(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		old, _ := r.measured("old")
		pass(time.Minute)
		id, job := r.measured("new")
		r.schedules(func(w events.GraphWanted) []events.Fact {
			if w.Kind == events.GraphNoise {
				var jobs []events.JobSpec
				for i := range w.Copies {
					spec := job
					spec.Artifact.Tag, spec.Sample = parent1, events.NewSample(w.RequestID, 1, i+1)
					spec.ID = spec.First()
					jobs = append(jobs, spec)
				}
				return []events.Fact{
					events.GraphCreated{RequestID: w.RequestID, Graph: 1, Kind: w.Kind, Key: w.Key, Jobs: len(jobs)},
					events.JobsCreated{RequestID: w.RequestID, Key: w.Key, Jobs: jobs, Graph: &events.GraphPart{Graph: 1}},
				}
			}
			if len(w.Where) > 0 {
				return []events.Fact{events.GraphRefused{RequestID: w.RequestID, Key: w.Key, Reason: "none of the jobs has kind=none"}}
			}
			return []events.Fact{events.JobsCreated{RequestID: w.RequestID, Key: w.Key, Jobs: []events.JobSpec{job.Again()}}}
		})
		r.run()
		r.run() // two bots have the same effect as one

		h := r.comes(100, alice, "@tacho retry")
		if h.Outcome != events.DeliveryAccepted || len(h.Requests) != 1 || h.Requests[0] != id || h.Command != "retry" {
			t.Fatalf("%+v, the older request is %s", h, old)
		}
		if got := r.lastAnswer(); !strings.Contains(got, "runs again: `compile/here/0/llvm/opt`") || !strings.Contains(got, "https://perf.example/requests/"+string(id)) || !strings.Contains(got, "edit the report") {
			t.Errorf("answer %q", got)
		}
		h = r.comes(101, alice, "@tacho retry kind=none state=failure")
		if h.Outcome != events.DeliveryRefused || r.lastAnswer() != "None of the jobs has kind=none." || len(h.Requests) != 0 {
			t.Errorf("%+v: %q", h, r.lastAnswer())
		}
		h = r.comes(102, alice, "@tacho noise 3 benchmarks=re*")
		if got := r.lastAnswer(); h.Outcome != events.DeliveryAccepted || !strings.Contains(got, "I measure the parent `"+parent1+"` 3 more times, with 3 jobs in all") {
			t.Errorf("%+v: %q", h, got)
		}
		wanted := facts[events.GraphWanted](r)
		if len(wanted) != 3 || wanted[1].Where[1] != "state=failure" || wanted[2].Copies != 3 || wanted[2].Benchmarks[0] != "re*" ||
			wanted[0].Key != "comment-100" || wanted[0].Reason != "alice said so on pull request 14" || wanted[0].Kind != events.GraphRepair {
			t.Errorf("%+v", wanted)
		}
		for i := range 3 { // GitHub delivers them again, under the same and under other ids
			r.postAs(fmt.Sprint("d", i+1), "issue_comment", from(int64(100+i), alice, "@tacho retry").payload())
			r.postAs(fmt.Sprint("again", i), "issue_comment", from(int64(100+i), alice, "@tacho retry").payload())
		}
		pass(time.Minute)
		if again := facts[events.GraphWanted](r); len(again) != len(wanted) {
			t.Errorf("delivered again, there are %d wishes: %+v", len(again), again)
		}
		if n := len(facts[events.CommentWanted](r)); n != 3 {
			t.Errorf("%d answers", n)
		}
	})
}

// The bot dies after the wish is recorded, and before the delivery is handled. Meanwhile a newer request is made.
func TestARetryAcrossACrashIsOneWish(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		id, job := r.measured("first")
		dying, die := context.WithCancel(context.Background())
		ended, b := make(chan error, 1), r.bot()
		go func() { ended <- b.Run(dying) }()
		delivery := r.post("issue_comment", by(alice, "@tacho retry").payload())
		pass(2 * time.Second)
		die()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if n := len(facts[events.GraphWanted](r)); n != 1 || len(facts[events.DeliveryHandled](r)) != 0 {
			t.Fatalf("%d wishes, and the delivery is handled: %v", n, facts[events.DeliveryHandled](r))
		}
		r.measured("second")
		r.schedules(func(w events.GraphWanted) []events.Fact {
			return []events.Fact{events.JobsCreated{RequestID: w.RequestID, Key: w.Key, Jobs: []events.JobSpec{job.Again()}}}
		})
		r.run()
		pass(10 * time.Second)
		if h := r.handled(delivery); h.Outcome != events.DeliveryAccepted || h.Requests[0] != id {
			t.Errorf("%+v, want one about %s", h, id)
		}
		if wanted := facts[events.GraphWanted](r); len(wanted) != 1 || !strings.Contains(r.lastAnswer(), "runs again") {
			t.Errorf("%+v: %q", wanted, r.lastAnswer())
		}
	})
}

func TestWithoutASchedulerTheAnswerSaysWhere(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		id, _ := r.measured("only")
		r.run()
		h := r.comes(100, alice, "@tacho noise")
		if got := r.lastAnswer(); h.Outcome != events.DeliveryAccepted || !strings.Contains(got, "no scheduler has answered") || !strings.Contains(got, "/requests/"+string(id)) {
			t.Errorf("%+v: %q", h, got)
		}
	})
}

func TestPriorityOfTheNewestRequest(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.run()
		if h := r.comes(99, alice, "@tacho priority vip"); h.Outcome != events.DeliveryRefused || !strings.Contains(r.lastAnswer(), "Nothing was ever asked for") {
			t.Errorf("%+v: %q", h, r.lastAnswer())
		}
		h := r.deliver("issue_comment", from(100, alice, "@tacho queue").payload())
		for i, to := range []events.Priority{events.PriorityHigh, events.PriorityHigh, events.PriorityNormal} {
			is := r.comes(int64(101+i), alice, "@tacho priority "+string(to))
			if is.Outcome != events.DeliveryAccepted || is.Requests[0] != h.Requests[0] || !strings.Contains(r.lastAnswer(), "is "+string(to)+" now") {
				t.Errorf("%s: %+v: %q", to, is, r.lastAnswer())
			}
		}
		changed := facts[events.PriorityChanged](r)
		if len(changed) != 2 || changed[0].To != events.PriorityHigh || changed[0].Reason != "alice said so on pull request 14" {
			t.Errorf("%+v", changed)
		}
		if h := r.comes(110, mallory, "@tacho priority vip"); h.Outcome != events.DeliveryForbidden || len(facts[events.PriorityChanged](r)) != 2 {
			t.Errorf("%+v", h)
		}
	})
}

// With accounts, a person gives what their account may give, to what they have asked for.
func TestPrioritiesOfAccountsHaveACap(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.rules.Accounts = true
		high, open := events.PriorityHigh, control.AccountOfLogin("alice")
		if _, err := r.control().ConfigureAccount(t.Context(), control.By{Actor: "test"}, open, control.AccountChange{MaxPriority: &high}); err != nil {
			t.Fatal(err)
		}
		r.run()
		r.deliver("issue_comment", from(100, alice, "@tacho queue").payload())
		if h := r.comes(101, alice, "@tacho priority vip"); h.Outcome != events.DeliveryRefused || !strings.Contains(r.lastAnswer(), "above what account gh-alice may give, which is high") {
			t.Errorf("%+v: %q", h, r.lastAnswer())
		}
		if h := r.comes(102, alice, "@tacho priority high"); h.Outcome != events.DeliveryAccepted {
			t.Errorf("%+v: %q", h, r.lastAnswer())
		}
		bob := comments{id: 103, user: 9, login: "bob", association: "MEMBER", body: "@tacho priority low"}
		id := r.post("issue_comment", bob.payload())
		synctest.Wait()
		if h := r.handled(id); h.Outcome != events.DeliveryRefused || !strings.Contains(r.lastAnswer(), "of account gh-alice and not of gh-bob") {
			t.Errorf("%+v: %q", h, r.lastAnswer())
		}
	})
}

// While the log does not take the wish, the comment waits; then it is one wish.
func TestAWishWaitsForTheLog(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		_, job := r.measured("only")
		r.schedules(func(w events.GraphWanted) []events.Fact {
			return []events.Fact{events.JobsCreated{RequestID: w.RequestID, Key: w.Key, Jobs: []events.JobSpec{job.Again()}}}
		})
		b := r.bot()
		broken := &failing{Log: r.log, times: 2}
		b.Control = &control.Control{Log: broken, Clock: time.Now}
		r.start(b)
		id := r.post("issue_comment", by(alice, "@tacho retry").payload())
		pass(time.Minute)
		if h := r.handled(id); h.Outcome != events.DeliveryAccepted || len(facts[events.GraphWanted](r)) != 1 || broken.times != 0 {
			t.Errorf("%+v, %d wishes", h, len(facts[events.GraphWanted](r)))
		}
	})
}

// failing is a log that fails a few times before it takes an append, and once after.
type failing struct {
	eventlog.Log
	times int
}

// Append implements eventlog.Log.
func (f *failing) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if f.times == 0 {
		return f.Log.Append(ctx, parts...)
	}
	f.times--
	if f.times == 0 { // the log took it, and nobody was told
		if _, err := f.Log.Append(ctx, parts...); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("the log does not answer")
}
