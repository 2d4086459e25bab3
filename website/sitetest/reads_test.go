package sitetest

import (
	"bytes"
	"encoding/json"
	"flag"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/website"
	"github.com/tachobench/tacho/website/client"
)

var write = flag.Bool("write-golden", false, "write the golden files anew")

// golden compares an answer with a file. It blanks what differs from run to run.
func golden(t *testing.T, name, answer string) {
	t.Helper()
	for pattern, blank := range map[string]string{
		`"(event_id|identity|chain)": "[^"]*"`: `"$1": "…"`,
	} {
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(answer), "", "  "); err != nil {
			t.Fatalf("%v in %q", err, answer)
		}
		answer = regexp.MustCompile(pattern).ReplaceAllString(indented.String(), blank)
	}
	file := filepath.Join("testdata", name+".golden.json")
	if *write {
		if err := os.WriteFile(file, []byte(answer), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), answer); diff != "" {
		t.Errorf("%s (-file +now; write it anew with -write-golden):\n%s", file, diff)
	}
}

func TestTheShapesOfReadsAreStable(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	if _, err := st.now().Queue(s.ctx); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"queue": "queue", "status": "status", "request": "requests/" + string(st.running), "job": "jobs/" + string(st.work.ID)} {
		resp, body := s.get("/api/v1/" + path)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%s: %s, %s", name, resp.Status, resp.Header.Get("Content-Type"))
		}
		golden(t, name, body)
	}
}

