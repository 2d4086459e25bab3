package farm

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// offering are definitions that offer two graphs and an option: a smoke test, and with option slow a second kind.
func offering() suite.Definitions {
	d := ruleSuite(1)
	d.Version = 2
	smoke := d.Kinds[0]
	smoke.Name, smoke.Backfill, smoke.Shared = "smoke", false, true
	slow := d.Kinds[0]
	slow.Name, slow.When, slow.Backfill = "slow", "slow = 'on'", false
	d.Kinds = append(d.Kinds, smoke, slow)
	for _, kind := range []events.JobKind{"smoke", "slow"} {
		b := d.Benchmarks[0]
		b.Kind, b.Name = kind, events.Benchmark("b-"+kind)
		d.Benchmarks = append(d.Benchmarks, b)
	}
	d.Options = []suite.Option{{Name: "slow", Values: []string{"off", "on"}}}
	d.Graphs = []suite.Graph{{Name: "all"}, {Name: "quick", Kinds: []events.JobKind{"smoke"}}}
	d.Branches = []suite.Branch{{Match: "release/*", Options: map[string]string{"slow": "on"}, Customise: suite.CustomiseOptions}}
	return d
}

// Requests get the jobs of what they choose, with the definitions that their branch uses when they start.
func TestBranchesAndOptionsMakeTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{Farm: New(t, offering(), policy), bench: &Bench{Each: minute}, names: map[events.RequestID]string{}}
		defer s.Stop()
		s.Register("c0", laneHere)
		s.Start("c0", laneHere, "p0", s.bench)
		ran := func(tag string, n control.NewRequest) string {
			t.Helper()
			n.Kind, n.Tag = events.Try, events.Tag(tag)
			id := s.create(n)
			start := s.awaitStart(id)
			s.until(id)
			var kinds []events.JobKind
			for _, e := range s.Events() {
				if f, ok := e.Fact.(events.JobsCreated); ok && f.RequestID == id {
					for _, j := range f.Jobs {
						kinds = append(kinds, j.Kind)
					}
				}
			}
			return fmt.Sprintf("%v %s %s %v", kinds, start.Template.Graph, start.Template.Branch, start.Template.Options)
		}
		got := map[string]string{
			"defaults":             ran("t1", control.NewRequest{}),
			"a graph":              ran("t2", control.NewRequest{Graph: "quick"}),
			"an option":            ran("t3", control.NewRequest{Options: map[string]string{"slow": "on"}}),
			"a branch":             ran("t4", control.NewRequest{Branch: "release/1.2"}),
			"against its branch":   ran("t5", control.NewRequest{Branch: "release/1.2", Options: map[string]string{"slow": "off"}}),
			"another branch":       ran("t6", control.NewRequest{Branch: "main"}),
			"option without graph": ran("t7", control.NewRequest{Graph: "quick", Options: map[string]string{"slow": "on"}}),
		}
		old := offering()
		old.Graphs = old.Graphs[1:] // the old line measures only quickly
		if _, err := s.Control.PublishFrom(s.ctx, By, old, control.Origin{Branch: "release/1.0"}); err != nil {
			t.Fatal(err)
		}
		got["definitions of its own"] = ran("t8", control.NewRequest{Branch: "release/1.0"})
		if _, err := s.Control.Promote(s.ctx, By, s.Suite.Name, "release/1.0", offering().Digest(), ""); err != nil {
			t.Fatal(err)
		}
		got["moved"] = ran("t9", control.NewRequest{Branch: "release/1.0"})
		if diff := cmp.Diff(map[string]string{
			"defaults":               "[compile smoke] all  map[slow:off]",
			"a graph":                "[smoke] quick  map[slow:off]",
			"an option":              "[compile smoke slow] all  map[slow:on]",
			"a branch":               "[compile smoke slow] all release/* map[slow:on]",
			"against its branch":     "[compile smoke] all release/* map[slow:off]",
			"another branch":         "[compile smoke] all  map[slow:off]",
			"option without graph":   "[smoke] quick  map[slow:on]",
			"definitions of its own": "[smoke] quick release/* map[slow:on]",
			"moved":                  "[compile smoke slow] all release/* map[slow:on]",
		}, got); diff != "" {
			t.Errorf("jobs (-want +got):\n%s", diff)
		}
	})
}

// A choice that newer definitions no longer offer fails the expansion in words, and leaves the queue going on.
func TestAChoiceThatIsGoneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{Farm: New(t, offering(), policy), bench: &Bench{Each: minute}, names: map[events.RequestID]string{}}
		defer s.Stop()
		s.Register("c0", laneHere)
		waiting := s.create(control.NewRequest{Kind: events.Try, Key: "k", PR: 1, Graph: "quick"})
		plain := offering()
		plain.Graphs = nil
		if _, err := s.Control.Publish(s.ctx, By, plain); err != nil {
			t.Fatal(err)
		}
		s.ready(waiting, "t1", "")
		s.Start("c0", laneHere, "p0", s.bench)
		s.until(s.master("t2", ""))
		failed := s.awaitEnd(waiting).(events.RequestFailed)
		if want := `quarantined: 3 times it could not be turned into jobs: unknown graph "quick": suite rules has no graphs, leave it out`; failed.Reason != want {
			t.Errorf("%s\nwant %s", failed.Reason, want)
		}
	})
}
