package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// newLane is a site with one lane, a collector and a standby, both of them processes beside `tacho up`.
func newLane(t *testing.T) (s *site, first, spare *process) {
	t.Helper()
	s = newSite(t)
	s.patient()
	s.replace("quick.toml", `offline_after = "3s"`, "offline_after = \"3s\"\ntakeover_after = \"2s\"")
	s.replace("naps.toml", "sets = 2", "sets = 1")
	s.replace("naps.toml", "{ here = 1 }", "{ here = 0 }")
	s.start("--collectors", "0")
	s.must("collector", "add", "first", "--target", "here")
	s.must("collector", "add", "spare", "--target", "here", "--standby")
	first, spare = s.begin("collector", "run", "first"), s.begin("collector", "run", "spare")
	s.eventually("both are there", 30*time.Second, func() bool {
		list := s.must("collector", "list")
		return strings.Count(list, "idle") == 2 && strings.Count(list, "stands by") == 1
	})
	return s, first, spare
}

// count returns how many events satisfy f.
func count(list []events.Recorded, f func(events.Fact) bool) int {
	n := 0
	for _, e := range list {
		if f(e.Fact) {
			n++
		}
	}
	return n
}

func dequeuedBy(name events.CollectorName) func(events.Fact) bool {
	return func(f events.Fact) bool {
		d, ok := f.(events.JobDequeued)
		return ok && d.Collector == name
	}
}

func (s *site) awaitDone(tags ...string) {
	s.t.Helper()
	s.eventually("the requests complete", 120*time.Second, func() bool {
		c, ok := s.client()
		if !ok {
			return false
		}
		list, err := c.Requests(s.t.Context(), client.RequestQuery{State: events.StateCompleted})
		return err == nil && len(list) == len(tags)
	})
}

// checkTurns makes sure that after the takeover only the standby began jobs.
func (s *site) checkTurns() {
	s.t.Helper()
	serving := events.CollectorName("first")
	for _, e := range s.events() {
		// The rest has no part in it.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.LaneTakenOver:
			serving = f.Name
		case events.JobDequeued:
			if f.Collector != serving {
				s.t.Errorf("event %d: %s begins a job while %s serves the lane", e.Seq, f.Collector, serving)
			}
		}
	}
	if serving != "spare" {
		s.t.Errorf("%s serves the lane at the end", serving)
	}
}

func TestAStandbyContinuesTheJobOfAKilledCollector(t *testing.T) {
	t.Parallel()
	s, first, _ := newLane(t)
	s.must("request", "master", "v1")
	s.must("request", "master", "v2", "--parent", "v1")
	s.awaitResults(2)
	s.eventually("it is in a job", 30*time.Second, func() bool {
		list := s.events()
		return count(list, dequeuedBy("first")) > count(list, func(f events.Fact) bool { _, ok := f.(events.JobFinished); return ok })
	})
	killed := time.Now()
	s.kill(first.cmd.Process.Pid, "the collector that serves")
	s.eventually("the standby goes on", 60*time.Second, func() bool { return count(s.events(), dequeuedBy("spare")) > 0 })
	for _, e := range s.events() {
		if dequeuedBy("spare")(e.Fact) {
			t.Logf("continued after %s", e.Time.Sub(killed).Round(time.Millisecond))
			break
		}
	}
	s.begin("collector", "run", "first") // it returns and must not interfere
	s.awaitDone("v1", "v2")
	s.checkTurns()
	s.checkLog()
}

func TestAStoppedCollectorThatWakesUpDisturbsNobody(t *testing.T) {
	t.Parallel() // it waits more than it works
	s, first, _ := newLane(t)
	s.must("request", "master", "v1")
	s.awaitResults(1)
	s.signal(first, syscall.SIGSTOP)
	s.eventually("the standby goes on", 60*time.Second, func() bool { return count(s.events(), dequeuedBy("spare")) > 0 })
	s.awaitDone("v1")
	s.signal(first, syscall.SIGCONT)
	online := func(f events.Fact) bool {
		o, ok := f.(events.CollectorOnline)
		return ok && o.Name == "first"
	}
	s.eventually("it says that it is back", 30*time.Second, func() bool { return count(s.events(), online) == 2 })
	s.must("request", "master", "v2", "--parent", "v1")
	s.awaitDone("v1", "v2")
	s.checkTurns()
	s.checkLog()
	var lost events.Seq
	for _, e := range s.events() {
		// The other events are not part of an attempt's end.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.AttemptLost:
			lost = f.Token
		case events.TestCasesMeasured:
			if f.Token == lost {
				t.Errorf("event %d: a result of the attempt that was lost", e.Seq)
			}
		case events.JobFinished:
			if f.Token == lost {
				t.Errorf("event %d: the attempt that was lost ends the job", e.Seq)
			}
		}
	}
	// A person gives the lane back.
	if out := s.must("collector", "takeover", "first"); !strings.Contains(out, "collector first is serving its lane") {
		t.Error(out)
	}
	s.must("request", "master", "v3", "--parent", "v2")
	s.awaitDone("v1", "v2", "v3")
	if last := s.events(); count(last[len(last)-3:], func(f events.Fact) bool {
		e, ok := f.(events.JobFinished)
		return ok && e.Collector == "first"
	}) == 0 {
		t.Error("the last job was not done by the collector that has its lane back")
	}
}

func (s *site) signal(p *process, sig syscall.Signal) {
	s.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// A collector of `tacho up` that was deactivated starts again when it is activated.
func TestACollectorOfUpReturnsWhenItIsActivated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	started := func() int {
		return count(s.events(), func(f events.Fact) bool {
			o, ok := f.(events.CollectorOnline)
			return ok && o.Name == "local-here-0"
		})
	}
	s.eventually("it runs", 30*time.Second, func() bool { return started() == 1 })
	s.must("collector", "drain", "local-here-0", "--reason", "kernel")
	s.eventually("it has left", 30*time.Second, func() bool {
		return strings.Contains(s.log.String(), "it was drained (kernel): let it run again with `tacho collector activate local-here-0`")
	})
	s.must("collector", "activate", "local-here-0")
	s.eventually("it is back", 30*time.Second, func() bool { return started() == 2 })

	s.must("request", "master", "v1")
	s.eventually("it is in a job", 30*time.Second, func() bool { return count(s.events(), dequeuedBy("local-here-0")) > 0 })
	s.must("collector", "deactivate", "local-here-0", "--now", "--reason", "fire")
	s.eventually("it gave its job back", 30*time.Second, func() bool { return strings.Contains(s.log.String(), "it was deactivated (fire)") })
	s.must("collector", "activate", "local-here-0")
	s.awaitDone("v1")
	for _, e := range s.events() {
		if f, ok := e.Fact.(events.AttemptLost); ok {
			t.Errorf("event %d: an attempt of %s was spent", e.Seq, f.Collector)
		}
	}
	s.checkLog()
}
