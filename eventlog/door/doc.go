// Package door is how collectors reach the log: a service of the core, and its client.
//
// A collector lives in a NATS account of its own and sees two subjects of the core there, tacho.door.<name>.> and
// tacho.read.<name>.>, nothing of JetStream, and nothing of other collectors. The server replaces the reply subjects
// that it names. What it asks is in Verbs; a new verb needs a row in the attacks (internal/attack).
//
//	append    the events of one decision, with the expected versions: stored, or refused with a reason
//	last      the last event of an aggregate that concerns it
//	next      wait for the next job of its lane       leave   take that back
//	answer    prolong, give back or end a delivery
//	beat      claim its name, renew the claim, give it back
//	output    a piece of a job's output
//	read      all events of an aggregate that concerns it (several answers)
//	old       what collectors of an earlier version ask first; the answer says that they must be updated
//
// The door knows who asks from a header that the server alone can write, and what that collector may say from the
// registry and from the state of its lane, which it folds from the log (ledger.go, rules.go). It takes over facts
// and no headers: it writes the envelope itself. What is not the collector's to say is refused, counted and told with
// the sender's name, and never enters the log. Each collector has bounds of its own (bounds.go); one that goes
// on beyond them is cut off for a growing time.
//
// Any number of doors may run; one of them answers each request. A door keeps nothing that another one needs: a door
// that dies between an append and its answer leaves a client that asks again, and the log settles by the id of the
// event whether it is stored. A job that a dying door holds is delivered again after the lane's waiting time.
package door

