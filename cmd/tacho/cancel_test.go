package main

import (
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
)

// A request is cancelled while two collectors work on it. They stop. A new request for the artifact measures it after all,
// and measures nothing twice.
func TestACancelledArtifactIsMeasuredWhenAskedForAgain(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := newSite(t)
	s.replace("naps.toml", "iterations = 2", "iterations = 10")
	s.start()
	s.must("request", "try", "v1", "--profiles", "slow,quick")
	s.awaitResults(2)
	first := s.started()
	s.must("request", "cancel", string(first.RequestID), "--reason", "not needed")
	s.eventually("the collectors stop", 30*time.Second, func() bool {
		at := map[events.Lane]bool{}
		for _, e := range s.events() {
			// Only these two events begin and end an execution here.
			//exhaustive:ignore
			switch f := e.Fact.(type) {
			case events.JobDequeued:
				at[f.Lane] = true
			case events.JobFinished:
				delete(at, f.Lane)
			}
		}
		return len(at) == 0
	})
	if _, said, code := s.run("request", "try", "v1", "--profiles", "quick,slow"); code != cli.ExitDone || !strings.Contains(said, "cancelled (already requested)") || !strings.Contains(said, "tacho request try v1 --key") {
		t.Errorf("asking for the same says (%d) %q, want the way to have it measured after all", code, said)
	}
	s.must("request", "try", "v1", "--key", "again", "--profiles", "slow,quick", "--wait")
	s.checkLog()
	c, _ := s.client()
	if results, err := c.Results(t.Context(), "naps", "v1"); err != nil || len(results) != 12 {
		t.Errorf("%d results, %v; want 12: 6 programs with 2 profiles", len(results), err)
	}
	s.must("replay", "--verify")
	story := s.must("trace", string(first.RequestID))
	for _, part := range []string{"request.cancelled", "results.closed", "not needed"} {
		if !strings.Contains(story, part) {
			t.Errorf("the trace lacks %q:\n%s", part, story)
		}
	}
}

// started returns the first start of a request.
func (s *site) started() events.RequestStarted {
	s.t.Helper()
	for _, e := range s.events() {
		if f, ok := e.Fact.(events.RequestStarted); ok {
			return f
		}
	}
	s.t.Fatal("no request has started")
	return events.RequestStarted{}
}
