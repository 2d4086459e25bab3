package control

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

func try(key string, tag events.Tag, pr int) NewRequest {
	return NewRequest{Suite: "small", Kind: events.Try, Key: key, Tag: tag, PR: pr}
}

func (c *Control) state(t testing.TB, id events.RequestID) events.RequestState {
	t.Helper()
	known, err := foldRequest(t.Context(), c.Log, id)
	if err != nil {
		t.Fatal(err)
	}
	return known.state.State
}

func create(t testing.TB, c *Control, n NewRequest) events.RequestID {
	t.Helper()
	r, _, err := c.CreateRequest(t.Context(), by, n)
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

func TestANewerTrySupersedesTheOneThatHasNotStarted(t *testing.T) {
	c, log := start(t)
	first := create(t, c, try("comment-1", "", 14))
	other := create(t, c, try("comment-2", "", 15))
	second := create(t, c, try("comment-3", "", 14))
	for id, want := range map[events.RequestID]events.RequestState{
		first: events.StateSuperseded, second: events.StateWaitingForArtifacts, other: events.StateWaitingForArtifacts,
	} {
		if got := c.state(t, id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if r, ok, err := c.WaitingTry(t.Context(), "small", 14); err != nil || !ok || r.ID != second {
		t.Errorf("%v waits (%v, %v), want %s", r.ID, ok, err, second)
	}
	// Asking for the old try again returns it as it is; it does not become the newest again.
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r, a, err := c.CreateRequest(t.Context(), by, try("comment-1", "", 14)); err != nil || !a.Existed || r.State != events.StateSuperseded {
		t.Errorf("%+v %+v %v", r, a, err)
	}
	if after, err := log.Head(t.Context()); err != nil || after.Last != head.Last {
		t.Errorf("asking again recorded %d events (%v)", after.Last-head.Last, err)
	}
	// A try that has its artifact but has not started is superseded too; the newest one has the pull request.
	if _, _, err := c.ArtifactsReady(t.Context(), by, second, "b2", "b1"); err != nil {
		t.Fatal(err)
	}
	create(t, c, try("comment-4", "", 14))
	if got := c.state(t, second); got != events.StateSuperseded {
		t.Errorf("the try that was ready is %s", got)
	}
}

func TestATryThatRunsIsNotSuperseded(t *testing.T) {
	c, log := start(t)
	id := create(t, c, try("k1", "b1", 14))
	known, err := foldRequest(t.Context(), log, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), eventlog.Append{
		Subject: events.RequestSubject(id), Expected: known.seq, Events: c.events(by, events.RequestStarted{RequestID: id}),
	}); err != nil {
		t.Fatal(err)
	}
	create(t, c, try("k2", "", 14))
	if got := c.state(t, id); got != events.StateInProgress {
		t.Errorf("the running try is %s", got)
	}
}

func TestOlderTriesAreKeptWhenAskedTo(t *testing.T) {
	c, _ := start(t)
	waiting := create(t, c, try("k1", "", 14))
	build := try("k2", "b2", 14)
	build.KeepOlder = true
	create(t, c, build)
	if r, ok, err := c.WaitingTry(t.Context(), "small", 14); err != nil || !ok || r.ID != waiting {
		t.Errorf("%v waits (%v, %v), want %s", r.ID, ok, err, waiting)
	}
	build = try("k3", "", 14)
	build.KeepOlder = true
	_, _, err := c.CreateRequest(t.Context(), by, build)
	refused(t, err, Invalid, "waits for its artifact")
}

func TestWithoutSupersedingASecondWaitingTryIsRefused(t *testing.T) {
	c, _ := start(t)
	c.KeepTries = true
	first := create(t, c, try("k1", "", 14))
	_, _, err := c.CreateRequest(t.Context(), by, try("k2", "", 14))
	refused(t, err, Conflict, "waits for its artifact")
	create(t, c, try("k3", "b3", 14))
	if r, ok, err := c.WaitingTry(t.Context(), "small", 14); err != nil || !ok || r.ID != first {
		t.Errorf("%v waits (%v, %v), want %s", r.ID, ok, err, first)
	}
	if _, _, err := c.ArtifactsReady(t.Context(), by, first, "b1", ""); err != nil {
		t.Fatal(err)
	}
	create(t, c, try("k4", "", 14))
	if got := c.state(t, first); got != events.StateArtifactsReady {
		t.Errorf("the older try is %s", got)
	}
}

// Events that go with a request are recorded exactly once, whichever writer was first.
func TestWhatGoesWithARequestIsRecordedWithItOrNotAtAll(t *testing.T) {
	c, log := start(t)
	also := eventlog.Append{Subject: events.RetentionSubject(), Events: c.events(by, events.JobsRetired{EndedBefore: "2026-11-21T09:00:00Z"})}
	r, _, err := c.CreateRequest(t.Context(), by, try("k1", "", 14), also)
	if err != nil {
		t.Fatal(err)
	}
	head, _ := log.Head(t.Context())
	if _, _, err := c.CreateRequest(t.Context(), by, try("k9", "", 14), also); err == nil {
		t.Error("it was recorded a second time")
	}
	if after, _ := log.Head(t.Context()); after.Last != head.Last || c.state(t, r.ID) != events.StateWaitingForArtifacts {
		t.Errorf("%d events more, %s", after.Last-head.Last, c.state(t, r.ID))
	}
}

// However many ask at once, only one try of a pull request waits for its artifact: the newest.
func TestAtMostOneTryOfAPullRequestWaits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, _ := start(t)
		c.KeepTries = rapid.Bool().Draw(rt, "keep")
		n := rapid.IntRange(2, 8).Draw(rt, "tries")
		ready := rapid.SliceOfN(rapid.Bool(), n, n).Draw(rt, "ready")
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				r, _, err := c.CreateRequest(t.Context(), by, try(fmt.Sprint("k", i), "", 14))
				if err == nil && ready[i] {
					// Refused when a newer try was first.
					_, _, _ = c.ArtifactsReady(t.Context(), by, r.ID, events.Tag(fmt.Sprint("b", i)), "")
				}
			})
		}
		all.Wait()
		var waiting []events.RequestID
		for i := range n {
			id := events.NewRequestID("small", events.Try, fmt.Sprint("k", i))
			if c.state(t, id) == events.StateWaitingForArtifacts {
				waiting = append(waiting, id)
			}
		}
		if len(waiting) > 1 {
			rt.Fatalf("%v all wait", waiting)
		}
	})
}

