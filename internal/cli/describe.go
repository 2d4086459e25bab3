package cli

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
)

// describe describes an event in one line, without its sequence and time.
func describe(f events.Fact) string {
	switch f := f.(type) {
	case events.RequestCreated:
		s := fmt.Sprintf("%s request %s for %s", f.Kind, f.RequestID, short(f.Tag))
		if f.Parent != "" {
			s += ", parent " + short(f.Parent)
		}
		if f.PR != 0 {
			s += fmt.Sprintf(", PR %d", f.PR)
		}
		if f.Account != "" {
			s += ", by " + string(f.Account)
		}
		if f.Queue != "" {
			s += ", in queue " + string(f.Queue)
		}
		if f.Priority != "" {
			s += ", priority " + string(f.Priority)
		}
		if f.Definitions != "" {
			s += fmt.Sprintf(", definitions %.12s", f.Definitions)
		}
		if f.Together != "" {
			s += ", set " + f.Together
		}
		return s + named("requires", f.Requires) + ": " + join(string(f.State), f.DefinitionsProblem)
	case events.RequestArtifactsReady:
		return fmt.Sprintf("request %s has its artifact %s", f.RequestID, short(f.Tag))
	case events.RequestStarted:
		return fmt.Sprintf("request %s is in progress: %s", f.RequestID, phrase.Count(f.Jobs, "job")) + some(f.Backfill, "for its parent") + some(len(f.Shared), "shared with another")
	case events.JobsCreated:
		s := fmt.Sprintf("%s for request %s", phrase.Count(len(f.Jobs), "job"), f.RequestID)
		if f.Graph != nil {
			s += fmt.Sprintf(", in its graph %d", f.Graph.Graph) + some(len(f.Graph.Shared), "shared with another")
		}
		return s
	case events.RequestExpansionFailed:
		if f.Waits {
			return fmt.Sprintf("request %s waits: %s", f.RequestID, f.Reason)
		}
		return fmt.Sprintf("request %s could not be turned into jobs (failure %d): %s", f.RequestID, f.Failures, f.Reason)
	case events.RequestCompleted:
		if f.Jobs == 1 {
			return fmt.Sprintf("request %s: its job succeeded", f.RequestID)
		}
		return fmt.Sprintf("request %s: all %d jobs succeeded", f.RequestID, f.Jobs)
	case events.RequestFailed:
		return fmt.Sprintf("request %s: %s", f.RequestID, f.Reason)
	case events.RequestCancelled:
		return fmt.Sprintf("request %s %s", f.RequestID, f.Reason)
	case events.RequestCancelledWithJobs:
		return fmt.Sprintf("request %s %s", f.RequestID, f.Reason)
	case events.JobsWithdrawn:
		if f.Empty {
			return fmt.Sprintf("%s of request %s %s nothing left to measure", phrase.Count(len(f.Jobs), "chunk"), f.RequestID, phrase.Verb(len(f.Jobs), "has", "have"))
		}
		if f.Skipped {
			return fmt.Sprintf("%s of request %s: skipped, because others that they need did not succeed", phrase.Count(len(f.Jobs), "job"), f.RequestID)
		}
		if f.Expired {
			return fmt.Sprintf("%s of request %s: the deadline has passed", phrase.Count(len(f.Jobs), "job"), f.RequestID)
		}
		return fmt.Sprintf("%s that only request %s wanted", phrase.Count(len(f.Jobs), "job"), f.RequestID)
	case events.GraphWanted:
		return describeWish(f)
	case events.GraphAdmitted:
		return fmt.Sprintf("%s request %s: %s", when(f.Kind == events.GraphAdded, "added to")+when(f.Kind != events.GraphAdded, string(f.Kind)+" of"), f.RequestID, phrase.Count(f.Jobs, "job"))
	case events.GraphCreated:
		return fmt.Sprintf("graph %d of request %s, %s: %s with %s", f.Graph, f.RequestID, f.Kind, phrase.Count(f.Jobs, "job"), phrase.Count(f.Needs, "need")) +
			when(f.OnFailure != "", ", "+string(f.OnFailure))
	case events.GraphEnded:
		return fmt.Sprintf("graph %d of request %s: %s of %s", f.Graph, f.RequestID, f.Outcome, phrase.Count(f.Jobs, "job")) +
			some(f.Failed, "failed") + some(f.Skipped, "skipped")
	case events.GraphCancelled:
		return join(fmt.Sprintf("graph %d of request %s", f.Graph, f.RequestID), f.Reason)
	case events.JobForced:
		return join(fmt.Sprintf("job %s of request %s runs without all that it needs", f.JobID, f.RequestID), f.Reason)
	case events.GraphProposed:
		return fmt.Sprintf("%s of a graph that was submitted for request %s as %s", phrase.Count(len(f.Jobs), "job"), f.RequestID, f.Key)
	case events.GraphRefused:
		return fmt.Sprintf("request %s, asked for as %s: %s", f.RequestID, f.Key, f.Reason)
	case events.JobReused:
		return fmt.Sprintf("job %s of request %s takes over what run %s did with the same inputs", f.JobID, f.RequestID, f.From)
	case events.OutputStored:
		return fmt.Sprintf("%s %s of job %s: %d bytes", when(f.Upload, "upload")+when(!f.Upload, "output"), f.Name, f.JobID, f.Bytes)
	case events.DiagnosticsSeen:
		return fmt.Sprintf("job %s: %s", f.JobID, phrase.Count(len(f.Items)+f.More, "different diagnostic"))
	case events.ResultsClosed:
		return fmt.Sprintf("attempt %d of job %s: later results of it do not count", f.Attempt, f.JobID)
	case events.RequestExpired:
		return fmt.Sprintf("request %s: %s", f.RequestID, f.Reason)
	case events.RequestSuperseded:
		return fmt.Sprintf("request %s by %s", f.RequestID, f.By)
	case events.RequestAdmitted:
		return fmt.Sprintf("request %s for %s: %s", f.RequestID, short(f.Tag), f.Reason)
	case events.BackfillAdmitted:
		return fmt.Sprintf("%s of the late parent %s for request %s", phrase.Count(f.Jobs, "job"), short(f.Parent), f.RequestID)
	case events.JobDispatched:
		return fmt.Sprintf("%s to lane %s, place %d", describeJob(f.Job), f.Job.Lane(), f.Place) + whose(f.Share)
	case events.JobDequeued:
		return fmt.Sprintf("%s by %s, attempt %d", describeJob(f.Job), f.Collector, f.Attempt)
	case events.JobFinished:
		s := fmt.Sprintf("job %s: %s after %s, %s measured", f.JobID, f.Outcome, duration(f.DurationMS), phrase.Count(f.Measured, "test case"))
		return join(s+some(f.Skipped, "had results")+some(f.Failed, "failed")+when(f.ReusedFrom != "", fmt.Sprintf(", took over run %s", f.ReusedFrom)), f.Reason)
	case events.AttemptLost:
		return join(fmt.Sprintf("attempt %d of job %s by %s", f.Attempt, f.JobID, f.Collector), f.Reason)
	case events.AttemptReleased:
		return join(fmt.Sprintf("attempt %d of job %s by %s", f.Attempt, f.JobID, f.Collector), f.Reason)
	case events.JobMoved:
		return join(fmt.Sprintf("job %s from place %d of lane %s, to another machine", f.JobID, f.Place, f.Lane), f.Reason)
	case events.JobsMatched:
		words := make([]string, len(f.Bindings))
		for i, b := range f.Bindings {
			words[i] = fmt.Sprintf("job %s to lane %s, place %d", b.JobID, b.Lane, b.Place)
		}
		return strings.Join(words, ", ")
	case events.MachineDescribed, events.MachineRemoved:
		return describeMachine(f.(events.MachineFact))
	case events.AttemptBegan:
		return fmt.Sprintf("attempt %d of job %s by %s", f.Attempt, f.JobID, f.Collector)
	case events.TestCasesMeasured:
		names := make([]string, 0, len(f.Cases))
		for _, c := range f.Cases {
			names = append(names, fmt.Sprintf("%s/%s/%s", c.Benchmark, c.Profile, c.Scenario))
		}
		of := short(f.Artifact.Tag)
		if f.Beside != nil {
			of += " in turns with " + short(f.Beside.Artifact.Tag)
		}
		return fmt.Sprintf("%s by %s: %s", of, f.Collector, strings.Join(names, ", "))
	case events.ErrorRecorded:
		return fmt.Sprintf("%s error of %s, %s: %s", f.Kind, short(f.Artifact.Tag), f.Context, firstLine(f.Message))
	case events.RegistryOpened:
		return "the registry of collectors is open" + some(f.Collectors, "copied from an earlier version")
	case events.RegistryCopied:
		return fmt.Sprintf("collector %s for lane %s, copied from an earlier version", f.Name, f.Lane())
	case events.CollectorKeyRotated:
		return join("collector "+string(f.Name)+" has a new key", f.Reason)
	case events.CollectorRemoved:
		return join("collector "+string(f.Name)+" for good", f.Reason)
	case events.CollectorRegistered:
		s := fmt.Sprintf("collector %s for lane %s/%d", f.Name, f.Target, f.Set)
		if f.Machine != "" {
			s += ", on machine " + string(f.Machine)
		}
		return s
	case events.CollectorActivated:
		return fmt.Sprintf("collector %s", f.Name)
	case events.CollectorDeactivated:
		return join("collector "+string(f.Name), f.Reason)
	case events.CollectorOnline:
		return fmt.Sprintf("collector %s, version %s, process %d on %s", f.Name, f.Version, f.PID, f.Environment.Host)
	case events.CollectorOffline:
		return join("collector "+string(f.Name), f.Reason)
	case events.CollectorSilent:
		return join("collector "+string(f.Name), f.Reason)
	case events.CollectorDraining:
		return join("collector "+string(f.Name), f.Reason)
	case events.LaneAssigned:
		return fmt.Sprintf("lane %s to collector %s", f.Lane, f.Name)
	case events.LaneUnassigned:
		return fmt.Sprintf("lane %s from collector %s", f.Lane, f.Name)
	case events.TryQueued:
		return fmt.Sprintf("request %s is the newest try of PR %d", f.RequestID, f.PR)
	case events.CollectorQuarantined:
		return join("collector "+string(f.Name), f.Reason)
	case events.CollectorUpdating:
		return fmt.Sprintf("collector %s from version %s to %s", f.Name, f.Version, f.Wanted)
	case events.LaneTakenOver:
		return join(fmt.Sprintf("lane %s by collector %s from %s", f.Lane, f.Name, f.From), f.Reason)
	case events.VersionWanted:
		return join("collectors should run version "+f.Version, f.Reason)
	case events.JobsRetired:
		return "jobs that ended before " + f.EndedBefore + " leave the tables"
	case events.EventsParked:
		return join(fmt.Sprintf("events %d to %d, of type %s, are parked", f.First, f.Last, f.Type), f.Reason)
	case events.EventsUnparked:
		return join(fmt.Sprintf("events %d to %d are parked no more", f.First, f.Last), f.Reason)
	case events.AlertRaised:
		return fmt.Sprintf("%s: %s", f.Key, f.Message)
	case events.AlertCleared:
		return join(string(f.Key), f.Reason)
	case events.DeliveryReceived, events.DeliveryPart, events.DeliveryHandled, events.RequestBuildFailed,
		events.CommentWanted, events.CommentAttempted, events.CommentPosted, events.CommentPostponed, events.CommentRefused,
		events.LabelsSet, events.CommentMinimised:
		return describeGitHub(f)
	case events.PriorityChanged:
		if f.Graph != nil {
			return join(fmt.Sprintf("graph %d of request %s has priority %s", *f.Graph, f.RequestID, f.To), f.Reason)
		}
		return join(fmt.Sprintf("request %s has priority %s", f.RequestID, f.To), f.Reason)
	case events.AccountConfigured, events.AccountTokenIssued, events.AccountTokenRevoked, events.AccountClosed,
		events.QueueConfigured, events.QueueClosed, events.SharePolicySet:
		return describeShare(f.(events.ShareFact))
	case events.DefinitionsPromoted:
		to := "the definitions of all others"
		if f.Digest != "" {
			to = fmt.Sprintf("digest %.12s", f.Digest)
		}
		return join(fmt.Sprintf("suite %s%s uses %s", f.Suite, ofBranch(f.Branch), to), f.Reason)
	case events.DefinitionsRejected:
		return join(fmt.Sprintf("suite %s%s: the file of revision %s is refused", f.Suite, ofBranch(f.Branch), short(f.Revision)), strings.Join(f.Problems, "; "))
	case events.DefinitionsPublished:
		sealed := ""
		if f.Seal != nil {
			sealed = ", sealed with key " + f.Seal.Key
		}
		return fmt.Sprintf("suite %s%s, digest %.12s%s%s", f.Suite, ofBranch(f.Branch), f.Digest, sealed, when(f.Aside, ", for requests that name it"))
	}
	return ""
}

// ofBranch names a branch; empty for all that have none of their own.
func ofBranch(branch string) string { return when(branch != "", ", branch "+branch) }

func describeJob(j events.JobSpec) string {
	s := fmt.Sprintf("job %s (%s %s %s/%s)", j.ID, short(j.Artifact.Tag), j.Kind, j.Backend, j.Profile)
	if j.Backfill {
		s += " for the child"
	}
	return s
}

// some mentions a number unless it is 0.
func some(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s", n, what)
}

func join(s, reason string) string {
	if reason == "" {
		return s
	}
	return s + ": " + reason
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// describeStored describes an event of the archive. For an event that this program does not know it returns the data.
func describeStored(e readmodel.Event) string {
	recorded, err := events.Decode(events.Stored{Seq: e.Seq, Subject: e.Subject, StoredAt: e.StoredAt, Header: e.Headers, Data: e.Data})
	if err != nil {
		return string(e.Data)
	}
	return describe(recorded.Fact)
}
