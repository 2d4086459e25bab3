package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/website/client"
)

// Processes are killed with -9 at any time. The requests still complete, no job runs under two current attempts, no test
// case is stored twice or lost, and no result is measured again.
func TestKillingAnythingAtAnyMomentLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	s.must("request", "master", "v1")
	s.must("request", "master", "v2", "--parent", "v1")
	s.must("request", "master", "v3", "--parent", "v2")

	for i, victim := range []func(){
		s.killCollector, s.killPostgres, s.killUp, s.killCollector, s.killUp, s.killPostgres, s.killCollector, s.killUp,
	} {
		s.awaitResults(2*i + 1)
		victim()
	}
	s.eventually("all requests complete", 120*time.Second, func() bool {
		c, ok := s.client()
		if !ok {
			return false
		}
		list, err := c.Requests(t.Context(), client.RequestQuery{})
		if err != nil || len(list) != 3 {
			return false
		}
		for _, r := range list {
			if r.State != events.StateCompleted {
				return false
			}
		}
		return true
	})
	s.checkLog()
	s.checkResults()
	var report projector.Report
	if err := json.Unmarshal([]byte(s.must("replay", "--verify", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if !report.Identical() {
		t.Errorf("the tables are not what the log gives: %+v", report)
	}
}

// awaitResults waits until the log holds that many reports of results.
func (s *site) awaitResults(n int) {
	s.t.Helper()
	s.eventually("results are reported", 90*time.Second, func() bool {
		c, ok := s.client()
		if !ok {
			return false
		}
		list, err := c.Events(s.t.Context(), client.EventQuery{Type: "test_cases.measured.v1", Limit: n})
		return err == nil && len(list) >= n
	})
}

func (s *site) kill(pid int, what string) {
	s.t.Helper()
	s.t.Logf("kill -9 %s (%d)", what, pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatalf("kill %s: %v", what, err)
	}
}

// killCollector kills a collector in the middle of a job.
func (s *site) killCollector() {
	s.t.Helper()
	var victim client.Collector
	s.eventually("a collector is benchmarking", 60*time.Second, func() bool {
		c, ok := s.client()
		if !ok {
			return false
		}
		list, err := c.Collectors(s.t.Context(), false)
		if err != nil {
			return false
		}
		for _, c := range list {
			if c.State == client.CollectorBenchmarking && c.Heartbeat != nil && c.Heartbeat.PID == c.PID && syscall.Kill(c.PID, 0) == nil {
				victim = c
				return true
			}
		}
		return false
	})
	s.kill(victim.PID, "collector "+string(victim.Name))
}

func (s *site) killPostgres() {
	s.t.Helper()
	text, err := os.ReadFile(s.data("postgres", "data", "postmaster.pid"))
	if err != nil {
		s.t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		s.t.Fatal(err)
	}
	s.kill(pid, "Postgres")
}

func (s *site) killUp() {
	s.t.Helper()
	s.kill(s.up.Process.Pid, "tacho up")
	s.start()
}

// checkLog looks in the log for what must never happen.
func (s *site) checkLog() {
	s.t.Helper()
	current := map[events.Lane]events.JobID{}
	ended := map[events.JobID]bool{}
	attempt := map[events.JobID]int{}
	measured := map[events.Tag]map[events.TestCase]bool{}
	cancelled := map[events.RequestID]bool{}
	for _, e := range s.events() {
		// The other events cannot break these rules.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.RequestCancelled:
			cancelled[f.RequestID] = true
		case events.JobDequeued:
			if id, busy := current[f.Lane]; busy {
				s.t.Errorf("event %d: job %s is dequeued while %s is current", e.Seq, f.Job.ID, id)
			}
			if ended[f.Job.ID] {
				s.t.Errorf("event %d: job %s has ended", e.Seq, f.Job.ID)
			}
			current[f.Lane], attempt[f.Job.ID] = f.Job.ID, f.Attempt
		case events.JobFinished:
			delete(current, f.Lane)
			if ended[f.JobID] {
				s.t.Errorf("event %d: job %s ends twice", e.Seq, f.JobID)
			}
			if ended[f.JobID] = true; f.Outcome != events.Success && !cancelled[f.RequestID] {
				s.t.Errorf("event %d: job %s: %s %s", e.Seq, f.JobID, f.Outcome, f.Reason)
			}
		case events.AttemptLost:
			delete(current, f.Lane)
		case events.AttemptReleased:
			delete(current, f.Lane)
		case events.TestCasesMeasured:
			if f.Attempt != attempt[f.JobID] {
				s.t.Errorf("event %d: results of attempt %d during attempt %d", e.Seq, f.Attempt, attempt[f.JobID])
			}
			if measured[f.Artifact.Tag] == nil {
				measured[f.Artifact.Tag] = map[events.TestCase]bool{}
			}
			for _, c := range f.Cases {
				if measured[f.Artifact.Tag][c.TestCase] {
					s.t.Errorf("event %d: %s of %s is measured again", e.Seq, c.TestCase, f.Artifact.Tag)
				}
				measured[f.Artifact.Tag][c.TestCase] = true
			}
		}
	}
}

// checkResults makes sure that every test case has exactly one result.
func (s *site) checkResults() {
	s.t.Helper()
	c, ok := s.client()
	if !ok {
		s.t.Fatal("tacho up does not answer")
	}
	for _, tag := range []events.Tag{"v1", "v2", "v3"} {
		results, err := c.Results(s.t.Context(), "naps", tag)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(results) != 12 {
			s.t.Errorf("%s has %d results, want 12: 6 programs with 2 profiles", tag, len(results))
		}
	}
}