func TestEveryReadOfTheClient(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	c := st.now()

	status, err := c.Status(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if status.Version != "v1.2.3" || len(status.Queue) != 3 || len(status.InProgress) != 1 || len(status.Completed) != 2 || len(status.Collectors) != 3 {
		t.Errorf("status %+v", status)
	}
	queue, err := c.Queue(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var places []events.RequestState
	for _, q := range queue {
		places = append(places, q.State)
		if q.Reason == "" {
			t.Errorf("place %d has no reason", q.Position)
		}
	}
	if diff := cmp.Diff([]events.RequestState{events.StateInProgress, events.StateArtifactsReady, events.StateWaitingForArtifacts}, places); diff != "" {
		t.Error(diff)
	}
	done, err := c.Requests(s.ctx, client.RequestQuery{State: events.StateCompleted, Kind: events.Master, Suite: "go", Limit: 1})
	if err != nil || len(done) != 1 || done[0].ID != st.child {
		t.Errorf("done: %v, %v", done, err)
	}
	for _, name := range []string{string(st.running), string(sha("c"))} {
		r, err := c.Request(s.ctx, name)
		if err != nil || r.ID != st.running || len(r.JobList) != 2 {
			t.Errorf("request %s: %+v, %v", name, r, err)
		}
	}
	if r, err := c.Request(s.ctx, "comment 7"); err != nil || r.ID != queue[2].RequestID {
		t.Errorf("the request of key comment 7: %+v, %v", r, err)
	}
	for _, path := range []string{"/", "/requests", "/requests/" + string(queue[2].RequestID)} {
		if _, page := s.get(path); !strings.Contains(page, "key comment 7") {
			t.Errorf("%s does not tell which try has no tag yet", path)
		}
	}
	jobs, err := c.Jobs(s.ctx, client.JobQuery{Request: st.running, Open: true, Lane: &events.Lane{Target: machine}})
	if err != nil || len(jobs) != 1 || jobs[0].ID != st.work.ID {
		t.Errorf("jobs: %+v, %v", jobs, err)
	}
	job, err := c.Job(s.ctx, st.work.ID)
	if err != nil || len(job.AttemptList) != 1 || job.AttemptList[0].State != readmodel.AttemptRunning {
		t.Errorf("job: %+v, %v", job, err)
	}
	results, err := c.Results(s.ctx, "", sha("a"))
	if err != nil || len(results) != 3 || len(results[0].Iterations) != 6 {
		t.Errorf("results: %d, %v", len(results), err)
	}
	durations, err := c.Durations(s.ctx, "", machine)
	if err != nil || len(durations) == 0 || durations[0].Seconds == nil || durations[0].Artifacts < 1 {
		t.Errorf("durations: %+v, %v", durations, err)
	}
	zero := events.Seq(0)
	oldest, err := c.Events(s.ctx, client.EventQuery{After: &zero, Limit: 2})
	if err != nil || len(oldest) != 2 || oldest[0].Seq != 1 || oldest[0].Type != "definitions.published.v1" {
		t.Errorf("oldest events: %+v, %v", oldest, err)
	}
	newest, err := c.Events(s.ctx, client.EventQuery{Type: "request.created.v1", Limit: 1})
	if err != nil || len(newest) != 1 || newest[0].Actor != "cli:alice" {
		t.Errorf("newest request: %+v, %v", newest, err)
	}
	for subject, want := range map[string]int{"collector.": 2, "registry.": 3} {
		if lives, err := c.Events(s.ctx, client.EventQuery{Subject: subject, After: &zero}); err != nil || len(lives) != want {
			t.Errorf("%d events of %s, %v", len(lives), subject, err)
		}
	}
	one, err := c.Event(s.ctx, 1)
	if err != nil || one.Type != "definitions.published.v1" {
		t.Errorf("event 1: %+v, %v", one, err)
	}
	list, err := c.Definitions(s.ctx)
	if err != nil || len(list) != 1 || !list[0].Current {
		t.Errorf("definitions: %+v, %v", list, err)
	}
	d, err := c.Definition(s.ctx, list[0].Digest)
	if err != nil || !bytes.Equal(compact(t, d.Content), s.suite.Canonical()) {
		t.Errorf("definitions of a digest: %v", err)
	}
}

func compact(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestACollectorsStateJoinsLogAndHeartbeat(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	check := func(when string, want map[events.CollectorName]client.CollectorState) {
		t.Helper()
		got := map[events.CollectorName]client.CollectorState{}
		for _, c := range s.machines() {
			got[c.Name] = c.State
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("at work", map[events.CollectorName]client.CollectorState{
		"amd-0": client.CollectorBenchmarking, "amd-1": client.CollectorIdle, "spare": client.CollectorOffline,
	})
	progress := s.machines()[0].Heartbeat
	if progress == nil || progress.Done != 1 || progress.Total != 2 || progress.JobID != st.work.ID || progress.AgeMS != 5000 {
		t.Errorf("heartbeat %+v", progress)
	}
	st.ask(s.control.DrainCollector(s.ctx, teller(), "amd-0", "new disk"))
	st.ask(s.control.DeactivateCollector(s.ctx, teller(), "spare", control.Deactivation{Reason: "not needed"}))
	if err := s.log.Release(s.ctx, eventlog.Beat{Name: "amd-1", Instance: "i2"}); err != nil {
		t.Fatal(err)
	}
	s.until(func() bool { return s.machines()[1].Heartbeat == nil })
	check("later", map[events.CollectorName]client.CollectorState{
		"amd-0": client.CollectorDraining, "amd-1": client.CollectorOffline, "spare": client.CollectorInactive,
	})
	if why := s.machines()[1].Reason; why != "no heartbeat" {
		t.Errorf("amd-1 is offline because %q", why)
	}
	s.clock.advance(2 * time.Minute)
	check("when heartbeats are old", map[events.CollectorName]client.CollectorState{
		"amd-0": client.CollectorOffline, "amd-1": client.CollectorOffline, "spare": client.CollectorInactive,
	})
}

// A collector that sent a heartbeat counts as there for as long as the configuration says, and was seen.
func TestACollectorIsOfflineWhenTheConfigurationSaysSo(t *testing.T) {
	s := open(t, func(c *website.Config) { c.OfflineAfter = 5 * time.Minute })
	s.story()
	s.beat(eventlog.Beat{Name: "spare", Instance: "i3", Host: "bench-3", PID: 43, Version: "v1.2.3"}) // its start is not in the log yet
	s.clock.advance(4 * time.Minute)
	for _, c := range s.machines() {
		if c.State == client.CollectorOffline || c.Heartbeat == nil {
			t.Errorf("after 4 minutes %s is %s because %q", c.Name, c.State, c.Reason)
		}
	}
	s.clock.advance(time.Minute)
	for _, c := range s.machines() {
		if c.State != client.CollectorOffline || c.Reason != "no heartbeat" {
			t.Errorf("after 5 minutes %s is %s because %q", c.Name, c.State, c.Reason)
		}
	}
}

func TestAComparisonJudgesWithTheDefinitions(t *testing.T) {
	s := open(t, nil)
	s.story()
	c, err := s.now().Compare(s.ctx, client.CompareQuery{B: sha("b")}) // with its parent
	if err != nil {
		t.Fatal(err)
	}
	if c.Suite != "go" || c.A.Tag != sha("a") || c.A.Cases != 3 || !c.Complete || c.Headline != "instructions:u" || c.Verdict != compare.Regression {
		t.Errorf("%+v", c)
	}
	for _, ch := range c.Changes {
		want := compare.Unchanged
		if ch.Case.Benchmark == "generics" || ch.Case.Benchmark == "tables" {
			if ch.Relative != nil && *ch.Relative > 0.03 {
				want = compare.Regressed
			}
		}
		if ch.Metric != "wall-time" && ch.Judgement != want {
			t.Errorf("%s of %s: %s because %s", ch.Metric, ch.Case, ch.Judgement, ch.Why)
		}
		if ch.Case.Benchmark == "json" && ch.Category != compare.Secondary {
			t.Errorf("category %q", ch.Category)
		}
	}
	only, err := s.client.Compare(s.ctx, client.CompareQuery{A: sha("a"), B: sha("b"), Metric: "binary-size"})
	if err != nil || len(only.Summaries) != 1 || only.Changes[0].Rule != compare.RuleExact {
		t.Errorf("one metric: %+v, %v", only.Summaries, err)
	}
	part, err := s.client.Compare(s.ctx, client.CompareQuery{A: sha("b"), B: sha("c"), Suite: "go"})
	if err != nil || part.Complete || !strings.Contains(part.Incomplete, "1 of 2 jobs are done") || len(part.Missing) != 6 {
		t.Errorf("while it runs: %+v, %v", part.B, err)
	}
	for format, begins := range map[string]string{"text": "Incomplete: The request for c", "markdown": "Comparison of `c", "csv": "metric,"} {
		var out strings.Builder
		if err := s.client.CompareAs(s.ctx, client.CompareQuery{A: sha("b"), B: sha("c")}, format, &out); err != nil || !strings.HasPrefix(out.String(), begins) {
			t.Errorf("%s: %v, %.80q", format, err, out.String())
		}
		if format == "markdown" && !strings.Contains(out.String(), "\n> **Incomplete:** The request for c") {
			t.Errorf("the report does not say what is missing: %s", out.String())
		}
	}
}

func TestAnUnknownTagNamesThoseWithResults(t *testing.T) {
	s := open(t, nil)
	s.story()
	s.machines()
	for _, path := range []string{"/api/v1/compare?a=" + string(sha("a")) + "&b=nope", "/api/v1/results?tag=nope"} {
		resp, body := s.get(path)
		e := refusal(t, body)
		if resp.StatusCode != http.StatusNotFound || !strings.Contains(e.Message, "nope has no results") || !strings.Contains(e.Next, string(sha("b"))) {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

// Page by page every request is shown once, with the filter of the first page.
func TestOlderRequestsAreAPageFurther(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	s.machines()
	link, next := regexp.MustCompile(`<a href="(/requests\?[^"]*)">Older requests`), "/requests?kind=master&limit=1"
	for _, want := range []events.RequestID{st.running, st.child, st.parent} {
		_, body := s.get(next)
		for _, id := range []events.RequestID{st.running, st.child, st.parent, st.release} {
			if strings.Contains(body, string(id)) != (id == want) {
				t.Errorf("%s: request %s is shown, or not, against expectation", next, id)
			}
		}
		next = ""
		if found := link.FindStringSubmatch(body); found != nil {
			next = html.UnescapeString(found[1])
		}
	}
	if next != "" {
		t.Errorf("after the last page: %s", next)
	}
}

func TestAnEmptyParameterIsNotGiven(t *testing.T) {
	s := open(t, nil)
	s.story()
	s.machines()
	for _, path := range []string{"/api/v1/events?limit=1&after=", "/api/v1/events?limit=1&after=&before=" + jsonNumber(s.head()+1)} {
		resp, body := s.get(path + "&wait_for=" + jsonNumber(s.head()))
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(body, `[{"seq":`+jsonNumber(s.head())+",") {
			t.Errorf("%s: %s: %.200s, want the newest event", path, resp.Status, body)
		}
	}
}
