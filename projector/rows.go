package projector

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/queue"
)

// The rows are written and read back as JSON: the tags are the names of the columns. A row that was read
// back equals the row that was written, which is why every time is cut to microseconds (see fold).

type requestRow struct {
	ID                events.RequestID    `json:"request_id"`
	Kind              events.RequestKind  `json:"kind"`
	Suite             events.SuiteName    `json:"suite"`
	Tag               events.Tag          `json:"tag"`
	Parent            events.Tag          `json:"parent_tag"`
	PR                *int                `json:"pr"`
	ReleasedOn        string              `json:"released_on"`
	Key               string              `json:"key"`
	Parameters        events.Parameters   `json:"parameters"`
	State             events.RequestState `json:"state"`
	Reason            string              `json:"reason"`
	CreatedBy         events.Actor        `json:"created_by"`
	CreatedAt         time.Time           `json:"created_at"`
	CreatedSeq        events.Seq          `json:"created_seq"`
	ArtifactsReadyAt  *time.Time          `json:"artifacts_ready_at"`
	StartedAt         *time.Time          `json:"started_at"`
	StartedSeq        *events.Seq         `json:"started_seq"`
	EndedAt           *time.Time          `json:"ended_at"`
	EndedSeq          *events.Seq         `json:"ended_seq"`
	Definitions       events.Digest       `json:"definitions"`
	Jobs              int                 `json:"jobs"`
	Backfill          int                 `json:"backfill_jobs"`
	FailedJobs        int                 `json:"failed_jobs"`
	ExpansionFailures int                 `json:"expansion_failures"`
	SupersededBy      events.RequestID    `json:"superseded_by"`
}

type jobRow struct {
	ID           events.JobID         `json:"job_id"`
	RequestID    events.RequestID     `json:"request_id"`
	Suite        events.SuiteName     `json:"suite"`
	Tag          events.Tag           `json:"tag"`
	ArtifactKind events.RequestKind   `json:"artifact_kind"`
	Kind         events.JobKind       `json:"kind"`
	Target       events.Target        `json:"target"`
	Set          events.Set           `json:"set"`
	Backend      events.Backend       `json:"backend"`
	Profile      events.Profile       `json:"profile"`
	Benchmarks   []string             `json:"benchmarks"`
	Optional     bool                 `json:"optional"`
	Backfill     bool                 `json:"backfill"`
	Definitions  events.Digest        `json:"definitions"`
	State        events.JobState      `json:"state"`
	Reason       string               `json:"reason"`
	CreatedAt    time.Time            `json:"created_at"`
	CreatedSeq   events.Seq           `json:"created_seq"`
	Ordinal      int                  `json:"ordinal"`
	DispatchedAt *time.Time           `json:"dispatched_at"`
	Place        int64                `json:"place"`
	DequeuedAt   *time.Time           `json:"dequeued_at"`
	Collector    events.CollectorName `json:"collector"`
	Token        events.Seq           `json:"token"`
	Attempts     int                  `json:"attempts"`
	Lost         int                  `json:"lost"`
	FinishedAt   *time.Time           `json:"finished_at"`
	FinishedSeq  *events.Seq          `json:"finished_seq"`
	Measured     int                  `json:"measured"`
	Skipped      int                  `json:"skipped"`
	Failed       int                  `json:"failed"`
	DurationMS   int64                `json:"duration_ms"`
}

func (j *jobRow) lane() events.Lane { return events.Lane{Target: j.Target, Set: j.Set} }

// sort is what the job is like as far as its duration is concerned.
func (j *jobRow) sort() queue.Sort {
	return queue.Sort{Suite: j.Suite, Lane: j.lane(), Kind: j.Kind, Backend: j.Backend, Profile: j.Profile}
}

