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
	// What it leaves out is told by others of the same batch, or is in the archive alone.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.RequestCreated:
		s.requestCreated(m, f)
	case events.RequestArtifactsReady:
		s.artifactsReady(m, f)
	case events.RequestStarted:
		s.requestStarted(m, f)
	case events.JobsCreated:
		s.jobsCreated(m, f)
	case events.RequestExpansionFailed:
		s.expansionFailed(f)
	case events.RequestCompleted:
		s.endRequest(m, f.RequestID, events.RequestDone, "")
	case events.RequestFailed:
		if r := s.endRequest(m, f.RequestID, events.RequestFailure, f.Reason); r != nil {
			r.FailedJobs = f.FailedJobs
		}
	case events.RequestCancelled:
		s.endRequest(m, f.RequestID, events.RequestStopped, f.Reason)
	case events.RequestCancelledWithJobs:
		s.cancelledWithJobs(m, f)
	case events.JobsWithdrawn:
		s.jobsWithdrawn(m, f)
	case events.RequestExpired:
		s.endRequest(m, f.RequestID, events.RequestTimedOut, f.Reason)
	case events.RequestSuperseded:
		if r := s.endRequest(m, f.RequestID, events.RequestReplaced, "replaced by a newer request"); r != nil {
			r.SupersededBy = f.By
		}
	case events.BackfillAdmitted:
		s.backfillAdmitted(f)
	case events.JobDispatched:
		s.jobDispatched(m, f)
	case events.WorkFact:
		s.foldWork(m, f)
	case events.ResultFact:
		s.foldResult(m, f, e)
	case events.CollectorRegistered:
		s.collectorStands(m, f.Name, f)
	case events.RegistryCopied:
		s.collectorStands(m, f.Name, f)
	case events.CollectorKeyRotated:
		s.collectorStands(m, f.Name, f)
	case events.CollectorRemoved:
		s.collectorStands(m, f.Name, f)
	case events.CollectorActivated:
		s.collectorStands(m, f.Name, f)
	case events.CollectorDeactivated:
		s.collectorStands(m, f.Name, f)
	case events.CollectorOnline:
		s.collectorStands(m, f.Name, f)
	case events.CollectorUpdating:
		s.collectorStands(m, f.Name, f)
	case events.CollectorQuarantined:
		s.collectorStands(m, f.Name, f)
	case events.CollectorOffline:
		s.collectorStands(m, f.Name, f)
	case events.CollectorSilent:
		s.collectorStands(m, f.Name, f)
	case events.CollectorDraining:
		s.collectorStands(m, f.Name, f)
	case events.LaneAssigned:
		key := assignmentKey{lane: f.Lane, name: f.Name}
		s.assignments[key] = assignmentRow{
			Target: f.Lane.Target, Set: f.Lane.Set, Name: f.Name, Standby: f.Standby, Serving: s.assignments[key].Serving,
			AssignedAt: m.at, Seq: m.seq,
		}
		s.dirtyAssignments[key] = true
		s.assign(f.Lane, f)
	case events.LaneUnassigned:
		s.assign(f.Lane, f)
		key := assignmentKey{lane: f.Lane, name: f.Name}
		delete(s.assignments, key)
		s.dirtyAssignments[key] = true
	case events.LaneTakenOver:
		s.assign(f.Lane, f)
	case events.JobsRetired:
		s.jobsRetired(m, f)
	case events.AlertRaised:
		s.alertRaised(m, f)
	case events.AlertCleared:
		s.alertCleared(m, f)
	case events.RequestBuildFailed:
		if r := s.openRequest(f.RequestID); r != nil {
			r.Reason = f.Reason
		}
	case events.DeliveryReceived:
		s.deliveryReceived(m, f)
	case events.DeliveryHandled:
		s.deliveryHandled(m, f)
	case events.CommentWanted:
		s.commentWanted(m, f)
	case events.CommentAttempted:
		s.commentAttempted(m, f)
	case events.CommentPosted:
		s.commentPosted(m, f)
	case events.CommentPostponed:
		s.commentPostponed(m, f)
	case events.CommentRefused:
		s.commentRefused(m, f)
	case events.LabelsSet:
		s.labelsSet(m, f)
	case events.CommentMinimised:
		s.commentMinimised(m, f)
	case events.DefinitionsPublished:
		s.newDefinitions = append(s.newDefinitions, definitionRow{
			Suite: f.Suite, Digest: f.Digest, Content: string(f.Content), Current: true, PublishedAt: m.at, Seq: m.seq,
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
