package door

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

// Ledger is the ledger of this process. The shell keeps it up to date with the log.
type Ledger interface {
	// View calls look with the ledger. look must not wait for anything.
	View(look func(*ledger.Ledger))
	// Position returns the last event in it, and whether it has caught up with the log.
	Position() (at events.Seq, current bool)
	// Wait returns nil once everything up to seq is in it and it has caught up, or else the error of ctx.
	Wait(ctx context.Context, seq events.Seq) error
	// Newer returns the event of an unknown type before which the ledger has stopped; nil while it goes on.
	Newer() *events.NewerError
}

// books read from the ledger what decides who may write what: the standing and the key of each collector, and the state
// of each lane.
type books struct {
	from atomic.Pointer[Ledger]
	// changed gets a token whenever a key may have become invalid.
	changed chan struct{}
}

func newBooks() *books { return &books{changed: make(chan struct{}, 1)} }

// look calls look with the ledger, if there is one yet.
func (b *books) look(look func(*ledger.Ledger)) {
	if from := b.from.Load(); from != nil {
		(*from).View(look)
	}
}

// laneState is the state of a lane that its collector's facts must follow from.
type laneState struct {
	work job.Lane
	// begun is when the log stored the start of the current attempt.
	begun time.Time
	// version is the last sequence of the work.
	version events.Seq
	// dispatched are the jobs that have not ended.
	dispatched dispatches
	assignment job.Assignment
}

// dispatches are jobs and their places. A lane mostly has one or two, and each request of a collector looks at them: a list is
// copied sooner than a map.
type dispatches []placed

type placed struct {
	place uint64
	ledger.Dispatch
}

func listed(jobs map[uint64]ledger.Dispatch) dispatches {
	list := make(dispatches, 0, len(jobs))
	for place, d := range jobs {
		list = append(list, placed{place, d})
	}
	return list
}

func (d dispatches) at(place uint64) (ledger.Dispatch, bool) {
	for i := range d {
		if d[i].place == place {
			return d[i].Dispatch, true
		}
	}
	return ledger.Dispatch{}, false
}

// job returns the job that waits or runs at a place.
func (l *laneState) job(place uint64) (events.JobID, bool) {
	d, ok := l.dispatched.at(place)
	return d.Job.ID, ok
}

// account returns the collector that a public key belongs to now.
func (b *books) account(publicKey string) (name events.CollectorName, ok bool) {
	b.look(func(l *ledger.Ledger) { name, ok = l.Keys[publicKey] })
	return name, ok
}

// standing returns the standing of a collector.
func (b *books) standing(name events.CollectorName) (s job.Standing) {
	b.look(func(l *ledger.Ledger) { s = l.Collector(name).Standing })
	return s
}

// view is the state of one collector and its lane after one event.
type view struct {
	standing job.Standing
	lane     laneState
	at       events.Seq
	// did reports whether a run stands for what a job in hand does (ledger.Did); nil if no run does.
	did func(id, run events.JobID, key events.Digest) bool
}

// behind returns the version of the lane's work that an append expects, if the ledger has not read that far; else 0.
func (v view) behind(parts []eventlog.Append) events.Seq {
	if v.standing.Registered == nil {
		return 0
	}
	work := events.WorkSubject(v.standing.Registered.Lane())
	for _, p := range parts {
		if p.Subject == work && p.Expected > v.at {
			return p.Expected
		}
	}
	return 0
}

// passed reports whether an append comes too late: the lane's work already has a newer version than the append expects,
// so the log will refuse it.
func (v view) passed(parts []eventlog.Append) bool {
	if v.standing.Registered == nil {
		return false
	}
	work := events.WorkSubject(v.standing.Registered.Lane())
	return slices.ContainsFunc(parts, func(p eventlog.Append) bool { return p.Subject == work && p.Expected < v.lane.version })
}

// view returns the state of a collector and its lane.
func (b *books) view(name events.CollectorName) (v view) {
	v.did = func(id, run events.JobID, key events.Digest) (did bool) {
		b.look(func(l *ledger.Ledger) { did = l.Did(id, run, key) })
		return did
	}
	b.look(func(l *ledger.Ledger) {
		v.standing, v.at = l.Collector(name).Standing, l.Seq
		if v.standing.Registered == nil {
			return
		}
		at := v.standing.Registered.Lane()
		if lane, ok := l.Lanes[at]; ok {
			v.lane = laneState{
				work: lane.Work.Lane, begun: lane.Begun, version: l.Versions[events.WorkSubject(at)], dispatched: listed(lane.Dispatches),
				assignment: lane.Assignment,
			}
		}
	})
	return v
}

