package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// answering runs a command line against a server that has only these answers, by path.
func answering(t *testing.T, answers map[string]any, line string) (stdout, stderr string, code int) {
	t.Helper()
	return answered(t, answers, strings.Fields(line)...)
}

// answered is answering for arguments that may have spaces. In each of them URL stands for the URL of the server.
func answered(t *testing.T, answers map[string]any, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[strings.TrimPrefix(r.URL.Path, "/api/v1/")]
		if !known {
			answer = &client.Error{Status: http.StatusNotFound, Message: r.URL.Path + ": not found"}
		}
		w.Header().Set("Content-Type", "application/json")
		if e, ok := answer.(*client.Error); ok {
			w.WriteHeader(e.Status)
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	home := t.TempDir()
	p := &Program{
		Stdout: &out, Stderr: &errs, Clock: time.Now,
		Getenv: func(name string) string { return map[string]string{"HOME": home, "TACHO_SERVER": server.URL}[name] },
	}
	line := slices.Clone(args)
	for i := range line {
		line[i] = strings.ReplaceAll(line[i], "URL", server.URL)
	}
	code = p.Main(t.Context(), line)
	return out.String(), errs.String(), code
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func TestTheQueueSaysHowSureItIs(t *testing.T) {
	at := func(hour, minute int) *time.Time {
		t := time.Date(2026, 3, 1, hour, minute, 0, 0, time.Local)
		return &t
	}
	places := []client.QueuePlace{
		{
			Position: 1, RequestID: "r1", Tag: "v1", Kind: events.Master, State: events.StateInProgress, Reason: "in progress",
			EstimatedStart: at(11, 0), EstimatedEnd: at(12, 0), EndEarliest: at(12, 0), EndLatest: at(12, 40), Overrun: true,
		},
		{
			Position: 2, RequestID: "r2", Tag: "v2", Kind: events.Master, State: events.StateArtifactsReady, Reason: "ready",
			EstimatedStart: at(12, 0), EstimatedEnd: at(23, 0), EndEarliest: at(22, 0), EndLatest: at(25, 10),
		},
		{
			Position: 3, RequestID: "r3", Tag: "v3", Kind: events.Release, State: events.StateArtifactsReady, Reason: "release",
			EstimatedStart: at(23, 0), EstimatedEnd: at(24, 0), Guessed: true,
		},
		{Position: 4, RequestID: "r4", Key: "mine", Kind: events.Try, State: events.StateWaitingForArtifacts, Reason: "waits"},
		{
			Position: 5, RequestID: "r5", Tag: "v5", Kind: events.Master, State: events.StateArtifactsReady, Reason: "ready",
			NoEnd: "no collector serves here/1",
		},
	}
	running := readmodel.RequestJobs{Request: readmodel.Request{ID: "r1", Tag: "v1", Kind: events.Master}}
	status := client.Status{Status: readmodel.Status{
		InProgress: []readmodel.RequestJobs{running}, QueueTotal: 201,
		Queue: []readmodel.QueueEntry{{Position: 1, RequestID: "r1", Tag: "v1", State: events.StateInProgress, Overrun: true}},
	}}
	answers := map[string]any{"queue": places, "status": status}

	out, _, code := answering(t, answers, "queue")
	lines := strings.Split(out, "\n")
	if code != ExitDone || len(lines) != 7 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	contains(t, "the heading", lines[0], "START (EST.)", "END (EST.)", "END BETWEEN")
	contains(t, "what overruns", lines[1], "in_progress, longer than expected", "2026-03-01 12:00:00", "2026-03-01 12:00 – 12:40")
	contains(t, "what ends tomorrow", lines[2], "2026-03-01 22:00 – 2026-03-02 01:10")
	contains(t, "what is guessed", lines[3], "2026-03-02 00:00:00 (guessed)")
	contains(t, "what has no tag yet", lines[4], "key mine")
	contains(t, "what has no end", lines[5], "ready; no end: no collector serves here/1")
	if strings.Contains(lines[4], "2026") {
		t.Errorf("nothing is known of what waits: %s", lines[4])
	}
	out, _, _ = answering(t, answers, "status")
	contains(t, "the status", out, "In progress: master request r1 for v1, 0 of 0 jobs ended, running longer than expected", "200 more follow: see `tacho queue`.")

	out, _, _ = answering(t, answers, "queue --json")
	var got []map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got[0]["overrun"] != true || got[2]["guessed"] != true || got[1]["estimated_end_latest"] == nil {
		t.Errorf("the queue is\n%s", out)
	}
	for _, name := range []string{"estimated_start_earliest", "estimated_start_latest", "estimated_end_earliest", "estimated_end_latest"} {
		if _, there := got[3][name]; there {
			t.Errorf("%s is there, and nobody knows it", name)
		}
	}
}

func TestTakingALaneOverTellsWhoIsAbsent(t *testing.T) {
	collector := func(name events.CollectorName, state client.CollectorState, set events.Set, serving bool, j *readmodel.Job) client.Collector {
		row := readmodel.Collector{Name: name, Target: "here", Set: set, Serving: serving, Active: true, CurrentJob: j}
		return client.Collector{Collector: row, State: state}
	}
	elsewhere := collector("far", client.CollectorOffline, 1, true, nil)
	for _, c := range []struct {
		what  string
		first client.Collector
		spare client.CollectorState
		says  string
	}{
		{"both are there", collector("first", client.CollectorIdle, 0, true, nil), client.CollectorIdle, ""},
		{"the other one is gone", collector("first", client.CollectorOffline, 0, true, nil), client.CollectorIdle, "`tacho collector takeover first`"},
		{"it is gone in a job", collector("first", client.CollectorOffline, 0, true, &readmodel.Job{}), client.CollectorIdle, "its job continues on spare"},
		{"it is not there itself", collector("first", client.CollectorIdle, 0, true, nil), client.CollectorOffline, "`tacho collector run spare`"},
	} {
		list := []client.Collector{elsewhere, c.first, collector("spare", c.spare, 0, false, nil)}
		out, errs, code := answering(t, map[string]any{"collectors": list, "collectors/spare/take-over": control.Answer{Seq: 9}}, "collector takeover spare")
		if code != ExitDone || out != "collector spare is serving its lane\n" || (c.says == "") != (errs == "") || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d: %s%s", c.what, code, out, errs)
		}
	}
}

func TestJobsThatLeftTheTablesAreTraced(t *testing.T) {
	gone := &client.Error{
		Status: http.StatusGone, Message: "job j1 of request r1 ended before 2026-01-01 00:00 UTC (success) and left the tables",
		Next: "its results stay", RequestID: "r1",
	}
	old := readmodel.RequestJobs{Request: readmodel.Request{ID: "r1", Tag: "v1", Kind: events.Master, Jobs: readmodel.JobCounts{Total: 12, Success: 12, Retired: 12}}}
	stored, err := events.Encode(events.Event{
		ID: "e1", Time: time.Now(), Source: "test", Actor: "test", Fact: events.JobFinished{JobID: "j1", Outcome: events.Success},
	})
	if err != nil {
		t.Fatal(err)
	}
	event := readmodel.Event{Seq: 7, Type: "job.finished.v1", Subject: stored.Subject, Headers: stored.Header, Data: stored.Data}
	answers := map[string]any{
		"jobs/j1": gone, "jobs/j1/log": gone, "requests/r1": old, "jobs": []readmodel.Job{}, "outbox": []readmodel.Comment{}, "events": []readmodel.Event{event},
	}
	out, errs, code := answering(t, answers, "trace j1")
	if code != ExitDone || !strings.Contains(out, "job j1") {
		t.Errorf("the trace of the job: exit code %d: %s%s", code, out, errs)
	}
	_, errs, code = answering(t, answers, "logs j1")
	if code != ExitRefused || !strings.Contains(errs, "left the tables") {
		t.Errorf("the output of the job: exit code %d: %s", code, errs)
	}
	for _, line := range []string{"jobs --request r1", "request show r1"} {
		out, _, code = answering(t, answers, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d", line, code)
		}
		contains(t, line, out, "12 of 12 jobs of request r1 ended long ago and left the tables; `tacho trace r1` shows their events.")
	}
	out, _, _ = answering(t, answers, "jobs")
	contains(t, "the list of jobs", out, "There is no such job.")
}
