package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// An interrupted demo ends softly: the collectors give their jobs back while the core still runs.
func TestADemoThatIsInterruptedGivesItsJobsBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, nap := range []string{`"0.1"`, `"0.15"`, `"0.2"`} {
		s.replace("naps.toml", nap, `"20"`)
	}
	s.replace("naps.toml", "[categories]\n", "[demo]\nparent = \"v1\"\nchild = \"v2\"\n\n[categories]\n")
	demo := s.begin("up", "--demo", "--listen", "127.0.0.1:0")
	s.eventually("both are at work", 60*time.Second, func() bool { return strings.Count(demo.log.String(), "job.dequeued") == 2 })
	if err := demo.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-demo.ended
	if strings.Contains(demo.log.String(), "could not be recorded") {
		t.Errorf("it said\n%s", demo.log.String())
	}
	s.start("--collectors", "0")
	s.eventually("the tables have the end of the log", 30*time.Second, func() bool {
		released, left := 0, 0
		for _, e := range s.events() {
			switch e.Fact.(type) {
			case events.AttemptReleased:
				released++
			case events.CollectorOffline:
				left++
			}
		}
		return released == 2 && left == 2
	})
}
