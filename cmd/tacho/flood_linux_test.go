package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// A command prints a gigabyte as fast as it can. The collector stays small and is heard all the while, the job ends within a
// second of its command, and its log has the beginning and the end, with a line that says to the byte what is not there.
func TestAFloodOfOutput(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.patient()
	const first, last = 100000000, 207374182 // 1 GiB, of lines of 10 bytes
	s.floods(fmt.Sprintf("seq %d %d", first, last))
	s.start("--collectors", "0")
	s.must("collector", "add", "first", "--target", "here")
	p := s.begin("collector", "run", "first")
	s.must("request", "master", "v1")
	var ended events.JobFinished
	var at time.Time
	s.eventually("the flood is over", 2*time.Minute, func() bool {
		ended, at = s.flooded()
		return ended.JobID != ""
	})
	took, late := s.checkFlood(p, ended, at)
	if late > time.Second {
		t.Errorf("the job ended %v after its command", late)
	}
	t.Logf("1 GiB in %v", took)
}

// floods gives the suite a kind whose jobs print as fast as they can, in lines of 10 bytes with numbers of 9 digits.
func (s *site) floods(commands string) {
	s.t.Helper()
	s.replace("naps.toml", "version = 1", "version = 2")
	s.replace("naps.toml", "[[profile]]\nname = \"quick\"", `
[[kind]]
name = "flood"
profile = "quick"
backfill = true
does = "command"
source = "flood"
steps = [["sh", "{source}/flood.sh", "{artifact}"]]

[[profile]]
name = "quick"`)
	err := os.Mkdir(filepath.Join(s.dir, "flood"), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "flood", "flood.sh"), []byte("date +%s%N\n"+commands+"\ndate +%s%N\n"), 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// flooded returns the end of the job that floods, and when it was, by the clock of the collector. There is none at first.
func (s *site) flooded() (ended events.JobFinished, at time.Time) {
	s.t.Helper()
	for _, e := range s.events() {
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.AttemptLost, events.CollectorOffline, events.CollectorSilent:
			s.t.Fatalf("the collector was not heard: %+v", f)
		case events.JobFinished:
			if f.Printed == nil || f.Printed.Dropped == 0 {
				continue
			}
			if ended.JobID != "" {
				s.t.Fatalf("it ends twice: %+v, %+v", ended, f)
			}
			ended, at = f, e.Time
		}
	}
	return ended, at
}

// checkFlood reports a collector that was large, and output of which another part is missing than it says. It returns how
// long the command took, and how much later its job ended.
func (s *site) checkFlood(p *process, ended events.JobFinished, at time.Time) (took, late time.Duration) {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if peak == nil || number(s.t, string(peak[1])) >= 64<<10 {
		s.t.Errorf("the collector had %s kB", peak)
	}
	text, errs, _ := s.run("logs", "--follow", string(ended.JobID))
	if !strings.Contains(errs, "the output is complete") {
		s.t.Errorf("logs says %s", errs)
	}
	var dropped, notes int
	gaps := regexp.MustCompile(`(\d{9})\n(\[… ([0-9,]+) bytes, ([0-9,]+) lines were dropped here\]\n)(\d{9})\n`).FindAllStringSubmatch(text, -1)
	for _, gap := range gaps {
		before, bytes, lines, after := number(s.t, gap[1]), number(s.t, gap[3]), number(s.t, gap[4]), number(s.t, gap[5])
		if lines != after-before-1 || bytes != 10*lines {
			s.t.Errorf("%q between %d and %d", gap[2], before, after)
		}
		dropped += bytes
		notes += len(gap[2])
	}
	if kept := len(text) - notes; len(gaps) == 0 || int64(dropped) != ended.Printed.Dropped || int64(kept+dropped) != ended.Printed.Bytes || kept < 60<<20 {
		s.t.Errorf("%d bytes are kept, %d are not, in %d gaps, and the end tells %+v", kept, dropped, len(gaps), ended.Printed)
	}
	stamps := regexp.MustCompile(`(?m)^\d{19}$`).FindAllString(text, -1)
	if len(stamps) != 2 {
		s.t.Fatalf("printed %q", stamps)
	}
	begun, over := time.Unix(0, int64(number(s.t, stamps[0]))), time.Unix(0, int64(number(s.t, stamps[1])))
	s.t.Logf("%d MiB in %v; the job ended %v later; the collector had %s kB at its peak; %q",
		ended.Printed.Bytes>>20, over.Sub(begun), at.Sub(over), peak[1], gaps)
	return over.Sub(begun), at.Sub(over)
}

// NATS is away while a command prints as fast as it can, and when it ends; `make outage` keeps it away for a minute. The
// collector stays small, is heard soon after NATS is back, and tells each thing once; the output is whole but for one gap.
func TestNATSIsAwayDuringAFlood(t *testing.T) {
	t.Parallel() // it waits more than it works
	away := 4 * time.Second
	if os.Getenv("TACHO_OUTAGE") == "full" {
		away = time.Minute
	}
	var stop string
	f := newFarm(t, func(s *site) {
		stop = filepath.Join(s.dir, "stop")
		s.floods(fmt.Sprintf("seq 100000000 999999999 & p=$!\nuntil [ -e %s ]; do sleep 0.05; done\nkill $p\nwait $p\necho", stop))
	})
	f.must("request", "master", "v1")
	f.eventually("it floods", time.Minute, func() bool {
		for _, e := range f.events() {
			if d, ok := e.Fact.(events.JobDequeued); ok && d.Job.Kind == "flood" {
				out, _, _ := f.run("logs", string(d.Job.ID))
				return len(out) > 1<<20
			}
		}
		return false
	})
	f.stopNATS()
	pass(away)
	if err := os.WriteFile(stop, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	pass(away / 4) // the command has ended, and its end cannot be told
	back := time.Now()
	f.startNATS()
	f.eventually("the collector is heard", time.Minute, func() bool {
		c, err := client.New(f.server, "t")
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.Collectors(t.Context(), false)
		return err == nil && len(list) == 1 && list[0].Heartbeat != nil && list[0].Heartbeat.Time.After(back)
	})
	heard := time.Since(back)
	f.done("NATS was away")
	ended, at := f.flooded()
	if _, late := f.checkFlood(f.near, ended, at); late > away/4+heard+time.Second {
		t.Errorf("the job ended %v after its command", late)
	}
	if heard > 10*time.Second {
		t.Errorf("the collector was heard %v after NATS was back", heard)
	}
	t.Logf("NATS was away for %v, the collector was heard %v later", away+away/4, heard)
	f.checkLog()
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
