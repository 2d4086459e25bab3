package job

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

var (
	lane  = events.Lane{Target: "t", Set: 0}
	start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
)

func spec(id events.JobID) events.JobSpec {
	return events.JobSpec{ID: id, RequestID: "r1", Target: "t"}
}

func dequeue(place uint64, id events.JobID, collector events.CollectorName, instance string) Dequeue {
	return Dequeue{Place: place, Job: spec(id), Collector: collector, Instance: instance, MaxAttempts: 3}
}

// history runs commands on a lane as the log would: each decision is recorded before the next.
type history struct {
	t     testing.TB
	state Lane
	seq   events.Seq
	last  events.Recorded
}

func (h *history) do(c Command) ([]events.Fact, error) {
	facts, err := Decide(h.state, lane, c)
	for _, f := range facts {
		h.seq++
		at := start.Add(time.Duration(h.seq) * time.Second)
		h.state = Evolve(h.state, f, h.seq, at)
		if _, ok := f.(events.WorkFact); ok {
			h.last = events.Recorded{Seq: h.seq, Event: events.Event{Time: at, Fact: f}}
		}
	}
	return facts, err
}

func (h *history) must(c Command) []events.Fact {
	h.t.Helper()
	facts, err := h.do(c)
	if err != nil {
		h.t.Fatal(err)
	}
	return facts
}

func (h *history) refused(c Command) {
	h.t.Helper()
	_, err := h.do(c)
	if _, ok := errors.AsType[*Refusal](err); !ok {
		h.t.Fatalf("%#v: got %v, want a refusal", c, err)
	}
}

func TestAJobIsDequeuedAndFinishedOnce(t *testing.T) {
	h := &history{t: t}
	h.must(dequeue(1, "a", "c0", "i1"))
	token := h.state.Token
	h.must(Finish{Token: token, Outcome: events.Success, At: start.Add(time.Minute)})
	if h.state.Phase != Ended {
		t.Fatalf("phase %s", h.state.Phase)
	}
	h.refused(Finish{Token: token, Outcome: events.Failure})
	if facts := h.must(dequeue(1, "a", "c0", "i1")); facts != nil {
		t.Errorf("a redelivery of an ended job gave %v", facts)
	}
}

func TestAJobIsNotDequeuedBeforeTheOneBeforeItEnded(t *testing.T) {
	h := &history{t: t}
	h.must(dequeue(1, "a", "c0", "i1"))
	h.refused(dequeue(2, "b", "c0", "i1"))
	h.must(Release{Token: h.state.Token, Reason: "shutdown"})
	h.refused(dequeue(2, "b", "c0", "i1"))
}

func TestNobodyTakesACurrentAttempt(t *testing.T) {
	h := &history{t: t}
	h.must(dequeue(1, "a", "c0", "i1"))
	h.refused(dequeue(1, "a", "c1", "i9"))
	h.refused(dequeue(1, "a", "c0", "i1"))
}

func TestASuccessorTakesOverAndTheZombieIsRefused(t *testing.T) {
	h := &history{t: t}
	h.must(dequeue(1, "a", "c0", "i1"))
	zombie := h.state.Token
	facts := h.must(dequeue(1, "a", "c0", "i2"))
	if len(facts) != 3 || facts[2] != (events.ResultsClosed{Lane: lane, JobID: "a", Attempt: 1, Token: zombie}) {
		t.Fatalf("want a loss, an attempt, and that the results of the first are closed, got %v", facts)
	}
	if h.state.Attempt != 2 || h.state.Lost != 1 {
		t.Errorf("attempt %d, lost %d", h.state.Attempt, h.state.Lost)
	}
	h.refused(Finish{Token: zombie, Outcome: events.Success})
	h.refused(Lose{Token: zombie})
	h.must(Finish{Token: h.state.Token, Outcome: events.Success})
}

func TestCrashesSpendTheBudgetAndThenTheJobFails(t *testing.T) {
	h := &history{t: t}
	for i := range 3 {
		h.must(dequeue(1, "a", "c0", "i1"))
		if h.state.Attempt != i+1 {
			t.Fatalf("attempt %d", h.state.Attempt)
		}
		h.must(Lose{Token: h.state.Token, Reason: "silence"})
	}
	h.must(dequeue(1, "a", "c0", "i1"))
	f, ok := h.last.Fact.(events.JobFinished)
	if !ok || f.Outcome != events.Failure || f.Token != 0 || !strings.Contains(f.Reason, "3 executions") {
		t.Errorf("got %#v", h.last.Fact)
	}
}

func TestShutdownsAndTransientErrorsSpendNoAttempt(t *testing.T) {
	h := &history{t: t}
	for range 10 {
		h.must(dequeue(1, "a", "c0", "i1"))
		h.must(Release{Token: h.state.Token, Reason: "drain"})
		h.must(dequeue(1, "a", "c0", "i1"))
		h.must(Release{Token: h.state.Token, Reason: "503", Transient: true, At: start, Deadline: time.Hour})
	}
	if h.state.Lost != 0 || h.state.Attempt != 20 {
		t.Errorf("lost %d, attempt %d", h.state.Lost, h.state.Attempt)
	}
}