type attemptRow struct {
	Token       events.Seq           `json:"token"`
	JobID       events.JobID         `json:"job_id"`
	RequestID   events.RequestID     `json:"request_id"`
	Target      events.Target        `json:"target"`
	Set         events.Set           `json:"set"`
	Collector   events.CollectorName `json:"collector"`
	Instance    string               `json:"instance"`
	Attempt     int                  `json:"attempt"`
	Lost        int                  `json:"lost"`
	Version     string               `json:"version"`
	Environment events.Digest        `json:"environment"`
	State       string               `json:"state"`
	Outcome     events.Outcome       `json:"outcome"`
	Reason      string               `json:"reason"`
	StartedAt   time.Time            `json:"started_at"`
	EndedAt     *time.Time           `json:"ended_at"`
	Measured    int                  `json:"measured"`
	Skipped     int                  `json:"skipped"`
	Failed      int                  `json:"failed"`
	DurationMS  int64                `json:"duration_ms"`
}

func (a *attemptRow) lane() events.Lane { return events.Lane{Target: a.Target, Set: a.Set} }

type errorRow struct {
	Seq       events.Seq           `json:"seq"`
	JobID     events.JobID         `json:"job_id"`
	RequestID events.RequestID     `json:"request_id"`
	Suite     events.SuiteName     `json:"suite"`
	Tag       events.Tag           `json:"tag"`
	Collector events.CollectorName `json:"collector"`
	Token     events.Seq           `json:"token"`
	Attempt   int                  `json:"attempt"`
	Kind      events.ErrorKind     `json:"kind"`
	Context   string               `json:"context"`
	Case      *events.TestCase     `json:"test_case"`
	Message   string               `json:"message"`
	Stale     bool                 `json:"stale"`
	Time      time.Time            `json:"time"`
}

type collectorRow struct {
	Name          events.CollectorName `json:"name"`
	Target        events.Target        `json:"target"`
	Set           events.Set           `json:"set"`
	Standby       bool                 `json:"standby"`
	NKey          string               `json:"nkey"`
	Active        bool                 `json:"active"`
	Presence      string               `json:"presence"`
	Draining      bool                 `json:"draining"`
	Reason        string               `json:"reason"`
	Instance      string               `json:"instance"`
	Version       string               `json:"version"`
	PID           int                  `json:"pid"`
	Environment   *events.Environment  `json:"environment"`
	RegisteredAt  time.Time            `json:"registered_at"`
	OnlineAt      *time.Time           `json:"online_at"`
	OfflineAt     *time.Time           `json:"offline_at"`
	LastEventSeq  events.Seq           `json:"last_event_seq"`
	LastEventType string               `json:"last_event_type"`
	LastEventAt   time.Time            `json:"last_event_at"`
}

type assignmentRow struct {
	Target     events.Target        `json:"target"`
	Set        events.Set           `json:"set"`
	Name       events.CollectorName `json:"name"`
	Standby    bool                 `json:"standby"`
	AssignedAt time.Time            `json:"assigned_at"`
	Seq        events.Seq           `json:"seq"`
}

type assignmentKey struct {
	lane events.Lane
	name events.CollectorName
}

func (a assignmentRow) key() assignmentKey {
	return assignmentKey{lane: events.Lane{Target: a.Target, Set: a.Set}, name: a.Name}
}

// definitionRow leaves the content out where the state does not need it.
type definitionRow struct {
	Suite       events.SuiteName `json:"suite"`
	Digest      events.Digest    `json:"digest"`
	Content     string           `json:"content"`
	Current     bool             `json:"current"`
	PublishedAt time.Time        `json:"published_at"`
	Seq         events.Seq       `json:"seq"`
}

type queueRow struct {
	Position       int              `json:"position"`
	RequestID      events.RequestID `json:"request_id"`
	Level          int              `json:"level"`
	Reason         string           `json:"reason"`
	Startable      bool             `json:"startable"`
	EstimatedStart *time.Time       `json:"estimated_start"`
	EstimatedEnd   *time.Time       `json:"estimated_end"`
}

// resultRow is one measured test case.
type resultRow struct {
	job  *jobRow
	fact *events.TestCasesMeasured
	c    *events.MeasuredCase
	samples
	at  time.Time
	seq events.Seq
}