// news returns the last event of each aggregate that a collector follows; nil while the ledger does not go on: it may be behind.
func (b *books) news(r events.CollectorRegistered) eventlog.News {
	if !b.caughtUp() || b.stopped() != nil {
		return nil
	}
	news := eventlog.News{}
	b.look(func(l *ledger.Ledger) {
		for _, s := range eventlog.Followed(r.Name, r.Lane()) {
			news[s] = l.Versions[s]
		}
	})
	return news
}

// dispatched returns where the log has the dispatch of the job at a place of a lane; 0 once that has ended.
func (b *books) dispatched(name events.Lane, place uint64) (seq events.Seq) {
	b.look(func(l *ledger.Ledger) {
		if lane, ok := l.Lanes[name]; ok {
			seq = lane.Dispatches[place].Seq
		}
	})
	return seq
}

// undone returns a place in the log from which on all jobs of a lane are that have not ended, and those to come.
func (b *books) undone(name events.Lane) (from events.Seq) {
	b.look(func(l *ledger.Ledger) {
		from = l.Seq + 1
		if lane, ok := l.Lanes[name]; ok {
			for _, d := range lane.Dispatches {
				from = min(from, d.Seq)
			}
		}
	})
	return from
}

// over reports whether the job that was dispatched at a sequence of the lane has ended.
func (b *books) over(name events.Lane, seq events.Seq) (over bool) {
	b.look(func(l *ledger.Ledger) {
		lane, ok := l.Lanes[name]
		if !ok || seq > l.Seq {
			return
		}
		over = true
		for _, d := range lane.Dispatches {
			over = over && d.Seq != seq
		}
	})
	return over
}

// counts reports whether an event of the lane's work counts (job.Counts). Events of other subjects always do.
func (b *books) counts(name events.Lane, subject events.Subject, seq events.Seq) (counts bool) {
	if subject != events.WorkSubject(name) {
		return true
	}
	b.look(func(l *ledger.Ledger) {
		lane, ok := l.Lanes[name]
		counts = ok && !lane.Forged[seq]
	})
	return counts
}

// complaints returns the collectors with a standing alert, and when it was raised.
func (b *books) complaints() map[events.CollectorName]time.Time {
	out := map[events.CollectorName]time.Time{}
	b.look(func(l *ledger.Ledger) {
		for _, a := range l.Alerts {
			if a.Kind == events.AlertRefused {
				out[events.CollectorName(a.About)] = a.At
			}
		}
	})
	return out
}

// caughtUp reports whether the ledger holds everything that was in the log at the start.
func (b *books) caughtUp() bool {
	_, current := b.place()
	return current
}

// reading returns ErrReading, with the position, until the ledger holds everything that was in the log at the start.
func (b *books) reading() error {
	if at, current := b.place(); !current {
		return fmt.Errorf("%w, it is at event %d", ErrReading, at)
	}
	return nil
}

// position returns the last event in the ledger.
func (b *books) position() events.Seq {
	at, _ := b.place()
	return at
}

func (b *books) place() (at events.Seq, current bool) {
	if from := b.from.Load(); from != nil {
		return (*from).Position()
	}
	return 0, false
}

// stopped returns the event before which the ledger stays; nil while it goes on. Then the books are of the time before that
// event: what they say a collector does, it may end, because the log has the last word on its versions.
func (b *books) stopped() *events.NewerError {
	if from := b.from.Load(); from != nil {
		return (*from).Newer()
	}
	return nil
}

// wait returns nil once the ledger holds everything up to seq and has caught up with the log, or else the error of ctx. If
// the ledger stays at an event, it holds what it holds, and the error is that one.
func (b *books) wait(ctx context.Context, seq events.Seq) error {
	if from := b.from.Load(); from != nil {
		if newer := (*from).Newer(); newer != nil {
			if seq > 0 && seq <= b.position() {
				return nil
			}
			return newer
		}
		return (*from).Wait(ctx, seq)
	}
	<-ctx.Done()
	return ctx.Err()
}
