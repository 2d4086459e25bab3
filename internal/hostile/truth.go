package hostile

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Truth is what is true after the story so far.
type Truth struct {
	Jobs       map[events.JobID]*Job
	Lanes      map[events.Lane]*Lane
	Collectors map[events.CollectorName]*Collector
	// Series are the test cases that each sample has results of; the base series has the empty name.
	Series map[string]map[events.TestCase]bool
	// Cancelled is set once the graph of samples was withdrawn, by itself or with its request.
	Cancelled bool
	// Litter counts the facts on the work of lanes that changed nothing.
	Litter int
	// open counts the places of charged jobs, charged is what they are charged, in milliseconds.
	open    int
	charged int64
	// stopped is set once the request was cancelled.
	stopped bool
	seq     events.Seq
}

// Job is what one job is.
type Job struct {
	State events.JobState
	// Cases are the test cases that are measured.
	Cases map[events.TestCase]bool

	// lane is where it may run; of a matched job the lane that it is bound to, zero while it waits.
	lane           events.Lane
	sample         string
	matched        bool
	dispatched     bool
	attempts, lost int
	collector      events.CollectorName
	token, closed  events.Seq
	// flushed is set once its own collector has ended its last attempt: the collector reports nothing more of it.
	flushed bool
}

// Lane is what one lane holds.
type Lane struct {
	Place uint64
	// Running is set while an attempt runs; Over, once the job of the place has ended.
	Running, Over bool
	Job           events.JobID
	Collector     events.CollectorName
	Token         events.Seq
	waiting       map[uint64]events.JobID
	places        uint64
	// charged are the places whose jobs are charged, with the part of the machine in 1/1024. began is when the last attempt
	// began.
	charged map[uint64]int64
	began   events.Seq
}

// expected is what each job is expected to take, in milliseconds.
const expected = 7000

// Collector is how one collector stands.
type Collector struct {
	Active, Draining, Quarantined, Removed, Online bool
	instance                                       string
}

// Takes reports whether the collector may begin jobs.
func (c Collector) Takes() bool { return c.Active && !c.Draining && !c.Quarantined && !c.Removed }

func newTruth() *Truth {
	t := &Truth{Jobs: map[events.JobID]*Job{}, Lanes: map[events.Lane]*Lane{}, Collectors: map[events.CollectorName]*Collector{}, Series: map[string]map[events.TestCase]bool{}}
	for _, l := range lanes {
		t.Lanes[l] = &Lane{waiting: map[uint64]events.JobID{}, charged: map[uint64]int64{}}
	}
	return t
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// tell records a fact and works out what is true then.
func (t *Truth) tell(f events.Fact) events.Recorded {
	t.seq++
	if !t.happens(f) {
		t.Litter++
	}
	return events.Recorded{Seq: t.seq, Event: events.Event{Time: noon.Add(time.Duration(t.seq) * time.Second), Fact: f}}
}

// happens applies a fact. It returns false if the fact is one that collectors write and it changed nothing.
func (t *Truth) happens(f events.Fact) bool {
	// The other facts of a story change nothing.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobsCreated:
		for _, spec := range f.Jobs {
			t.Jobs[spec.ID] = &Job{State: events.JobQueued, Cases: map[events.TestCase]bool{}, lane: spec.Lane(), matched: spec.Matched, sample: spec.Sample}
		}
	case events.RequestCancelledWithJobs:
		t.stopped = true
		for _, j := range t.Jobs {
			j.withdraw()
		}
	case events.RequestCancelled:
		t.stopped, t.Cancelled = true, true
	case events.GraphCancelled:
		t.Cancelled = true
	case events.JobsWithdrawn:
		for _, id := range f.Jobs {
			if j := t.Jobs[id]; j != nil {
				j.withdraw()
			}
		}
	case events.JobDispatched:
		l := t.Lanes[f.Job.Lane()]
		l.places, l.waiting[f.Place] = f.Place, f.Job.ID
		j := t.Jobs[f.Job.ID]
		if j.State == events.JobQueued {
			l.charged[f.Place] = int64(f.Share.Part)
			t.open, t.charged = t.open+1, t.charged+expected*int64(f.Share.Part)/1024
		}
		j.dispatched, j.lane = true, f.Job.Lane()
	case events.WorkFact:
		return t.works(f)
	case events.TestCasesMeasured:
		j := t.Jobs[f.JobID]
		if j == nil || j.lane != f.Lane || f.Token == 0 || f.Token != j.token || f.Collector != j.collector || f.Token <= j.closed {
			return false
		}
		for _, c := range f.Cases { // the other side of a block has the same ones
			j.Cases[c.TestCase] = true
			if t.Series[j.sample] == nil {
				t.Series[j.sample] = map[events.TestCase]bool{}
			}
			t.Series[j.sample][c.TestCase] = true
		}
	case events.ResultsClosed:
		j := t.Jobs[f.JobID]
		j.closed = max(j.closed, f.Token)
	case events.CollectorFact:
		t.stands(f)
	}
	return true
}

// withdraw ends a job that was never dispatched.
func (j *Job) withdraw() {
	if j.State == events.JobQueued && !j.dispatched {
		j.State = events.JobCancelled
	}
}

