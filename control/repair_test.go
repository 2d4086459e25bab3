package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// appended records facts as the scheduler does.
func appended(t *testing.T, log *memory.Log, facts ...events.Fact) {
	t.Helper()
	for _, f := range facts {
		last, _, err := log.Last(t.Context(), f.Subject())
		if err != nil {
			t.Fatal(err)
		}
		e := eventlog.NewEvent(f, eventlog.Meta{Source: "scheduler", Actor: "scheduler"}, time.Now())
		if _, err := log.Append(t.Context(), eventlog.Append{Subject: f.Subject(), Expected: last.Seq, Events: []events.Event{e}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAWishIsAskedOnceAndAnswered(t *testing.T) {
	c, log := start(t)
	r, _, err := c.CreateRequest(t.Context(), by, NewRequest{Suite: "small", Kind: events.Master, Tag: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	wish := events.GraphWanted{Key: "k", Kind: events.GraphRetrigger, Where: []string{"kind=compile"}}
	_, _, err = c.Want(t.Context(), by, r.ID, wish)
	refused(t, err, Conflict, "has no jobs yet: it is artifacts_ready; ask again when it has started")
	_, _, _, err = c.CheckWant(t.Context(), by, r.ID, wish)
	refused(t, err, Conflict, "has no jobs yet")
	appended(t, log, events.RequestStarted{RequestID: r.ID, Definitions: definitions().Digest()})

	head := func() events.Seq {
		h, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return h.Last
	}
	before := head()
	_, a, checked, err := c.CheckWant(t.Context(), by, r.ID, wish)
	if err != nil || !a.Existed || a.Seq != before || checked.Copies != 1 || checked.RequestID != r.ID || head() != before {
		t.Errorf("%+v %+v %v", a, checked, err)
	}
	beside := events.AlertRaised{Kind: events.AlertRefused, About: "x", Message: "m"}
	also := eventlog.Append{Subject: beside.Subject(), Events: []events.Event{eventlog.NewEvent(beside, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())}}
	if _, a, err := c.Want(t.Context(), by, r.ID, wish, also); err != nil || a.Existed || a.Seq != before+2 {
		t.Errorf("%+v %v", a, err)
	}
	again := wish
	again.Reason = "other words"
	if _, a, err := c.Want(t.Context(), by, r.ID, again); err != nil || !a.Existed || head() != before+2 {
		t.Errorf("again: %+v %v", a, err)
	}
	var conflict *eventlog.ConflictError
	again.Key = "k2"
	if _, _, err := c.Want(t.Context(), by, r.ID, again, also); !errors.As(err, &conflict) || conflict.Subject != beside.Subject() || head() != before+2 {
		t.Errorf("with what is recorded already: %v", err)
	}
	for what, f := range map[string]func(events.GraphWanted) error{
		"want":  func(w events.GraphWanted) error { _, _, err := c.Want(t.Context(), by, r.ID, w); return err },
		"check": func(w events.GraphWanted) error { _, _, _, err := c.CheckWant(t.Context(), by, r.ID, w); return err },
	} {
		t.Log(what)
		other := wish
		other.Copies = 2
		refused(t, f(other), Conflict, "another wish")
		other.Copies = 21
		refused(t, f(other), Invalid, "use 1 to 20")
	}
	_, _, err = c.Want(t.Context(), by, "r00", wish)
	refused(t, err, NotFound, "r00")
	_, _, _, err = c.CheckWant(t.Context(), by, "r00", wish)
	refused(t, err, NotFound, "r00")
	_, _, err = c.Want(t.Context(), of("alice"), r.ID, wish)
	refused(t, err, Forbidden, "ask the operator")
	_, _, _, err = c.CheckWant(t.Context(), of("alice"), r.ID, wish)
	refused(t, err, Forbidden, "ask the operator")

	if answer, err := c.WishAnswer(t.Context(), r.ID, "k"); err != nil || answer.Answered {
		t.Errorf("%+v %v", answer, err)
	}
	job := events.JobSpec{ID: "j1", Artifact: events.Artifact{Suite: "small", Tag: "c1"}, Kind: "compile", Target: "here", RequestID: r.ID}
	appended(t, log,
		events.JobsCreated{RequestID: r.ID, Key: "k", Jobs: []events.JobSpec{job}, Graph: &events.GraphPart{Graph: 3}},
		events.JobsCreated{RequestID: r.ID, Key: "other", Jobs: []events.JobSpec{job}},
		events.JobsCreated{RequestID: r.ID, Key: "k", Jobs: []events.JobSpec{job}, Graph: &events.GraphPart{Graph: 3, First: 1}})
	if answer, err := c.AwaitAnswer(t.Context(), r.ID, "k"); err != nil || !answer.Answered || len(answer.Jobs) != 2 || *answer.Graph != 3 || answer.Refused != "" || answer.Seq != head() {
		t.Errorf("%+v %v", answer, err)
	}
	facts, err := request.Decide(request.Request{ID: r.ID}, request.Refuse{Key: "k3", Reason: strings.Repeat("no ", 2)})
	if err != nil {
		t.Fatal(err)
	}
	appended(t, log, facts...)
	if answer, err := c.AwaitAnswer(t.Context(), r.ID, "k3"); err != nil || !answer.Answered || answer.Refused != "no no " || answer.Graph != nil {
		t.Errorf("%+v %v", answer, err)
	}
}

// A request keeps a bounded number of wishes that wait. Those that it has are found all the same, and an answer makes room.
func TestAFewWishesOfARequestWait(t *testing.T) {
	c, log := start(t)
	r, _, err := c.CreateRequest(t.Context(), by, NewRequest{Suite: "small", Kind: events.Master, Tag: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	appended(t, log, events.RequestStarted{RequestID: r.ID, Definitions: definitions().Digest()})
	wish := func(n int) events.GraphWanted {
		return events.GraphWanted{Key: fmt.Sprint("k", n), Kind: events.GraphNoise, Copies: 2}
	}
	for n := range 20 {
		if _, a, err := c.Want(t.Context(), by, r.ID, wish(n)); err != nil || a.Existed {
			t.Fatalf("wish %d: %+v %v", n, a, err)
		}
	}
	_, _, err = c.Want(t.Context(), by, r.ID, wish(20))
	refused(t, err, TooMany, "has 20 wishes for more jobs that wait for an answer")
	_, _, _, err = c.CheckWant(t.Context(), by, r.ID, wish(20))
	refused(t, err, TooMany, "`tacho trace "+string(r.ID)+"`")
	if _, a, err := c.Want(t.Context(), by, r.ID, wish(3)); err != nil || !a.Existed {
		t.Errorf("one that waits: %+v %v", a, err)
	}
	appended(t, log, events.GraphRefused{RequestID: r.ID, Key: "k0", Reason: "no"})
	if _, a, err := c.Want(t.Context(), by, r.ID, wish(20)); err != nil || a.Existed {
		t.Errorf("after an answer: %+v %v", a, err)
	}
}

func TestTheAnswerToAddedJobs(t *testing.T) {
	c, log := start(t)
	r, _, err := c.CreateRequest(t.Context(), by, NewRequest{Suite: "small", Kind: events.Master, Tag: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	appended(t, log, events.RequestStarted{RequestID: r.ID, Definitions: definitions().Digest()})
	wish := events.GraphWanted{Key: "k", Kind: events.GraphAdded, Labels: []string{"doc/amd/0/gc/opt"}}
	if _, a, err := c.Want(t.Context(), by, r.ID, wish); err != nil || a.Existed {
		t.Fatal(a, err)
	}
	appended(t, log, events.GraphCreated{RequestID: r.ID, Graph: 1, Kind: events.GraphAdded, Key: "k", Jobs: 2},
		events.JobsCreated{RequestID: r.ID, Key: "k", Jobs: []events.JobSpec{}, Graph: &events.GraphPart{Graph: 1, Shared: []events.SharedJob{{Number: 0, ID: "j1", Added: true}, {Number: 1, ID: "j2"}}}})
	answer, err := c.WishAnswer(t.Context(), r.ID, "k")
	if err != nil || !answer.Answered || answer.Graph == nil || *answer.Graph != 1 || len(answer.Jobs) > 0 || !slices.Equal(answer.Shared, []events.JobID{"j1"}) {
		t.Errorf("%+v %v", answer, err)
	}
	forced := Repair{Key: "f", Jobs: []events.JobID{"j1122334455667788"}, Rerun: true, Force: true}
	_, _, err = c.RepairRequest(t.Context(), by, r.ID, forced)
	refused(t, err, Invalid, "say why jobs that succeeded are to run again")
	forced.Reason = "the disk was full"
	if _, _, err := c.RepairRequest(t.Context(), by, r.ID, forced); err != nil {
		t.Error(err)
	}
}
