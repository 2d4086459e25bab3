package farm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// dividedSuite has twelve benchmarks of a kind whose jobs are divided into two to four chunks.
func dividedSuite() suite.Definitions {
	d := matchedSuite()
	d.Kinds[0].Chunks = &suite.Chunks{Min: 2, Max: 4}
	for i := len(d.Benchmarks); i < 12; i++ {
		b := d.Benchmarks[0]
		b.Name = events.Benchmark(fmt.Sprintf("b%d", 10+i))
		d.Benchmarks = append(d.Benchmarks, b)
	}
	return d
}

// divided runs a story in a farm of several machines whose jobs are divided.
func divided(t *testing.T, machines int, play func(s *story)) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{Farm: New(t, dividedSuite(), policy), bench: &Bench{Each: minute}, names: map[events.RequestID]string{}}
		defer s.Stop()
		for n := range machines {
			s.machine(n)
		}
		play(s)
		c := newChecker(t, policy.MaxInProgress)
		for _, e := range s.Events() {
			c.look(e)
		}
	})
}

// chunked tells of the log of a divided job: how many units each dispatch has, how many were open at most, and how often
// each benchmark was recorded.
func chunked(s *story) (units []int, open int, measured map[events.Benchmark]int, ids map[string][]events.JobID) {
	measured, ids = map[events.Benchmark]int{}, map[string][]events.JobID{}
	running := map[events.JobID]bool{}
	for _, e := range s.Events() {
		// The others tell nothing about chunks.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.JobDispatched:
			var names []string
			for _, u := range f.Job.Chunk.Units {
				names = append(names, string(u))
			}
			units = append(units, len(names))
			key := strings.Join(names, " ")
			ids[key] = append(ids[key], f.Job.ID)
			running[f.Job.ID] = true
			open = max(open, len(running))
		case events.JobFinished:
			delete(running, f.JobID)
		case events.JobMoved:
			delete(running, f.JobID)
		case events.TestCasesMeasured:
			for _, c := range f.Cases {
				measured[c.Benchmark]++
			}
		}
	}
	return units, open, measured, ids
}

// once checks that each of twelve benchmarks was recorded exactly once.
func (s *story) once(measured map[events.Benchmark]int) {
	s.T.Helper()
	if len(measured) != 12 || slices.Max(slices.Collect(maps.Values(measured))) != 1 {
		s.T.Errorf("recorded: %v", measured)
	}
}

func TestOneMachineMeasuresAllChunks(t *testing.T) {
	divided(t, 1, func(s *story) {
		s.on(0, s.bench)
		s.until(s.master("c2", ""))
		units, _, measured, _ := chunked(s)
		if diff := cmp.Diff([]int{6, 6}, units); diff != "" {
			s.T.Errorf("units of the dispatches (-want +got):\n%s", diff)
		}
		s.once(measured)
	})
}

func TestIdleMachinesGetAChunkEach(t *testing.T) {
	divided(t, 5, func(s *story) {
		for n := range 5 {
			s.on(n, &Bench{Each: minute})
		}
		s.Pass(time.Minute) // all are online now
		s.until(s.master("c2", ""))
		units, open, measured, _ := chunked(s)
		if diff := cmp.Diff([]int{3, 3, 3, 3}, units); diff != "" {
			s.T.Errorf("units of the dispatches (-want +got):\n%s", diff)
		}
		if open != 4 {
			s.T.Errorf("%d chunks were open at once", open)
		}
		s.once(measured)
	})
}

// The machine is killed after the first result of its chunk. Only what has no result is measured again, on another machine.
func TestAKilledChunkGoesOnElsewhere(t *testing.T) {
	divided(t, 3, func(s *story) {
		first := s.on(0, s.bench)
		id := s.master("c2", "")
		s.Await("the first result", func(f events.Fact) bool { _, ok := f.(events.TestCasesMeasured); return ok })
		first.Kill()
		for n := 1; n < 3; n++ {
			s.on(n, &Bench{Each: minute})
		}
		s.until(id)
		_, _, measured, ids := chunked(s)
		for units, jobs := range ids {
			if len(slices.Compact(slices.Sorted(slices.Values(jobs)))) != 1 {
				s.T.Errorf("the units %s were dispatched as %v", units, jobs)
			}
		}
		if len(measured) != 12 {
			s.T.Errorf("recorded: %v", measured)
		}
	})
}

// A machine that was frozen while its chunk went to another one records nothing more of it.
func TestAFrozenChunkIsRefused(t *testing.T) {
	divided(t, 2, func(s *story) {
		frozen := s.on(0, s.bench)
		id := s.master("c2", "")
		s.Await("the beginning", func(f events.Fact) bool { _, ok := f.(events.JobDequeued); return ok })
		frozen.Pause()
		s.on(1, &Bench{Each: minute})
		s.until(id)
		frozen.Wake()
		s.Pass(time.Hour)
		_, _, measured, _ := chunked(s)
		s.once(measured)
	})
}

// A rerun of a chunk that failed measures the same units, whatever machines are free then.
func TestARerunChunkMeasuresTheSameUnits(t *testing.T) {
	divided(t, 4, func(s *story) {
		broken := true
		for n := range 2 {
			s.on(n, &Bench{Each: minute, Err: func(spec events.JobSpec) error {
				if broken && slices.Contains(spec.Chunk.Units, "b9") {
					return &collector.PermanentError{Kind: events.ErrorArtifact, Err: errors.New("broken")}
				}
				return nil
			}})
		}
		id := s.master("c2", "")
		s.Await("the end", func(f events.Fact) bool { _, ok := f.(events.RequestFailed); return ok })
		broken = false
		for n := 2; n < 4; n++ {
			s.on(n, &Bench{Each: minute})
		}
		_, _, err := s.Control.RepairRequest(s.ctx, By, id, control.Repair{Key: "again"})
		if err != nil {
			s.T.Fatal(err)
		}
		s.Pass(time.Hour)
		_, _, measured, ids := chunked(s)
		s.once(measured)
		rerun := 0
		for _, jobs := range ids {
			if len(jobs) == 2 && jobs[0] != jobs[1] {
				rerun++
			}
		}
		if rerun != 1 {
			s.T.Errorf("units and the jobs that had them: %v", ids)
		}
	})
}

// Two of the four chunks run when the request is cancelled. The next request makes what is left, and nothing twice.
func TestChunksAfterACancel(t *testing.T) {
	divided(t, 1, func(s *story) {
		s.on(0, s.bench)
		id := s.master("c2", "")
		s.Await("a result", func(f events.Fact) bool { _, ok := f.(events.TestCasesMeasured); return ok })
		s.cancel(id)
		s.Pass(time.Minute)
		s.until(s.try("again", 7, "c2", ""))
		_, _, measured, _ := chunked(s)
		if len(measured) != 12 {
			s.T.Errorf("recorded: %v", measured)
		}
	})
}
