package sitetest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/waits"
	"github.com/tachobench/tacho/website"
)

const where = string(machine)

// Each request of the story is asked for a minute before it starts. Its first job begins at once and takes two minutes, and its
// second one begins after that. So with a target of a minute every job of the first lane is in time, and none of the other.
func TestWaitsOfAStory(t *testing.T) {
	s := open(t, func(c *website.Config) {
		c.SLA = config.SLA{Target: config.Duration(time.Minute), Lanes: map[string]config.Duration{"linux-amd64/9": config.Duration(time.Hour)}}
	})
	st := s.story()
	s.clock.advance(10 * time.Minute)
	minutes := func(n float64) *int64 { return new(int64(n * 60_000)) }
	got, err := s.now().WaitStats(s.ctx, "1h", "")
	if err != nil {
		t.Fatal(err)
	}
	at := func(n float64) waits.Stats { return waits.Stats{Attainment: &n} }
	want := []readmodel.LaneWaits{
		{Lane: where + "/0", TargetMS: 60_000, Stats: waits.Stats{Runs: 3, Hits: 2, Attainment: at(2.0 / 3).Attainment, P50MS: minutes(0), P90MS: minutes(2)}},
		{Lane: where + "/1", TargetMS: 60_000, Stats: waits.Stats{Runs: 3, Hits: 1, Attainment: at(1.0 / 3).Attainment, P50MS: minutes(2), P90MS: minutes(2)}},
	}
	if diff := cmp.Diff(want, got.Lanes); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
	one := func(n float64) readmodel.Quantiles { return readmodel.Quantiles{P50MS: minutes(n), P90MS: minutes(n)} }
	kinds := []readmodel.KindTimes{{
		Kind: events.Master, Requests: 2, Whole: one(5), Artifact: one(0), Admission: one(1), Execution: one(4), Report: one(0),
	}}
	if diff := cmp.Diff(kinds, got.Kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if got.MetricVersion != waits.Version || !got.RunsFrom.Equal(got.From) || got.To.Sub(got.From) != time.Hour {
		t.Errorf("window %s to %s, runs from %s, version %d", got.From, got.To, got.RunsFrom, got.MetricVersion)
	}

	st.shows("/waits", []string{
		`<a href="/waits?lane=` + where + `%2f0">`, `data-label="Attainment" class="num">66.6 %<`, `data-label="90 % within">2 min<`,
		`data-label="Whole">5 min<`, `data-label="Execution">4 min<`, `href="/waits" aria-current="page"`,
	}, []string{"left the tables", "graph"})
	st.shows("/waits?window=2d&lane="+where+"/1", []string{"33.3 %", "Only " + where + "/1"}, []string{"66.6 %"})
	st.shows("/waits?lane=nowhere/0", []string{"No job of nowhere/0 waits"}, nil)
	_, metrics := s.get("/metrics")
	for _, line := range []string{
		`tacho_wait_runs{lane="` + where + `/0",metric_version="1",verdict="hit"} 2`, `tacho_wait_runs{lane="` + where + `/1",metric_version="1",verdict="miss"} 2`,
		`tacho_wait_seconds{lane="` + where + `/1",metric_version="1",quantile="0.5"} 120`, `tacho_wait_longest_seconds{lane="` + where + `/0",metric_version="1"} 0`,
		`tacho_request_seconds{kind="master",metric_version="1",quantile="0.9",stage="execution"} 240`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}

	// The stages of one request, and of one that goes on.
	found, err := s.now().Request(s.ctx, string(st.parent))
	if err != nil || found.Stages == nil || *found.Stages != (waits.Stages{AdmissionMS: 60_000, ExecutionMS: 240_000, WholeMS: 300_000}) {
		t.Errorf("stages %+v, %v", found.Stages, err)
	}
	st.shows("/requests/"+string(st.parent), []string{"artifact 0 ms, admission 1 min, execution 4 min, report 0 ms</dd>"}, nil)
	st.shows("/requests/"+string(st.try), []string{"admission 0 ms, execution 0 ms, report 0 ms so far"}, nil)
}

// A report belongs to the time of its request, and a job that still waits past its target is not in time.
func TestWaitsThatGoOn(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	waiting := st.master(sha("d"), "", 15)
	st.start(waiting)
	st.tell(events.RequestCompleted{RequestID: st.running, Jobs: 2})
	wanted := events.CommentWanted{Key: "report-1", Revision: 1, Purpose: events.CommentReport, Repo: "golang/go", PR: 13, RequestID: st.running, Body: "no change"}
	st.tell(wanted)
	s.clock.advance(20 * time.Minute)

	got, err := s.now().WaitStats(s.ctx, "", where+"/0")
	if err != nil {
		t.Fatal(err)
	}
	half := 0.75
	want := []readmodel.LaneWaits{{Lane: where + "/0", TargetMS: 900_000, Stats: waits.Stats{
		Runs: 4, Hits: 3, Attainment: &half, P50MS: new(int64(0)), P90MS: new(int64(20 * 60_000)), Waiting: 1, LongestMS: 20 * 60_000,
	}}}
	if diff := cmp.Diff(want, got.Lanes); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
	if k := got.Kinds; len(k) != 1 || k[0].Requests != 2 || k[0].Open != 1 {
		t.Errorf("kinds %+v", k)
	}
	found, err := s.now().Request(s.ctx, string(st.running))
	if err != nil || !found.Stages.Open || found.Stages.ReportMS != 20*60_000 {
		t.Errorf("without its report: %+v, %v", found.Stages, err)
	}
	st.tell(events.CommentAttempted{Key: wanted.Key, Revision: 1, Attempt: 1}, events.CommentPosted{Key: wanted.Key, Revision: 1, CommentID: 7, URL: "https://github.com/golang/go/1"})
	s.clock.advance(time.Hour)
	wanted.Revision, wanted.Body = 2, "repaired"
	st.tell(wanted, events.CommentPosted{Key: wanted.Key, Revision: 2, CommentID: 7, URL: "https://github.com/golang/go/1"})
	found, err = s.now().Request(s.ctx, string(st.running))
	if err != nil || found.Stages.Open || found.Stages.ReportMS != 20*60_000 {
		t.Errorf("with its report: %+v, %v", found.Stages, err)
	}
}

// What has left the tables is in no window.
func TestWaitsAfterRetention(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	s.clock.advance(20 * time.Minute)
	before := s.clock.read()
	st.tell(events.JobsRetired{EndedBefore: before.Format(time.RFC3339)})
	got, err := s.now().WaitStats(s.ctx, "1h", "")
	if err != nil || !got.RunsFrom.Equal(before.Add(15*time.Minute)) {
		t.Fatalf("runs from %s, want 15 minutes after %s; %v", got.RunsFrom, before, err)
	}
	for _, l := range got.Lanes {
		if l.Runs > 0 {
			t.Errorf("lane %+v", l)
		}
	}
	if k := got.Kinds; len(k) != 1 || k[0].Requests != 2 {
		t.Errorf("requests never leave the tables: %+v", k)
	}
	st.shows("/waits", []string{"because those before have left the tables"}, nil)
}

func TestWrongWindowsOfWaits(t *testing.T) {
	s := open(t, nil)
	for _, window := range []string{"7", "-1h", "91d", "0d", "1s", "d", "9999999999d"} {
		resp, body := s.get("/api/v1/waits?window=" + window)
		var refused struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal([]byte(body), &refused); err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "such as 24h or 7d") {
			t.Errorf("%s: %s %s, %v", window, resp.Status, body, err)
		}
	}
}
