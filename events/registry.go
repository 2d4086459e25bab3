package events

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// registry knows every version of every type that was ever written.
type registry struct {
	decoders map[string]func([]byte) (Fact, error)
	names    map[reflect.Type]string
	// later gives the other names of a type whose newest versions are written only where they are needed, the newest one
	// last: programs that do not know them can read all else.
	later map[reflect.Type][]later
	// homes gives the earlier subject of types whose facts now have another one.
	homes map[string]func(Fact) Subject
}

// current is the registry of this program. It is never changed after its construction.
var current = newRegistry(
	is[RequestCreated]("request.created.v1"),
	sometimes("request.created.v2", RequestCreated.chooses),
	sometimes("request.created.v3", RequestCreated.fixes),
	is[RequestArtifactsReady]("request.artifacts_ready.v1"),
	is[RequestStarted]("request.started.v1"),
	is[JobsCreated]("jobs.created.v1"),
	sometimes("jobs.created.v2", JobsCreated.matched),
	sometimes("jobs.created.v3", JobsCreated.inGraph),
	sometimes("jobs.created.v4", JobsCreated.builds),
	is[RequestExpansionFailed]("request.expansion_failed.v1"),
	is[RequestCompleted]("request.completed.v1"),
	is[RequestFailed]("request.failed.v1"),
	is[RequestCancelledWithJobs]("request.cancelled.v1"),
	is[RequestExpired]("request.expired.v1"),
	is[RequestSuperseded]("request.superseded.v1"),
	is[RequestAdmitted]("request.admitted.v1"),
	is[BackfillAdmitted]("backfill.admitted.v1"),
	is[JobDispatched]("job.dispatched.v1"),
	is[JobDequeued]("job.dequeued.v1"),
	is[JobFinished]("job.finished.v1"),
	is[AttemptLost]("attempt.lost.v1"),
	is[AttemptReleased]("attempt.released.v1"),
	is[AttemptBegan]("attempt.began.v1"),
	is[TestCasesMeasured]("test_cases.measured.v1"),
	sometimes("test_cases.measured.v2", TestCasesMeasured.inTurns),
	is[ErrorRecorded]("error.recorded.v1"),
	is[CollectorOnline]("collector.online.v1"),
	is[CollectorOffline]("collector.offline.v1"),
	is[LaneAssigned]("lane.assigned.v1"),
	is[LaneUnassigned]("lane.unassigned.v1"),
	is[DefinitionsPublished]("definitions.published.v1"),
	sometimes("definitions.published.v2", DefinitionsPublished.ofBranch),
	sometimes("definitions.published.v3", DefinitionsPublished.aside),
	is[DefinitionsPromoted]("definitions.promoted.v1"),
	is[DefinitionsRejected]("definitions.rejected.v1"),
	is[TryQueued]("try.queued.v1"),
	is[CollectorUpdating]("collector.updating.v1"),
	is[LaneTakenOver]("lane.taken_over.v1"),
	is[VersionWanted]("version.wanted.v1"),
	is[JobsRetired]("jobs.retired.v1"),
	is[EventsParked]("events.parked.v1"),
	is[EventsUnparked]("events.unparked.v1"),
	is[AlertRaised]("alert.raised.v1"),
	is[AlertCleared]("alert.cleared.v1"),
	is[DeliveryReceived]("delivery.received.v1"),
	is[DeliveryPart]("delivery.part.v1"),
	is[DeliveryHandled]("delivery.handled.v1"),
	is[RequestBuildFailed]("request.build_failed.v1"),
	is[CommentWanted]("comment.wanted.v1"),
	is[CommentAttempted]("comment.attempted.v1"),
	is[CommentPosted]("comment.posted.v1"),
	is[CommentPostponed]("comment.postponed.v1"),
	is[CommentRefused]("comment.refused.v1"),
	is[LabelsSet]("labels.set.v1"),
	is[CommentMinimised]("comment.minimised.v1"),
	is[RegistryOpened]("registry.opened.v1"),
	is[RegistryCopied]("registry.copied.v1"),
	is[CollectorRegistered]("collector.registered.v2"),
	is[CollectorActivated]("collector.activated.v2"),
	is[CollectorDeactivated]("collector.deactivated.v2"),
	is[CollectorDraining]("collector.draining.v2"),
	is[CollectorQuarantined]("collector.quarantined.v2"),
	is[CollectorKeyRotated]("collector.key_rotated.v1"),
	is[CollectorRemoved]("collector.removed.v1"),
	is[CollectorSilent]("collector.silent.v1"),
	is[RequestCancelled]("request.cancelled.v2"),
	is[JobsWithdrawn]("jobs.withdrawn.v1"),
	sometimes("jobs.withdrawn.v2", JobsWithdrawn.empty),
	is[GraphWanted]("graph.wanted.v1"),
	sometimes("graph.wanted.v2", GraphWanted.selects),
	sometimes("graph.wanted.v3", GraphWanted.forces),
	sometimes("graph.wanted.v4", GraphWanted.changes),
	is[GraphProposed]("graph.proposed.v1"),
	is[GraphAdmitted]("graph.admitted.v1"),
	is[GraphRefused]("graph.refused.v1"),
	is[GraphCreated]("graph.created.v1"),
	sometimes("graph.created.v2", GraphCreated.endsEarly),
	sometimes("graph.created.v3", GraphCreated.changed),
	is[GraphEnded]("graph.ended.v1"),
	is[GraphCancelled]("graph.cancelled.v1"),
	is[JobForced]("job.forced.v1"),
	is[JobReused]("job.reused.v1"),
	is[OutputStored]("output.stored.v1"),
	is[DiagnosticsSeen]("diagnostics.seen.v1"),
	is[ResultsClosed]("results.closed.v1"),
	is[PriorityChanged]("priority.changed.v1"),
	sometimes("priority.changed.v2", PriorityChanged.ofGraph),
	is[AccountConfigured]("account.configured.v1"),
	sometimes("account.configured.v2", AccountConfigured.limited),
	is[AccountTokenIssued]("account.token_issued.v1"),
	is[AccountTokenRevoked]("account.token_revoked.v1"),
	is[AccountClosed]("account.closed.v1"),
	is[QueueConfigured]("queue.configured.v1"),
	is[QueueClosed]("queue.closed.v1"),
	is[SharePolicySet]("share.policy_set.v1"),
	is[MachineDescribed]("machine.described.v1"),
	is[MachineRemoved]("machine.removed.v1"),
	is[JobsMatched]("jobs.matched.v1"),
	is[JobMoved]("job.moved.v1"),
	moved("collector.registered.v1", func(f CollectorRegistered) Subject { return CollectorSubject(f.Name) }),
	moved("collector.activated.v1", func(f CollectorActivated) Subject { return CollectorSubject(f.Name) }),
	moved("collector.deactivated.v1", func(f CollectorDeactivated) Subject { return CollectorSubject(f.Name) }),
	moved("collector.draining.v1", func(f CollectorDraining) Subject { return CollectorSubject(f.Name) }),
	moved("collector.quarantined.v1", func(f CollectorQuarantined) Subject { return CollectorSubject(f.Name) }),
)

