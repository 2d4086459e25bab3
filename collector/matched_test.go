package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
)

// slow is a Bench for which each test case takes a minute.
type slow struct {
	// stuck makes it ignore that it was stopped.
	stuck bool
	// refuse, if set, decides how a run ends before anything is measured.
	refuse func(events.JobSpec) error
	// fails, if set, says which test cases fail, and how.
	fails func(events.Artifact, events.TestCase) events.ErrorKind
	// uses are what the commands of the test cases use, in order.
	uses []measure.Use
	// measured are the measured sides and benchmarks, in order.
	measured []string
}

// Run implements Bench.
func (b *slow) Run(ctx context.Context, spec events.JobSpec, d suite.Definitions, done func(events.TestCase) bool, sink Sink) error {
	if b.refuse != nil {
		if err := b.refuse(spec); err != nil {
			return err
		}
	}
	plans, err := d.Plan(spec)
	if err != nil {
		return err
	}
	for i, p := range plans {
		sink.Started(p.Benchmark.Name, i, len(plans))
		for _, c := range p.Cases {
			if done(c) {
				continue
			}
			ok, err := b.one(ctx, spec.Artifact, c, sink)
			if err == nil && ok {
				err = sink.Measured(ctx, measuredOnce(c))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// one measures a test case of one side.
func (b *slow) one(ctx context.Context, of events.Artifact, c events.TestCase, sink Sink) (ok bool, err error) {
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		if !b.stuck {
			return false, ctx.Err()
		}
	}
	if len(b.uses) > 0 {
		sink.Used(b.uses[0])
		b.uses = b.uses[1:]
	}
	if b.fails != nil {
		if kind := b.fails(of, c); kind != "" {
			return false, sink.Failed(ctx, kind, string(c.Benchmark), &c, string(kind)+" of "+string(of.Tag))
		}
	}
	b.measured = append(b.measured, fmt.Sprintf("%s of %s", c.Benchmark, of.Tag))
	return true, nil
}

func measuredOnce(c events.TestCase) events.MeasuredCase {
	return events.MeasuredCase{TestCase: c, Iterations: []events.Iteration{{}}}
}

// RunPair implements Bench.
func (b *slow) RunPair(ctx context.Context, parent, own Half, d suite.Definitions, sink PairSink) error {
	halves := []Half{parent, own}
	for i, h := range halves {
		if err := sink.Side(ctx, i == 1); err != nil {
			return err
		}
		if b.refuse == nil {
			continue
		}
		if err := b.refuse(h.Spec); err != nil {
			return err
		}
	}
	plans, err := d.Plan(own.Spec)
	if err != nil {
		return err
	}
	for i, p := range plans {
		sink.Started(p.Benchmark.Name, i, len(plans))
		for _, c := range p.Cases {
			if err := b.both(ctx, halves, c, sink); err != nil {
				return err
			}
		}
	}
	return nil
}

// both measures a test case of both sides: in turns, if none has it and none fails.
func (b *slow) both(ctx context.Context, halves []Half, c events.TestCase, sink PairSink) (err error) {
	var ok [2]bool
	for i, h := range halves {
		if h.Done(c) {
			continue
		}
		if err := sink.Side(ctx, i == 1); err != nil {
			return err
		}
		if ok[i], err = b.one(ctx, h.Spec.Artifact, c, sink); err != nil {
			return err
		}
	}
	m := measuredOnce(c)
	switch {
	case ok[0] && ok[1]:
		return sink.Block(ctx, []events.MeasuredCase{m}, []events.MeasuredCase{m})
	case ok[0] || ok[1]:
		return errors.Join(sink.Side(ctx, ok[1]), sink.Measured(ctx, m))
	}
	return nil
}

// results returns the recorded results of a job on a lane, in order.
func (s *stage) results(lane events.Lane, id events.JobID) (out []string) {
	s.t.Helper()
	for _, f := range told[events.TestCasesMeasured](s, events.ResultSubject(lane, id)) {
		for _, c := range f.Cases {
			of := string(f.Artifact.Tag)
			if f.Beside != nil {
				of += " beside " + string(f.Beside.Artifact.Tag)
			}
			out = append(out, fmt.Sprintf("%s of %s, attempt %d", c.Benchmark, of, f.Attempt))
		}
	}
	return out
}

func TestAMatchedJobRunsOnItsLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			p := s.start("c0", pool0, "i1", &slow{})
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			f := s.finished(pool0, "j1")
			if f.Outcome != events.Success || f.Measured != 2 || f.Lane != pool0 {
				t.Errorf("it ended as %+v", f)
			}
			if diff := cmp.Diff([]string{"x of v2, attempt 1", "y of v2, attempt 1"}, s.results(pool0, "j1")); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			here := events.Lane{Target: "here"}
			for _, subject := range []events.Subject{events.WorkSubject(here), events.ResultSubject(here, "j1"), events.LaneSubject(here)} {
				if found, err := s.log.Read(s.ctx, subject); err != nil || len(found) > 0 {
					t.Errorf("%s has %d events, %v", subject, len(found), err)
				}
			}
			online := told[events.CollectorOnline](s, events.CollectorSubject("c0"))
			if len(online) != 1 || !slices.Equal(online[0].Knows, []string{events.KnowsSuite2, events.KnowsBuild, events.KnowsMatched}) {
				t.Errorf("it said %+v", online)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// The peak is that of one command, the CPU time that of all, on both sides of a pair.
func TestWhatAMatchedJobUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			uses := []measure.Use{{Memory: 100, CPU: 700 * time.Microsecond}, {Memory: 300, CPU: 2 * time.Second}, {Memory: 200, CPU: 400 * time.Microsecond}}
			s.start("c0", pool0, "i1", &slow{uses: uses})
			s.dispatch(pool0, 1, s.pair("j1"), 0, 0)
			if f := s.finished(pool0, "j1"); f.Outcome != events.Success || f.Used == nil || *f.Used != (events.Used{PeakMemoryBytes: 300, CPUMS: 2001}) {
				t.Errorf("the pair ended as %+v, it used %+v", f, f.Used)
			}
			s.dispatch(pool0, 2, s.matched("j2"), 0, 0)
			if f := s.finished(pool0, "j2"); f.Used != nil {
				t.Errorf("without a command it used %+v", f.Used)
			}
			here := events.Lane{Target: "here"}
			if err := s.log.EnsureLane(s.ctx, here, 0); err != nil {
				t.Fatal(err)
			}
			s.tell(events.CollectorRegistered{Name: "c2", Target: "here"})
			s.tell(events.LaneAssigned{Lane: here, Name: "c2"})
			s.start("c2", here, "i2", &slow{uses: uses})
			static := s.matched("j3")
			static.Matched = false
			s.dispatch(here, 1, static, 0, 0)
			if f := s.finished(here, "j3"); f.Outcome != events.Success || f.Used != nil {
				t.Errorf("the static job ended as %+v, it used %+v", f, f.Used)
			}
		})
	})
}

