package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// twoGraphs are those of a request whose smoke job on arm failed.
func twoGraphs() client.Graphs {
	at, failed := time.Date(2026, 11, 23, 9, 0, 0, 0, time.Local), 1
	node := func(number int, kind events.JobKind, target events.Target, state string, needs ...readmodel.GraphNeed) readmodel.GraphJob {
		return readmodel.GraphJob{
			Number: number, JobID: events.JobID("j-" + string(kind) + "-" + string(target)), Kind: kind, Target: target, Backend: "gc", Profile: "opt", State: state, Needs: needs,
		}
	}
	own := readmodel.Graph{RequestID: "r1", Kind: events.GraphInitial, Jobs: 6, Needs: 6, CreatedAt: at, Nodes: []readmodel.GraphJob{
		node(0, "smoke", "amd", "in_progress"), node(1, "smoke", "arm", "failure"),
		node(2, "compile", "amd", "blocked", readmodel.GraphNeed{On: 0}), node(3, "compile", "arm", "skipped", readmodel.GraphNeed{On: 1}),
		node(4, "report", "amd", "blocked", readmodel.GraphNeed{On: 0, Until: events.UntilEnded}, readmodel.GraphNeed{On: 1, Until: events.UntilEnded, Met: true}, readmodel.GraphNeed{On: 2, Until: events.UntilEnded}),
		{Number: 5, JobID: "gone", State: "success"},
	}}
	cost, rank := int64(240_000), 1
	own.Nodes[0].CostMS, own.Nodes[0].Rank, own.Nodes[2].CostMS, own.Nodes[2].Rank = &cost, &rank, &cost, &rank
	own.Nodes[1].Reason, own.Nodes[3].SkippedBy, own.Nodes[4].Optional = "it has no linker\nat all", &failed, true
	parent := readmodel.Graph{
		RequestID: "r1", Number: 1, Kind: events.GraphBackfill, Jobs: 1, CreatedAt: at, EndedAt: &at, Outcome: events.Success,
		Nodes: []readmodel.GraphJob{node(0, "smoke", "amd", "success")},
	}
	return client.Graphs{RequestID: "r1", Graphs: []readmodel.Graph{own, parent}}
}

func TestGraphsOfSamplesAreShown(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.Local)
	graph := func(number int, kind events.GraphKind) readmodel.Graph {
		g := readmodel.Graph{RequestID: "r1", Number: number, Kind: kind, Jobs: 2, Copies: 2, CreatedAt: at}
		for i := range 2 {
			g.Nodes = append(g.Nodes, readmodel.GraphJob{
				Number: i, JobID: events.JobID("j" + string(rune('0'+i))), Kind: "compile", Target: "amd", State: "success", Sample: events.NewSample("r1", number, i+1),
			})
		}
		spread, base := 0.25, 1.1
		g.Measured = []readmodel.SampledMetric{{
			TestCase: events.TestCase{Benchmark: "gob", Profile: "opt", Scenario: "full", Backend: "gc", Target: "amd"}, Metric: "wall-time", Unit: "s", Machine: "m1",
			Minima: []readmodel.SampleMinimum{{Copy: 1, Value: 1}, {Copy: 2, Value: 1.25}}, Smallest: 1, Largest: 1.25, Spread: &spread, Base: &base,
		}}
		return g
	}
	noise, again := graph(1, events.GraphNoise), graph(2, events.GraphRetrigger)
	again.CancelledAt = &at
	cost := int64(240_000)
	answers := map[string]any{
		"requests/r1/graphs": client.Graphs{RequestID: "r1", Graphs: []readmodel.Graph{noise, again}},
		"jobs/j1": readmodel.JobHistory{
			Job: readmodel.Job{ID: "j1", Sample: "r1-1-2", Priority: events.PriorityIdle, CostMS: &cost}, SampleOf: &readmodel.SampleOf{Words: "sample 2 of 2 of graph 1 (noise)", JobID: "j7"},
		},
	}
	for line, parts := range map[string][]string{
		"graph list r1":          {"r1/1   noise", "r1/2   retrigger  being cancelled"},
		"graph show r1/1":        {"graph r1/1 (noise): open, 2 jobs with 0 needs, 2 samples", "compile · sample 2", "SAMPLES  SMALLEST  LARGEST  SPREAD\n", "gob/opt/full/gc/amd on m1  wall-time  2        1.000 s   1.250 s  25.0%"},
		"graph show r1/2":        {"SPREAD  BASE     EACH", "25.0%   1.100 s  1.000 s, 1.250 s"},
		"graph show r1/1 --json": {`"measured": [`, `"copies": 2`, `"spread": 0.25`, `"copy": 2`},
		"graph show r1/1 --dot":  {"compile · sample 1"},
		"job show j1":            {"sample 2 of 2 of graph 1 (noise), of job j7", "idle", "4 min"},
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs)
		}
		contains(t, "tacho "+line, out, parts...)
	}
}