type entry struct {
	name   string
	newest reflect.Type // nil for a version that is only read
	decode func([]byte) (Fact, error)
	home   func(Fact) Subject // nil for a fact that is on its own subject
	later  *later             // nil for a version that is always or never written
}

// later is a version of a type that is written only of the facts that need it.
type later struct {
	name  string
	of    reflect.Type
	needs func(Fact) bool
}

// is registers T as the newest version of its type.
func is[T Fact](name string) entry {
	return entry{name: name, newest: reflect.TypeFor[T](), decode: func(data []byte) (Fact, error) {
		var f T
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, err
		}
		return f, nil
	}}
}

// was registers an old version that is read as Old and turned into a newest fact by up. Stored bytes
// never change; only their reading does.
func was[Old any](name string, up func(Old) Fact) entry {
	return entry{name: name, decode: func(data []byte) (Fact, error) {
		var f Old
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, err
		}
		return up(f), nil
	}}
}

// moved registers a version of T that was on another subject. The shape is the same.
func moved[T Fact](name string, home func(T) Subject) entry {
	e := was(name, func(f T) Fact { return f })
	e.home = func(f Fact) Subject { return home(f.(T)) }
	return e
}

// sometimes registers a version of T that is written only of the facts that need it. The shape is the same.
func sometimes[T Fact](name string, needs func(T) bool) entry {
	e := was(name, func(f T) Fact { return f })
	e.later = &later{name, reflect.TypeFor[T](), func(f Fact) bool { return needs(f.(T)) }}
	return e
}

func newRegistry(entries ...entry) *registry {
	r := &registry{
		decoders: map[string]func([]byte) (Fact, error){}, names: map[reflect.Type]string{}, later: map[reflect.Type][]later{},
		homes: map[string]func(Fact) Subject{},
	}
	for _, e := range entries {
		r.decoders[e.name] = e.decode
		if e.home != nil {
			r.homes[e.name] = e.home
		}
		if e.newest != nil {
			r.names[e.newest] = e.name
		}
		if e.later != nil {
			r.later[e.later.of] = append(r.later[e.later.of], *e.later)
		}
	}
	return r
}

func (r *registry) decode(name string, data []byte) (Fact, error) {
	decode, ok := r.decoders[name]
	if !ok {
		return nil, fmt.Errorf("type %q: %w", name, ErrUnknownType)
	}
	f, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", name, err)
	}
	return f, nil
}

// TypeOf returns the stored name of a fact's type, such as "request.created.v1".
func TypeOf(f Fact) string {
	of := reflect.TypeOf(f)
	for _, l := range slices.Backward(current.later[of]) {
		if l.needs(f) {
			return l.name
		}
	}
	return current.names[of]
}

// Tells reports whether a stored event is a T, in any version of the type. It decodes nothing.
func Tells[T Fact](s Stored) bool {
	name, _ := cutTypePrefix(s.Header[HeaderType])
	return name != "" && unversioned(name) == unversioned(current.names[reflect.TypeFor[T]()])
}

// NameOf returns the name of the type of a stored event without its version, such as "job.finished"; empty when it has none.
func NameOf(s Stored) string {
	name, _ := cutTypePrefix(s.Header[HeaderType])
	return unversioned(name)
}

// Names returns the names of all types without their versions, sorted.
func Names() []string {
	names := Types()
	for i, n := range names {
		names[i] = unversioned(n)
	}
	return slices.Compact(names)
}

// unversioned returns the name of a type without its version: "request.created" of "request.created.v1".
func unversioned(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }

// Types returns the names of all types and versions that this program can read, sorted.
func Types() []string {
	names := make([]string, 0, len(current.decoders))
	for n := range current.decoders {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