func TestAKeyIsALine(t *testing.T) {
	c, _ := start(t)
	for _, key := range []string{strings.Repeat("w", 257), "a\x00b", "two\nlines", "\x1b[31mred", "\xff"} {
		_, _, err := c.CreateRequest(t.Context(), by, try(key, "", 14))
		refused(t, err, Invalid, "a line of at most 256 bytes")
	}
	create(t, c, try("Überraschung: <b>comment 7</b>", "", 14))
}

func TestArtifactsAndParentsAreNoPaths(t *testing.T) {
	c, _ := start(t)
	id := create(t, c, try("k", "", 14))
	for _, names := range [][2]events.Tag{{"../x", "a"}, {"", "a"}, {"x", "../../a"}, {"x", "a\x00"}} {
		_, _, err := c.ArtifactsReady(t.Context(), by, id, names[0], names[1])
		refused(t, err, Invalid, "starting with a letter or digit")
	}
}

func TestAWishThatDiffersFromTheRequestIsRefused(t *testing.T) {
	c, log := start(t)
	first := try("t1", "t1", 0)
	id := create(t, c, first)
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := first
	other.Parent = "t0"
	_, _, err = c.CreateRequest(t.Context(), by, other)
	refused(t, err, Conflict, "parent t0 instead of none")
	other.AsItIs = true
	for _, n := range []NewRequest{first, other} {
		if r, a, err := c.CreateRequest(t.Context(), by, n); err != nil || !a.Existed || r.ID != id || r.Parent != "" {
			t.Errorf("%+v: %+v %+v %v", n, r, a, err)
		}
	}
	if after, err := log.Head(t.Context()); err != nil || after.Last != head.Last {
		t.Errorf("asking again recorded %d events (%v)", after.Last-head.Last, err)
	}
}
