package request

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// jobsPerEvent bounds the size of one JobsCreated event. More jobs become several events in one batch.
const jobsPerEvent = 200

// Decide returns the facts that follow from c for a request in state r, or a *Refusal. It returns no facts when the
// request already is as asked.
func Decide(r Request, c Command) ([]events.Fact, error) {
	if create, ok := c.(Create); ok {
		return decideCreate(r, create)
	}
	if !r.Exists() {
		return nil, refuse("there is no such request: see `tacho request list`")
	}
	switch c := c.(type) {
	case ArtifactsReady:
		return decideArtifactsReady(r, c)
	case BuildFailed:
		if r.State != events.StateWaitingForArtifacts {
			return nil, nil
		}
		return []events.Fact{events.RequestBuildFailed{RequestID: r.ID, Reason: c.Reason, URL: c.URL}}, nil
	case Start:
		return decideStart(r, c)
	case AddBackfill:
		if r.State != events.StateInProgress || len(c.Jobs) == 0 {
			return nil, nil
		}
		return made(r.ID, c.Jobs, "", c.Graph), nil
	case Want:
		return decideWant(r, c)
	case CancelGraph:
		return decideCancelGraph(r, c)
	case ExpireGraph:
		if i := slices.IndexFunc(r.Graphs, func(g OpenGraph) bool { return g.Number == c.Graph }); i < 0 || r.Graphs[i].Cancelled {
			return nil, nil
		}
		return []events.Fact{events.GraphCancelled{RequestID: r.ID, Graph: c.Graph, Reason: "it was not done by its deadline", Expired: true}}, nil
	case Grant:
		return append(made(r.ID, c.Jobs, c.Key, c.Graph), runAgain(r.ID, c.Key, c.Again)...), nil
	case Force:
		return []events.Fact{events.JobForced{RequestID: r.ID, JobID: c.Job, Key: c.Key, Reason: c.Reason}}, nil
	case Refuse:
		return []events.Fact{events.GraphRefused{RequestID: r.ID, Key: c.Key, Reason: c.Reason}}, nil
	case Hold:
		if r.State != events.StateArtifactsReady || strings.HasPrefix(r.Troubles().WaitsFor, c.Lack) {
			return nil, nil
		}
		reason := c.Lack
		if c.Detail != "" {
			reason += ": " + c.Detail
		}
		return []events.Fact{events.RequestExpansionFailed{RequestID: r.ID, Reason: reason, Failures: r.Troubles().Failures, Waits: true}}, nil
	case FailExpansion:
		return decideFailExpansion(r, c)
	case Complete:
		return decideComplete(r, c)
	case Prioritise:
		return decidePrioritise(r, c)
	case Cancel:
		switch {
		case r.State == events.StateCancelled:
			return nil, nil
		case r.State.Terminal():
			return nil, refuse("request %s is %s already", r.ID, r.State)
		}
		return []events.Fact{events.RequestCancelled{RequestID: r.ID, Reason: c.Reason}}, nil
	case Expire:
		if r.State != events.StateWaitingForArtifacts {
			return nil, nil
		}
		return []events.Fact{events.RequestExpired{
			RequestID: r.ID, Reason: fmt.Sprintf("its artifacts were not ready within %s", c.Limit),
		}}, nil
	case Supersede:
		switch r.State {
		case events.StateWaitingForArtifacts, events.StateArtifactsReady:
			return []events.Fact{events.RequestSuperseded{RequestID: r.ID, By: c.By}}, nil
		case events.StateInProgress, events.StateCompleted, events.StateFailed, events.StateCancelled,
			events.StateExpired, events.StateSuperseded:
			return nil, nil
		}
	case Create:
	}
	return nil, nil
}

