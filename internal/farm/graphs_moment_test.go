package farm

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/shell"
)

// A wish for more jobs comes at the moment at which its request ends: a scheduler has decided the end and not recorded it. If
// the wish is recorded first, the log refuses the end, and the request ends after the answer. Else it is a wish for a request
// that has ended. It is answered once in both cases.
func TestAWishAtTheEndOfItsRequest(t *testing.T) {
	kinds := []events.GraphKind{events.GraphRerun, events.GraphRepair, events.GraphRetrigger, events.GraphNoise, events.GraphAdded}
	met := map[bool]int{}
	for seed := range uint64(10 * len(kinds)) {
		synctest.Test(t, func(t *testing.T) {
			w := newGraphWorld(t, rand.New(rand.NewPCG(seed, 23)))
			first := seed%2 == 0
			wish := events.GraphWanted{Key: "late", Kind: kinds[int(seed/2)%len(kinds)]}
			if wish.Kind.Sampled() {
				wish.Copies = 2
			}
			end, id := w.untilTheEnd()
			if end == nil {
				return // its jobs cannot run here
			}
			wish.RequestID = id
			if first {
				w.say(wish)
			}
			_, err := end.Do(t.Context())
			if _, conflict := errors.AsType[*eventlog.ConflictError](err); conflict != first || err != nil && !conflict {
				t.Fatalf("seed %d: the end: %v, with the wish first: %v", seed, err, first)
			}
			w.read()
			if ended := w.ledger.Requests[id].State.Terminal(); ended == first {
				t.Fatalf("seed %d: the request has ended: %v, with the wish first: %v", seed, ended, first)
			}
			if !first {
				w.say(wish)
			}
			w.settle()
			if n := w.answers(id, wish.Key); n != 1 {
				t.Errorf("seed %d: the wish for %s has %d answers", seed, wish.Kind, n)
			}
			met[first]++
		})
	}
	if met[true] < len(kinds) || met[false] < len(kinds) {
		t.Errorf("played %v", met)
	}
}

// untilTheEnd plays until a scheduler has decided the end of a request, and returns that decision; nil if there is none.
func (w *graphWorld) untilTheEnd() (*shell.Step, events.RequestID) {
	w.ask()
	for range 300 {
		for _, step := range w.scheduler.Decide(w.ledger, w.now) {
			if step.What == "end request" {
				return &step, w.asked[0]
			}
		}
		w.decide()
		for _, lane := range w.lanes {
			w.work(lane)
		}
		w.pass(time.Second)
	}
	return nil, ""
}

// answers counts the answers to a wish.
func (w *graphWorld) answers(id events.RequestID, key string) (n int) {
	history, err := w.log.Read(w.t.Context(), events.RequestSubject(id))
	if err != nil {
		w.t.Fatal(err)
	}
	batch := events.Seq(0)
	for _, e := range history {
		// Only these are answers.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.JobsCreated:
			if f.Key == key && e.Seq != batch+1 { // a batch is one answer
				n++
			}
			batch = e.Seq
		case events.GraphRefused:
			if f.Key == key {
				n++
			}
		}
	}
	return n
}
