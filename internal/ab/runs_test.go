package ab

import (
	"slices"
	"testing"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
)

func TestShortCommandsRunMoreOften(t *testing.T) {
	for _, test := range []struct {
		seconds float64
		want    int
	}{{-1, 1}, {0, 1}, {0.0001, 10}, {0.01, 10}, {0.028, 8}, {0.1, 2}, {0.2, 1}, {0.21, 1}, {3600, 1}} {
		if got := runsIn(test.seconds); got != test.want {
			t.Errorf("runsIn(%v) = %d, want %d", test.seconds, got, test.want)
		}
	}
}

func TestSeveralRunsCountAsTheirMean(t *testing.T) {
	evidence := func(stall float64) measure.Evidence {
		return measure.Evidence{Stall: measure.Share{Value: stall, Known: true}}
	}
	one := run{metrics: map[events.Metric]float64{"x": 3, "rare": 5}, evidence: evidence(0.3), interference: "waited"}
	got := meanOf([]run{
		one, {metrics: map[events.Metric]float64{"x": 4}, evidence: evidence(0)}, {metrics: map[events.Metric]float64{"x": 8}, evidence: evidence(0.6), interference: "waited more"},
	})
	if got.metrics["x"] != 5 || got.metrics["rare"] != 5 || got.interference != "waited more" || got.evidence.Stall.Value < 0.29 || got.evidence.Stall.Value > 0.31 || !got.evidence.Stall.Known || got.evidence.Steal.Known {
		t.Errorf("got %+v", got)
	}
	if got := meanOf([]run{one}); got.evidence != one.evidence || got.metrics["x"] != 3 {
		t.Errorf("got %+v", got)
	}
}

// The runs of a pair take turns, too: AB AB, then BA BA.
func TestTheRunsOfAPairTakeTurns(t *testing.T) {
	file := t.TempDir() + "/order"
	prints := func(name string) Side { return shell("printf " + name + " >>" + file) }
	p := plan(prints("a"), prints("b"))
	p.MaxPairs, p.Runs, p.Warmup = 2, 2, 0
	r := measured(t, p)
	if got := contents(t, file); got != "ababbaba" || r.Pairs != 2 || r.Runs != 2 || !slices.Contains(r.Remarks(), "In each pair each side ran 2 times, in turns, and the means count.") {
		t.Errorf("they ran %s: %+v, %q", got, r, r.Remarks())
	}
	p.Runs, p.Warmup = 0, 1
	p.A, p.B = naps("0.4"), naps("0")
	if r := measured(t, p); r.Runs != 1 {
		t.Errorf("the longer side takes 0.4 s, and each ran %d times", r.Runs)
	}
}