func TestGraphsOfARequestAreShown(t *testing.T) {
	answers := map[string]any{"requests/r1/graphs": twoGraphs()}
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.Local)
	for name, r := range map[string]readmodel.Request{
		"r2": {ID: "r2", State: events.StateCompleted, StartedAt: &at}, "pr/7": {ID: "r7", State: events.StateInProgress, StartedAt: &at},
		"r3": {ID: "r3", State: events.StateArtifactsReady}, "r4": {ID: "r4", State: events.StateCancelled},
	} {
		answers["requests/"+name+"/graphs"] = client.Graphs{RequestID: r.ID, Graphs: []readmodel.Graph{}}
		answers["requests/"+string(r.ID)] = readmodel.RequestJobs{Request: r}
	}
	for line, parts := range map[string][]string{
		"graph list r1": {
			"GRAPH  KIND      STATE    JOBS  NEEDS  STATES OF JOBS",
			"r1/0   initial   open     6     6      1 success, 1 failure, 1 skipped, 1 in progress, 2 blocked  2026-11-23 09:00:00  -",
			"r1/1   backfill  success  1     0      1 success",
		},
		"graph list r2": {"Request r2 has no graph: none of its jobs needs another one.\n"},
		"graph show r2": {"Request r2 has no graph"},
		"graph show r3": {"Request r3 has no graph: it has not started (artifacts_ready), and `tacho request show r3` says why.\n"},
		"graph list r3": {"Request r3 has no graph: it has not started (artifacts_ready)"},
		"graph show r4": {"Request r4 has no graph: it is cancelled, and was never started.\n"},
		"graph show r1": {
			"graph r1/0 (initial): open, 6 jobs with 6 needs\n", "NUMBER  NAME  ",
			"1       smoke/arm          j-smoke-arm    failure      -  ", "it has no linker\n",
			"2       compile/amd        j-compile-amd  blocked      smoke/amd  ", "waits for smoke/amd, expected 4 min\n", "in_progress  -                                                                expected 4 min\n", "because of smoke/arm\n",
			"report (optional)", "smoke/amd (any end), smoke/arm (any end), compile/amd (any end)  waits for smoke/amd, compile/amd\n",
			"job gone", "\n\ngraph r1/1 (backfill): success, 1 job with 0 needs\n",
		},
		"graph show r1/1":        {"graph r1/1 (backfill)"},
		"graph show pr/7":        {"Request r7 has no graph"},
		"graph show r1/1 --json": {`"number": 1`, `"outcome": "success"`, `"nodes": [`},
		"graph show r1 --json":   {`"skipped_by": 1`, `"until": "ended"`, `"met": true`, `"cost_ms": 240000`, `"rank": 1`},
		"graph show r1 --svg":    {`aria-label="graph r1/0"`, "<title>compile/arm · ↷ skipped · because of smoke/arm</title>", ">▶ in progress</text>"},
		"graph show r1/0 --dot":  {`[label="compile/amd\nblocked"];`},
		"graph list r1 --json":   {`"request_id": "r1"`, `"graphs": [`},
		"graph list r2 --json":   {`"graphs": []`},
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs)
		}
		contains(t, "tacho "+line, out, parts...)
	}
	for line, want := range map[string]string{
		"graph show r1/2": "request r1 has no graph 2: it has 2 graphs: see `tacho graph list r1`", "graph show r9": "tacho request list", "graph show r9/0": "tacho request list", "graph show r1/x": "not found",
	} {
		_, errs, code := answering(t, answers, line)
		if code != ExitRefused {
			t.Errorf("tacho %s: exit code %d", line, code)
		}
		contains(t, "tacho "+line, errs, want)
	}
	_, errs, _ := answering(t, answers, "graph show r1 --svg")
	contains(t, "the drawing of the first of two graphs", errs, "this is graph r1/0 of 2; name another one with r1/N")
}