func (t *Truth) works(f events.WorkFact) bool {
	l := t.Lanes[f.Where()]
	switch f := f.(type) {
	case events.JobDequeued:
		if !l.begins(f.Place, f.Job.ID) || f.Collector == "" {
			return false
		}
		l.Place, l.Running, l.Over, l.Job, l.Collector, l.Token = f.Place, true, false, f.Job.ID, f.Collector, t.seq
		l.began = t.seq
		j := t.Jobs[f.Job.ID]
		j.attempts, j.lost, j.collector, j.token, j.flushed = f.Attempt, f.Lost, f.Collector, t.seq, false
		j.turn(events.JobInProgress)
	case events.AttemptLost:
		if !l.held(f.Place, f.JobID, f.Collector, f.Token) {
			return false
		}
		t.ends(l)
		t.Jobs[f.JobID].lost = f.Lost
		t.Jobs[f.JobID].turn(events.JobQueued)
	case events.AttemptReleased:
		if !l.held(f.Place, f.JobID, f.Collector, f.Token) {
			return false
		}
		t.ends(l)
		t.Jobs[f.JobID].turn(events.JobQueued)
	case events.JobFinished:
		to := map[events.Outcome]events.JobState{
			events.Success: events.JobSuccess, events.Failure: events.JobFailure, events.Cancelled: events.JobCancelled,
		}[f.Outcome]
		if to == "" || !l.held(f.Place, f.JobID, f.Collector, f.Token) && (f.Token != 0 || !l.begins(f.Place, f.JobID)) {
			return false
		}
		t.over(l, f.Place, f.JobID)
		t.Jobs[f.JobID].flushed = f.Outcome != events.Cancelled
		t.Jobs[f.JobID].turn(to)
	case events.JobMoved:
		if !l.begins(f.Place, f.JobID) {
			return false
		}
		t.over(l, f.Place, f.JobID)
		j := t.Jobs[f.JobID]
		j.dispatched, j.closed = false, max(j.closed, j.token)
		if j.matched {
			j.lane = events.Lane{}
		}
		j.turn(events.JobQueued)
	}
	return true
}

// over ends a place of a lane.
func (t *Truth) over(l *Lane, place uint64, id events.JobID) {
	t.ends(l)
	if part := l.charged[place]; part > 0 {
		t.open, t.charged = t.open-1, t.charged-expected*part/1024
	}
	l.Place, l.Over, l.Job = place, true, id
	delete(l.waiting, place)
}

// ends ends the running attempt of a lane, if there is one, and charges what it took: an event happens each second.
func (t *Truth) ends(l *Lane) {
	if l.Running {
		t.charged += 1000 * int64(t.seq-l.began) * l.charged[l.Place] / 1024
	}
	l.Running = false
}

// turn gives a job another state, unless it has ended.
func (j *Job) turn(to events.JobState) {
	if j.State == events.JobQueued || j.State == events.JobInProgress {
		j.State = to
	}
}

// turn returns the place that may begin, and the job that waits there.
func (l *Lane) turn() (place uint64, id events.JobID, waits bool) {
	if place = l.Place; l.Over || place == 0 {
		place++
	}
	id, waits = l.waiting[place]
	return place, id, waits
}

// begins reports whether a job may begin at a place: it waits there, nothing runs, and it is the place's turn. Before
// the first job any place may begin.
func (l *Lane) begins(place uint64, id events.JobID) bool {
	turn := l.Place == 0 || l.Over && place == l.Place+1 || !l.Over && place == l.Place
	waits, known := l.waiting[place]
	return known && waits == id && !l.Running && turn
}

// held reports whether this attempt is the running one.
func (l *Lane) held(place uint64, id events.JobID, by events.CollectorName, token events.Seq) bool {
	return l.Running && place == l.Place && id == l.Job && by == l.Collector && token == l.Token
}

func (t *Truth) stands(f events.CollectorFact) {
	c := t.Collectors[f.Whose()]
	if c == nil {
		c = &Collector{}
		t.Collectors[f.Whose()] = c
	}
	if c.Removed {
		return
	}
	gone := func(instance string) {
		if instance == c.instance {
			c.Online = false
		}
	}
	switch f := f.(type) {
	case events.CollectorRegistered, events.RegistryCopied:
		c.Active = true
	case events.CollectorKeyRotated:
	case events.CollectorRemoved:
		c.Removed, c.Active, c.Online = true, false, false
	case events.CollectorActivated:
		c.Active, c.Draining, c.Quarantined = true, false, false
	case events.CollectorDeactivated:
		c.Active = false
	case events.CollectorDraining:
		c.Draining = true
	case events.CollectorQuarantined:
		c.Quarantined = true
	case events.CollectorOnline:
		// A process that says it again must still leave.
		if c.instance != f.Instance {
			c.Draining = false
		}
		c.Online, c.instance = true, f.Instance
	case events.CollectorOffline:
		gone(f.Instance)
	case events.CollectorSilent:
		gone(f.Instance)
	case events.CollectorUpdating:
		gone(f.Instance)
	}
}
