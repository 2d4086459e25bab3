package node

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/config"
)

// The doctor says which way of counting is taken, what it costs, and what would help.
func TestTheDoctorSaysHowInstructionsAreCounted(t *testing.T) {
	for _, c := range []struct {
		asked, way, auto measure.Counting
		verdict          string
		detail, next     string
	}{
		{measure.CountCounters, measure.CountCounters, measure.CountCounters, "good", "costs nothing. Not in the count: the kernel's work", ""},
		{measure.CountAuto, measure.CountValgrind, measure.CountValgrind, "good", "thirty to fifty times", ""},
		{measure.CountCounters, measure.CountOff, measure.CountValgrind, "note", "not counted: because", `collector.instructions = "auto"`},
		{measure.CountAuto, measure.CountOff, measure.CountOff, "note", "not counted: because", "apt-get install valgrind"},
		{measure.CountOff, measure.CountOff, measure.CountValgrind, "good", "not counted: because", ""},
	} {
		f := countingFinding(c.asked, c.way, c.auto, "because")
		if f.Verdict != c.verdict || !strings.Contains(f.Detail, c.detail) || !strings.Contains(f.Next, c.next) || (f.Next == "") != (c.next == "") {
			t.Errorf("%s, %s: %+v", c.asked, c.way, f)
		}
	}
	h := &Host{Config: config.Default(t.TempDir())}
	h.Config.Collector.Instructions = "auto"
	if way, _ := measure.CountingOf(t.Context(), measure.CountAuto); (way == measure.CountOff) != strings.HasPrefix(h.doctorCounting(t.Context()).Detail, "not counted") {
		t.Errorf("%+v, though the way is %s", h.doctorCounting(t.Context()), way)
	}
	h.Config.Collector.Instructions = "perf"
	if f := h.doctorCounting(t.Context()); f.Verdict != "bad" {
		t.Errorf("%+v", f)
	}
}
