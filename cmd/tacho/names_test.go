package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
)

// Every command takes the names of requests and jobs that another command prints. The suite of the server need not be named,
// whatever suites the configuration here names.
func TestACommandTakesWhatAnotherPrints(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	s.env = slices.Concat(s.env, []string{"TACHO_SUITE=go"})
	s.must("request", "release", "v1", "--wait")
	s.must("request", "try", "--key", "pr 7")
	if out := s.must("request", "list"); !strings.Contains(out, "key pr 7") {
		t.Fatalf("the list is\n%s", out)
	}
	c, _ := s.client()
	beginning := ""
	s.eventually("the tables know the jobs", 30*time.Second, func() bool {
		found, err := c.Request(t.Context(), "v1")
		if err != nil || len(found.JobList) == 0 {
			return false
		}
		beginning = string(found.JobList[0].ID)[:10]
		return true
	})
	for _, command := range [][]string{
		{"request", "show", "key pr 7"},
		{"jobs", "--request", "v1"},
		{"logs", beginning},
		{"trace", beginning},
		{"trace", "key pr 7"},
		{"request", "artifacts-ready", "pr 7", "--tag", "v3"},
		{"request", "cancel", "v3"},
	} {
		s.must(command...)
	}
	if out := s.must("request", "show", "key pr 7"); !strings.Contains(out, string(events.StateCancelled)) {
		t.Errorf("it was cancelled by its tag:\n%s", out)
	}
	s.refused(cli.ExitRefused, []string{"request", "cancel", "v3-of-nobody"}, "`tacho request list`")
}