func decideCreate(r Request, c Create) ([]events.Fact, error) {
	if r.Exists() {
		return nil, decideAgain(r, c)
	}
	if c.Key == "" {
		return nil, refuse("a request needs a natural key")
	}
	if c.Tag != "" {
		if err := events.CheckTag(c.Tag); err != nil {
			return nil, refuse("%s", err)
		}
	}
	if c.Parent != "" {
		if err := events.CheckTag(c.Parent); err != nil {
			return nil, refuse("parent: %s", err)
		}
	}
	if c.Parent != "" && c.Parent == c.Tag {
		return nil, refuse("%s cannot be its own parent", c.Tag)
	}
	if c.PR < 0 {
		return nil, refuse("pull request %d: use a positive number, or none", c.PR)
	}
	state := events.StateArtifactsReady
	switch c.Kind {
	case events.Master:
		if c.Tag == "" {
			return nil, refuse("a master request needs the tag of its artifact")
		}
		if c.Waits {
			state = events.StateWaitingForArtifacts
		}
	case events.Release:
		if c.Tag == "" {
			return nil, refuse("a release request needs the name of the release")
		}
		if _, err := time.Parse(time.DateOnly, c.ReleasedOn); c.ReleasedOn != "" && err != nil {
			return nil, refuse("release date %q: use YYYY-MM-DD", c.ReleasedOn)
		}
	case events.Try:
		if c.Tag == "" {
			state = events.StateWaitingForArtifacts
		}
	default:
		return nil, refuse("unknown kind of request %q: use master, try or release", c.Kind)
	}
	priority, err := events.ParsePriority(string(c.Priority))
	if err != nil {
		return nil, refuse("%s", err)
	}
	id := events.NewRequestID(c.Suite, c.Kind, c.Key)
	return []events.Fact{events.RequestCreated{
		RequestID: id, Kind: c.Kind, Suite: c.Suite, Tag: c.Tag, Parent: c.Parent, PR: c.PR,
		ReleasedOn: c.ReleasedOn, Key: c.Key, Parameters: c.Parameters, State: state,
		Account: c.Account, Queue: stored(c.Queue), Priority: priority, Requires: c.Requires,
		Branch: c.Choice.Branch, Graph: c.Choice.Graph, Options: c.Choice.Options,
		Definitions: c.Pinned.Definitions, Customised: c.Pinned.Customised, DefinitionsProblem: c.Pinned.Problem, Together: c.Pinned.Together,
	}}, nil
}

// stored returns a queue as events name it: the main one has no name there.
func stored(q events.QueueName) events.QueueName {
	if q == events.MainQueue {
		return ""
	}
	return q
}

func decidePrioritise(r Request, c Prioritise) ([]events.Fact, error) {
	to, err := events.ParsePriority(string(c.To))
	switch {
	case err != nil:
		return nil, refuse("%s", err)
	case len(c.Reason) > 4*maxWish:
		return nil, refuse("the reason has more than %d bytes", 4*maxWish)
	case c.Graph != nil:
		return decidePrioritiseGraph(r, *c.Graph, to, c.Reason)
	case r.State.Terminal():
		return nil, refuse("request %s is %s already", r.ID, r.State)
	case r.Priority == to:
		return nil, nil
	}
	return []events.Fact{events.PriorityChanged{RequestID: r.ID, To: to, Reason: c.Reason}}, nil
}

// decidePrioritiseGraph also decides for a request that has ended: its samples may still wait.
func decidePrioritiseGraph(r Request, number int, to events.Priority, reason string) ([]events.Fact, error) {
	to = events.Priority(to.String())
	i := slices.IndexFunc(r.Graphs, func(g OpenGraph) bool { return g.Number == number })
	switch {
	case i < 0:
		return nil, refuse("request %s has no open graph %d: `tacho graph list %s` lists its graphs", r.ID, number, r.ID)
	case !r.Graphs[i].Kind.Sampled():
		return nil, refuse("the jobs of graph %d are those of request %s itself and have its priority: `tacho request priority %s %s` changes it", number, r.ID, r.ID, to)
	case to.Level() < r.Priority.Level():
		return nil, refuse("request %s has priority %s, and its samples are never more urgent: `tacho request priority %s %s` changes that of the request",
			r.ID, r.Priority, r.ID, to)
	case r.Graphs[i].Priority == to:
		return nil, nil
	}
	return []events.Fact{events.PriorityChanged{RequestID: r.ID, Graph: &number, To: to, Reason: reason}}, nil
}

