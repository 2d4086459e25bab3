package collector

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// host is a host with so many MiB of free memory; it does not know how many if they are negative.
type host struct{ atomic.Int64 }

func (h *host) free() (int64, bool) {
	mib := h.Load()
	return mib << 20, mib >= 0
}

func (h *host) onHost(c *Config) { c.FreeMemory = h.free }

func (s *stage) reserving(id events.JobID, terms ...string) events.JobSpec {
	spec := s.matched(id)
	spec.Requires = terms
	return spec
}

func TestAJobBeginsOnlyIfThereIsMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		free     int64
		requires []string
		full     *events.HostFull
	}{
		"enough":           {1024, []string{"memory=1g"}, nil},
		"too little":       {1023, []string{"cpus=1", "memory=1g"}, &events.HostFull{ReservedMiB: 1024, FreeMiB: 1023}},
		"none":             {0, []string{"memory=1m"}, &events.HostFull{ReservedMiB: 1}},
		"not known":        {-1, []string{"memory=1g"}, nil},
		"nothing reserved": {0, []string{"exclusive"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				onStage(t, func(s *stage) {
					var h host
					h.Store(tc.free)
					bench := &slow{}
					p := s.start("c0", pool0, "i1", bench, h.onHost)
					s.dispatch(pool0, 1, s.reserving("j1", tc.requires...), 0, 0)
					if tc.full == nil {
						if f := s.finished(pool0, "j1"); f.Outcome != events.Success {
							t.Errorf("it ended as %+v", f)
						}
					} else {
						f := await(s, events.WorkSubject(pool0), func(events.AttemptReleased) bool { return true })
						if diff := cmp.Diff(tc.full, f.HostFull); diff != "" || f.Lost != 0 || f.Transient || len(bench.measured) > 0 {
							t.Errorf("given back as %+v after %q (-want +got):\n%s", f, bench.measured, diff)
						}
					}
					if err := p.end(); err != nil {
						t.Error(err)
					}
				})
			})
		})
	}
}

// While no scheduler takes the job, it waits for memory without a word. A restart changes nothing.
func TestAJobWaitsForMemoryWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			var h host
			p := s.start("c0", pool0, "i1", &slow{}, h.onHost)
			s.dispatch(pool0, 1, s.reserving("j1", "memory=1g"), 0, 0)
			f := await(s, events.WorkSubject(pool0), func(events.AttemptReleased) bool { return true })
			if f.Reason != "the host has 0 MiB of memory free, and the job reserves 1024 MiB" {
				t.Errorf("given back because %q", f.Reason)
			}
			time.Sleep(10 * time.Minute) // of the bubble
			if err := p.end(); err != nil {
				t.Fatal(err)
			}
			p = s.start("c0", pool0, "i2", &slow{}, h.onHost)
			time.Sleep(10 * time.Minute)
			if n := len(told[events.JobDequeued](s, events.WorkSubject(pool0))); n != 1 {
				t.Errorf("%d attempts", n)
			}
			h.Store(4096)
			if f := s.finished(pool0, "j1"); f.Outcome != events.Success || f.Attempt != 2 || f.Lost != 0 {
				t.Errorf("it ended as %+v", f)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// The scheduler takes the job, and the next one of the lane begins soon.
func TestTheNextJobBeginsOnAFullHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			var h host
			bench := &slow{}
			p := s.start("c0", pool0, "i1", bench, h.onHost)
			s.dispatch(pool0, 1, s.reserving("j1", "memory=1g"), 0, 0)
			await(s, events.WorkSubject(pool0), func(events.AttemptReleased) bool { return true })
			moved := s.move(pool0, job.Move{Place: 1, JobID: "j1", Reason: "full"})
			if moved.Attempt != 1 || moved.Lost != 0 {
				t.Errorf("moved as %+v", moved)
			}
			at := time.Now()
			s.dispatch(pool0, 2, s.reserving("j2", "exclusive"), 0, 0)
			await(s, events.WorkSubject(pool0), func(f events.JobDequeued) bool { return f.Job.ID == "j2" })
			if waited := time.Since(at); waited > 5*time.Second {
				t.Errorf("it waited %s", waited)
			}
			s.finished(pool0, "j2")
			if !slices.Equal(bench.measured, []string{"x of v2", "y of v2"}) {
				t.Errorf("measured %q", bench.measured)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}
