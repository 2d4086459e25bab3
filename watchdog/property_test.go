package watchdog

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// pair is two watchdogs on one log, without their goroutines. The second one begins later.
type pair struct {
	now  time.Time
	seq  events.Seq
	dogs []*Watchdog
	// known is the ledger that both have read.
	known *ledger.Ledger
	ears  []*ears
	log   []events.Recorded
}

func (p *pair) add() {
	e := newEars(&p.now)
	e.since = p.now
	w := New(Config{Limits: limits, Hearing: e, Clock: func() time.Time { return p.now }})
	w.view.tables.asked, w.view.outputs.asked = true, true
	p.dogs, p.ears = append(p.dogs, w), append(p.ears, e)
}

func (p *pair) tell(f events.Fact) {
	for _, f := range placed(p.known, f) {
		p.seq++
		e := events.Recorded{Seq: p.seq, Event: events.Event{Time: p.now, Fact: f}}
		p.log = append(p.log, e)
		p.known.Fold(e)
	}
}

// settleAll lets both record what they want, until they want nothing more.
func (p *pair) settleAll(t *rapid.T) {
	for range 4 {
		quiet := true
		for _, w := range p.dogs {
			for _, d := range w.decide(p.known, p.now) {
				quiet = false
				// Like the log: raising an alert in its present words, or clearing one that does not stand, records nothing.
				if stands, ok := p.known.Alerts[d.clear]; d.clear != "" && ok {
					if p.now.Sub(stands.At) < settle {
						t.Fatalf("%s is cleared %s after it was raised", d.clear, p.now.Sub(stands.At))
					}
					p.tell(events.AlertCleared{Key: d.clear, Reason: d.reason})
				} else if d.clear == "" && p.known.Alerts[d.raise.Key].AlertRaised != d.raise {
					p.tell(d.raise)
				}
				d.done()
			}
		}
		if quiet {
			return
		}
	}
	t.Fatalf("they go on for ever: %+v", p.log[max(len(p.log)-6, 0):])
}

func vocabulary() []events.Fact {
	j1, j2 := spec("j1"), spec("j2")
	j2.Set, j2.Optional = 2, true
	facts := []events.Fact{
		requested(),
		events.RequestCreated{RequestID: "r2", Suite: "go", State: events.StateWaitingForArtifacts},
		events.RequestArtifactsReady{RequestID: "r2", Tag: "t"},
		events.RequestStarted{RequestID: "r1"},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{j1, j2}},
		events.JobDispatched{Job: j1},
		events.JobDispatched{Job: j2},
		dequeued("j1"), finished("j1", time.Minute),
		events.AttemptLost{Lane: lane, JobID: "j1"},
		events.AttemptReleased{Lane: lane, JobID: "j1"},
		events.RequestCompleted{RequestID: "r1"},
		events.RequestCancelled{RequestID: "r1"},
		events.RequestCancelledWithJobs{RequestID: "r1"},
		events.JobsWithdrawn{RequestID: "r1", Jobs: []events.JobID{"j1", "j2"}},
		events.RequestExpansionFailed{RequestID: "r1", Reason: "no definitions", Waits: true},
		events.RequestSuperseded{RequestID: "r2"},
		events.RequestExpansionFailed{RequestID: "r1", Failures: 3, Reason: "no target"},
		events.RequestFailed{RequestID: "r1"},
		events.DefinitionsPublished{Suite: "go"},
		registered(), online(),
		events.CollectorRegistered{Name: "spare", Target: lane.Target, Set: lane.Set, Standby: true},
		events.CollectorOnline{Name: "spare", Instance: "i2", UpdateFailed: "no such version"},
		events.CollectorOffline{Name: "eider", Instance: "i1"},
		events.CollectorActivated{Name: "eider"},
		events.CollectorDeactivated{Name: "eider"},
		events.CollectorDraining{Name: "eider"},
		events.CollectorQuarantined{Name: "eider", Reason: "three jobs"},
		events.CollectorSilent{Name: "eider", Instance: "i1"},
		events.CollectorKeyRotated{Name: "eider", NKey: "KEY"},
		events.CollectorRemoved{Name: "spare"},
		events.RegistryCopied{CollectorRegistered: registered().(events.CollectorRegistered), Active: true, Quarantined: true},
		events.CollectorUpdating{Name: "eider", Instance: "i1", Wanted: "v2"},
	}
	return facts
}

// Whatever happens, both watchdogs come to want nothing more. Then the standing alerts are those that both want or doubt.
func TestWatchdogsAgree(t *testing.T) {
	facts := vocabulary()
	rapid.Check(t, func(t *rapid.T) {
		p := &pair{known: ledger.New(), now: began}
		p.add()
		late := rapid.IntRange(0, 30).Draw(t, "late")
		beat := eventlog.Beat{Name: "eider", Instance: "i1"}
		for i := range rapid.IntRange(10, 60).Draw(t, "steps") {
			if i == late {
				p.add()
			}
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1, 2:
				p.tell(rapid.SampledFrom(facts).Draw(t, "fact"))
			case 3:
				p.now = p.now.Add(time.Duration(rapid.SampledFrom([]int{1, 6, 61, 700, 1900, 90_000}).Draw(t, "seconds")) * time.Second)
			case 4:
				beat.JobID = rapid.SampledFrom([]events.JobID{"", "j1"}).Draw(t, "job")
				beat.Done += rapid.IntRange(0, 1).Draw(t, "progress")
				gone := rapid.Bool().Draw(t, "gone")
				for _, e := range p.ears {
					e.hear(beat, gone)
				}
			case 5:
				at := p.seq - min(p.seq, events.Seq(rapid.SampledFrom([]int{0, 1, 200}).Draw(t, "behind")))
				for _, w := range p.dogs {
					w.view.tables.note(p.now, p.seq, at, nil, limits.LagEvents)
				}
			}
			p.settleAll(t)
		}
		for _, w := range p.dogs {
			j := judge(p.known, w.view, limits, p.now)
			for key := range j.wanted {
				if _, stands := p.known.Alerts[key]; !stands {
					t.Fatalf("%s is wanted and does not stand", key)
				}
			}
			for key, a := range p.known.Alerts {
				if reason, over := j.over(a); over && p.now.Sub(a.At) >= settle {
					t.Fatalf("%s stands although %s", key, reason)
				}
			}
		}
	})
}
