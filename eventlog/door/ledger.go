package door

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
)

// ledger is what the log says of who may say what: the standing and the key of each collector, and the state of each
// lane.
type ledger struct {
	mu sync.RWMutex
	// at is the last event that was folded. moved is closed and made anew with each one.
	at    events.Seq
	moved chan struct{}
	// current is set once all has been folded that was there in the beginning.
	current    bool
	reader     events.Reader
	collectors map[events.CollectorName]job.Standing
	// keys are those that open something now; spent are all that ever did.
	keys  map[string]events.CollectorName
	lanes map[events.Lane]*laneState
	// alerts are those about refused collectors that stand, with when the log stored them.
	alerts map[events.AlertKey]raised
	// changed is told whenever a key may have lost its right.
	changed chan struct{}
}

// laneState is what a collector of the lane may build on.
type laneState struct {
	work job.Lane
	// begun is when the log stored the start of the current attempt.
	begun time.Time
	// version is the last sequence of the work, as far as it can be read.
	version events.Seq
	// dispatched are the jobs that have not ended, by place and by sequence.
	dispatched map[uint64]dispatch
	places     map[events.Seq]uint64
	assignment job.Assignment
	// forged are the events on the work that do not follow from its state.
	forged map[events.Seq]bool
}

type raised struct {
	about events.CollectorName
	at    time.Time
}

type dispatch struct {
	seq   events.Seq
	job   events.JobSpec
	since time.Time
}

// newLedger returns a ledger that knows nobody yet.
func newLedger() *ledger {
	return &ledger{
		moved: make(chan struct{}), changed: make(chan struct{}, 1), collectors: map[events.CollectorName]job.Standing{},
		keys: map[string]events.CollectorName{}, lanes: map[events.Lane]*laneState{}, alerts: map[events.AlertKey]raised{},
	}
}

// take folds events.
func (l *ledger) take(stored []events.Stored, current bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range stored {
		if err := l.fold(s); err != nil {
			return err
		}
		l.at = s.Seq
	}
	l.current = l.current || current
	close(l.moved)
	l.moved = make(chan struct{})
	return nil
}

// fold folds one event. What says nothing of collectors and lanes is not even decoded.
func (l *ledger) fold(s events.Stored) error {
	switch s.Subject.Family() {
	case "registry", "collector", "lane", "work", "assign", "alert":
	default:
		return nil
	}
	e, litter, err := l.reader.Understand(s)
	if err != nil {
		return err
	}
	if litter != "" {
		return nil
	}
	// The other facts concern neither keys nor lanes.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.JobDispatched:
		lane := l.lane(f.Job.Lane())
		lane.dispatched[f.Place], lane.places[s.Seq] = dispatch{seq: s.Seq, job: f.Job, since: job.Time(f.Since)}, f.Place
	case events.WorkFact:
		l.foldWork(f, s, e)
	case events.AssignmentFact:
		lane := l.lane(f.Where())
		lane.assignment = job.Assign(lane.assignment, f)
	case events.AlertRaised:
		if f.Kind == events.AlertRefused {
			l.alerts[f.Key] = raised{about: events.CollectorName(f.About), at: s.StoredAt}
		}
	case events.AlertCleared:
		delete(l.alerts, f.Key)
	case events.CollectorFact:
		l.foldStanding(f.Whose(), e)
	}
	return nil
}

// foldStanding changes a collector's standing, and the key that opens its part of the door.
func (l *ledger) foldStanding(name events.CollectorName, e events.Recorded) {
	before := l.collectors[name]
	after := job.Stand(before, e.Fact, e.Time)
	l.collectors[name] = after
	old, now := keyOf(before), keyOf(after)
	if old == now {
		return
	}
	if old != "" && l.keys[old] == name {
		delete(l.keys, old)
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
	// A key belongs to the collector that had it first: nobody takes another's by naming it.
	if _, taken := l.keys[now]; now != "" && !taken {
		l.keys[now] = name
	}
}

// keyOf returns the key that a collector of that standing has; none when it was removed.
func keyOf(s job.Standing) string {
	if s.Registered == nil || s.Removed {
		return ""
	}
	return s.Registered.NKey
}

func (l *ledger) foldWork(f events.WorkFact, s events.Stored, e events.Recorded) {
	lane := l.lane(f.Where())
	lane.version = s.Seq
	if !job.Counts(lane.work, f, lane.job) {
		lane.forged[s.Seq] = true
		return
	}
	lane.work = job.Evolve(lane.work, f, e.Seq, e.Time)
	// The end of a job ends its place.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDequeued:
		lane.begun = s.StoredAt
	case events.JobFinished:
		delete(lane.places, lane.dispatched[f.Place].seq)
		delete(lane.dispatched, f.Place)
	}
}