func TestACollectorOfALaneReadsSuiteFiles(t *testing.T) {
	c := New(Config{Name: "c", Lane: events.Lane{Target: "here"}})
	if f := c.online().(events.CollectorOnline); !slices.Equal(f.Knows, []string{events.KnowsSuite2, events.KnowsBuild}) {
		t.Errorf("it knows %v", f.Knows)
	}
}

// The budget of attempts is the job's: it goes with it from machine to machine.
func TestAttemptsAreCountedOverLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			first := s.start("c0", pool0, "i1", &slow{stuck: true})
			await(s, events.WorkSubject(pool0), func(events.JobDequeued) bool { return true })
			moved := s.move(pool0, job.Move{Place: 1, JobID: "j1", Lost: true, Reason: "silent"})
			if moved.Attempt != 1 || moved.Lost != 1 {
				t.Fatalf("moved as %+v", moved)
			}

			second := s.start("c1", pool1, "i2", &slow{})
			s.dispatch(pool1, 1, s.matched("j1"), moved.Attempt, moved.Lost)
			f := s.finished(pool1, "j1")
			if f.Outcome != events.Success || f.Attempt != 2 || f.Lost != 1 {
				t.Errorf("on the second lane it ended as %+v", f)
			}

			s.dispatch(pool1, 2, s.matched("j2"), 2, 2)
			await(s, events.WorkSubject(pool1), func(f events.JobDequeued) bool { return f.Place == 2 && f.Attempt == 3 && f.Lost == 2 })
			last, _, err := s.log.Last(s.ctx, events.WorkSubject(pool1))
			if err != nil {
				t.Fatal(err)
			}
			s.decide(pool1, job.Lose{Token: last.Seq, Reason: "silent"})
			s.dispatch(pool1, 3, s.matched("j3"), 3, 3)
			s.dispatch(pool1, 4, s.matched("j4"), 0, 0)
			for _, id := range []events.JobID{"j2", "j3"} {
				f = s.finished(pool1, id)
				if f.Fault != events.ErrorExhausted || f.Token != 0 || f.Attempt != 3 || f.Lost != 3 {
					t.Errorf("job %s, which has no attempts left, ended as %+v", id, f)
				}
			}
			s.finished(pool1, "j4")
			if err := errors.Join(first.end(), second.end()); err != nil {
				t.Error(err)
			}
		})
	})
}

