// Package eventlog is the port to the log: append with an expected version, read, follow, dispatch.
//
// The log is one total order of events (package events), kept for ever. An aggregate is one literal subject; its
// version is the sequence of its last event. A writer appends with the version that it decided on, and the log takes
// the append or refuses it. Only this check keeps two writers from both winning: there is no lock, lease or clock.
//
// When the answer to an append is lost, the log itself settles what happened: the adapters read the aggregate's last
// events and look for the ids of the events that they sent. So callers see only three results: stored, ConflictError
// (another writer was first: fold again, decide again), or a fault.
//
// The adapters are eventlog/jetstream (NATS JetStream, one node or a cluster) and eventlog/memory (tests,
// simulations). Both pass the suite of eventlog/eventlogtest.
package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
)

// Append is one aggregate's part of a batch.
type Append struct {
	Subject events.Subject
	// Expected is the last sequence of the subject that the writer decided on; 0 means that the aggregate must not
	// exist yet.
	Expected events.Seq
	// Events all belong to Subject and are stored in this order.
	Events []events.Event
}

// Log is the truth. It is two ports: a writer that decides on single aggregates needs only Aggregates.
type Log interface {
	Aggregates
	Follower

	// Newer reports whether an aggregate has events after a version. If it has none, no event is sent or decoded, so it is a
	// cheap way to keep what was folded before.
	Newer(ctx context.Context, subject events.Subject, version events.Seq) (bool, error)
}

// Aggregates are read and appended to one by one.
type Aggregates interface {
	// Append stores all events of all parts, in order and without other events between them, or none. It returns the
	// sequence of the last event. Errors: *ConflictError when an aggregate has another version; ErrUnavailable
	// (wrapped) when the log could not be reached before ctx ended: then it is unknown whether the events were stored;
	// *FullError when there is no room; *TornError when the log broke this promise, in this append or an earlier one.
	Append(ctx context.Context, parts ...Append) (events.Seq, error)

	// Read returns all events of one aggregate, in order. Litter (see events.Reader) comes without a fact: it counts
	// only for the version. So do events that were parked when Parks was last asked. The error is a *events.NewerError
	// for an aggregate with an event that this program does not understand.
	Read(ctx context.Context, subject events.Subject) ([]events.Recorded, error)

	// Last returns the last event of one aggregate, without a fact if it is litter; false when there is none.
	Last(ctx context.Context, subject events.Subject) (events.Recorded, bool, error)
}

// Follower reads the log as a whole.
type Follower interface {
	// Follow returns a cursor over all events after the given sequence.
	Follow(ctx context.Context, after events.Seq) (Cursor, error)

	// Head returns the identity and the extent of the log.
	Head(ctx context.Context) (Head, error)

	// Parks returns which events no fold takes. A fold asks before its first event.
	Parks(ctx context.Context) (events.Parks, error)

	// Takes returns the head of a log that takes appends at this moment. It asks once and tries nothing again, so its
	// error is fresh. Of a log with several servers it may be a *QuorumError.
	Takes(ctx context.Context) (Head, error)
}

// Cursor walks the log in order and proves that nothing is missing.
type Cursor interface {
	// Next waits for at least one event and returns up to max events, in order. The sequences continue those before
	// without a gap, else the error is a *GapError.
	Next(ctx context.Context, max int) ([]events.Stored, error)
	// Close releases what the cursor holds.
	Close()
}

// Head is the identity and the extent of a log.
type Head struct {
	// Identity changes when the log is a new one, for example after its deletion.
	Identity string
	First    events.Seq
	Last     events.Seq
	// Sole says that one server keeps the log, so what it says is certain. See HeadAt.
	Sole bool
}

// ConflictError says that an aggregate was not at the expected version. Nothing was stored.
type ConflictError struct {
	Subject  events.Subject
	Expected events.Seq
	// Actual is the version found; 0 when it is unknown.
	Actual events.Seq
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: expected version %d, found %d", e.Subject, e.Expected, e.Actual)
}

// GapError says that the log does not hold every event between two sequences: it was damaged or replaced.
type GapError struct {
	// Want is the sequence that had to come next; 0 when it is unknown which one is missing. Got is the one that came;
	// 0 when the log ended before it.
	Want, Got events.Seq
}

func (e *GapError) Error() string {
	if e.Want == 0 {
		return "the log has a gap: it counts more events than it can give"
	}
	if e.Got == 0 {
		return fmt.Sprintf("the log ends before event %d, which was there before: it was cut or replaced", e.Want)
	}
	return fmt.Sprintf("the log has a gap: event %d was expected, event %d came", e.Want, e.Got)
}

// ErrUnavailable says that the log could not be reached in time.
var ErrUnavailable = errors.New("the log is not reachable")

// ErrNoLane says that a lane has no consumer. Nobody has made one since the server started, which keeps it in memory.
var ErrNoLane = errors.New("the lane has no consumer")

// Delivery is one dispatched job in the hands of a collector.
type Delivery interface {
	// Stored is the JobDispatched event as the log holds it.
	Stored() events.Stored
	// InProgress asks for more time; it must be called well within the redelivery time.
	InProgress(ctx context.Context) error
	// Ack ends the delivery. It is never the truth about the job: the log is.
	Ack(ctx context.Context) error
	// Nak gives the job back; it is delivered again after the delay, before any later job of the lane.
	Nak(ctx context.Context, delay time.Duration) error
}

// FarBehind is how many events the consumer of a lane may pass to its next job, however large they are. The server reads what it passes,
// and the whole log waits meanwhile: seconds for some gigabytes.
const FarBehind = 1000

