package waits

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// at is so many minutes after noon.
func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// The timeline is the design's: each run stands for one of its sentences.
func TestAttainmentOfTheDesign(t *testing.T) {
	const target = 15 * time.Minute
	window, now := Window{at(0), at(60)}, at(60)
	cases := []struct {
		words   string
		run     Run
		verdict Verdict
	}{
		{"it began at once", Run{Ready: at(0), Begun: at(0), Ended: at(20)}, Hit},
		{"it began at the target", Run{Ready: at(10), Begun: at(25)}, Hit},
		{"it began a millisecond later", Run{Ready: at(10), Begun: at(25).Add(time.Millisecond)}, Miss},
		{"it was blocked for an hour, and began at once when its last need was met", Run{Ready: at(40), Begun: at(41)}, Hit},
		{"it is blocked, or was skipped", Run{}, Outside},
		{"it still waits past the target", Run{Ready: at(20)}, Miss},
		{"it waits and is not there yet", Run{Ready: at(50)}, Outside},
		{"it began, and its target is still to come", Run{Ready: at(50), Begun: at(51)}, Outside},
		{"its target was before the window", Run{Ready: at(-20), Begun: at(-19)}, Outside},
		{"it was ready before the window, and its target is in it", Run{Ready: at(-15), Begun: at(-5)}, Hit},
		{"its target is the end of the window", Run{Ready: at(45), Begun: at(46)}, Outside},
		{"it was cancelled before the target", Run{Ready: at(5), Ended: at(19)}, LeftOut},
		{"it was cancelled past the target", Run{Ready: at(5), Ended: at(21)}, Miss},
		{"it expired", Run{Ready: at(5), Ended: at(10), Expired: true}, Miss},
		{"it began in time and was cancelled while it ran", Run{Ready: at(5), Begun: at(6), Ended: at(7)}, Hit},
	}
	var runs []Run
	for _, c := range cases {
		if got := c.run.In(window, target); got != c.verdict {
			t.Errorf("%s: verdict %d, want %d", c.words, got, c.verdict)
		}
		runs = append(runs, c.run)
	}
	got := Judge(runs, window, target, now)
	// The nine runs waited 0, 1, 1, 5, 10, 15, 15+, 16 and 40 minutes.
	want := Stats{
		Runs: 9, Hits: 5, Attainment: new(5.0 / 9), P50MS: new((10 * time.Minute).Milliseconds()), P90MS: new((40 * time.Minute).Milliseconds()),
		Waiting: 2, LongestMS: (40 * time.Minute).Milliseconds(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoRunsHaveNoAttainment(t *testing.T) {
	if got := Judge(nil, Window{at(0), at(60)}, time.Minute, at(60)); got != (Stats{}) {
		t.Errorf("got %+v", got)
	}
}

func TestStagesOfRequestsThatEndEarly(t *testing.T) {
	minutes := func(n int64) int64 { return n * 60_000 }
	cases := map[string]struct {
		instants Instants
		want     Stages
	}{
		"whole": {
			Instants{Created: at(0), Ready: at(1), Started: at(3), Ended: at(7), Reported: at(15), Reports: true},
			Stages{ArtifactMS: minutes(1), AdmissionMS: minutes(2), ExecutionMS: minutes(4), ReportMS: minutes(8), WholeMS: minutes(15)},
		},
		"without a report": {
			Instants{Created: at(0), Ready: at(0), Started: at(3), Ended: at(7)},
			Stages{AdmissionMS: minutes(3), ExecutionMS: minutes(4), WholeMS: minutes(7)},
		},
		"expired before its artifact came": {
			Instants{Created: at(0), Ended: at(7), Reported: at(9), Reports: true},
			Stages{ArtifactMS: minutes(7), ReportMS: minutes(2), WholeMS: minutes(9)},
		},
		"cancelled in the queue": {
			Instants{Created: at(0), Ready: at(2), Ended: at(7)}, Stages{ArtifactMS: minutes(2), AdmissionMS: minutes(5), WholeMS: minutes(7)},
		},
		"in the queue": {
			Instants{Created: at(0), Ready: at(2)}, Stages{ArtifactMS: minutes(2), AdmissionMS: minutes(18), WholeMS: minutes(20), Open: true},
		},
		"its report is not there yet": {
			Instants{Created: at(0), Ready: at(0), Started: at(0), Ended: at(7), Reports: true},
			Stages{ExecutionMS: minutes(7), ReportMS: minutes(13), WholeMS: minutes(20), Open: true},
		},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, c.instants.Split(at(20))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// some draws an instant, or none. The instants are in no order, as if each came from another clock.
func some(t *rapid.T, name string) time.Time {
	if rapid.IntRange(0, 4).Draw(t, name+" is missing") == 0 {
		return time.Time{}
	}
	return noon.Add(time.Duration(rapid.Int64Range(-5_000_000_000, 5_000_000_000).Draw(t, name)) * time.Microsecond)
}

func TestStagesAddUpAndAreNeverNegative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := Instants{
			Created: noon, Ready: some(t, "ready"), Started: some(t, "started"), Ended: some(t, "ended"), Reported: some(t, "reported"),
			Reports: rapid.Bool().Draw(t, "reports"),
		}
		s := i.Split(noon.Add(time.Duration(rapid.Int64Range(-100, 10_000).Draw(t, "now")) * time.Second))
		if s.ArtifactMS < 0 || s.AdmissionMS < 0 || s.ExecutionMS < 0 || s.ReportMS < 0 {
			t.Fatalf("negative: %+v", s)
		}
		if s.ArtifactMS+s.AdmissionMS+s.ExecutionMS+s.ReportMS != s.WholeMS {
			t.Fatalf("they do not add up: %+v", s)
		}
	})
}

func TestARunCountsInOneWindowOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := time.Duration(rapid.IntRange(0, 100).Draw(t, "target")) * time.Minute
		var runs []Run
		for range rapid.IntRange(0, 30).Draw(t, "runs") {
			runs = append(runs, Run{some(t, "ready"), some(t, "begun"), some(t, "ended"), rapid.Bool().Draw(t, "expired")})
		}
		from, now := noon.Add(-3*time.Hour), noon.Add(5*time.Hour)
		cut := from.Add(time.Duration(rapid.IntRange(0, 480).Draw(t, "cut")) * time.Minute)
		whole := Judge(runs, Window{from, now}, target, now)
		a, b := Judge(runs, Window{from, cut}, target, now), Judge(runs, Window{cut, now}, target, now)
		if a.Runs+b.Runs != whole.Runs || a.Hits+b.Hits != whole.Hits || whole.Hits > whole.Runs || whole.LongestMS < 0 {
			t.Fatalf("parts %+v and %+v of %+v", a, b, whole)
		}
		if whole.Runs > 0 && (*whole.P50MS < 0 || *whole.P90MS < *whole.P50MS) {
			t.Fatalf("quantiles of %+v", whole)
		}
	})
}

func TestQuantilesAreOfTheTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, 20).Draw(t, "ms")) * time.Millisecond
		}), 1, 40).Draw(t, "times")
		percent := rapid.IntRange(1, 100).Draw(t, "percent")
		got := *Quantile(times, percent)
		below, within := 0, 0
		for _, d := range times {
			if d.Milliseconds() < got {
				below++
			}
			if d.Milliseconds() <= got {
				within++
			}
		}
		need := int(math.Ceil(float64(len(times)) * float64(percent) / 100))
		if within < need || below >= need {
			t.Fatalf("%d of %v is %d", percent, times, got)
		}
	})
}
