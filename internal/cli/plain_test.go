package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tachobench/tacho/readmodel"
)

// savedAnswer reads an answer of the website about a farm with a suite file of version 1.
func savedAnswer(t *testing.T, name string) json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "website", "sitetest", "testdata", name+".golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.ReplaceAll(string(data), "…", "00")) // what differs from run to run
}

// What commands print about a suite file of version 1 has none of the words of version 2.
func TestVersion1IsToldWithoutTheNewWords(t *testing.T) {
	words := regexp.MustCompile(`(?i)\b(needs?|needed|graphs?|blocked|skip(s|ped)?|samples?|templates?|chunks?|seal(s|ed)?)\b`)
	old := strings.NewReplacer("0 skipped", "") // test cases that the job left out
	var request readmodel.RequestJobs
	err := json.Unmarshal(savedAnswer(t, "request"), &request)
	if err != nil {
		t.Fatal(err)
	}
	job := string(request.JobList[0].ID)
	answers := map[string]any{
		"status": savedAnswer(t, "status"), "queue": savedAnswer(t, "queue"), "requests/r1": savedAnswer(t, "request"), "jobs/" + job: savedAnswer(t, "job"), "jobs/j1": savedAnswer(t, "job"),
		"jobs": request.JobList, "requests": []readmodel.Request{request.Request}, "outbox": []readmodel.Comment{}, "alerts": []readmodel.Alert{},
	}
	for line, has := range map[string]string{
		"status": "amd-0", "queue": "master", "request show r1": job, "request list": string(request.ID), "job show j1": job,
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs)
		}
		contains(t, "tacho "+line, out, has)
		if found := words.FindAllString(old.Replace(out+errs), -1); len(found) > 0 {
			t.Errorf("tacho %s says %q:\n%s%s", line, found, out, errs)
		}
	}
}
