package projector

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// moment is where a fact stands in the log: what its fold may use besides the fact itself.
type moment struct {
	seq   events.Seq
	at    time.Time
	actor events.Actor
	name  string
}

// fold changes the state by one event. It cannot fail: if the log says it, it happened. Facts that contradict
// what came before (a terminal state that would change, a report of an attempt that is not current) change
// nothing but a counter.
func (s *state) fold(e fact) {
	m := moment{seq: e.Seq, at: e.Time.UTC().Truncate(time.Microsecond), actor: e.Actor, name: events.TypeOf(e.Fact)}
	// The others tell nothing that a table has.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.RequestFact:
		s.foldRequest(m, f)
	case events.BackfillAdmitted:
		s.backfillAdmitted(f)
	case events.JobDispatched:
		s.jobDispatched(m, f)
	case events.WorkFact:
		s.foldWork(m, f)
	case events.ResultFact:
		s.foldResult(m, f, e)
	case events.CollectorFact:
		s.foldCollector(m, f)
	case events.AssignmentFact:
		s.foldAssignment(m, f)
	case events.JobsRetired:
		s.jobsRetired(m, f)
	case events.AlertFact:
		s.foldAlert(m, f)
	case events.DeliveryFact:
		s.foldDelivery(m, f)
	case events.OutboxFact:
		s.foldOutbox(m, f)
	case events.DefinitionsPublished:
		s.newDefinitions = append(s.newDefinitions, definitionRow{
			Suite: f.Suite, Digest: f.Digest, Content: f.Content, Current: true, PublishedAt: m.at, Seq: m.seq,
		})
	}
	if m.at.Sub(s.asOf) >= aMoment || s.movesEstimates(e.Fact) {
		s.touchQueue(m)
	}
}

// movesEstimates reports whether the estimates look at what a fact has changed, although the order of the queue does
// not: who serves a lane, and how far a job is of which no history is known.
func (s *state) movesEstimates(f events.Fact) bool {
	if measured, ok := f.(events.TestCasesMeasured); ok {
		j := s.jobOn(measured.Lane, measured.JobID)
		return j != nil && !j.State.Terminal() && !s.durations.Expect(j.sort()).Known
	}
	switch f.Subject().Family() {
	case "registry", "collector", "assign":
		return true
	}
	return false
}

// aMoment is how far estimates may be behind an event that does not change the queue itself. Time passes while a
// job runs, and whoever reports anything shows how much: the longer a job overruns, the later is the rest.
const aMoment = time.Minute

// touchQueue notes that the queue may look different after this event. The estimates are seen from the
// newest such event, so that they depend on the log alone; clocks of writers may step back, this does not.
func (s *state) touchQueue(m moment) {
	s.queueChanged = true
	if m.at.After(s.asOf) {
		s.asOf = m.at
	}
}

func pointer[T any](v T) *T { return &v }
