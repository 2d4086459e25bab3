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
)

// A command prints a gigabyte as fast as it can. The collector stays small and is heard all the while, the job ends within a
// second of its command, and its log has the beginning and the end, with a line that says to the byte what is not there.
func TestAFloodOfOutput(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.patient()
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
	const first, last = 100000000, 207374182 // 1 GiB, of lines of 10 bytes
	err := os.Mkdir(filepath.Join(s.dir, "flood"), 0o755)
	if err == nil {
		script := fmt.Sprintf("date +%%s%%N\nseq %d %d\ndate +%%s%%N\n", first, last)
		err = os.WriteFile(filepath.Join(s.dir, "flood", "flood.sh"), []byte(script), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.start("--collectors", "0")
	s.must("collector", "add", "first", "--target", "here")
	p := s.begin("collector", "run", "first")
	s.must("request", "master", "v1")
	var ended events.JobFinished
	var at time.Time
	s.eventually("the flood is over", 2*time.Minute, func() bool {
		for _, e := range s.events() {
			//exhaustive:ignore
			switch f := e.Fact.(type) {
			case events.AttemptLost, events.CollectorOffline:
				t.Fatalf("the collector was not heard: %+v", f)
			case events.JobFinished:
				if f.Printed != nil && f.Printed.Bytes > 1<<30 {
					ended, at = f, e.Time
				}
			}
		}
		return ended.JobID != ""
	})
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if peak == nil || number(t, string(peak[1])) >= 64<<10 {
		t.Errorf("the collector had %s kB", peak)
	}
	text, errs, _ := s.run("logs", "--follow", string(ended.JobID))
	if !strings.Contains(errs, "the output is complete") {
		t.Errorf("logs says %s", errs)
	}
	var dropped, notes int
	gaps := regexp.MustCompile(`(\d{9})\n(\[… ([0-9,]+) bytes, ([0-9,]+) lines were dropped here\]\n)(\d{9})\n`).FindAllStringSubmatch(text, -1)
	for _, gap := range gaps {
		before, bytes, lines, after := number(t, gap[1]), number(t, gap[3]), number(t, gap[4]), number(t, gap[5])
		if lines != after-before-1 || bytes != 10*lines {
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
	t.Logf("1 GiB in %v; the job ended %v later; the collector had %s kB at its peak; %q", over.Sub(begun), at.Sub(over), peak[1], gaps)
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
