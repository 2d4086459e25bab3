package events

import (
	"fmt"
	"strings"
)

// Subject is the literal subject of one aggregate: its consistency boundary. All events of an aggregate
// share it; the type of an event is a header and never part of the subject (docs/decisions/0002).
type Subject string

// SubjectPrefix is the prefix of every subject of the log; SubjectFilter matches them all.
const (
	SubjectPrefix = "tacho.ev."
	SubjectFilter = "tacho.ev.>"
)

// RequestSubject holds the life of one request and the jobs made for it.
func RequestSubject(id RequestID) Subject { return Subject(SubjectPrefix + "request." + string(id)) }

// AdmissionSubject holds which request starts next; every creation of jobs is serialised by it.
func AdmissionSubject() Subject { return SubjectPrefix + "admission" }

// LaneSubject holds the dispatched jobs of a lane; its messages are what collectors receive.
func LaneSubject(l Lane) Subject { return laneSubject("lane", l) }

// WorkSubject holds the attempts of a lane: at most one of them is current.
func WorkSubject(l Lane) Subject { return laneSubject("work", l) }

// AssignmentSubject holds which collectors serve a lane.
func AssignmentSubject(l Lane) Subject { return laneSubject("assign", l) }

// ResultSubject holds what was measured for one job, and its errors.
func ResultSubject(l Lane, id JobID) Subject {
	return laneSubject("result", l) + Subject("."+string(id))
}

// RegistryOpenedSubject holds that the registry was opened.
func RegistryOpenedSubject() Subject { return SubjectPrefix + "registry" }

// RegistrySubject holds what the operator and the scheduler say about one collector.
func RegistrySubject(name CollectorName) Subject {
	return Subject(SubjectPrefix + "registry." + string(name))
}

// CollectorSubject holds what one collector says of itself.
func CollectorSubject(name CollectorName) Subject {
	return Subject(SubjectPrefix + "collector." + string(name))
}

// SuiteSubject holds the published definitions of one suite.
func SuiteSubject(name SuiteName) Subject { return Subject(SubjectPrefix + "suite." + string(name)) }

// TrySubject holds which try request of a pull request is the newest.
func TrySubject(name SuiteName, pr int) Subject {
	return Subject(fmt.Sprintf("%spr.%s.%d", SubjectPrefix, name, pr))
}

// VersionSubject holds which version of the collector program is wanted.
func VersionSubject() Subject { return SubjectPrefix + "version" }

// RetentionSubject holds until when finished jobs have left the tables.
func RetentionSubject() Subject { return SubjectPrefix + "retention" }

// AlertSubject holds whether an alert stands.
func AlertSubject(key AlertKey) Subject { return Subject(SubjectPrefix + "alert." + string(key)) }

// DeliverySubject holds one delivery of a webhook and what came of it: a redelivery has the same.
func DeliverySubject(hook HookID, id DeliveryID) Subject {
	return Subject(SubjectPrefix + "delivery." + string(hook) + "." + string(id))
}

// OutboxSubject holds one comment that is to stand on GitHub, and the attempts to write it.
func OutboxSubject(key OutboxKey) Subject { return Subject(SubjectPrefix + "outbox." + string(key)) }

func laneSubject(kind string, l Lane) Subject {
	return Subject(fmt.Sprintf("%s%s.%s.%d", SubjectPrefix, kind, l.Target, l.Set))
}

// Foreign reports whether collectors write events of this aggregate, also those that nobody should believe.
func (s Subject) Foreign() bool {
	switch s.Family() {
	case "work", "result", "collector":
		return true
	}
	return false
}

// Last returns the last token: the name of a collector, of a suite, …
func (s Subject) Last() string { return string(s)[strings.LastIndexByte(string(s), '.')+1:] }

// Family returns the first token after the prefix: "request", "admission", "lane", …
func (s Subject) Family() string {
	rest, _ := strings.CutPrefix(string(s), SubjectPrefix)
	family, _, _ := strings.Cut(rest, ".")
	return family
}
