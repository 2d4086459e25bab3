package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPlanListsTheJobsAndWhatTheyNeed(t *testing.T) {
	for line, parts := range map[string][]string{
		"graph plan testdata/shells.toml": {
			"A master request of suite shells makes 4 jobs with 4 needs.\n", "STEP  NUMBER  JOB        NEEDS\n", "1     0       smoke      -\n",
			"2     2       runtime/1  smoke\n", "3     3       sweep      runtime/0 (any end), runtime/1 (any end)\n",
		},
		"graph plan testdata/shells.toml --request try --parent v1":        {"It also wants of its parent v1, as far as they do not exist yet, 3 jobs with 2 needs.\n"},
		"graph plan testdata/compilers.toml --branch try --request try":    {"It ends after 14 d, whatever is open.\n"},
		"graph plan go --targets linux-amd64":                              {" with 0 needs.\n"},
		"graph plan testdata/shells.toml --dot":                            {"digraph jobs {", `2 [label="runtime/1"];`, "0 -> 2;", "1 -> 3 [style=dashed];"},
		"graph plan testdata/shells.toml --svg":                            {`aria-label="plan of a master request of suite shells"`, "<style>", ">runtime/1</text>", `class="ended"`},
		"graph plan testdata/shells.toml --json --tag v2 --profiles plain": {`"tag": "v2"`, `"job_id": "`, `"name": "runtime/1"`, `"until": "ended"`, `"step": 3`},
	} {
		out, errs, code := answering(t, nil, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs)
		}
		contains(t, "tacho "+line, out, parts...)
	}
	var plan plannedRequest
	out, _, _ := answering(t, nil, "graph plan testdata/shells.toml --json")
	if err := json.Unmarshal([]byte(out), &plan); err != nil || len(plan.Graphs) != 1 || len(plan.Graphs[0].JobList) != 4 || plan.Graphs[0].JobList[0].ID != "" {
		t.Errorf("%v: %+v", err, plan)
	}
}

func TestAPlanSaysWhatIsWrong(t *testing.T) {
	data, err := os.ReadFile("testdata/shells.toml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "wrong.toml")
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), `{ kind = "smoke" }`, `{ kind = "smok" }`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]struct {
		code  int
		words string
	}{
		"graph plan " + file:                                {ExitFailed, `unknown kind that is needed "smok": use smoke, runtime or sweep`},
		"graph plan nothing":                                {ExitUsage, `unknown suite "nothing"`},
		"graph plan testdata/shells.toml --targets moon":    {ExitUsage, `unknown target "moon"`},
		"graph plan testdata/shells.toml --tag a/../b":      {ExitUsage, "tag"},
		"graph plan testdata/shells.toml --json --svg":      {ExitUsage, "can't be used together"},
		"graph plan testdata/shells.toml --request nightly": {ExitUsage, "nightly"},
	} {
		_, errs, code := answering(t, nil, line)
		if code != want.code {
			t.Errorf("tacho %s: exit code %d, want %d", line, code, want.code)
		}
		contains(t, "tacho "+line, errs, want.words)
	}
	_, errs, _ := answering(t, nil, "graph plan "+file)
	if !strings.Contains(errs, "wrong.toml:40:12:") {
		t.Errorf("the problem has no line: %s", errs)
	}
}
