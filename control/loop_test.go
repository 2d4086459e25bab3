package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// contested is a log on which another writer is always first.
type contested struct {
	eventlog.Log
	appends int
}

func (l *contested) Append(_ context.Context, parts ...eventlog.Append) (events.Seq, error) {
	l.appends++
	return 0, &eventlog.ConflictError{Subject: parts[0].Subject, Expected: parts[0].Expected, Actual: parts[0].Expected + 1}
}

func TestACommandGivesUpAgainstAFasterWriter(t *testing.T) {
	waiting := try("k1", "", 14)
	id := events.NewRequestID("small", events.Try, "k1")
	request, registry := events.RequestSubject(id), events.RegistrySubject("a")
	for what, tc := range map[string]struct {
		subject events.Subject
		do      func(context.Context, *Control) error
	}{
		"add": {events.RegistrySubject("b"), func(ctx context.Context, c *Control) error {
			_, err := c.AddCollector(ctx, by, NewCollector{Name: "b", Target: "here", Set: 1})
			return err
		}},
		"add a machine": {events.MachineSubject("eider-3"), func(ctx context.Context, c *Control) error {
			_, err := c.AddMachine(ctx, by, eider(1))
			return err
		}},
		"deactivate": {registry, func(ctx context.Context, c *Control) error {
			_, err := c.DeactivateCollector(ctx, by, "a", Deactivation{})
			return err
		}},
		"drain":  {registry, func(ctx context.Context, c *Control) error { _, err := c.DrainCollector(ctx, by, "a", ""); return err }},
		"remove": {registry, func(ctx context.Context, c *Control) error { _, err := c.RemoveCollector(ctx, by, "a", ""); return err }},
		"take over": {events.AssignmentSubject(events.Lane{Target: "here"}), func(ctx context.Context, c *Control) error {
			_, err := c.TakeLaneOver(ctx, by, "s", "")
			return err
		}},
		"open": {events.RegistryOpenedSubject(), func(ctx context.Context, c *Control) error { return OpenRegistry(ctx, c.Log, by, c.Clock) }},
		"publish": {events.SuiteSubject("small"), func(ctx context.Context, c *Control) error {
			d := definitions()
			d.Targets[0].Sets = 1
			_, err := c.Publish(ctx, by, d)
			return err
		}},
		"raise": {events.AlertSubject("k"), func(ctx context.Context, c *Control) error {
			_, err := c.RaiseAlert(ctx, by, events.AlertRaised{Key: "k", Kind: "k", Message: "m"})
			return err
		}},
		"want a version": {events.VersionSubject(), func(ctx context.Context, c *Control) error {
			_, err := c.WantVersion(ctx, by, events.VersionWanted{Version: "v1.2.3"})
			return err
		}},
		"ask": {events.RequestSubject(events.NewRequestID("small", events.Try, "k2")), func(ctx context.Context, c *Control) error {
			_, _, err := c.CreateRequest(ctx, by, try("k2", "", 14))
			return err
		}},
		"ask for what is new": {events.RequestSubject(events.NewRequestID("small", events.Try, "k2")), func(ctx context.Context, c *Control) error {
			n := try("k2", "", 14)
			n.Fresh = true
			_, _, err := c.CreateRequest(ctx, by, n)
			return err
		}},
		"artifacts": {request, func(ctx context.Context, c *Control) error {
			_, _, err := c.ArtifactsReady(ctx, by, id, "b1", "")
			return err
		}},
		"artifacts of what is known": {request, func(ctx context.Context, c *Control) error {
			known, _, err := c.WaitingTry(ctx, "small", 14)
			if err != nil {
				return err
			}
			_, _, err = c.ArtifactsReadyOf(ctx, by, known, "b1", "")
			return err
		}},
		"build failed": {request, func(ctx context.Context, c *Control) error {
			known, _, err := c.WaitingTry(ctx, "small", 14)
			if err != nil {
				return err
			}
			_, _, err = c.BuildFailed(ctx, by, known, "it did", "")
			return err
		}},
		"set an account": {events.AccountSubject("alice"), func(ctx context.Context, c *Control) error {
			_, err := c.ConfigureAccount(ctx, by, "alice", AccountChange{})
			return err
		}},
		"set a queue": {events.QueueSubject("bisect"), func(ctx context.Context, c *Control) error {
			_, err := c.ConfigureQueue(ctx, by, "bisect", QueueChange{})
			return err
		}},
		"set the policy": {events.ShareSubject(), func(ctx context.Context, c *Control) error {
			_, err := c.SetSharePolicy(ctx, by, PolicyChange{})
			return err
		}},
		"a batch": {events.RequestSubject(events.NewRequestID("small", events.Master, "c0")), func(ctx context.Context, c *Control) error {
			_, err := c.CreateRequests(ctx, by, Batch{Requests: commits(3)})
			return err
		}},
		"prioritise": {request, func(ctx context.Context, c *Control) error {
			_, _, err := c.PrioritiseRequest(ctx, by, id, events.PriorityLow, "")
			return err
		}},
		"cancel": {request, func(ctx context.Context, c *Control) error { _, _, err := c.CancelRequest(ctx, by, id, ""); return err }},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, log := start(t)
				lane(t, c)
				create(t, c, waiting)
				against := &contested{Log: log}
				before := last(t, log)
				other := copyOf(c)
				other.Log = against
				err := tc.do(t.Context(), other)
				busy, ok := errors.AsType[*eventlog.BusyError](err)
				if !ok || against.appends < 2 || busy.Tries != against.appends || busy.Conflict.Subject != tc.subject || !strings.Contains(err.Error(), string(tc.subject)) {
					t.Errorf("%v after %d tries", err, against.appends)
				}
				if last(t, log) != before {
					t.Error("something was recorded")
				}
			})
		})
	}
}

