package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/suite"
)

// lasts lets the ledger know one job of each kind that took so many seconds.
func (f *graphFarm) lasts(seconds map[events.JobKind]int) {
	clear(f.state.Lengths)
	for _, spec := range f.specs() {
		if s, known := seconds[spec.Kind]; known {
			j := f.state.Find(spec)
			f.state.Lengths[j.Sort()] = []time.Duration{time.Duration(s) * time.Second}
		}
	}
}

// specs returns all jobs that were made.
func (f *graphFarm) specs() (all []events.JobSpec) {
	for _, e := range f.log {
		if made, is := e.Fact.(events.JobsCreated); is {
			all = append(all, made.Jobs...)
		}
	}
	return all
}

// ranked returns the kinds of the jobs of the newest graph in the order of their ranks, with their costs in seconds; "none" if it
// has no ranks.
func (f *graphFarm) ranked() string {
	type one struct {
		rank int
		text string
	}
	var all []one
	for _, e := range f.log {
		made, is := e.Fact.(events.JobsCreated)
		if !is {
			continue
		}
		all = nil
		for i, spec := range made.Jobs {
			if made.Graph == nil || len(made.Graph.Rank) == 0 {
				return "none"
			}
			all = append(all, one{made.Graph.Rank[i], fmt.Sprint(spec.Kind, " ", made.Graph.CostMS[i]/1000)})
		}
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(a.rank, b.rank) })
	var words []string
	for _, o := range all {
		words = append(words, o.text)
	}
	return strings.Join(words, ", ")
}

// What took long decides the order of the graphs that are made after it, and of no other. A scheduler that reads the log anew
// has the same order, and jobs that run again keep it.
func TestRanksFollowWhatWasMeasured(t *testing.T) {
	f := newGraphFarm(t, kinds("a b:a c d:c"))
	first := f.ask("t1", "", events.Master)
	for f.decide() {
	}
	if got := f.ranked(); got != "a 600, c 600, b 600, d 600" {
		t.Errorf("nothing is known, and the order is %s", got)
	}
	ranks := func(id events.RequestID) string { return fmt.Sprint(f.state.Graphs[id][0].Ranks) }
	before := ranks(first)
	f.lasts(map[events.JobKind]int{"a": 10, "b": 20, "c": 30, "d": 5})
	if got := ranks(first); got != before {
		t.Errorf("the order of a graph that was made before changed from %s to %s", before, got)
	}
	f.settle()
	f.lasts(map[events.JobKind]int{"a": 10, "b": 20, "c": 30, "d": 5})
	second := f.ask("t2", "", events.Master)
	for f.decide() {
	}
	if got := f.ranked(); got != "c 30, a 10, b 20, d 5" {
		t.Errorf("the order is %s", got)
	}
	before = ranks(second)
	replayed := newState()
	for _, e := range f.log {
		replayed.Fold(e)
	}
	if got := fmt.Sprint(replayed.Graphs[second][0].Ranks); got != before {
		t.Errorf("a replay has the order %s, want %s", got, before)
	}
	data, err := replayed.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	restored, err := ledger.Restore(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(restored.Graphs[second][0].Ranks); got != before {
		t.Errorf("a snapshot has the order %s, want %s", got, before)
	}
	f.ran = nil
	f.settle()
	if got := strings.Join(f.ran, " "); got != "c a d b" { // a lane holds one job ahead: d, when a begins
		t.Errorf("they ran in the order %s", got)
	}
}

func TestRerunKeepsCostAndRank(t *testing.T) {
	f := newGraphFarm(t, kinds("a b:a c"))
	f.ends["a"] = "-+"
	id := f.ask("t1", "", events.Master)
	f.until("a")
	before := fmt.Sprint(f.state.Graphs[id][0].Ranks)
	f.rerun(id, "a")
	for f.decide() {
	}
	made := f.log[len(f.log)-1]
	for _, e := range f.log {
		if _, is := e.Fact.(events.JobsCreated); is {
			made = e
		}
	}
	part := made.Fact.(events.JobsCreated).Graph
	if len(part.Again) != 1 || len(part.Rank)+len(part.CostMS) > 0 || fmt.Sprint(f.state.Graphs[id][0].Ranks) != before {
		t.Errorf("a rerun has %+v, and the ranks are %v, want %s", part, f.state.Graphs[id][0].Ranks, before)
	}
}

// A graph without needs is in the order of creation, as ever.
func TestGraphsWithoutNeedsHaveNoRanks(t *testing.T) {
	f := newGraphFarm(t, kinds("a b c"))
	f.ask("t1", "", events.Master)
	for f.decide() {
	}
	if got := f.ranked(); got != "none" {
		t.Errorf("the order is %s", got)
	}
	f.rule = events.FailFast
	f.ask("t2", "", events.Master)
	for f.decide() {
	}
	if got := f.ranked(); got != "none" {
		t.Errorf("with a rule the order is %s", got)
	}
}

// Commands measure nothing, and still tell how long others like them take. What was tried again does not.
func TestCommandsHaveCosts(t *testing.T) {
	d := kinds("a b:a c:a")
	d.Kinds[0].Does, d.Kinds[0].Steps = suite.DoesCommand, [][]string{{"true"}}
	f := newGraphFarm(t, d)
	f.ends["b"] = "~+"
	f.ask("t1", "", events.Master)
	f.settle()
	for _, spec := range f.specs() {
		got := f.state.Lengths.Expect(f.state.Find(spec).Sort())
		if want := spec.Kind != "b"; got.Known != want || want && got.Length != time.Second {
			t.Errorf("%s takes %+v", spec.Kind, got)
		}
	}
}

func TestCostsComeFromWhatIsAlike(t *testing.T) {
	day := 24 * time.Hour
	for _, test := range []struct {
		name  string
		knows func(l ledger.Lengths, one queue.Sort)
		want  string
	}{
		{"no history", func(ledger.Lengths, queue.Sort) {}, "a 600, b 600"},
		{"a history of one", func(l ledger.Lengths, a queue.Sort) { l[a] = []time.Duration{time.Minute} }, "a 60, b 60"},
		{"a history of less than a millisecond", func(l ledger.Lengths, a queue.Sort) { l[a] = []time.Duration{1} }, "a 0, b 0"},
		{"thirty days", func(l ledger.Lengths, a queue.Sort) { l[a] = slices.Repeat([]time.Duration{30 * day}, 10) }, "a 2592000, b 2592000"},
		{"another profile of the kind", func(l ledger.Lengths, a queue.Sort) {
			a.Profile = "other"
			l[a] = []time.Duration{time.Minute}
		}, "a 60, b 60"},
		{"another lane", func(l ledger.Lengths, a queue.Sort) {
			a.Lane.Set += 7
			l[a] = []time.Duration{time.Second, 2 * time.Second, 9 * time.Second}
		}, "a 2, b 2"},
		{"another suite", func(l ledger.Lengths, a queue.Sort) {
			a.Suite = "other"
			l[a] = []time.Duration{time.Minute}
		}, "a 600, b 600"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newGraphFarm(t, kinds("a b:a"))
			f.ask("t1", "", events.Master)
			f.settle()
			clear(f.state.Lengths)
			test.knows(f.state.Lengths, f.state.Find(f.specs()[0]).Sort())
			f.ask("t2", "", events.Master)
			for f.decide() {
			}
			if got := f.ranked(); got != test.want {
				t.Errorf("the costs are %s, want %s", got, test.want)
			}
		})
	}
}