func TestLargeGraphsAreFolded(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.Local)
	one := readmodel.Graph{RequestID: "r1", Kind: events.GraphInitial, Jobs: 2001, Needs: 2000, CreatedAt: at}
	again := readmodel.Graph{RequestID: "r1", Number: 1, Kind: events.GraphRetrigger, Jobs: 400, Copies: 4, CreatedAt: at}
	cause := 0
	for i := range 2000 {
		n := readmodel.GraphJob{Number: i, JobID: events.JobID(fmt.Sprint("j", i)), Kind: "compile", Target: events.Target(fmt.Sprint("t", i%50)), Profile: events.Profile(fmt.Sprint("p", i)), State: "queued"}
		if i < 25 {
			n.State, n.Reason = "failure", "no linker"
		}
		one.Nodes = append(one.Nodes, n)
	}
	hook := readmodel.GraphJob{Number: 2000, JobID: "hook", Kind: "hook", State: "skipped", SkippedBy: &cause}
	for i := range 2000 {
		hook.Needs = append(hook.Needs, readmodel.GraphNeed{On: i})
	}
	one.Nodes = append(one.Nodes, hook)
	for i := range 400 {
		again.Nodes = append(again.Nodes, readmodel.GraphJob{
			Number: i, JobID: events.JobID(fmt.Sprint("s", i)), Kind: "compile", Target: "amd", Profile: events.Profile(fmt.Sprint("p", i/4)), State: "success", Sample: events.NewSample("r1", 1, i%4+1),
		})
	}
	answers := map[string]any{"requests/r1/graphs": client.Graphs{RequestID: "r1", Graphs: []readmodel.Graph{one, again}}}
	for line, want := range map[string]struct {
		lines int
		parts []string
	}{
		"graph show r1/0":        {27, []string{"compile · 2000 jobs  25 failure, 1975 queued  -", "hook · 1 job         skipped                  compile · 2000 jobs\n", "compile/t0/p0    j0   1      no linker\n", "and 5 jobs more\n"}},
		"graph show r1/1":        {3, []string{"compile · 100 jobs × 4 samples  400 success  -"}},
		"graph show r1/0 --all":  {2003, []string{"compile/t0/p0 ", "because of compile/t0/p0"}},
		"graph show r1/0 --json": {2001, []string{`"job_id": "j1999"`}},
		"graph show r1/1 --svg":  {4, []string{">compile · 100 jobs × 4 samples</text>"}},
	} {
		out, errs, code := answering(t, answers, line)
		if got := strings.Count(out, "\n"); code != ExitDone || got < want.lines || got > want.lines && strings.Count(line, "--") == 0 {
			t.Errorf("tacho %s: exit code %d: %s: %d lines, want %d:\n%.2000s", line, code, errs, got, want.lines, out)
		}
		contains(t, "tacho "+line, out, want.parts...)
		if folded := strings.HasSuffix(line, "/0"); folded {
			contains(t, "tacho "+line, errs, "to see each job: `tacho graph show r1/0 --all`, or --json")
		}
	}
}
