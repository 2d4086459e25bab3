package ledger

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"pgregory.net/rapid"
)

// The past keeps of an ended job what later decisions need, also after a snapshot.
func TestThePastKnowsHowJobsEnded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Past
		n := newNames()
		want := map[events.JobID]*Job{}
		for i := range rapid.IntRange(0, 30).Draw(t, "jobs") {
			spec := events.JobSpec{
				Artifact: events.Artifact{Suite: "s", Tag: events.Tag(rapid.StringMatching("t[0-9]").Draw(t, "tag")), Kind: rapid.SampledFrom(pastKinds).Draw(t, "kind")},
				Kind:     "compile", Target: "t", Profile: events.Profile(rapid.StringMatching("p[0-9]").Draw(t, "profile")),
				Optional: rapid.Bool().Draw(t, "optional"), Backfill: rapid.Bool().Draw(t, "backfill"), Round: i,
				Definitions: events.Digest(rapid.StringMatching("[ab]").Draw(t, "digest")), RequestID: events.RequestID(rapid.StringMatching("r[0-9]").Draw(t, "request")),
			}
			spec.ID = spec.First() + events.JobID(rapid.StringMatching("[0-9]*").Draw(t, "id"))
			life := job.Life{
				State: rapid.SampledFrom(pastStates).Draw(t, "state"), Fault: rapid.SampledFrom(faults).Draw(t, "fault"),
				Place:   uint64(rapid.Uint32().Draw(t, "place")),
				EndedAt: time.Unix(int64(rapid.Uint32Min(1).Draw(t, "ended")), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC(),
			}
			want[spec.ID] = n.job(spec, &course{Life: life})
			p.add(want[spec.ID])
		}
		image, err := p.freeze().image()
		if err != nil {
			t.Fatal(err)
		}
		again, err := image.restore()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []Past{p, again} {
			if p.Len() != len(want) {
				t.Fatalf("%d jobs, want %d", p.Len(), len(want))
			}
			for id, j := range want {
				identity := j.Spec()
				identity.Definitions, identity.RequestID, identity.Optional, identity.Backfill, identity.Artifact.Kind = "other", "other", false, false, events.Try
				got, ok := p.job(identity)
				if !ok || !sameJob(got, j) || got.State != j.State || got.Fault != j.Fault || got.Place != j.Place || !got.EndedAt.Equal(j.EndedAt.Truncate(time.Second)) {
					t.Fatalf("job %s is %+v %+v, want %+v %+v", id, got.Spec(), got.Life, j.Spec(), j.Life)
				}
				if !p.forget(id) || p.has(id) || p.forget(id) {
					t.Fatalf("job %s is not forgotten once", id)
				}
			}
		}
	})
}

// The list and the small map together are a map, however often the list is made anew.
func TestRecordsAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r records
		want := map[uint64]past{}
		seed := rapid.Uint64().Draw(t, "seed")
		random := rand.New(rand.NewPCG(seed, 1))
		const shelves, each = 1 << shelfBits, 4 * leastFresh
		for range rapid.IntRange(0, 2*shelves*each).Draw(t, "steps") {
			hash := random.Uint64N(shelves)<<(64-shelfBits) + random.Uint64N(each)
			_, had := want[hash]
			if random.IntN(3) == 0 {
				if r.forget(hash) != had {
					t.Fatalf("forgetting %d does not say %t", hash, had)
				}
				delete(want, hash)
				continue
			}
			want[hash] = past{Maker: 1 + random.Uint32N(9), Place: random.Uint32()}
			r.put(hash, want[hash])
		}
		var last *pastRecord
		got := map[uint64]past{}
		for one := range r.all() {
			if last != nil && one.Hash <= last.Hash {
				t.Fatalf("%d after %d", one.Hash, last.Hash)
			}
			last = &one
			got[one.Hash] = one.past
			if at, ok := r.get(one.Hash); !ok || at != one.past {
				t.Fatalf("%d is %+v %t, listed as %+v", one.Hash, at, ok, one.past)
			}
		}
		if !maps.Equal(got, want) || r.len() != len(want) {
			t.Fatalf("%d records, length %d, want %d", len(got), r.len(), len(want))
		}
		var again records
		again.shelve(slices.Collect(r.all()))
		if !slices.Equal(slices.Collect(again.all()), slices.Collect(r.all())) || again.len() != len(want) {
			t.Fatal("they are others once they were put into shelves again")
		}
	})
}

func sameJob(a, b *Job) bool {
	x, y := a.Spec(), b.Spec()
	return x.ID == y.ID && x.Artifact == y.Artifact && x.Definitions == y.Definitions && x.RequestID == y.RequestID &&
		x.Optional == y.Optional && x.Backfill == y.Backfill && x.Round == y.Round && x.Lane() == y.Lane() && x.Profile == y.Profile
}

func TestADamagedPastIsRefused(t *testing.T) {
	var p Past
	n := newNames()
	p.add(n.job(events.JobSpec{ID: "j1"}, &course{Life: job.Life{State: events.JobSuccess}}))
	whole, err := p.freeze().image()
	if err != nil {
		t.Fatal(err)
	}
	size := len(whole.Jobs)
	for name, damage := range map[string]func(*pastImage){
		"cut off":        func(i *pastImage) { i.Jobs = i.Jobs[:size-1] },
		"no such state":  func(i *pastImage) { i.Jobs[size-2] = 3 },
		"no such fault":  func(i *pastImage) { i.Jobs[size-1] = 255 },
		"no such maker":  func(i *pastImage) { i.Makers = nil },
		"out of order":   func(i *pastImage) { i.Jobs = append(i.Jobs, i.Jobs...) },
		"no such digest": func(i *pastImage) { i.Digests = nil },
	} {
		i := whole
		i.Jobs = append([]byte(nil), whole.Jobs...)
		damage(&i)
		if _, err := i.restore(); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// Jobs share only what is equal, whatever text is in a filter.
func TestJobsAlikeKeepTheirOwnFilters(t *testing.T) {
	n := newNames()
	for _, filter := range [][]string{{"a", "b"}, {"a\nb"}, {"a b"}, {`a" "b`}, {"a,b"}, nil} {
		for range 2 {
			spec := events.JobSpec{ID: "j1", Target: "t", Benchmarks: filter, Measures: filter}
			if got := n.job(spec, justMade).Spec(); !slices.Equal(got.Benchmarks, filter) || !slices.Equal(got.Measures, filter) {
				t.Errorf("%q became %q and %q", filter, got.Benchmarks, got.Measures)
			}
		}
	}
}