// lane returns the state of a lane to be changed. The caller holds mu for writing.
func (l *ledger) lane(name events.Lane) *laneState {
	lane := l.lanes[name]
	if lane == nil {
		lane = &laneState{dispatched: map[uint64]dispatch{}, places: map[events.Seq]uint64{}, forged: map[events.Seq]bool{}}
		l.lanes[name] = lane
	}
	return lane
}

// job returns the job that waits or runs at a place.
func (l *laneState) job(place uint64) (events.JobID, bool) {
	d, ok := l.dispatched[place]
	return d.job.ID, ok
}

// account returns the collector that a public key belongs to now.
func (l *ledger) account(publicKey string) (events.CollectorName, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	name, ok := l.keys[publicKey]
	return name, ok
}

// standing returns the standing of a collector.
func (l *ledger) standing(name events.CollectorName) job.Standing {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.collectors[name]
}

// view is what the log said of one collector and its lane at one event.
type view struct {
	standing job.Standing
	// lane is a copy; its maps must not be changed.
	lane laneState
	at   events.Seq
}

// behind returns the version of the lane's work that an append builds on and that was not read yet; 0 when there is
// none.
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

// passed reports whether an append comes too late: the work of the lane is beyond the version that it expects, so
// that nothing of it can be stored any more.
func (v view) passed(parts []eventlog.Append) bool {
	if v.standing.Registered == nil {
		return false
	}
	work := events.WorkSubject(v.standing.Registered.Lane())
	return slices.ContainsFunc(parts, func(p eventlog.Append) bool { return p.Subject == work && p.Expected < v.lane.version })
}

// view returns what is known of a collector.
func (l *ledger) view(name events.CollectorName) (v view) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	v.standing, v.at = l.collectors[name], l.at
	if v.standing.Registered == nil {
		return v
	}
	if lane, ok := l.lanes[v.standing.Registered.Lane()]; ok {
		v.lane = *lane
		// Only the job that runs, and the next one, are looked at.
		v.lane.dispatched, v.lane.places, v.lane.forged = map[uint64]dispatch{}, nil, nil
		for _, place := range []uint64{lane.work.Place, lane.work.Place + 1} {
			if d, ok := lane.dispatched[place]; ok {
				v.lane.dispatched[place] = d
			}
		}
		if lane.work.Place == 0 {
			for place, d := range lane.dispatched {
				v.lane.dispatched[place] = d
			}
		}
	}
	return v
}

// over reports whether the job that was dispatched at a sequence of the lane has ended.
func (l *ledger) over(name events.Lane, seq events.Seq) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	lane, ok := l.lanes[name]
	if !ok || seq > l.at {
		return false
	}
	_, waits := lane.places[seq]
	return !waits
}

// counts reports whether an event of the lane's work follows from what came before it; those of other subjects do.
func (l *ledger) counts(name events.Lane, subject events.Subject, seq events.Seq) bool {
	if subject != events.WorkSubject(name) {
		return true
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	lane, ok := l.lanes[name]
	return ok && !lane.forged[seq]
}

// complaints returns the collectors about which an alert stands, with when it was raised.
func (l *ledger) complaints() map[events.CollectorName]time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make(map[events.CollectorName]time.Time, len(l.alerts))
	for _, a := range l.alerts {
		out[a.about] = a.at
	}
	return out
}

// caughtUp reports whether all has been folded that was in the log in the beginning.
func (l *ledger) caughtUp() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.current
}

// position returns the last event that was folded.
func (l *ledger) position() events.Seq {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.at
}

// wait returns once the ledger holds everything up to seq and has caught up with the log, or with the error of ctx.
func (l *ledger) wait(ctx context.Context, seq events.Seq) error {
	for {
		l.mu.RLock()
		there, moved := l.current && l.at >= seq, l.moved
		l.mu.RUnlock()
		if there {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
