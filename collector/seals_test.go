package collector

import (
	"crypto/ed25519"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/seal"
)

func sealKey(t testing.TB, name string) *seal.Private {
	t.Helper()
	var seed [ed25519.SeedSize]byte
	copy(seed[:], name)
	k, err := seal.New(name, seed)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func trusting(enforce bool, publisher, dispatcher *seal.Private) *Seals {
	return &Seals{Enforce: enforce, Publishers: seal.Keys{publisher.Public().ID: publisher.Public()}, Dispatchers: seal.Keys{dispatcher.Public().ID: dispatcher.Public()}}
}

// The work of a lane says what its collector executes, without a seal. Somebody else may have written it.
func TestAnAttemptInTheLogIsNotResumedUnsealed(t *testing.T) {
	for name, seals := range map[string]*Seals{
		"enforced": trusting(true, sealKey(t, "alice"), sealKey(t, "sched")), "warned": trusting(false, sealKey(t, "alice"), sealKey(t, "sched")), "off": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			onStage(t, func(s *stage) {
				spec := s.matched("j1").Bound(pool0)
				s.tell(events.JobDequeued{Lane: pool0, Place: 1, Job: spec, Collector: "c0", Instance: "i0", Attempt: 1})
				bench := &slow{}
				p := s.start("c0", pool0, "i1", bench, func(c *Config) { c.Seals = seals })
				time.Sleep(10 * time.Minute)
				err := p.end()
				if err != nil {
					t.Error(err)
				}
				if ran := len(bench.measured) > 0; ran != (seals == nil) {
					t.Errorf("%s: something ran: %v", name, ran)
				}
			})
		})
	}
}

// A job whose seals are wrong spends one attempt and ends; nothing of it reaches the machine.
func TestAJobWithWrongSealsEndsAtOnce(t *testing.T) {
	alice, sched := sealKey(t, "alice"), sealKey(t, "sched")
	for name, c := range map[string]struct {
		enforce bool
		// published is whether alice sealed the definitions, dispatched whether the scheduler sealed the dispatch.
		published, dispatched bool
		reason                string
	}{
		"sealed":               {true, true, true, ""},
		"no seal of a publish": {true, false, true, "its definitions"},
		"no seal of dispatch":  {true, true, false, "its dispatch has no seal"},
		"warned":               {false, false, false, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			onStage(t, func(s *stage) {
				if c.published {
					s.tell(events.DefinitionsPublished{Suite: s.suite.Name, Digest: s.suite.Digest(), Content: s.suite.Canonical(), Seal: alice.Definitions(s.suite.Name, s.suite.Digest())})
				}
				bench := &slow{}
				s.start("c0", pool0, "i1", bench, func(conf *Config) { conf.Seals = trusting(c.enforce, alice, sched) })
				for place, id := range []events.JobID{"j1", "j2"} {
					d := events.JobDispatched{Place: uint64(place + 1), Job: s.matched(id).Bound(pool0), Closes: true}
					if c.dispatched {
						d.Seal = sched.Dispatch(d)
					}
					s.tell(d)
					f := s.finished(pool0, id)
					refused := c.reason != ""
					if refused != (f.Fault == events.ErrorSeal) || refused == (f.Outcome == events.Success) || !strings.Contains(f.Reason, c.reason) || f.Attempt != 1 {
						t.Errorf("%s: %+v", name, f)
					}
					told := told[events.ErrorRecorded](s, events.ResultSubject(pool0, id))
					if said := len(told) == 1 && told[0].Kind == events.ErrorSeal; said != (refused || !c.enforce) {
						t.Errorf("%s: the page of the job says %+v", name, told)
					}
				}
				if ran := len(bench.measured) == 4; ran == (c.reason != "") {
					t.Errorf("%s: %v ran", name, bench.measured)
				}
			})
		})
	}
}

// BenchmarkAdmit is what the seals of a job cost a collector once its definitions are known. The bound is 1 ms.
func BenchmarkAdmit(b *testing.B) {
	alice, sched := sealKey(b, "alice"), sealKey(b, "sched")
	d := pairSuite()
	job := events.JobDispatched{Place: 1, Job: events.JobSpec{ID: "j1", Artifact: child, Definitions: d.Digest()}}
	job.Seal = sched.Dispatch(job)
	seals := trusting(true, alice, sched)
	seals.admitted = keptDefinitions{{child.Suite, d.Digest()}: d}
	c := New(Config{Lane: job.Job.Lane(), Seals: seals, Logger: slog.New(slog.DiscardHandler)})
	for b.Loop() {
		_, why, err := c.admit(b.Context(), job)
		if why != nil || err != nil {
			b.Fatal(why, err)
		}
	}
}