// Dispatch brings a job from its JobDispatched event to a collector. The core uses both ends of it.
type Dispatch interface {
	// EnsureLane makes the consumer of a lane if there is none, or if it may be FarBehind from. A new one begins with the first job that
	// was dispatched at from or later.
	EnsureLane(ctx context.Context, lane events.Lane, from events.Seq) error
	Jobs
}

// Jobs is the collector's end of the dispatch.
type Jobs interface {
	// NextJob waits for the next job of the lane. Each lane has one outstanding delivery at a time, in order, for all
	// takers together. An unacknowledged one is delivered again before any later one. It returns ErrNoLane, wrapped, when the lane
	// has no consumer.
	NextJob(ctx context.Context, lane events.Lane) (Delivery, error)
}

// Beat is one heartbeat of a collector's process.
type Beat struct {
	Name     events.CollectorName `json:"name"`
	Instance string               `json:"instance"`
	// Host and PID tell a process on the same host whether the holder of a name is still alive.
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Time    time.Time `json:"time"`
	// JobID is empty when idle. Done and Total count test cases.
	JobID     events.JobID     `json:"job_id,omitempty"`
	Benchmark events.Benchmark `json:"benchmark,omitempty"`
	Done      int              `json:"done"`
	Total     int              `json:"total"`
	// Waits is what the job waits for before it goes on; empty while it runs.
	Waits string  `json:"waits,omitempty"`
	Load  float64 `json:"load"`
	// Turn says more of a wait for the turn of the machine; nil for none.
	Turn *TurnWait `json:"turn,omitempty"`
}

// TurnWait is since when a job waits for the turn of its machine, and who has it, as far as its collector knows.
type TurnWait struct {
	Since   time.Time    `json:"since"`
	Holders []TurnHolder `json:"holders,omitempty"`
}

// TurnHolder is a collector that has the turn of its machine. Gone says that its process has ended: a command of it goes on.
type TurnHolder struct {
	Name  events.CollectorName `json:"name"`
	PID   int                  `json:"pid"`
	JobID events.JobID         `json:"job_id"`
	Since time.Time            `json:"since"`
	Gone  bool                 `json:"gone,omitempty"`
}

// MaxTurnHolders bounds the holders that a heartbeat names.
const MaxTurnHolders = 8

// ErrNameHeld says that another live process holds a collector's name.
var ErrNameHeld = errors.New("another live process holds this name")

// News says where the log has the last event of aggregates that a collector follows; 0 of one without events. A moment later there
// may be newer ones. Of an aggregate that is missing it says nothing.
type News map[events.Subject]events.Seq

// Followed returns the aggregates that a collector follows: its lane's work and assignment, its registry, its own events, and the
// wanted version.
func Followed(name events.CollectorName, lane events.Lane) []events.Subject {
	return []events.Subject{
		events.WorkSubject(lane), events.AssignmentSubject(lane), events.RegistrySubject(name), events.CollectorSubject(name), events.VersionSubject(),
	}
}

// Presence gives names to processes: a process keeps its name while it beats. A claim expires after the time to live.
type Presence interface {
	// Claim takes the name for the instance, or returns ErrNameHeld with the holder's beat. If the holder's instance is
	// replaces, the name is taken over at once.
	Claim(ctx context.Context, b Beat, replaces string) (Beat, error)
	// Beat renews the claim. It returns ErrNameHeld when another instance has the name now. Who knows the log better than the
	// collector says what it should look at; others return nil.
	Beat(ctx context.Context, b Beat) (News, error)
	// Release gives the name back at once.
	Release(ctx context.Context, b Beat) error
}

// Probe is a sound that a listener makes in the place of the heartbeats, to test whether it hears. It is no heartbeat
// and holds no name.
type Probe struct {
	// From is the listener, N counts its probes.
	From string `json:"from"`
	N    uint64 `json:"n"`
}

// Sound is what a watcher reports: exactly one of its fields is set.
type Sound struct {
	Beat *Beat
	// Left is a name whose process gave it back. A watcher does not report that a beat is too old.
	Left events.CollectorName
	// Probe is the newest one of a listener.
	Probe *Probe
}

// Heartbeats are for the core to hear. Sounds come in the order in which they were stored: a listener that hears a
// probe has heard the newest earlier beat of every collector. A dead watcher may just stay silent for ever: only probes
// show that.
type Heartbeats interface {
	// Probe stores a probe for every watcher.
	Probe(ctx context.Context, p Probe) error
	// Watch calls f with each sound until ctx ends or it notices that it cannot hear. It begins with the sounds that
	// are stored already.
	Watch(ctx context.Context, f func(Sound)) error
}

// LogChunk is a piece of a job's output.
type LogChunk struct {
	JobID   events.JobID `json:"job_id"`
	Attempt int          `json:"attempt"`
	Time    time.Time    `json:"time"`
	Text    string       `json:"text"`
	// Number counts the chunks of the attempt from 1; 0 from collectors that do not count them.
	Number int `json:"number,omitempty"`
}

// JobLogs keeps the output of jobs, bounded by age and bytes; it is no part of the truth.
type JobLogs interface {
	JobLogWriter
	// ReadLog calls f with each chunk of the job in order. With follow it continues until ctx ends.
	ReadLog(ctx context.Context, lane events.Lane, job events.JobID, follow bool, f func(LogChunk) error) error
}

// JobLogWriter takes the output of jobs.
type JobLogWriter interface {
	// WriteLog stores one chunk on the lane's log.
	WriteLog(ctx context.Context, lane events.Lane, c LogChunk) error
}