import (
	"encoding/json"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// The prefixes of the two services. The account's name stands behind each.
const (
	Prefix     = "tacho.door"
	ReadPrefix = "tacho.read"
)

const (
	// AnswerWithin is how long after a request its answer may come, at most. The server keeps a record of
	// unanswered requests for so long.
	AnswerWithin = 10 * time.Second
	// waitForJob is how long one request for a job waits. It is asked again then, by a door that may be another one.
	waitForJob = 5 * time.Second
	// MaxRequest is the largest request in bytes: what a NATS server takes by default.
	MaxRequest = 1 << 20
	// version is the version of this protocol.
	version = 1
	// queueGroup is the group of which one member answers each request.
	queueGroup = "tacho-door"
)

// Verb is one thing that a collector may ask.
type Verb string

// The verbs of the door.
const (
	verbAppend Verb = "append"
	verbLast   Verb = "last"
	verbNext   Verb = "next"
	verbLeave  Verb = "leave"
	verbAnswer Verb = "answer"
	verbBeat   Verb = "beat"
	verbOutput Verb = "output"
	verbRead   Verb = "read"
	// verbOld is what collectors of an earlier version ask first: they are told to be updated.
	verbOld Verb = "old"
)

// OldQuestions is what stands before the subject in the first question of a collector of an earlier version, which asked
// the server itself.
const OldQuestions = "$JS.API.DIRECT.GET.EVENTS"

// Verbs returns all that a key opens, each with the subject of the collector of that name.
func Verbs(name events.CollectorName) map[Verb]string {
	out := map[Verb]string{}
	for _, v := range []Verb{verbAppend, verbLast, verbNext, verbLeave, verbAnswer, verbBeat, verbOutput, verbRead, verbOld} {
		out[v] = subject(string(name), v)
	}
	return out
}

// subject returns where the collector of that name asks; "*" is every name.
func subject(name string, v Verb) string {
	// The others are alike.
	//exhaustive:ignore
	switch v {
	case verbRead:
		return ReadPrefix + "." + name + "." + string(v)
	case verbOld:
		return Prefix + "." + name + "." + string(v) + ".>"
	}
	return Prefix + "." + name + "." + string(v)
}

// request is what a collector asks. Each verb uses some of the fields.
type request struct {
	Version int `json:"v"`
	// After is the furthest event that the collector knows of: the door has seen it, too, before it judges.
	After events.Seq `json:"after,omitempty"`
	// Parts are what is to be appended, at once or not at all.
	Parts []part `json:"parts,omitempty"`
	// Subject is what is read.
	Subject events.Subject `json:"subject,omitempty"`
	// Claim is the wish for a name, Beat its sign of life, Release its end.
	Claim    bool           `json:"claim,omitempty"`
	Release  bool           `json:"release,omitempty"`
	Replaces string         `json:"replaces,omitempty"`
	Beat     *eventlog.Beat `json:"beat,omitempty"`
	// Delivery names a delivered job, What is what becomes of it.
	Delivery string        `json:"delivery,omitempty"`
	What     settlement    `json:"what,omitempty"`
	Delay    time.Duration `json:"delay,omitempty"`
	// Output is a piece of a job's output.
	Output *eventlog.LogChunk `json:"output,omitempty"`
}

// settlement says what becomes of a delivery.
type settlement string

const (
	prolonged settlement = "prolonged"
	givenBack settlement = "given back"
	ended     settlement = "ended"
)

// part is one aggregate's part of an append.
type part struct {
	Subject  events.Subject `json:"subject"`
	Expected events.Seq     `json:"expected"`
	Events   []event        `json:"events"`
}

// event is what a collector says of an event. The rest of the envelope is the door's to say.
type event struct {
	ID    string          `json:"id"`
	Type  string          `json:"type"`
	Time  time.Time       `json:"time"`
	Cause events.Seq      `json:"cause,omitempty"`
	Root  string          `json:"root,omitempty"`
	Data  json.RawMessage `json:"data"`
}

// answer is what the door says.
type answer struct {
	// Seq is where the last event of an append lies.
	Seq events.Seq `json:"seq,omitempty"`
	// Event is the event that was asked for, or the job's. At is the version of its aggregate, which is further when
	// the newest event is one that no fold may take.
	Event *shown     `json:"event,omitempty"`
	At    events.Seq `json:"at,omitempty"`
	// Delivery names the job that Event dispatches.
	Delivery string `json:"delivery,omitempty"`
	// Holder is the claim on the name, BeatTTL how long one lives.
	Holder  *eventlog.Beat `json:"holder,omitempty"`
	BeatTTL time.Duration  `json:"beat_ttl,omitempty"`
	Refusal *refusal       `json:"refusal,omitempty"`
}

// shown is a stored event.
type shown struct {
	Seq      events.Seq        `json:"seq"`
	Subject  events.Subject    `json:"subject"`
	StoredAt time.Time         `json:"stored_at"`
	Header   map[string]string `json:"header"`
	Data     json.RawMessage   `json:"data"`
}

func (s *shown) stored() events.Stored {
	return events.Stored{Seq: s.Seq, Subject: s.Subject, StoredAt: s.StoredAt, Header: s.Header, Data: s.Data}
}

// refusal says why the door did not do what was asked.
type refusal struct {
	Kind   refusalKind `json:"kind"`
	Reason string      `json:"reason"`
	// Subject, Expected and Actual tell of a conflict.
	Subject  events.Subject `json:"subject,omitempty"`
	Expected events.Seq     `json:"expected,omitempty"`
	Actual   events.Seq     `json:"actual,omitempty"`
	// Wait is after how long to ask again.
	Wait time.Duration `json:"wait,omitempty"`
}

func (r *refusal) Error() string { return r.Reason }

// refusalKind is the closed set of kinds of refusal.
type refusalKind string

const (
	// conflict: the aggregate has moved on.
	conflict refusalKind = "conflict"
	// lost: the attempt, or the lane, is another one's now.
	lost refusalKind = "lost"
	// forbidden: it is not the collector's to say, to read or to have.
	forbidden refusalKind = "forbidden"
	// malformed: it cannot be read, or has a shape that the collector's version of the door does not know.
	malformed refusalKind = "malformed"
	// tooLarge: it must be asked in smaller pieces.
	tooLarge refusalKind = "too large"
	// slower: the collector asks faster than its bounds allow.
	slower refusalKind = "slower"
	// again: the core cannot tell now.
	again refusalKind = "again"
	// held: another process has the name.
	held refusalKind = "held"
	// revoked: the collector was removed, or is none that the registry knows.
	revoked refusalKind = "revoked"
	// outdated: this program and the core do not understand each other.
	outdated refusalKind = "outdated"
)
