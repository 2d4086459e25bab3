package projector

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
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
	Measures     []string             `json:"measures"`
	Round        int                  `json:"round"`
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
	Cases        int                  `json:"cases"`
	Fault        events.ErrorKind     `json:"fault"`
	Closed       events.Seq           `json:"closed"`
}

// life returns what the row says of the job's life. Of its results those of the last attempt alone are open.
func (j *jobRow) life() job.Life {
	l := job.Life{
		State: j.State, Place: uint64(max(j.Place, 0)), Attempt: j.Attempts, Lost: j.Lost, Collector: j.Collector, Token: j.Token,
		Reason: j.Reason, Fault: j.Fault, Results: job.Results{Token: j.Token, Closed: j.Closed},
	}
	if j.FinishedAt != nil {
		l.EndedAt = *j.FinishedAt
	}
	return l
}

// put takes a life over that a fact has made at a moment.
func (j *jobRow) put(l job.Life, m moment) {
	if l.State.Terminal() && !j.State.Terminal() {
		j.FinishedAt, j.FinishedSeq = pointer(m.at), pointer(m.seq)
	}
	j.State, j.Place, j.Attempts, j.Lost, j.Collector, j.Token = l.State, place(l.Place), l.Attempt, l.Lost, l.Collector, l.Token
	j.Reason, j.Fault, j.Closed = l.Reason, l.Fault, l.Results.Closed
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

// collectorRow is the standing of a collector (see job.Standing) and what it told of itself.
type collectorRow struct {
	Name           events.CollectorName `json:"name"`
	Target         events.Target        `json:"target"`
	Set            events.Set           `json:"set"`
	Standby        bool                 `json:"standby"`
	NKey           string               `json:"nkey"`
	Active         bool                 `json:"active"`
	Presence       string               `json:"presence"`
	Draining       bool                 `json:"draining"`
	Quarantined    bool                 `json:"quarantined"`
	Reason         string               `json:"reason"`
	PresenceReason string               `json:"presence_reason"`
	Instance       string               `json:"instance"`
	Version        string               `json:"version"`
	PID            int                  `json:"pid"`
	Environment    *events.Environment  `json:"environment"`
	RegisteredAt   time.Time            `json:"registered_at"`
	KeySince       time.Time            `json:"key_since"`
	RemovedAt      *time.Time           `json:"removed_at"`
	OnlineAt       *time.Time           `json:"online_at"`
	OfflineAt      *time.Time           `json:"offline_at"`
	LastEventSeq   events.Seq           `json:"last_event_seq"`
	LastEventType  string               `json:"last_event_type"`
	LastEventAt    time.Time            `json:"last_event_at"`
}

// laneRow is what decides on the work of a lane which facts count, and the jobs that were dispatched to it.
type laneRow struct {
	Target     events.Target           `json:"target"`
	Set        events.Set              `json:"set"`
	Place      uint64                  `json:"place"`
	Phase      job.Phase               `json:"phase"`
	JobID      events.JobID            `json:"job_id"`
	Collector  events.CollectorName    `json:"collector"`
	Token      events.Seq              `json:"token"`
	Dispatched map[uint64]events.JobID `json:"dispatched"`
}

func (l *laneRow) lane() events.Lane { return events.Lane{Target: l.Target, Set: l.Set} }

type assignmentRow struct {
	Target     events.Target        `json:"target"`
	Set        events.Set           `json:"set"`
	Name       events.CollectorName `json:"name"`
	Standby    bool                 `json:"standby"`
	Serving    bool                 `json:"serving"`
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
	StartEarliest  *time.Time       `json:"estimated_start_earliest"`
	StartLatest    *time.Time       `json:"estimated_start_latest"`
	EndEarliest    *time.Time       `json:"estimated_end_earliest"`
	EndLatest      *time.Time       `json:"estimated_end_latest"`
	Overrun        bool             `json:"overrun"`
	Guessed        bool             `json:"guessed"`
	NoEnd          string           `json:"no_end"`
}

// durationsRow is how long the last jobs of a sort took, oldest first.
type durationsRow struct {
	Suite        events.SuiteName `json:"suite"`
	Target       events.Target    `json:"target"`
	Set          events.Set       `json:"set"`
	Kind         events.JobKind   `json:"kind"`
	Backend      events.Backend   `json:"backend"`
	Profile      events.Profile   `json:"profile"`
	FinishedSeqs []events.Seq     `json:"finished_seqs"`
	LengthsMS    []int64          `json:"lengths_ms"`
}

// maxDurations is as many as the history remembers of a sort.
const maxDurations = queue.Recent

func (d *durationsRow) sort() queue.Sort {
	return queue.Sort{
		Suite: d.Suite, Lane: events.Lane{Target: d.Target, Set: d.Set}, Kind: d.Kind, Backend: d.Backend, Profile: d.Profile,
	}
}

// expectedRow is a template.
type expectedRow struct {
	Suite      events.SuiteName   `json:"suite"`
	Kind       events.RequestKind `json:"kind"`
	Parameters string             `json:"parameters"`
	RequestID  events.RequestID   `json:"request_id"`
	Jobs       []expectedJob      `json:"jobs"`
}

func (r *expectedRow) key() template {
	return template{suite: r.Suite, kind: r.Kind, parameters: r.Parameters}
}

// expectedJob is a job in the suite of its row.
type expectedJob struct {
	Target   events.Target  `json:"target"`
	Set      events.Set     `json:"set"`
	Kind     events.JobKind `json:"kind"`
	Backend  events.Backend `json:"backend"`
	Profile  events.Profile `json:"profile"`
	Optional bool           `json:"optional"`
	Cases    int            `json:"cases"`
}

func newExpectedRow(key template, t *made) expectedRow {
	row := expectedRow{
		Suite: key.suite, Kind: key.kind, Parameters: key.parameters, RequestID: t.owner, Jobs: make([]expectedJob, len(t.jobs)),
	}
	for i, j := range t.jobs {
		row.Jobs[i] = expectedJob{
			Target: j.Lane.Target, Set: j.Lane.Set, Kind: j.Kind, Backend: j.Backend, Profile: j.Profile, Optional: j.optional, Cases: j.cases,
		}
	}
	return row
}

func (r *expectedRow) made() *made {
	t := &made{owner: r.RequestID, jobs: make([]madeJob, len(r.Jobs))}
	for i, j := range r.Jobs {
		t.jobs[i] = madeJob{
			Sort: queue.Sort{
				Suite: r.Suite, Lane: events.Lane{Target: j.Target, Set: j.Set}, Kind: j.Kind, Backend: j.Backend, Profile: j.Profile,
			},
			optional: j.Optional, cases: j.Cases,
		}
	}
	return t
}

type alertRow struct {
	Key           events.AlertKey  `json:"key"`
	Kind          events.AlertKind `json:"kind"`
	About         string           `json:"about"`
	Message       string           `json:"message"`
	Action        string           `json:"action"`
	RaisedAt      time.Time        `json:"raised_at"`
	RaisedSeq     events.Seq       `json:"raised_seq"`
	ChangedAt     time.Time        `json:"changed_at"`
	ChangedSeq    events.Seq       `json:"changed_seq"`
	ClearedAt     *time.Time       `json:"cleared_at"`
	ClearedSeq    *events.Seq      `json:"cleared_seq"`
	ClearedReason string           `json:"cleared_reason"`
}

type deliveryRow struct {
	Hook        events.HookID          `json:"hook"`
	Delivery    events.DeliveryID      `json:"delivery"`
	Event       string                 `json:"event"`
	Size        int                    `json:"size"`
	ReceivedAt  time.Time              `json:"received_at"`
	ReceivedSeq events.Seq             `json:"received_seq"`
	HandledAt   *time.Time             `json:"handled_at"`
	HandledSeq  *events.Seq            `json:"handled_seq"`
	Outcome     events.DeliveryOutcome `json:"outcome"`
	Reason      string                 `json:"reason"`
	Repo        events.RepoName        `json:"repo"`
	PR          *int                   `json:"pr"`
	Comment     *int64                 `json:"comment"`
	Sender      string                 `json:"sender"`
	SenderID    int64                  `json:"sender_id"`
	Command     string                 `json:"command"`
	Requests    []events.RequestID     `json:"requests"`
}

type outboxRow struct {
	Key            events.OutboxKey      `json:"key"`
	Revision       int                   `json:"revision"`
	Purpose        events.CommentPurpose `json:"purpose"`
	Repo           events.RepoName       `json:"repo"`
	PR             int                   `json:"pr"`
	RequestID      events.RequestID      `json:"request_id"`
	Body           string                `json:"body"`
	Temporary      bool                  `json:"temporary"`
	AddLabels      []string              `json:"add_labels"`
	RemoveLabels   []string              `json:"remove_labels"`
	State          string                `json:"state"`
	Attempts       int                   `json:"attempts"`
	Reason         string                `json:"reason"`
	Until          *time.Time            `json:"until"`
	CommentID      *int64                `json:"comment_id"`
	URL            string                `json:"url"`
	PostedRevision int                   `json:"posted_revision"`
	LabelsRevision int                   `json:"labels_revision"`
	WantedAt       time.Time             `json:"wanted_at"`
	WantedSeq      events.Seq            `json:"wanted_seq"`
	RevisedAt      time.Time             `json:"revised_at"`
	PostedAt       *time.Time            `json:"posted_at"`
	ChangedSeq     events.Seq            `json:"changed_seq"`
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