// A process that does not know yet that its job was moved records nothing more, stops, and takes the next job.
func TestAMovedJobIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			bench := &slow{stuck: true}
			p := s.start("c0", pool0, "i1", bench)
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			await(s, events.ResultSubject(pool0, "j1"), func(events.TestCasesMeasured) bool { return true })
			s.move(pool0, job.Move{Place: 1, JobID: "j1", Reason: "its machine is drained"})
			s.dispatch(pool0, 2, s.matched("j2"), 0, 0)
			if f := s.finished(pool0, "j2"); f.Outcome != events.Success || f.Attempt != 1 {
				t.Errorf("the next job ended as %+v", f)
			}
			if diff := cmp.Diff([]string{"x of v2, attempt 1"}, s.results(pool0, "j1")); diff != "" {
				t.Errorf("results of the moved job (-want +got):\n%s", diff)
			}
			work := told[events.JobFinished](s, events.WorkSubject(pool0))
			if len(work) != 1 || work[0].JobID != "j2" {
				t.Errorf("ended were %+v", work)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// A collector whose connection is lost measures on. If its job was given to another machine meanwhile, it records
// nothing of it when the connection is back.
func TestALostConnectionMayCostTheJob(t *testing.T) {
	for name, moved := range map[string]bool{"it comes back in time": false, "it comes back too late": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				onStage(t, func(s *stage) {
					wire, bench := &cable{Log: s.log}, &slow{}
					p := s.start("c0", pool0, "i1", bench, func(c *Config) { c.Log = wire })
					s.dispatch(pool0, 1, s.pair("j1"), 0, 0)
					await(s, events.ResultSubject(pool0, "j1"), func(events.TestCasesMeasured) bool { return true })
					wire.cut.Store(true)
					time.Sleep(5 * time.Minute) // of the bubble
					want := []string{"x of v2 beside v1, attempt 1", "y of v2 beside v1, attempt 1"}
					if moved {
						s.move(pool0, job.Move{Place: 1, JobID: "j1", Lost: true, Reason: "silent"})
						want = want[:1]
					}
					wire.cut.Store(false)
					s.dispatch(pool0, 2, s.matched("j2"), 0, 0)
					if f := s.finished(pool0, "j2"); f.Outcome != events.Success {
						t.Errorf("the next job ended as %+v", f)
					}
					if diff := cmp.Diff(want, s.results(pool0, "j1")); diff != "" {
						t.Errorf("results (-want +got):\n%s", diff)
					}
					if err := p.end(); err != nil {
						t.Error(err)
					}
				})
			})
		})
	}
}

