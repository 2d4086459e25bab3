package projector

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// moment is the place of a fact in the log: what its fold may use besides the fact itself.
type moment struct {
	seq events.Seq
	// at is when its writer says it happened, stored when the log stored it.
	at, stored time.Time
	actor      events.Actor
	name       string
}

// logged is when the log stored the fact. Waits and stages are between such times alone: one clock sets them, in the order of
// the log, while those of the writers differ.
func (m moment) logged() *time.Time { return pointer(m.stored.Truncate(time.Millisecond)) }

// fold changes the state by one event. It cannot fail: if the log says it, it happened. Facts that contradict
// earlier ones (they would change a terminal state, or report of an attempt that is not current) change
// only a counter.
func (s *state) fold(e fact) {
	m := moment{seq: e.Seq, at: e.Time.UTC().Truncate(time.Microsecond), stored: e.stored.UTC(), actor: e.Actor, name: events.TypeOf(e.Fact)}
	// No table holds what the others tell.
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
	case events.MachineFact:
		s.foldMachine(m, f)
	case events.ShareFact:
		s.foldShare(m, f)
	case events.DeliveryFact:
		s.foldDelivery(m, f)
	case events.OutboxFact:
		s.foldOutbox(m, f)
	case events.DefinitionsPublished:
		if f.Aside && storable(f.Suite) || !f.Aside && s.moveLine(m, f.Suite, f.Branch, f) {
			s.newDefinitions = append(s.newDefinitions, definitionRow{
				Suite: f.Suite, Digest: f.Digest, Content: f.Content, PublishedAt: m.at, Seq: m.seq, Aside: f.Aside,
			})
		}
	case events.DefinitionsPromoted:
		s.moveLine(m, f.Suite, f.Branch, f)
	case events.DefinitionsRejected:
		s.moveLine(m, f.Suite, f.Branch, f)
	}
	if m.at.Sub(s.asOf) >= estimateMaxAge || s.movesEstimates(e.Fact) {
		s.touchQueue(m)
	}
}

// movesEstimates reports whether a fact changes the estimates, although it does not change the order of the queue: who
// serves a lane, or how far a job without known history is.
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

// estimateMaxAge is how far estimates may lag behind an event that does not change the queue itself. Time passes while a
// job runs, and any event shows how much: the longer a job overruns, the later the rest ends.
const estimateMaxAge = time.Minute

// touchQueue notes that the queue may look different after this event. The estimates start at the time of the
// newest such event, so they depend on the log alone. Clocks of writers may step back; this time does not.
func (s *state) touchQueue(m moment) {
	s.queueChanged = true
	if m.at.After(s.asOf) {
		s.asOf = m.at
	}
}

func pointer[T any](v T) *T { return &v }
