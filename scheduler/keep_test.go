package scheduler

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// A request has the jobs that it was given, and no others, whatever other requests for the same artifacts had made since:
// while it is in progress, after it has released its jobs, and once a wish has given them back to it.
func TestARequestKeepsItsJobs(t *testing.T) {
	released := 0
	for seed := range uint64(keepWorlds) {
		r := rand.New(rand.NewPCG(seed, 13))
		named := &seeded{TB: t, seed: seed}
		d := manyProfiles(r)
		f := newGraphFarm(named, d)
		named.farm, f.random = f, r
		var asked []events.RequestID
		for range 50 + r.IntN(150) {
			switch k := r.IntN(24); {
			case k < 4 && len(asked) < 14:
				asked = append(asked, f.askForSome(len(asked)))
			case k == 4 && len(asked) > 0:
				if id := asked[r.IntN(len(asked))]; !f.state.Requests[id].State.Terminal() {
					f.fold(events.RequestCancelled{RequestID: id})
				}
			case k < 7 && len(asked) > 0:
				if id := asked[r.IntN(len(asked))]; !f.state.Requests[id].StartedAt.IsZero() {
					f.wishAtRandom(id)
				}
			case k == 7 && r.IntN(10) == 0:
				d.Profiles = append(slices.Clip(d.Profiles), suite.Profile{Name: events.Profile(fmt.Sprint("p", len(d.Profiles)))})
				f.fold(events.DefinitionsPublished{Suite: d.Name, Digest: d.Digest(), Content: d.Canonical()})
			default:
				if !f.work() {
					f.decide()
				}
			}
			released += f.keeps(asked)
		}
	}
	if released == 0 {
		t.Error("no request has released its jobs")
	}
}

// manyProfiles returns random definitions in which requests can ask for different jobs of one artifact.
func manyProfiles(r *rand.Rand) suite.Definitions {
	d := randomKinds(r)
	d.Categories = map[events.RequestKind][]suite.Category{events.Master: {suite.Primary}, events.Try: {suite.Primary, suite.Secondary}, events.Release: {suite.Stable}}
	d.Profiles = append(d.Profiles, suite.Profile{Name: "q"}, suite.Profile{Name: "x", OnRequest: true})
	for i := range d.Kinds {
		if r.IntN(2) == 0 {
			d.Kinds[i].PerProfile, d.Kinds[i].Profile = true, ""
		}
	}
	return d
}

// askForSome creates a request for an artifact that others may have asked for, with parameters of its own.
func (f *graphFarm) askForSome(n int) events.RequestID {
	r, id := f.random, events.RequestID(fmt.Sprint("r", n))
	created := events.RequestCreated{
		RequestID: id, Kind: []events.RequestKind{events.Master, events.Try}[r.IntN(2)], Suite: "s", Tag: events.Tag(fmt.Sprint("t", r.IntN(4))),
		Key: fmt.Sprint(n), State: events.StateArtifactsReady,
	}
	if parent := events.Tag(fmt.Sprint("t", r.IntN(4))); parent != created.Tag {
		created.Parent = parent
	}
	created.Parameters.Profiles = [][]events.Profile{nil, nil, {"q"}, {"x"}, {"q", "x"}}[r.IntN(5)]
	created.Parameters.Targets = [][]events.Target{nil, nil, {"here"}}[r.IntN(3)]
	created.Parameters.Benchmarks = [][]string{nil, nil, {"b*"}}[r.IntN(3)]
	f.fold(created)
	return id
}

// keeps compares the jobs that requests have with those that the log gave them. It counts the requests that have released
// theirs.
func (f *graphFarm) keeps(asked []events.RequestID) (released int) {
	if f.state.Owed > 0 { // half of a batch is folded
		return 0
	}
	first, given := map[events.JobID]events.JobID{}, map[events.RequestID]map[events.JobID]bool{}
	for _, id := range asked {
		given[id] = map[events.JobID]bool{}
	}
	for _, e := range f.log {
		// The others give no jobs.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.JobsCreated:
			for _, spec := range fact.Jobs {
				if first[spec.ID] = spec.First(); spec.Sample == "" {
					given[fact.RequestID][spec.First()] = true
				}
			}
		case events.RequestStarted:
			for _, id := range fact.Shared {
				given[fact.RequestID][first[id]] = true
			}
		}
	}
	for _, id := range asked {
		r, has := f.state.Requests[id], map[events.JobID]bool{}
		for _, j := range f.state.NewestRounds(r) {
			has[j.Spec().First()] = true
		}
		if !maps.Equal(has, given[id]) {
			f.t.Fatalf("request %s, which is %s, has the jobs %v, and was given %v", id, r.State, slices.Sorted(maps.Keys(has)), slices.Sorted(maps.Keys(given[id])))
		}
		if r.State.Terminal() && len(given[id]) > 0 && len(r.Jobs)+len(r.Shared) == 0 {
			released++
		}
	}
	return released
}
