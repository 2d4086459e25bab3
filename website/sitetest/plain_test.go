package sitetest

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// newWords are those of version 2 of the suite file and of what came with it.
var newWords = regexp.MustCompile(`(?i)\b(needs?|needed|needing|graphs?|blocked|skip(s|ped)?|samples?|sampled|templates?|chunks?|seal(s|ed)?|customised?|retrigger(s|ed)?|folds?|folded)\b`)

// oldWords are sentences that always had one of them: a link for readers by ear, test cases that a job leaves out, and what
// wants a person.
var oldWords = strings.NewReplacer("Skip to the content", "", "0 skipped, 0 failed", "", "Needs a person", "")

// seen returns what a page says, without its marks.
func seen(page string) string {
	for _, pattern := range []string{`(?s)<(script|style)\b.*?</(script|style)>`, `(?s)<[^>]*>`} {
		page = regexp.MustCompile(pattern).ReplaceAllString(page, " ")
	}
	return oldWords.Replace(html.UnescapeString(page))
}

// A suite file of version 1 has none of what version 2 brought, and so its pages say nothing of it.
func TestAVersion1SuiteShowsNoneOfTheNewWords(t *testing.T) {
	st := open(t, nil).story()
	failed := st.master(sha("f"), sha("c"), 21)
	jobs := st.start(failed)
	st.ends(jobs[1], events.Failure, "it has no linker")
	st.tell(events.ErrorRecorded{
		Lane: jobs[1].Lane(), JobID: jobs[1].ID, Artifact: jobs[1].Artifact, Collector: "amd-1", Token: st.head(), Attempt: 1, Kind: events.ErrorBenchmark, Context: "generics", Message: "exit status 2",
	})
	st.tell(events.RequestFailed{RequestID: failed, Reason: "1 of 2 jobs failed", Jobs: 2, FailedJobs: 1})
	st.machines()
	paths := []string{
		"/", "/requests", "/collectors", "/collectors?all=1", "/compare", "/compare?a=" + string(sha("a")) + "&b=" + string(sha("b")), "/compare?b=nothing", "/github", "/github/comments", "/github/deliveries", "/machines", "/shares", "/waits", "/templates", "/templates/go", "/login", "/nothing",
		"/jobs/" + string(st.work.ID),
	}
	for _, id := range []events.RequestID{st.parent, st.child, st.running, st.release, st.try, failed} {
		paths = append(paths, "/requests/"+string(id))
		list, err := st.now().Request(st.ctx, string(id))
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list.JobList {
			paths = append(paths, "/jobs/"+string(j.ID))
		}
	}
	for _, path := range paths {
		resp, page := st.get(path)
		if resp.StatusCode >= http.StatusInternalServerError {
			t.Errorf("%s: %s", path, resp.Status)
		}
		text := seen(page)
		for _, at := range newWords.FindAllStringIndex(text, -1) {
			t.Errorf("%s says %q", path, strings.Join(strings.Fields(text[max(at[0]-60, 0):min(at[1]+60, len(text))]), " "))
		}
	}
}
