package collector

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// A process that ends in the middle of a pair records nothing of it. The next attempt measures both sides anew.
func TestHalfAPairIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			first := &slow{}
			p := s.start("c0", pool0, "i1", first)
			s.dispatch(pool0, 1, s.pair("j1"), 0, 0)
			await(s, events.WorkSubject(pool0), func(events.JobDequeued) bool { return true })
			time.Sleep(90 * time.Second) // of the bubble
			if err := p.end(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"x of v1"}, first.measured); diff != "" || len(s.results(pool0, "j1")) > 0 {
				t.Errorf("recorded %q, measured (-want +got):\n%s", s.results(pool0, "j1"), diff)
			}
			next := &slow{}
			p = s.start("c0", pool0, "i2", next)
			if f := s.finished(pool0, "j1"); f.Outcome != events.Success || f.Measured != 2 || f.Skipped != 0 {
				t.Errorf("it ended as %+v", f)
			}
			if diff := cmp.Diff([]string{"x of v1", "x of v2", "y of v1", "y of v2"}, next.measured); diff != "" {
				t.Errorf("measured by the next attempt (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"x of v2 beside v1, attempt 2", "y of v2 beside v1, attempt 2"}, s.results(pool0, "j1")); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// If the parent goes away for good while a job runs, the rest is measured alone, and nothing twice.
func TestAPairGoesOnAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			asked := 0
			bench := &slow{refuse: func(spec events.JobSpec) error {
				if spec.Artifact == parent {
					if asked++; asked > 1 {
						return &PermanentError{Kind: events.ErrorArtifact, Err: errors.New("v1 is gone")}
					}
				}
				return nil
			}}
			p := s.start("c0", pool0, "i1", bench)
			s.dispatch(pool0, 1, s.pair("j1"), 0, 0)
			if f := s.finished(pool0, "j1"); f.Outcome != events.Success || f.Measured != 2 {
				t.Errorf("it ended as %+v", f)
			}
			if diff := cmp.Diff([]string{"x of v2 beside v1, attempt 1", "y of v2, attempt 1"}, s.results(pool0, "j1")); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// blockOf returns n test cases of one side, each with as many iterations.
func blockOf(n, iterations int) (cases []events.MeasuredCase) {
	for i := range n {
		c := events.MeasuredCase{TestCase: events.TestCase{Benchmark: "b", Scenario: events.Scenario(fmt.Sprint("s", i))}}
		for range iterations {
			c.Iterations = append(c.Iterations, events.Iteration{Metrics: map[events.Metric]float64{"wall-time": 1.5}, Interference: strings.Repeat("x", 60)})
		}
		cases = append(cases, c)
	}
	return cases
}

// A block that is too large for one event goes into several: both sides of a test case are always in the same one.
func TestALargeBlock(t *testing.T) {
	for name, tc := range map[string]struct {
		cases, iterations int
		want              []int
	}{
		"as usual":                {3, 10, []int{3}},
		"many test cases":         {120, 1, []int{50, 50, 20}},
		"large test cases":        {5, 1000, []int{3, 2}},
		"one that is nearly full": {2, 3500, []int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			log := memory.New(memory.Config{})
			s := sinkOn(log)
			s.a.sink, s.a.spec.Artifact, s.a.spec.Against = s, child, &parent
			if err := s.Side(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if err := s.Block(t.Context(), blockOf(tc.cases, tc.iterations), blockOf(tc.cases, tc.iterations)); err != nil {
				t.Fatal(err)
			}
			history, err := log.Read(t.Context(), events.ResultSubject(s.a.c.Lane, s.a.spec.ID))
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			n := 0
			for _, e := range history {
				f := e.Fact.(events.TestCasesMeasured)
				for i, c := range f.Cases {
					if c.Scenario != events.Scenario(fmt.Sprint("s", n)) || f.Beside.Cases[i].Scenario != c.Scenario || f.Artifact != child || f.Beside.Artifact != parent {
						t.Fatalf("%s of %s beside %s of %s", c.TestCase, f.Artifact, f.Beside.Cases[i].TestCase, f.Beside.Artifact)
					}
					n++
				}
				got = append(got, len(f.Cases))
				if stored, err := events.Encode(eventlog.NewEvent(f, eventlog.Meta{Actor: "a"}, time.Now())); err != nil || len(stored.Data) > 1<<20 {
					t.Errorf("an event of %d bytes, %v", len(stored.Data), err)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || s.measured != tc.cases {
				t.Errorf("%d measured, in events (-want +got):\n%s", s.measured, diff)
			}
			if done := s.a.doneOf(parent); !done(blockOf(tc.cases, 0)[tc.cases-1].TestCase) {
				t.Error("the parent's side is not done")
			}
		})
	}
}
