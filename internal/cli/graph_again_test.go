package cli

import (
	"net/http"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

func TestWhatIsMeasuredAgainIsPrinted(t *testing.T) {
	two := 2
	asked := client.RequestAnswer{RequestID: "r1", State: events.StateFailed}
	job := client.GraphJob{JobID: "j1", Label: "compile/amd/0/gc/opt", Tag: "go1.50"}
	sample, queued := job, job
	sample.Sample, queued.State = "r1-2-1", "skipped"
	answers := map[string]any{
		"requests/made/graphs":           client.GraphAnswer{RequestAnswer: asked, Key: "k", GraphKind: events.GraphRetrigger, Graph: &two, Jobs: []client.GraphJob{sample}, Answered: true},
		"requests/rounds/graphs":         client.GraphAnswer{RequestAnswer: asked, GraphKind: events.GraphRepair, Jobs: []client.GraphJob{job, job}, Answered: true},
		"requests/late/graphs":           client.GraphAnswer{RequestAnswer: asked, GraphKind: events.GraphNoise},
		"requests/dry/graphs":            client.GraphAnswer{RequestAnswer: asked, GraphKind: events.GraphNoise, Copies: 5, Jobs: []client.GraphJob{queued}, Token: "0a1b", DryRun: true},
		"requests/dryrepair/graphs":      client.GraphAnswer{RequestAnswer: asked, GraphKind: events.GraphRepair, Jobs: []client.GraphJob{queued}, Token: "0a1b", DryRun: true},
		"requests/more/graphs":           client.GraphAnswer{RequestAnswer: asked, GraphKind: events.GraphAdded, Graph: &two, Jobs: []client.GraphJob{job}, Shared: []events.JobID{"j9"}, Answered: true},
		"requests/drymore/graphs":        client.GraphAnswer{RequestAnswer: asked, GraphKind: events.GraphAdded, Jobs: []client.GraphJob{job}, Token: "0a1b", DryRun: true},
		"requests/no/graphs":             &client.Error{Status: http.StatusConflict, Message: "no job has kind=x"},
		"requests/pr/7/graphs/3/cancel":  client.RequestAnswer{RequestID: "r7", State: events.StateCompleted},
		"requests/made/graphs/12/cancel": &client.Error{Status: http.StatusConflict, Message: "request r1 has no open graph 12"},
	}
	for line, want := range map[string]struct {
		code      int
		out, errs []string
	}{
		"graph retrigger made --copies 1 --downstream all": {ExitDone, []string{"JOB  TAG     NAME                  SAMPLE\nj1   go1.50  compile/amd/0/gc/opt  r1-2-1\n"}, []string{"request r1 stays failed; graph r1/2 has 1 job:"}},
		"graph retrigger made --json":                      {ExitDone, []string{`"graph": 2`, `"sample": "r1-2-1"`, `"key": "k"`, `"graph_kind": "retrigger"`}, nil},
		"graph repair rounds":                              {ExitDone, []string{"j1   go1.50  compile/amd/0/gc/opt"}, []string{"2 jobs run again:"}},
		"graph noise late":                                 {ExitDone, nil, []string{"no scheduler has answered yet: see `tacho trace r1`"}},
		"graph noise dry --dry-run":                        {ExitDone, []string{"STATE\n", "skipped\n"}, []string{"1 job would be measured 5 more times", "--expect 0a1b"}},
		"graph repair dryrepair --dry-run":                 {ExitDone, []string{"STATE\n"}, []string{"1 job would run again", "--expect 0a1b"}},
		"graph repair no --select kind=x":                  {ExitRefused, nil, []string{"no job has kind=x"}},
		"graph add more --job compile/amd/0/gc/opt":        {ExitDone, []string{"j1   go1.50  compile/amd/0/gc/opt"}, []string{"graph r1/2 has 1 job:", "shares 1 job of other requests: `tacho graph show r1/2`"}},
		"graph add drymore --select name=* --dry-run":      {ExitDone, []string{"compile/amd/0/gc/opt"}, []string{"1 job would be added", "--expect 0a1b"}},
		"graph add more":                                   {ExitUsage, nil, []string{"use --job LABEL or --select K=V"}},
		"graph retrigger made --set iterations=30":         {ExitDone, []string{"r1-2-1"}, nil},
		"graph retrigger made --set iterations=many":       {ExitUsage, nil, []string{"iterations is a number"}},
		"graph retrigger made --set warmups=3":             {ExitUsage, nil, []string{"the names are iterations, benchmarks and priority"}},
		"graph retrigger made --set warmups":               {ExitUsage, nil, []string{"write NAME=VALUE"}},
		"graph noise nobody":                               {ExitRefused, nil, []string{"tacho request list"}},
		"graph cancel pr/7/3":                              {ExitDone, []string{"graph r7/3 is cancelled; request r7 stays completed\n"}, nil},
		"graph cancel pr/7/3 --json":                       {ExitDone, []string{`"request_id": "r7"`}, nil},
		"graph cancel made/12":                             {ExitRefused, nil, []string{"no open graph 12"}},
		"graph cancel made":                                {ExitUsage, nil, []string{"write REQUEST/N"}},
		"graph cancel /3":                                  {ExitUsage, nil, []string{"write REQUEST/N"}},
		"graph cancel made/-3":                             {ExitUsage, nil, []string{"write REQUEST/N"}},
		"graph repair made --copies 2":                     {ExitUsage, nil, []string{"unknown flag --copies"}},
		"graph noise made --downstream all":                {ExitUsage, nil, []string{"unknown flag --downstream"}},
	} {
		out, errs, code := answering(t, answers, line)
		if code != want.code {
			t.Errorf("tacho %s: exit code %d, want %d: %s", line, code, want.code, errs)
		}
		contains(t, "tacho "+line, out, want.out...)
		contains(t, "tacho "+line, errs, want.errs...)
	}
}

func TestARepairOfNobodySaysWhereTheJobsAre(t *testing.T) {
	answers := map[string]any{"requests/r1/repair": &client.Error{Status: http.StatusNotFound, Message: "job nobody: not found"}}
	for _, line := range []string{"request repair r1 --select nobody", "job rerun nobody --request r1"} {
		_, errs, code := answering(t, answers, line)
		if code != ExitRefused {
			t.Errorf("tacho %s: exit code %d", line, code)
		}
		contains(t, "tacho "+line, errs, "tacho request show r1` lists its jobs")
	}
}

// An empty argument, as of a variable that is not set, is no part of a path.
func TestAnEmptyArgumentIsNamed(t *testing.T) {
	for _, args := range [][]string{
		{"graph", "show", ""}, {"graph", "list", " "}, {"request", "show", ""}, {"job", "show", ""}, {"job", "rerun", "j1", "", "--request", "r1"}, {"graph", "retrigger", "", "--dry-run"},
	} {
		_, errs, code := answered(t, nil, args...)
		if code != ExitUsage {
			t.Errorf("tacho %q: exit code %d", args, code)
		}
		contains(t, args[0]+" "+args[1], errs, " is empty: write here: Id", "See `tacho "+args[0]+" "+args[1]+" --help`")
	}
	_, errs, _ := answered(t, nil, "graph", "show", "/3")
	contains(t, "a graph of no request", errs, "tacho request list")
}
