package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/waits"
	"github.com/tachobench/tacho/website/client"
)

func TestWaitsAreShown(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.Local)
	part := 0.9996
	q := readmodel.Quantiles{P50MS: new(int64(90_000)), P90MS: new(int64(3_600_000))}
	found := readmodel.Waits{
		MetricVersion: 1, From: at, RunsFrom: at, To: at.Add(time.Hour),
		Lanes: []readmodel.LaneWaits{
			{
				Lane: "amd/0", TargetMS: 900_000, Retries: 2, Again: waits.Stats{Runs: 3, Hits: 1},
				Stats: waits.Stats{Runs: 2500, Hits: 2499, Attainment: &part, P50MS: new(int64(0)), P90MS: new(int64(61_000)), Waiting: 4, LongestMS: 5000},
			},
			{Lane: "arm", Matched: true, TargetMS: 60_000},
		},
		Kinds: []readmodel.KindTimes{{Kind: events.Master, Requests: 7, Whole: q, Artifact: q, Admission: q, Execution: q}},
	}
	out, _, code := answering(t, map[string]any{"waits": found}, "waits --window 1h")
	if code != ExitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	lines := strings.Split(out, "\n")
	contains(t, "the window", lines[0], "2026-11-23 09:00:00 to 2026-11-23 10:00:00")
	contains(t, "the lane", lines[3], "amd/0", "15 min", "2500", "2499", "99.9 %", "0 ms", "1 min 1 s", "5 s", "1 of 3")
	contains(t, "the matched jobs", lines[4], "arm (any machine)", "1 min", "-")
	contains(t, "the requests", out, "master  7         p50  1 min 30 s", "master  7         p90  1 h")
	if strings.Contains(out, "left the tables") {
		t.Errorf("nothing has left the tables:\n%s", out)
	}

	found.RunsFrom, found.Lanes, found.Kinds = at.Add(time.Minute), nil, nil
	out, _, _ = answering(t, map[string]any{"waits": found}, "waits")
	contains(t, "an empty window", out, "jobs from 2026-11-23 09:01:00 on: those before have left the tables", "No job waits")
	out, _, _ = answering(t, map[string]any{"waits": found}, "waits --lane amd/7")
	contains(t, "a lane without waits", out, "No job of amd/7 waits", "`tacho waits` shows all lanes")
	out, _, _ = answering(t, map[string]any{"waits": found}, "waits --json")
	contains(t, "JSON", out, `"metric_version": 1`, `"runs_from"`)
}

func TestStagesOfARequestAreShown(t *testing.T) {
	r := readmodel.RequestJobs{
		Request: readmodel.Request{ID: "r1", Kind: events.Master}, Stages: &waits.Stages{ArtifactMS: 1000, AdmissionMS: 60_000, ExecutionMS: 120_000, WholeMS: 181_000, Open: true},
	}
	answers := map[string]any{"requests/r1": r, "outbox": []readmodel.Comment{}}
	out, _, _ := answering(t, answers, "request show r1")
	contains(t, "the request", out, "artifact 1 s, admission 1 min, execution 2 min, report 0 ms so far")
	out, _, _ = answering(t, answers, "request show r1 --json")
	contains(t, "JSON", out, `"execution_ms": 120000`, `"whole_ms": 181000`)
}

func TestTimingsOfAGraphAreShown(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.Local)
	found := readmodel.Timings{MetricVersion: 2, RequestID: "r1", Kind: events.GraphInitial, Left: 1, Timeline: waits.Timeline{
		From: at, To: at.Add(12 * time.Minute), RunningMS: 600_000, WaitingMS: 60_000, BlockedMS: 120_000, SkippedMS: 60_000, LostMS: 30_000,
		Phases: &events.Phases{Wait: 1000, Run: 590_000},
		Points: []waits.Point{{AtMS: 0, Running: 2, Waiting: 1, Skipped: 1}, {AtMS: 300_000}},
		Path:   []waits.Step{{Number: 0, Job: "j0", Name: "smoke/amd", WaitingMS: 1000, RunningMS: 59_000}, {Number: 2, Job: "j2", Name: "compile/amd", ReadyMS: 60_000, RunningMS: 240_000}},
		Rounds: []waits.Timing{{Number: 2, Job: "j2", Name: "compile/amd"}, {Number: 0, Job: "j0", Name: "smoke/amd", BegunMS: new(int64(1000)), EndedMS: new(int64(60_000)), Unblocked: []int{2}}},
	}}
	answers := map[string]any{
		"requests/r1/graphs": twoGraphs(), "requests/r1/graphs/0/timings": found, "requests/r2/graphs": client.Graphs{RequestID: "r2"},
		"requests/r2": readmodel.RequestJobs{Request: readmodel.Request{ID: "r2", StartedAt: &at}},
	}
	out, errs, code := answering(t, answers, "graph timings r1")
	if code != ExitDone {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	contains(t, "the graph", out, "graph r1/0 (initial): open after 12 min", "10 min", "30 s of machine time", "1 job had ended before", "compile/amd    j2   1 min", "skipped  1 min", "parts    turn 1 s, run 9 min 50 s", "4 min   5 min   2.0", "1.0      ####################++++++++++xxxxxxxxxx\n", "5 min   6 min   0.0")
	contains(t, "the hint", errs, "this is graph r1/0 of 2")
	out, _, _ = answering(t, answers, "graph timings r1 --jobs")
	contains(t, "the jobs", out, "1 s          0 ms  0 ms  1 min        -      compile/amd\n")
	if first, second := strings.LastIndex(out, "smoke/amd  "), strings.LastIndex(out, "compile/amd  j2"); first > second {
		t.Errorf("what ended first comes first:\n%s", out)
	}
	out, _, _ = answering(t, answers, "graph timings r1 --json")
	contains(t, "JSON", out, `"lost_ms": 30000`, `"unblocked": [`)
	out, _, _ = answering(t, answers, "graph timings r2")
	contains(t, "a request without graphs", out, "Request r2 has no graph")
	_, errs, code = answering(t, answers, "graph timings r3")
	if code == ExitDone {
		t.Error("no request, and no error")
	}
	contains(t, "no request", errs, "see `tacho request list`")
}
