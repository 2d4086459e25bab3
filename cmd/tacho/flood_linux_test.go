package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// A command prints a gigabyte and more as fast as it can, and NATS goes away for some seconds meanwhile; `make outage` keeps it
// away for a minute. The collector stays small and is heard soon after NATS is back, the job ends within a second of its
// command, each thing is told once, and its log has the beginning and the end, with a line that says to the byte what is not
// there.
func TestAFloodOfOutput(t *testing.T) {
	t.Parallel()
	away := 3 * time.Second
	if os.Getenv("TACHO_OUTAGE") == "full" {
		away = time.Minute
	}
	var stop string
	f := newFarm(t, func(s *site) {
		stop = filepath.Join(s.dir, "stop")
		s.floods(stop)
	})
	f.must("request", "master", "v1")
	f.eventually("it floods", time.Minute, func() bool {
		return slices.ContainsFunc(f.events(), func(e events.Recorded) bool {
			d, begun := e.Fact.(events.JobDequeued)
			return begun && d.Job.Kind == "flood"
		})
	})
	f.stopNATS()
	pass(away)
	back := time.Now()
	f.startNATS()
	c, err := client.New(f.server, "t")
	if err != nil {
		t.Fatal(err)
	}
	f.eventually("the collector is heard", time.Minute, func() bool {
		list, err := c.Collectors(t.Context(), false)
		return err == nil && len(list) == 1 && list[0].Heartbeat != nil && list[0].Heartbeat.Time.After(back)
	})
	heard := time.Since(back)
	if err := os.WriteFile(stop, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.done("the flood")
	t.Logf("NATS was away for %v, the collector was heard %v later", away, heard)
	if heard > 20*time.Second {
		t.Errorf("the collector was heard %v after NATS was back", heard)
	}
	f.checkLog()
	if took := f.checkFlood(); took < away {
		t.Errorf("it flooded for %v", took)
	}
}

// floods gives the suite a kind whose jobs print a gigabyte and then more until there is a file, in lines of 13 bytes with
// numbers of 12 digits.
func (s *site) floods(stop string) {
	s.t.Helper()
	s.replace("naps.toml", "version = 1", "version = 2")
	s.replace("naps.toml", `timeout = "30s"`, `timeout = "5m"`)
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
		script := fmt.Sprintf(`date +%%s%%N
n=100000000000
m=$((n + %d))
until [ -e %s -a $n -ge $m ]; do
	seq $n $((n + 999999))
	n=$((n + 1000000))
done
date +%%s%%N
`, 1<<30/13, stop)
		err = os.WriteFile(filepath.Join(s.dir, "flood", "flood.sh"), []byte(script), 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// checkFlood reports what is wrong with the flood: in the log, in what its job printed, and in the memory of its collector. It
// returns how long the flood was.
func (f *farm) checkFlood() time.Duration {
	t := f.t
	t.Helper()
	var ended events.JobFinished
	var at time.Time
	for _, e := range f.events() {
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.AttemptLost, events.AttemptReleased, events.CollectorOffline, events.CollectorSilent:
			t.Errorf("event %d: %+v", e.Seq, fact)
		case events.JobFinished:
			if fact.Outcome != events.Success {
				t.Errorf("event %d: %+v", e.Seq, fact)
			}
			if fact.Printed != nil && fact.Printed.Bytes > 1<<30 {
				ended, at = fact, e.Time
			}
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.near.cmd.Process.Pid))
	if err != nil || ended.JobID == "" {
		t.Fatal(err, ended)
	}
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if peak == nil || number(t, string(peak[1])) >= 64<<10 {
		t.Errorf("the collector had %s kB", peak)
	}
	text, errs, _ := f.run("logs", "--follow", string(ended.JobID))
	if !strings.Contains(errs, "the output is complete") {
		t.Errorf("logs says %s", errs)
	}
	var dropped, notes int
	gaps := regexp.MustCompile(`(\d{12})\n(\[… ([0-9,]+) bytes, ([0-9,]+) lines were dropped here\]\n)(\d{12})\n`).FindAllStringSubmatch(text, -1)
	for _, gap := range gaps {
		before, bytes, lines, after := number(t, gap[1]), number(t, gap[3]), number(t, gap[4]), number(t, gap[5])
		if lines != after-before-1 || bytes != 13*lines {
			t.Errorf("%q between %d and %d", gap[2], before, after)
		}
		dropped += bytes
		notes += len(gap[2])
	}
	if kept := len(text) - notes; len(gaps) == 0 || int64(dropped) != ended.Printed.Dropped || int64(kept+dropped) != ended.Printed.Bytes || kept < 60<<20 {
		t.Errorf("%d bytes are kept, %d are not, in %d gaps, and the end tells %+v", kept, dropped, len(gaps), ended.Printed)
	}
	stamps := regexp.MustCompile(`(?m)^\d{19}$`).FindAllString(text, -1)
	if len(stamps) != 2 {
		t.Fatalf("printed %q", stamps)
	}
	begun, over := time.Unix(0, int64(number(t, stamps[0]))), time.Unix(0, int64(number(t, stamps[1])))
	if late := at.Sub(over); late > time.Second {
		t.Errorf("the job ended %v after its command", late)
	}
	t.Logf("%d MiB in %v; the job ended %v later; the collector had %s kB at its peak; %q", ended.Printed.Bytes>>20, over.Sub(begun), at.Sub(over), peak[1], gaps)
	return over.Sub(begun)
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