// hasty writes to the same aggregate just before an append: what is known was read too early.
type hasty struct {
	eventlog.Log
	once func()
}

func (l *hasty) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if once := l.once; once != nil {
		l.once = nil
		once()
	}
	return l.Log.Append(ctx, parts...)
}

// Outdated knowledge of a request leads neither to a decision nor to a refusal.
func TestWhatIsKnownServesWhileItIsTrue(t *testing.T) {
	c, log := start(t)
	create(t, c, try("k1", "", 14))
	known, ok, err := c.WaitingTry(t.Context(), "small", 14)
	if err != nil || !ok {
		t.Fatal(known, ok, err)
	}
	other := copyOf(c)
	other.Log = &hasty{log, func() {
		if _, _, err := c.CancelRequest(t.Context(), by, known.ID, ""); err != nil {
			t.Error(err)
		}
	}}
	_, _, err = other.ArtifactsReadyOf(t.Context(), by, known, "b1", "")
	refused(t, err, Conflict, "cancelled")
	if _, answer, err := c.BuildFailed(t.Context(), by, known, "it did", ""); err != nil || !answer.Existed {
		t.Errorf("of one that is cancelled: %+v %v", answer, err)
	}
	again := try("k1", "", 14)
	again.Fresh, again.AsItIs = true, true
	if r, answer, err := c.CreateRequest(t.Context(), by, again); err != nil || !answer.Existed || r.State != events.StateCancelled {
		t.Errorf("asked for as new, and there: %+v %+v %v", r, answer, err)
	}
	c.KeepTries = true
	second := try("k2", "", 14)
	create(t, c, second)
	second.Fresh, second.AsItIs = true, true
	if _, answer, err := c.CreateRequest(t.Context(), by, second); err != nil || !answer.Existed {
		t.Errorf("it does not wait for itself: %+v %v", answer, err)
	}
	if _, _, err := c.ArtifactsReady(t.Context(), by, events.NewRequestID("small", events.Try, "k2"), "b2", ""); err != nil {
		t.Fatal(err)
	}
	create(t, c, try("k3", "", 14))
	if _, answer, err := c.CreateRequest(t.Context(), by, second); err != nil || !answer.Existed {
		t.Errorf("what is there is not refused for another one that waits: %+v %v", answer, err)
	}
}

// Many ask for tries of one pull request at once, some with Fresh: each try exists once, and all but one were
// superseded by a newer one.
func TestManyAskAtOnceAndNoneIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, log := start(t)
		n := rapid.IntRange(2, 8).Draw(rt, "tries")
		fresh := rapid.SliceOfN(rapid.Bool(), n, n).Draw(rt, "fresh")
		var all sync.WaitGroup
		for i := range 2 * n {
			all.Go(func() {
				wish := try(fmt.Sprint("k", i%n), "", 14)
				wish.Fresh = fresh[i%n]
				for {
					_, _, err := c.CreateRequest(t.Context(), by, wish)
					if _, busy := errors.AsType[*eventlog.BusyError](err); busy {
						continue
					}
					if err != nil {
						t.Error(err)
					}
					return
				}
			})
		}
		all.Wait()
		queued, err := log.Read(t.Context(), events.TrySubject("small", 14))
		if err != nil || len(queued) != n {
			rt.Fatalf("%d tries were queued of %d, %v", len(queued), n, err)
		}
		for i, e := range queued {
			id := e.Fact.(events.TryQueued).RequestID
			want := events.StateSuperseded
			if i == n-1 {
				want = events.StateWaitingForArtifacts
			}
			if got := c.state(t, id); got != want {
				rt.Fatalf("%s, the %d. of %d, is %s", id, i+1, n, got)
			}
		}
	})
}
