package door

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// ours and theirs are outputs of other lanes: only the first one is an input of the job in hand.
var ours, theirs = blob.OutputOf("ours", []byte("ours")), blob.OutputOf("theirs", []byte("theirs"))

// watched is a store that fails the test if it is asked for what the collector may not have.
type watched struct{ t *testing.T }

func (w watched) own(lane events.Lane, job events.JobID) {
	if lane != ownLane || job != "j2" {
		w.t.Errorf("it stores under lane %v for job %q", lane, job)
	}
}

func (w watched) mayHave(lane events.Lane, digest events.Digest) {
	if lane != ownLane && (lane != otherLane || digest != ours.Digest) {
		w.t.Errorf("it fetches %q of lane %v", digest, lane)
	}
}

func (w watched) Begin(_ context.Context, wish blob.Wish) (blob.Place, bool, error) {
	w.own(wish.Lane, wish.Job)
	return blob.Place{}, false, nil
}

func (w watched) Chunk(_ context.Context, job events.JobID, p blob.Place, _ int, data []byte) error {
	w.own(p.Lane, job)
	if len(data) > MaxRequest {
		w.t.Errorf("a chunk of %d bytes", len(data))
	}
	return nil
}

func (w watched) Finish(_ context.Context, job events.JobID, p blob.Place) (bool, error) {
	w.own(p.Lane, job)
	return true, nil
}

func (w watched) Open(_ context.Context, lane events.Lane, digest events.Digest) (blob.Place, int64, error) {
	w.mayHave(lane, digest)
	return blob.Place{}, 0, nil
}

func (w watched) Piece(_ context.Context, p blob.Place, _ int) ([]byte, error) {
	w.mayHave(p.Lane, p.Digest)
	return []byte("x"), nil
}

// Whatever bytes a collector sends, the store is asked only for what the collector may store and fetch.
func FuzzOutputs(f *testing.F) {
	verbs := []Verb{verbBegin, verbChunk, verbFinish, verbOpen, verbPiece}
	seed := func(v any, chunk string) {
		text, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		for i := range verbs {
			f.Add(i, blob.Encode(text, []byte(chunk)))
			f.Add(i, text)
		}
	}
	for _, lane := range []events.Lane{ownLane, otherLane, {Target: "*", Set: -1}} {
		for _, o := range []events.Output{ours, theirs} {
			seed(request{Version: 1, JobID: "j2", Wish: &blob.Wish{Lane: lane, Job: "j2", Output: o}, Place: &blob.Place{Lane: lane, Digest: o.Digest, Put: strings.Repeat("0", 32)}}, "\x00\n\xff")
			seed(request{Version: 1, JobID: "j1", After: 5, N: -1, Wish: &blob.Wish{Lane: lane, Job: "j1", Output: o}, Place: &blob.Place{Lane: lane}}, "")
		}
	}
	f.Add(0, []byte("{}"))
	f.Add(1, []byte("\n\n"))
	f.Add(7, []byte(`{"v":1,"place":{"lane":{"target":null,"set":1e3}},"n":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, verb int, data []byte) {
		v := verbs[uint(verb)%uint(len(verbs))]
		var req request
		if unmarshal(v, data, &req) != nil {
			return
		}
		l := &shelf{Ledger: ledger.New(), current: true}
		spec := specOn(ownLane, "j2")
		spec.Inputs = []events.Input{{Output: ours, JobID: "j1", Lane: otherLane}}
		for i, fact := range []events.Fact{
			events.RegistryOpened{},
			events.CollectorRegistered{Name: "eider", Target: ownLane.Target, Set: ownLane.Set},
			events.JobDispatched{Place: 1, Job: spec},
			events.JobDequeued{Lane: ownLane, Place: 1, Job: spec, Collector: "eider", Instance: "1", Attempt: 1},
		} {
			if _, err := l.Take(recorded(t, events.Seq(i+1), fact)); err != nil {
				t.Fatal(err)
			}
		}
		guard := NewGuard(DefaultBounds(), time.Now)
		guard.Learn(l)
		d := New(Config{Log: memory.New(memory.Config{}), Outputs: watched{t}, Guard: guard})
		out := d.outputs(t.Context(), v, "eider", ownLane, req)
		if out.Refusal == nil && v == verbPiece && len(out.chunk) == 0 {
			t.Error("a piece without content")
		}
	})
}
