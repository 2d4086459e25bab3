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

// RequestSubject returns the subject with the life of one request and the jobs made for it.
func RequestSubject(id RequestID) Subject { return Subject(SubjectPrefix + "request." + string(id)) }

// AdmissionSubject returns the subject that says which request starts next. Every creation of jobs is serialised by it.
func AdmissionSubject() Subject { return SubjectPrefix + "admission" }

// LaneSubject returns the subject with the dispatched jobs of a lane. Collectors receive its messages.
func LaneSubject(l Lane) Subject { return laneSubject("lane", l) }

// WorkSubject returns the subject with the attempts of a lane: at most one of them is current.
func WorkSubject(l Lane) Subject { return laneSubject("work", l) }

// AssignmentSubject returns the subject that says which collectors serve a lane.
func AssignmentSubject(l Lane) Subject { return laneSubject("assign", l) }

// ResultSubject returns the subject with what was measured for one job, and its errors.
func ResultSubject(l Lane, id JobID) Subject {
	return laneSubject("result", l) + Subject("."+string(id))
}

// RegistryOpenedSubject returns the subject that says that the registry was opened.
func RegistryOpenedSubject() Subject { return SubjectPrefix + "registry" }

// RegistrySubject returns the subject with what the operator and the scheduler write about one collector.
func RegistrySubject(name CollectorName) Subject {
	return Subject(SubjectPrefix + "registry." + string(name))
}

// CollectorSubject returns the subject with what one collector writes about itself.
func CollectorSubject(name CollectorName) Subject {
	return Subject(SubjectPrefix + "collector." + string(name))
}

// SuiteSubject returns the subject with the published definitions of one suite.
func SuiteSubject(name SuiteName) Subject { return Subject(SubjectPrefix + "suite." + string(name)) }

// TrySubject returns the subject that says which try request of a pull request is the newest.
func TrySubject(name SuiteName, pr int) Subject {
	return Subject(fmt.Sprintf("%spr.%s.%d", SubjectPrefix, name, pr))
}

// VersionSubject returns the subject that says which version of the collector program is wanted.
func VersionSubject() Subject { return SubjectPrefix + "version" }

// RetentionSubject returns the subject that says until what date finished jobs have left the tables.
func RetentionSubject() Subject { return SubjectPrefix + "retention" }

// ParkSubject returns the subject that says which events no fold takes.
func ParkSubject() Subject { return SubjectPrefix + "park" }

// AlertSubject returns the subject that says whether an alert stands.
func AlertSubject(key AlertKey) Subject { return Subject(SubjectPrefix + "alert." + string(key)) }

// DeliverySubject returns the subject with one delivery of a webhook and what came of it. A redelivery has the same subject.
func DeliverySubject(hook HookID, id DeliveryID) Subject {
	return Subject(SubjectPrefix + "delivery." + string(hook) + "." + string(id))
}

// OutboxSubject returns the subject with one comment for GitHub and the attempts to write it.
func OutboxSubject(key OutboxKey) Subject { return Subject(SubjectPrefix + "outbox." + string(key)) }

// AccountSubject returns the subject with the settings of one account.
func AccountSubject(name AccountName) Subject {
	return Subject(SubjectPrefix + "account." + string(name))
}

// QueueSubject returns the subject with the settings of one queue.
func QueueSubject(name QueueName) Subject { return Subject(SubjectPrefix + "queue." + string(name)) }

// ShareSubject returns the subject with the rules by which the farm is shared.
func ShareSubject() Subject { return SubjectPrefix + "share" }

// MachineSubject returns the subject with what one machine has.
func MachineSubject(name MachineName) Subject {
	return Subject(SubjectPrefix + "machine." + string(name))
}

// MatchSubject returns the subject that serialises the dispatches of a shared farm.
func MatchSubject() Subject { return SubjectPrefix + "match" }

func laneSubject(kind string, l Lane) Subject {
	return Subject(fmt.Sprintf("%s%s.%s.%d", SubjectPrefix, kind, l.Target, l.Set))
}

// Foreign reports whether collectors write events of this aggregate. Not all of those can be believed.
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