func decideArtifactsReady(r Request, c ArtifactsReady) ([]events.Fact, error) {
	if err := events.CheckTag(c.Tag); err != nil {
		return nil, refuse("%s", err)
	}
	if c.Parent != "" {
		if err := events.CheckTag(c.Parent); err != nil {
			return nil, refuse("parent: %s", err)
		}
	}
	if r.Artifact.Tag == c.Tag && r.State != events.StateWaitingForArtifacts {
		return nil, nil
	}
	if r.State != events.StateWaitingForArtifacts {
		return nil, refuse("request %s does not wait for artifacts: it is %s", r.ID, r.State)
	}
	if r.Artifact.Tag != "" && r.Artifact.Tag != c.Tag {
		return nil, refuse("request %s waits for the artifact of %s and not of %s", r.ID, r.Artifact.Tag, c.Tag)
	}
	if c.Parent == "" {
		c.Parent = r.Parent
	}
	if c.Parent == c.Tag {
		return nil, refuse("%s cannot be its own parent", c.Tag)
	}
	return []events.Fact{events.RequestArtifactsReady{RequestID: r.ID, Tag: c.Tag, Parent: c.Parent}}, nil
}

func decideStart(r Request, c Start) ([]events.Fact, error) {
	if r.State != events.StateArtifactsReady {
		return nil, refuse("request %s cannot start: it is %s", r.ID, r.State)
	}
	facts := []events.Fact{events.RequestStarted{
		RequestID: r.ID, Definitions: c.Definitions, Jobs: len(c.Jobs), Backfill: len(c.Backfill), Shared: c.Shared, Requires: c.Requires,
		Graphs: graphs(c.Graph, c.BackfillGraph), Template: c.Template,
	}}
	if c.Graph == nil && c.BackfillGraph == nil {
		return append(facts, jobsCreated(r.ID, slices.Concat(c.Backfill, c.Jobs), "")...), nil
	}
	return append(append(facts, made(r.ID, c.Backfill, "", c.BackfillGraph)...), made(r.ID, c.Jobs, "", c.Graph)...), nil
}

func decideFailExpansion(r Request, c FailExpansion) ([]events.Fact, error) {
	if r.State != events.StateArtifactsReady {
		return nil, nil
	}
	failures := r.Troubles().Failures + 1
	facts := []events.Fact{events.RequestExpansionFailed{RequestID: r.ID, Reason: c.Reason, Failures: failures}}
	if failures >= QuarantineAfter {
		facts = append(facts, events.RequestFailed{
			RequestID: r.ID, Reason: fmt.Sprintf("quarantined: %d times it could not be turned into jobs: %s", failures, c.Reason),
		})
	}
	return facts, nil
}

func decideComplete(r Request, c Complete) ([]events.Fact, error) {
	if r.State != events.StateInProgress {
		return nil, nil
	}
	if c.Failed+c.Skipped > 0 {
		reason := fmt.Sprintf("%d of %d required jobs failed", c.Failed, c.Jobs)
		if c.Skipped > 0 {
			why := phrase.Verb(c.Skipped, "needs", "need") + " others that failed"
			if c.FailFast {
				why = phrase.Verb(c.Skipped, "was", "were") + " skipped because of that (fail-fast)"
			}
			reason += fmt.Sprintf(", and %d %s", c.Skipped, why)
		}
		if slices.ContainsFunc(r.Graphs, func(g OpenGraph) bool { return g.Expired }) {
			reason = fmt.Sprintf("%d of %d required jobs did not succeed by the deadline", c.Failed+c.Skipped, c.Jobs)
		}
		return []events.Fact{events.RequestFailed{RequestID: r.ID, Reason: reason, Jobs: c.Jobs, FailedJobs: c.Failed + c.Skipped}}, nil
	}
	return []events.Fact{events.RequestCompleted{RequestID: r.ID, Jobs: c.Jobs}}, nil
}

func jobsCreated(id events.RequestID, jobs []events.JobSpec, key string) []events.Fact {
	var facts []events.Fact
	for part := range slices.Chunk(jobs, jobsPerEvent) {
		facts = append(facts, events.JobsCreated{RequestID: id, Jobs: part, Key: key})
	}
	return facts
}