// What a lane had measured before a job went away and came back counts.
func TestAJobThatComesBackContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			p := s.start("c0", pool0, "i1", &slow{})
			s.dispatch(pool0, 1, s.pair("j1"), 0, 0)
			await(s, events.ResultSubject(pool0, "j1"), func(f events.TestCasesMeasured) bool { return f.Artifact == child })
			if err := p.end(); err != nil {
				t.Fatal(err)
			}
			moved := s.move(pool0, job.Move{Place: 1, JobID: "j1", Reason: "deactivated"})
			if moved.Lost != 0 {
				t.Errorf("a stop spent an attempt: %+v", moved)
			}
			s.dispatch(pool0, 2, s.pair("j1"), moved.Attempt, moved.Lost)
			other := &slow{}
			p = s.start("c0", pool0, "i2", other)
			f := s.finished(pool0, "j1")
			if f.Attempt != 2 || f.Measured != 1 || f.Skipped != 1 {
				t.Errorf("it ended as %+v", f)
			}
			if diff := cmp.Diff([]string{"y of v1", "y of v2"}, other.measured); diff != "" {
				t.Errorf("measured again (-want +got):\n%s", diff)
			}

			// The machine has changed: nothing of before can be compared.
			if err := p.end(); err != nil {
				t.Fatal(err)
			}
			changed := &slow{}
			p = s.start("c0", pool0, "i3", changed, func(c *Config) { c.Environment.Fingerprint = "new kernel" })
			s.dispatch(pool0, 3, s.pair("j1"), 2, 0)
			await(s, events.WorkSubject(pool0), func(f events.JobFinished) bool { return f.JobID == "j1" && f.Place == 3 })
			if len(changed.measured) != 4 {
				t.Errorf("on the changed machine it measured %q", changed.measured)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestAPairMeasuresBothSides(t *testing.T) {
	for name, tc := range map[string]struct {
		bench slow
		// results and errs are what is recorded.
		results, errs []string
		outcome       events.Outcome
		reason        string
		measured      int
	}{
		"in turns": {
			results: []string{"x of v2 beside v1", "y of v2 beside v1"}, outcome: events.Success, measured: 2,
		},
		"without the parent's artifact": {
			bench: slow{refuse: func(spec events.JobSpec) error {
				if spec.Artifact == parent {
					return &PermanentError{Kind: events.ErrorArtifact, Err: errors.New("v1 is gone")}
				}
				return nil
			}},
			results: []string{"x of v2", "y of v2"}, errs: []string{"v1: artifact job: the parent v1 is not measured beside v2: v1 is gone"},
			outcome: events.Success, measured: 2,
		},
		"with a benchmark that fails for the parent": {
			bench: slow{fails: func(of events.Artifact, c events.TestCase) events.ErrorKind {
				if of == parent && c.Benchmark == "x" {
					return events.ErrorBenchmark
				}
				return ""
			}},
			results: []string{"x of v2", "y of v2 beside v1"}, errs: []string{"v1: benchmark x: benchmark of v1"}, outcome: events.Success, measured: 2,
		},
		"with a benchmark that fails for the child": {
			bench: slow{fails: func(of events.Artifact, c events.TestCase) events.ErrorKind {
				if of == child && c.Benchmark == "x" {
					return events.ErrorTimeout
				}
				return ""
			}},
			results: []string{"x of v1", "y of v2 beside v1"}, errs: []string{"v2: timeout x: timeout of v2"}, outcome: events.Failure, measured: 1,
		},
		"with a benchmark that wants more memory than is reserved": {
			bench: slow{fails: func(of events.Artifact, c events.TestCase) events.ErrorKind {
				if c.Benchmark == "x" {
					return events.ErrorMemory
				}
				return ""
			}},
			results: []string{"y of v2 beside v1"}, errs: []string{"v1: memory x: memory of v1", "v2: memory x: memory of v2"},
			outcome: events.Failure, reason: "1 test case failed, 1 was measured: memory of v2", measured: 1,
		},
		"without the child's artifact": {
			bench: slow{refuse: func(spec events.JobSpec) error {
				if spec.Artifact == child {
					return &PermanentError{Kind: events.ErrorArtifact, Err: errors.New("v2 is gone")}
				}
				return nil
			}},
			errs: []string{"v2: artifact job: v2 is gone"}, outcome: events.Failure,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				onStage(t, func(s *stage) {
					p := s.start("c0", pool0, "i1", &tc.bench)
					s.dispatch(pool0, 1, s.pair("j1"), 0, 0)
					f := s.finished(pool0, "j1")
					if f.Outcome != tc.outcome || f.Measured != tc.measured || f.Skipped != 0 || tc.reason != "" && f.Reason != tc.reason {
						t.Errorf("it ended as %+v", f)
					}
					var results, errs []string
					for _, r := range s.results(pool0, "j1") {
						results = append(results, strings.TrimSuffix(r, ", attempt 1"))
					}
					for _, e := range told[events.ErrorRecorded](s, events.ResultSubject(pool0, "j1")) {
						errs = append(errs, fmt.Sprintf("%s: %s %s: %s", e.Artifact.Tag, e.Kind, e.Context, e.Message))
					}
					if diff := cmp.Diff(tc.results, results); diff != "" {
						t.Errorf("results (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(tc.errs, errs); diff != "" {
						t.Errorf("errors (-want +got):\n%s", diff)
					}
					if err := p.end(); err != nil {
						t.Error(err)
					}
				})
			})
		})
	}
}