func TestTransientErrorsEndAtTheirDeadline(t *testing.T) {
	h := &history{t: t}
	h.must(dequeue(1, "a", "c0", "i1"))
	h.must(Release{Token: h.state.Token, Reason: "503", Transient: true, At: start, Deadline: time.Hour})
	h.must(dequeue(1, "a", "c0", "i1"))
	h.must(Release{Token: h.state.Token, Reason: "503", Transient: true, At: start.Add(59 * time.Minute), Deadline: time.Hour})
	h.must(dequeue(1, "a", "c0", "i1"))
	h.must(Release{Token: h.state.Token, Reason: "503", Transient: true, At: start.Add(time.Hour), Deadline: time.Hour})
	if f, ok := h.last.Fact.(events.JobFinished); !ok || f.Outcome != events.Failure {
		t.Errorf("got %#v", h.last.Fact)
	}
}

func TestAWithdrawnJobIsNotDequeued(t *testing.T) {
	h := &history{t: t}
	h.must(Withdraw{Place: 1, Job: spec("a"), Reason: "cancelled"})
	if facts := h.must(dequeue(1, "a", "c0", "i1")); facts != nil {
		t.Errorf("got %v", facts)
	}
	h.must(dequeue(2, "b", "c0", "i1"))
	h.refused(Withdraw{Place: 2, Job: spec("b")})
	h.refused(Withdraw{Place: 3, Job: spec("c")})
}

// Any commands in any order: places only grow, an ended place stays ended, at most one token is ever current, and the
// last fact alone gives the state.
func TestInvariantsUnderRandomCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{}
		var tokens []events.Seq
		ended := map[uint64]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			before := h.state
			token := events.Seq(rapid.IntRange(0, int(h.seq)+1).Draw(t, "token"))
			if rapid.Bool().Draw(t, "honest") {
				token = h.state.Token
			}
			at := start.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "at")) * time.Minute)
			place := uint64(rapid.IntRange(1, 6).Draw(t, "place"))
			id := events.JobID(rune('a' + place))
			facts, err := h.do(rapid.OneOf(
				rapid.Just[Command](Dequeue{
					Place: place, Job: spec(id), MaxAttempts: 3,
					Collector: rapid.SampledFrom([]events.CollectorName{"c0", "c1"}).Draw(t, "collector"),
					Instance:  rapid.SampledFrom([]string{"i1", "i2"}).Draw(t, "instance"),
				}),
				rapid.Just[Command](Finish{Token: token, Outcome: events.Success, At: at}),
				rapid.Just[Command](Lose{Token: token}),
				rapid.Just[Command](Release{Token: token, Transient: rapid.Bool().Draw(t, "transient"), At: at, Deadline: time.Hour}),
				rapid.Just[Command](Withdraw{Place: place, Job: spec(id)}),
				rapid.Just[Command](Move{Place: place, JobID: id, Lost: rapid.Bool().Draw(t, "lost")}),
			).Draw(t, "command"))
			if err != nil && len(facts) > 0 {
				t.Fatal("refused and recorded")
			}
			if h.state.Place < before.Place {
				t.Fatalf("place went back from %d to %d", before.Place, h.state.Place)
			}
			if ended[h.state.Place] && h.state.Phase != Ended {
				t.Fatalf("place %d is open again", h.state.Place)
			}
			if h.state.Phase == Ended {
				ended[h.state.Place] = true
			}
			if h.state.Phase == Current && h.state.Token != before.Token {
				tokens = append(tokens, h.state.Token)
			}
			for _, f := range facts {
				if _, ok := f.(events.JobDequeued); ok && before.Phase == Current && len(facts) == 1 {
					t.Fatal("an attempt began while another was current")
				}
			}
			if h.last.Fact != nil {
				alone := Evolve(Lane{}, h.last.Fact, h.last.Seq, h.last.Time)
				if diff := cmp.Diff(h.state, alone); diff != "" {
					t.Fatalf("the last fact does not tell the state (-state +alone):\n%s", diff)
				}
			}
		}
		for i := 1; i < len(tokens); i++ {
			if tokens[i] <= tokens[i-1] {
				t.Fatalf("tokens %v do not grow", tokens)
			}
		}
	})
}

func TestAClockThatWasSetBackLeavesTheDurationUnknown(t *testing.T) {
	began := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	running := Lane{Place: 1, Phase: Current, JobID: "j1", Collector: "c", Token: 7, Attempt: 1, StartedAt: began}
	facts, err := Decide(running, events.Lane{Target: "here"}, Finish{Token: 7, Outcome: events.Success, At: began.Add(-time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if f := facts[0].(events.JobFinished); f.DurationMS != 0 {
		t.Errorf("it took %d ms", f.DurationMS)
	}
}
