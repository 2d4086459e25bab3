package projector

import (
	"math"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/queue"
)

// The rows are those of package readmodel, with the methods that the folds need. A row that is read back equals the
// row that was written; this is why every time is cut to microseconds (see fold).
type (
	requestRow    = readmodel.Request
	jobRow        readmodel.Job
	attemptRow    readmodel.Attempt
	errorRow      = readmodel.JobError
	diagnosticRow = readmodel.DiagnosticRow
	resultRow     = readmodel.ResultRow
	blockRow      = readmodel.BlockRow
	collectorRow  readmodel.Collector
	laneRow       readmodel.LaneRow
	assignmentRow readmodel.AssignmentRow
	definitionRow = readmodel.Definition
	lineRow       = readmodel.DefinitionLine
	queueRow      readmodel.QueueEntry
	durationsRow  readmodel.DurationsRow
	useRow        readmodel.UseRow
	expectedRow   readmodel.ExpectedRow
	alertRow      = readmodel.Alert
	deliveryRow   = readmodel.Delivery
	outboxRow     = readmodel.Comment
	accountRow    = readmodel.Account
	namedQueueRow = readmodel.NamedQueue
	machineRow    = readmodel.MachineRow
	shareRow      = readmodel.ShareRow
	usageRow      = readmodel.UsageRow
	eventRow      = readmodel.EventRow
	graphRow      = readmodel.Graph
	graphJobRow   = readmodel.GraphJobRow
	outputRow     = readmodel.JobOutput
)

// life returns the job's life as the row tells it. Only the results of the last attempt are open.
func (j *jobRow) life() job.Life {
	l := job.Life{
		State: j.State, Place: j.Place, Attempt: j.Attempts, Lost: j.Lost, Collector: j.Collector, Token: j.Token,
		Reason: j.Reason, Fault: j.Fault, Results: job.Results{Token: j.Token, Closed: j.Closed},
	}
	if j.FinishedAt != nil {
		l.EndedAt = *j.FinishedAt
	}
	return l
}

// put stores in the row the life that a fact made at a moment.
func (j *jobRow) put(l job.Life, m moment) {
	if l.State.Terminal() && !j.State.Terminal() {
		j.FinishedAt, j.FinishedSeq, j.LogEndedAt = pointer(m.at), pointer(m.seq), m.logged()
	}
	j.State, j.Place, j.Attempts, j.Lost, j.Collector, j.Token = l.State, min(l.Place, math.MaxInt64), l.Attempt, l.Lost, l.Collector, l.Token
	j.Reason, j.Fault, j.Closed = l.Reason, l.Fault, l.Results.Closed
}

// part returns what the job measures, lane the lane that it is on: the zero lane for a matched job that waits.
func (j *jobRow) part() events.Lane { return readmodel.Job(*j).Part() }
func (j *jobRow) lane() events.Lane { return readmodel.Job(*j).Lane() }

// bind notes the lane that a matched job is dispatched to.
func (j *jobRow) bind(to events.Lane) {
	if j.Matched {
		j.LaneTarget, j.LaneSet = pointer(to.Target), pointer(to.Set)
	}
}

// free reports whether the job waits for a machine, whichever it will be.
func (j *jobRow) free() bool { return j.Matched && j.LaneTarget == nil }

// sort returns what the job's expected duration depends on.
func (j *jobRow) sort() queue.Sort {
	return queue.Sort{Suite: j.Suite, Lane: j.part(), Kind: j.Kind, Backend: j.Backend, Profile: j.Profile}
}

func (a *attemptRow) lane() events.Lane { return events.Lane{Target: a.Target, Set: a.Set} }

func (l *laneRow) lane() events.Lane { return events.Lane{Target: l.Target, Set: l.Set} }

type assignmentKey struct {
	lane events.Lane
	name events.CollectorName
}

func (a assignmentRow) key() assignmentKey {
	return assignmentKey{lane: events.Lane{Target: a.Target, Set: a.Set}, name: a.Name}
}

// maxDurations is how many durations the history remembers of each sort.
const maxDurations = queue.Recent

func (d *durationsRow) sort() queue.Sort {
	return queue.Sort{
		Suite: d.Suite, Lane: events.Lane{Target: d.Target, Set: d.Set}, Kind: d.Kind, Backend: d.Backend, Profile: d.Profile,
	}
}

func (r *expectedRow) key() template {
	return template{suite: r.Suite, kind: r.Kind, parameters: r.Parameters}
}

func newExpectedRow(key template, t *made) expectedRow {
	row := expectedRow{
		Suite: key.suite, Kind: key.kind, Parameters: key.parameters, RequestID: t.owner, Jobs: make([]readmodel.ExpectedJob, len(t.jobs)),
	}
	for i, j := range t.jobs {
		row.Jobs[i] = readmodel.ExpectedJob{
			Target: j.Lane.Target, Set: j.Lane.Set, Kind: j.Kind, Backend: j.Backend, Profile: j.Profile, Optional: j.optional, Cases: j.cases, Matched: j.matched,
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
			optional: j.Optional, cases: j.Cases, matched: j.Matched,
		}
	}
	return t
}