// A parent that cannot be had for a while is waited for as long as any other transient error lasts. Then the child is
// measured alone.
func TestAPairWaitsForTheParentForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			away := 5 * time.Minute
			since := time.Now()
			bench := &slow{refuse: func(spec events.JobSpec) error {
				if spec.Artifact == parent && time.Since(since) < away {
					return errors.New("503")
				}
				return nil
			}}
			p := s.start("c0", pool0, "i1", bench)
			s.dispatch(pool0, 1, s.pair("j1"), 0, 0)
			if f := s.finished(pool0, "j1"); f.Outcome != events.Success || len(bench.measured) != 4 {
				t.Errorf("it ended as %+v with %q", f, bench.measured)
			}
			away, since = 100*time.Hour, time.Now()
			s.dispatch(pool0, 2, s.pair("j2"), 0, 0)
			f := s.finished(pool0, "j2")
			if took := time.Since(since); f.Outcome != events.Success || f.Measured != 2 || took < 10*time.Minute || took > 20*time.Minute {
				t.Errorf("after %s it ended as %+v", took, f)
			}
			if diff := cmp.Diff([]string{"x of v2", "y of v2"}, bench.measured[4:]); diff != "" {
				t.Errorf("measured (-want +got):\n%s", diff)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
}

// The job in hand ends before a drained collector leaves. Between any two jobs of a pool a collector may be updated.
func TestAPoolsCollectorIsDrainedAndUpdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			supervised := func(c *Config) { c.Supervised = &Supervised{} }
			p := s.start("c0", pool0, "i1", &slow{}, supervised)
			s.dispatch(pool0, 1, s.matched("j1"), 0, 0)
			await(s, events.WorkSubject(pool0), func(events.JobDequeued) bool { return true })
			s.tell(events.VersionWanted{Version: "v2"})
			if err := <-p.ended; !errors.Is(err, ErrUpdate) {
				t.Errorf("it ended with %v", err)
			}
			if f := s.finished(pool0, "j1"); f.Outcome != events.Success {
				t.Errorf("the job in hand ended as %+v", f)
			}

			newer := func(c *Config) { c.Version, c.Supervised = "v2", &Supervised{} }
			p = s.start("c0", pool0, "i2", &slow{}, newer)
			s.dispatch(pool0, 2, s.matched("j2"), 0, 0)
			await(s, events.WorkSubject(pool0), func(f events.JobDequeued) bool { return f.Place == 2 })
			s.tell(events.CollectorDraining{Name: "c0", Reason: "new disks"})
			if err := <-p.ended; !errors.Is(err, ErrLeave) {
				t.Errorf("it ended with %v", err)
			}
			if f := s.finished(pool0, "j2"); f.Outcome != events.Success {
				t.Errorf("the job in hand ended as %+v", f)
			}

			// A job that never began here was moved away: that is between two jobs, too.
			s.tell(events.CollectorActivated{Name: "c0"})
			s.dispatch(pool0, 3, s.matched("j3"), 0, 0)
			s.move(pool0, job.Move{Place: 3, JobID: "j3", Reason: "drained"})
			s.tell(events.VersionWanted{Version: "v3"})
			p = s.start("c0", pool0, "i3", &slow{}, newer)
			if err := <-p.ended; !errors.Is(err, ErrUpdate) {
				t.Errorf("it ended with %v", err)
			}
		})
	})
}

func TestAHostThatIsSmallerThanItsOfferIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		memory int64
		cpus   int
		want   []string
	}{
		"enough": {4 << 30, 4, nil},
		"memory": {4<<30 - 1, 4, []string{"machine eider", "4096 MiB", "4095 MiB", "tacho machine set eider --memory 4095m"}},
		"CPUs":   {8 << 30, 3, []string{"machine eider", "offers 4 CPUs", "has 3", "tacho machine set eider --cpus 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				onStage(t, func(s *stage) {
					p := s.start("c0", pool0, "i1", &slow{}, func(c *Config) { c.Environment.MemoryBytes, c.Environment.CPUs = tc.memory, tc.cpus })
					if tc.want == nil {
						await(s, events.CollectorSubject("c0"), func(events.CollectorOnline) bool { return true })
						if err := p.end(); err != nil {
							t.Error(err)
						}
						return
					}
					err := <-p.ended
					if _, unfit := errors.AsType[*RegistrationError](err); !unfit {
						t.Fatalf("it ended with %v", err)
					}
					for _, word := range tc.want {
						if !strings.Contains(err.Error(), word) {
							t.Errorf("%q does not say %q", err, word)
						}
					}
				})
			})
		})
	}
}
