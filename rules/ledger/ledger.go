package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// ArtifactKey names an artifact within the log: requests are each other's parents by it.
type ArtifactKey struct {
	Suite events.SuiteName
	Tag   events.Tag
}

// MarshalText implements encoding.TextMarshaler. The name of a suite has no slash.
func (k ArtifactKey) MarshalText() ([]byte, error) {
	return []byte(string(k.Suite) + "/" + string(k.Tag)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *ArtifactKey) UnmarshalText(text []byte) error {
	suite, tag, ok := strings.Cut(string(text), "/")
	if !ok {
		return fmt.Errorf("%q is no artifact", text)
	}
	k.Suite, k.Tag = events.SuiteName(suite), events.Tag(tag)
	return nil
}

// KeyOf returns the key of an artifact, whatever the kind of request is that it was measured for.
func KeyOf(a events.Artifact) ArtifactKey { return ArtifactKey{a.Suite, a.Tag} }

// Ledger is everything that the parts of the core decide on, folded from the log. Nothing else feeds it. Make it with
// New; its fields are for reading. Those that JSON leaves out follow from the others (snapshot.go).
type Ledger struct {
	// Seq is the last event folded, Versions the last one of each subject that is appended to.
	Seq      events.Seq
	Versions map[events.Subject]events.Seq
	// reader tells what is litter.
	reader events.Reader
	// Litter is what changed nothing, by subject; Littered counts all of it.
	Litter   map[events.Subject]Litter
	Littered int
	// Newest is the time of the newest event: the log's own clock.
	Newest time.Time
	// names are the strings of jobs.
	names names
	// at is the time of the event that is folded, stored when the log stored it.
	at, stored time.Time

	Requests map[events.RequestID]*request.Request
	// Pending are the requests that have not ended.
	Pending map[events.RequestID]*request.Request `json:"-"`
	// Running and Waiting are the pending ones in progress and without artifacts.
	Running, Waiting map[events.RequestID]bool `json:"-"`
	// ByTag finds the first request of an artifact; Tags tell which artifacts are done.
	ByTag map[ArtifactKey]events.RequestID
	Tags  queue.Tags `json:"-"`
	// Wishing are the requests with wishes that have no answer.
	Wishing map[events.RequestID]bool `json:"-"`
	// Withdrawn are the cancelled requests that may leave jobs which nobody wants.
	Withdrawn map[events.RequestID]bool
	// Torn are requests in progress of whose jobs some were cancelled with another request.
	Torn map[events.RequestID]bool
	// Artifacts holds what its jobs have shown of each artifact.
	Artifacts map[ArtifactKey]Artifact
	// Roots says where each request began.
	Roots map[events.RequestID]string
	// Open counts the required jobs that requests in progress wait for.
	Open map[events.RequestID]int
	// Backfilled are requests in progress that have asked their parent for what it lacked.
	Backfilled map[events.RequestID]bool
	// Owed counts what is still to come of the batch of the newest admission: a batch is written as a whole and
	// may be read in parts, and nothing is to be decided on half of one.
	Owed int
	// Poison are the requests that could not be turned into jobs.
	Poison map[events.RequestID]Poison
	// Moved is when work went on for the last time, Idle until when there was none.
	Moved, Idle time.Time

	// Jobs are those that have not ended, and those of requests that are under way. Past are the others.
	Jobs map[events.JobID]*Job `json:"-"`
	Past Past                  `json:"-"`
	// busy counts the jobs of a request that have not come to rest.
	busy map[events.RequestID]int
	// Lengths are how long the last jobs took.
	Lengths   Lengths `json:"-"`
	Retention Retention

	Lanes map[events.Lane]*Lane `json:"-"`
	// LaneOrder holds the lanes by name: the order in which they are looked at.
	LaneOrder []events.Lane `json:"-"`

	Collectors map[events.CollectorName]*Collector
	// Keys are those that open something now.
	Keys map[string]events.CollectorName

	// Definitions are those of each digest, Current is the current digest of each suite.
	Definitions map[events.Digest]suite.Definitions
	Current     map[events.SuiteName]events.Digest
	// Unusable says why the newest definitions of a suite cannot be used.
	Unusable map[events.SuiteName]string

	// Alerts are those that stand, whoever raised them.
	Alerts map[events.AlertKey]Alert
	// Unreachable is when the newest alert about an unreachable log was raised.
	Unreachable time.Time

	// Deliveries is what GitHub said, Outbox what is said there.
	Deliveries Deliveries
	Outbox     Outbox
}

// Litter is what was written on a subject and changes nothing: how often, and the last of it.
type Litter struct {
	Count int
	// Seq is the last of it, the Nth of the whole log.
	Seq events.Seq
	Nth int
	// Collector is who wrote it by its own word; empty when that cannot be read.
	Collector events.CollectorName
	Why       string
}

// Artifact is what the jobs of an artifact have shown of it.
type Artifact struct {
	// Since is when transient errors with it began; zero when there is none.
	Since time.Time
	// Good is a collector that had it in hand without a fault of it, Others whether there are more.
	Good   events.CollectorName
	Others bool
}

// Lane is one lane: what was dispatched to it, what waits, and who is there for it.
type Lane struct {
	Work job.Work
	// Stopping is set while jobs that nobody wants may be among the dispatched ones.
	Stopping bool
	// Queued are the jobs that wait for dispatch, per request that had them made in the order they were made.
	Queued map[events.RequestID][]events.JobID
	// Assignment says which collectors share the lane and which of them serves it; Served is the last that did.
	Assignment job.Assignment
	Served     events.CollectorName
	// Dispatches are the dispatches of the jobs that have not ended, by place.
	Dispatches map[uint64]Dispatch
	// Begun is when the log stored the beginning of the current attempt, or of the last one.
	Begun time.Time
	// Forged are the events on the work that do not follow from its state.
	Forged map[events.Seq]bool
	// Takers counts the collectors that take its jobs, or would if they were there.
	Takers int
	// Unserved is since when jobs wait and there are no takers, by the event UnservedBy; zero when that is not so.
	Unserved   time.Time
	UnservedBy events.Seq
}

// Dispatch is one event that gave a job to a lane.
type Dispatch struct {
	Seq events.Seq
	Job events.JobSpec
	// Since is when transient errors with the artifact began; zero when there is none.
	Since time.Time
}

// HasWork reports whether a job is on the lane or waits for it.
func (l *Lane) HasWork() bool { return len(l.Work.Dispatched)+len(l.Queued) > 0 }

// Collector is one collector.
type Collector struct {
	job.Standing
	// Met is set once a process of it was online.
	Met bool
	// Expected is when it was last expected anew: registered, activated or online.
	Expected time.Time
	// Updating is since when it is away for the version Wanted; zero when it is not. Unfetched says why its newest
	// process could not get the version wanted; empty when nothing failed.
	Updating          time.Time
	Wanted, Unfetched string
	// Quarantine says why it was quarantined last.
	Quarantine string
	// Failed are the jobs that it failed in a row for reasons of its own, of different artifacts; Failure is why the
	// last of them did.
	Failed  []FailedJob
	Failure string
}

// FailedJob is a job that failed, and what it measured.
type FailedJob struct {
	Job      events.JobID
	Artifact ArtifactKey
}

// Lane returns the lane that it is registered for; none when it is not.
func (c *Collector) Lane() events.Lane {
	if c.Registered == nil {
		return events.Lane{}
	}
	return c.Registered.Lane()
}

// Alert is an alert that stands: what it says now, and when it was raised first.
type Alert struct {
	events.AlertRaised
	At  time.Time
	Seq events.Seq
}

// Poison is a request that failed because it could not be turned into jobs; Resolved says that its suite has new
// definitions since.
type Poison struct {
	Suite    events.SuiteName
	Tag      events.Tag
	Reason   string
	At       time.Time
	Cause    events.Seq
	Resolved bool
}

// New returns the ledger of an empty log.
func New() *Ledger {
	return &Ledger{
		names: newNames(), Versions: map[events.Subject]events.Seq{}, Litter: map[events.Subject]Litter{}, Requests: map[events.RequestID]*request.Request{},
		Pending: map[events.RequestID]*request.Request{}, Running: map[events.RequestID]bool{}, Waiting: map[events.RequestID]bool{}, ByTag: map[ArtifactKey]events.RequestID{},
		Wishing: map[events.RequestID]bool{}, Withdrawn: map[events.RequestID]bool{}, Torn: map[events.RequestID]bool{}, Artifacts: map[ArtifactKey]Artifact{},
		Roots: map[events.RequestID]string{}, Open: map[events.RequestID]int{}, Backfilled: map[events.RequestID]bool{}, Poison: map[events.RequestID]Poison{},
		Jobs: map[events.JobID]*Job{}, busy: map[events.RequestID]int{}, Lengths: Lengths{}, Lanes: map[events.Lane]*Lane{}, Collectors: map[events.CollectorName]*Collector{}, Keys: map[string]events.CollectorName{},
		Definitions: map[events.Digest]suite.Definitions{}, Current: map[events.SuiteName]events.Digest{}, Unusable: map[events.SuiteName]string{},
		Alerts: map[events.AlertKey]Alert{}, Deliveries: newDeliveries(), Outbox: newOutbox(),
	}
}

// lane returns a lane to be changed.
func (l *Ledger) lane(name events.Lane) *Lane {
	lane, ok := l.Lanes[name]
	if !ok {
		lane = &Lane{Queued: map[events.RequestID][]events.JobID{}, Dispatches: map[uint64]Dispatch{}, Forged: map[events.Seq]bool{}}
		l.Lanes[name] = lane
		at, _ := slices.BinarySearchFunc(l.LaneOrder, name, func(a, b events.Lane) int { return strings.Compare(a.String(), b.String()) })
		l.LaneOrder = slices.Insert(l.LaneOrder, at, name)
	}
	return lane
}

// collector returns a collector to be changed.
func (l *Ledger) collector(name events.CollectorName) *Collector {
	c, ok := l.Collectors[name]
	if !ok {
		c = &Collector{}
		l.Collectors[name] = c
	}
	return c
}

// Collector returns what is known of a collector; of one that is not known it is nothing.
func (l *Ledger) Collector(name events.CollectorName) Collector {
	if c, ok := l.Collectors[name]; ok {
		return *c
	}
	return Collector{}
}

// LastAbout returns the last event about a collector, whoever said it.
func (l *Ledger) LastAbout(name events.CollectorName) events.Seq {
	return max(l.Versions[events.RegistrySubject(name)], l.Versions[events.CollectorSubject(name)])
}

// ParentOf returns the request for the parent of r, if there is one.
func (l *Ledger) ParentOf(r *request.Request) (*request.Request, bool) {
	if r.Parent == "" {
		return nil, false
	}
	p, ok := l.Requests[l.ByTag[ArtifactKey{r.Artifact.Suite, r.Parent}]]
	return p, ok
}

// Able reports whether there is work that could move: a request that is in progress or could be.
func (l *Ledger) Able() bool { return len(l.Pending) > len(l.Waiting) }

// Executed returns the job that is executed on a lane now; nil for none.
func (l *Ledger) Executed(lane *Lane) *Job {
	if lane.Work.Phase != job.Current {
		return nil
	}
	if j := l.Jobs[lane.Work.Job.ID]; j != nil && j.State == events.JobInProgress {
		return j
	}
	return nil
}

// Queued returns the jobs of a lane that wait, on the lane or for it.
func (l *Ledger) Queued(lane *Lane) []*Job {
	var out []*Job
	add := func(id events.JobID) {
		if j := l.Jobs[id]; j != nil && j.State == events.JobQueued {
			out = append(out, j)
		}
	}
	for _, id := range lane.Work.Dispatched {
		add(id)
	}
	for _, ids := range lane.Queued {
		for _, id := range ids {
			add(id)
		}
	}
	return out
}
