package farm

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

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

// A request gets the jobs of the definitions that it names, whatever its branch uses by then, and whatever is published or
// promoted later. Definitions that its branch never used measure nothing for the parent.
func TestNamedDefinitionsMakeTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{Farm: New(t, offering(), policy), bench: &Bench{Each: minute}, names: map[events.RequestID]string{}}
		defer s.Stop()
		quick, slow := offering(), offering()
		quick.Graphs = quick.Graphs[1:]
		slow.Options[0].Values = []string{"on", "off"}
		for _, d := range []suite.Definitions{quick, slow} {
			if _, err := s.Control.PublishFrom(s.ctx, By, d, control.Origin{Aside: true}); err != nil {
				t.Fatal(err)
			}
		}
		parents := []events.RequestID{s.create(control.NewRequest{Kind: events.Master, Tag: "t0"}), s.create(control.NewRequest{Kind: events.Master, Tag: "p0"})}
		ids := map[string]events.RequestID{
			"own":   s.create(control.NewRequest{Kind: events.Master, Tag: "t1", Parent: "t0"}),
			"quick": s.create(control.NewRequest{Kind: events.Master, Tag: "t2", Parent: "t0", Named: quick.Digest()}),
			"slow":  s.create(control.NewRequest{Kind: events.Master, Tag: "t3", Parent: "t0", Named: slow.Digest(), Tree: true}),
			// Its branch has never used what it names.
			"odd": s.create(control.NewRequest{Kind: events.Master, Tag: "t4", Parent: "p0", Named: slow.Digest()}),
		}
		for _, id := range parents {
			if _, _, err := s.Control.CancelRequest(s.ctx, By, id, "its children have to measure it"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Control.Promote(s.ctx, By, s.Suite.Name, "", quick.Digest(), "later"); err != nil {
			t.Fatal(err)
		}
		s.Register("c0", laneHere)
		s.Start("c0", laneHere, "p0", s.bench)
		got := map[string]string{}
		for name, id := range ids {
			s.until(id)
			var jobs []string
			for _, e := range s.Events() {
				if f, ok := e.Fact.(events.JobsCreated); ok && f.RequestID == id {
					for _, j := range f.Jobs {
						jobs = append(jobs, fmt.Sprintf("%s/%s/%.6s", j.Kind, j.Artifact.Tag, j.Definitions))
					}
				}
			}
			slices.Sort(jobs)
			got[name] = fmt.Sprint(jobs)
		}
		q, w := quick.Digest()[:6], slow.Digest()[:6]
		want := map[string]string{
			"own": fmt.Sprintf("[smoke/t1/%s]", q), "quick": fmt.Sprintf("[smoke/t2/%s]", q),
			"slow": fmt.Sprintf("[compile/t0/%[1]s compile/t3/%[1]s slow/t3/%[1]s smoke/t3/%[1]s]", w),
			"odd":  fmt.Sprintf("[compile/t4/%[1]s slow/t4/%[1]s smoke/t4/%[1]s]", w),
		}
		if diff := cmp.Diff(want, got); diff != "" {
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

// What a suite says of its graphs holds for requests: the first failure of a fail-fast graph skips what is not dispatched, and a
// try that is late ends, what runs and what waits.
func TestTheRulesOfAGraphHold(t *testing.T) {
	d := ruleSuite(1)
	d.Version = 2
	d.Kinds[0].Backfill = false
	for _, name := range []events.JobKind{"second", "third"} {
		k, b := d.Kinds[0], d.Benchmarks[0]
		k.Name, b.Kind, b.Name = name, name, events.Benchmark("b-"+name)
		d.Kinds, d.Benchmarks = append(d.Kinds, k), append(d.Benchmarks, b)
	}
	d.Graphs = []suite.Graph{{Name: "fast", OnFailure: suite.FailFast}, {Name: "short", Deadline: "10m"}, {Name: "plain"}}
	run := func(graph string, bench *Bench) []string {
		var lines []string
		synctest.Test(t, func(t *testing.T) {
			s := &story{Farm: New(t, d, policy), bench: bench, names: map[events.RequestID]string{}}
			defer s.Stop()
			s.Register("c0", laneHere)
			s.Start("c0", laneHere, "p0", s.bench)
			id := s.create(control.NewRequest{Kind: events.Try, Tag: "t1", Graph: graph})
			s.until(id)
			for _, e := range s.Events() {
				switch f := e.Fact.(type) {
				case events.JobFinished:
					lines = append(lines, fmt.Sprint("job ", f.Outcome))
				case events.JobsWithdrawn:
					lines = append(lines, fmt.Sprintf("withdrawn %d, late %t", len(f.Jobs), f.Expired))
				case events.GraphEnded:
					lines = append(lines, fmt.Sprint("graph ", f.Outcome))
				case events.RequestFailed:
					lines = append(lines, f.Reason)
				case events.RequestCompleted:
					lines = append(lines, "completed")
				}
			}
		})
		return lines
	}
	fails := func() *Bench { return &Bench{Each: minute, Fails: func(events.TestCase) bool { return true }} }
	for name, tc := range map[string]struct {
		got, want []string
	}{
		"fail-fast": {run("fast", fails()), []string{
			"job failure", "job failure", "2 of 3 required jobs failed, and 1 was skipped because of that (fail-fast)", "withdrawn 1, late false", "graph failure",
		}},
		"fail-fast, nothing fails": {run("fast", &Bench{Each: minute}), []string{"job success", "job success", "job success", "completed", "graph success"}},
		"late": {run("short", &Bench{Each: time.Hour}), []string{
			"withdrawn 1, late true", "job cancelled", "job cancelled", "3 of 3 required jobs did not succeed by the deadline", "graph expired",
		}},
		"in time": {run("short", &Bench{Each: minute}), []string{"job success", "job success", "job success", "completed", "graph success"}},
		"no rule": {run("plain", fails()), []string{"job failure", "job failure", "job failure", "3 of 3 required jobs failed"}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
