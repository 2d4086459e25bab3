// Package door lets collectors reach the log: it has the service of the core and its client.
//
// A collector has a NATS account of its own. There it sees two subjects of the core, tacho.door.<name>.> and
// tacho.read.<name>.>, but nothing of JetStream or of other collectors. The server replaces the reply subjects that the
// collector names. Verbs lists what a collector can ask; a new verb needs a row in the attacks (internal/attack).
//
//	append    the events of one decision, with the expected versions: stored, or refused with a reason
//	last      the last event of an aggregate that concerns it
//	next      wait for the next job of its lane       leave   take that back
//	answer    prolong, give back or end a delivery
//	beat      claim its name, renew the claim, give it back; the answer tells what is new
//	output    a piece of a job's output
//	begin     begin to store an output of the job in hand  chunk, finish   its chunks, and its end
//	open      find an output that the job in hand uses     piece           its chunks
//	done      which run did what the job in hand does
//	read      all events of an aggregate that concerns it (several answers)
//	old       what collectors of an earlier version ask first; the answer says that they must be updated
//
// The door knows who asks from a header that only the server can write. It knows what that collector may write from the
// registry and the state of its lane, both in the ledger (books.go, rules.go). It takes facts from collectors, but no
// headers: it writes the envelope itself. The door refuses and counts a fact that the collector may not write, and
// names the sender in an alert; such a fact never enters the log. Each collector has bounds of its own (bounds.go). The
// door cuts off a collector that keeps exceeding them, each time for longer.
//
// Any number of doors may run; one of them answers each request. No door keeps anything that another one needs. If a
// door dies between an append and its answer, the client asks again, and the id of the event tells whether the log has
// stored it. A job that a dying door holds is delivered again after the lane's waiting time.
package door

import (
	"encoding/json"
	"time"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// The prefixes of the two services. The account's name follows each.
const (
	Prefix     = "tacho.door"
	ReadPrefix = "tacho.read"
)

const (
	// AnswerWithin is how long after a request its answer may come. The server remembers unanswered requests for this
	// long.
	AnswerWithin = 10 * time.Second
	// waitForJob is how long one request for a job waits. Then the client asks again, perhaps at another door.
	waitForJob = 5 * time.Second
	// MaxRequest is the largest request in bytes: what a NATS server takes by default.
	MaxRequest = 1 << 20
	// version is the version of this protocol.
	version = 1
	// queueGroup is the NATS queue group of the doors: one member answers each request.
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
	verbBegin  Verb = "begin"
	verbChunk  Verb = "chunk"
	verbFinish Verb = "finish"
	verbOpen   Verb = "open"
	verbPiece  Verb = "piece"
	verbDone   Verb = "done"
	// verbOld is what collectors of an earlier version ask first. The answer tells their operator to update them.
	verbOld Verb = "old"
)

// OldQuestions comes before the subject in the first request of a collector of an earlier version, which asked the NATS
// server itself.
const OldQuestions = "$JS.API.DIRECT.GET.EVENTS"

// Verbs returns everything that a collector can ask, each verb with its subject for the collector of that name.
func Verbs(name events.CollectorName) map[Verb]string {
	out := map[Verb]string{}
	for _, v := range []Verb{
		verbAppend, verbLast, verbNext, verbLeave, verbAnswer, verbBeat, verbOutput, verbDone, verbRead, verbOld,
		verbBegin, verbChunk, verbFinish, verbOpen, verbPiece,
	} {
		out[v] = subject(string(name), v)
	}
	return out
}

// subject returns the subject of a verb for the collector of that name; "*" is every name.
func subject(name string, v Verb) string {
	// The others have the same form.
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
	// After is the newest event that the collector knows of. The door reads the log up to it before it refuses.
	After events.Seq `json:"after,omitempty"`
	// Parts are the parts to append, all or none.
	Parts []part `json:"parts,omitempty"`
	// Subject is the aggregate to read.
	Subject events.Subject `json:"subject,omitempty"`
	// Claim is set to claim the name of Beat, Release to give it back. With neither, Beat renews the claim.
	Claim    bool           `json:"claim,omitempty"`
	Release  bool           `json:"release,omitempty"`
	Replaces string         `json:"replaces,omitempty"`
	Beat     *eventlog.Beat `json:"beat,omitempty"`
	// Delivery names a delivered job, What says what to do with the delivery. An append that ends the job ends its delivery too.
	Delivery string        `json:"delivery,omitempty"`
	What     settlement    `json:"what,omitempty"`
	Delay    time.Duration `json:"delay,omitempty"`
	// Output is a piece of a job's output.
	Output *eventlog.LogChunk `json:"output,omitempty"`
	// Same has the job in hand, and the key of what it does.
	Same *sameAs `json:"same,omitempty"`
	// Wish is the output to store. JobID is the job that stores it, Place the put, and N the chunk. With a chunk the request
	// has its content behind a line feed.
	Wish  *blob.Wish   `json:"wish,omitempty"`
	JobID events.JobID `json:"job_id,omitempty"`
	Place *blob.Place  `json:"place,omitempty"`
	N     int          `json:"n,omitempty"`

	chunk []byte
}

// settlement says what to do with a delivery.
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

// event is the collector's part of an event. The door adds the rest of the envelope.
type event struct {
	ID    string          `json:"id"`
	Type  string          `json:"type"`
	Time  time.Time       `json:"time"`
	Cause events.Seq      `json:"cause,omitempty"`
	Root  string          `json:"root,omitempty"`
	Data  json.RawMessage `json:"data"`
}

// answer is what the door answers.
type answer struct {
	// Seq is the sequence of the last event of an append.
	Seq events.Seq `json:"seq,omitempty"`
	// Event is the event that was asked for, or that of the job. At is the version of its aggregate; Event is nil if
	// the newest event there does not count.
	Event *shown     `json:"event,omitempty"`
	At    events.Seq `json:"at,omitempty"`
	// Delivery names the job that Event dispatches.
	Delivery string `json:"delivery,omitempty"`
	// Holder is the beat that holds the name, BeatTTL how long a beat lives.
	Holder  *eventlog.Beat `json:"holder,omitempty"`
	BeatTTL time.Duration  `json:"beat_ttl,omitempty"`
	// News answers a beat that renews the claim. It is missing while the ledger does not go on, and from doors of an earlier version.
	News eventlog.News `json:"news,omitempty"`
	// Same is the run that did what a job does.
	Same *sameAs `json:"same,omitempty"`
	// Place is a put or an output, There is set if the output to store is there, Bytes is its size, and Done is set if it is
	// stored now, or if the delivery of the append is ended. The answer to piece has its content behind a line feed.
	Place   *blob.Place `json:"place,omitempty"`
	There   bool        `json:"there,omitempty"`
	Bytes   int64       `json:"bytes,omitempty"`
	Done    bool        `json:"done,omitempty"`
	Refusal *refusal    `json:"refusal,omitempty"`

	chunk []byte
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
	// Subject, Expected and Actual describe a conflict.
	Subject  events.Subject `json:"subject,omitempty"`
	Expected events.Seq     `json:"expected,omitempty"`
	Actual   events.Seq     `json:"actual,omitempty"`
	// Wait is how long to wait before asking again.
	Wait time.Duration `json:"wait,omitempty"`
}

func (r *refusal) Error() string { return r.Reason }

// refusalKind is the closed set of kinds of refusal.
type refusalKind string

const (
	// conflict: the aggregate has moved on.
	conflict refusalKind = "conflict"
	// lost: the attempt or the lane no longer belongs to the collector.
	lost refusalKind = "lost"
	// forbidden: the collector may not write, read or have this.
	forbidden refusalKind = "forbidden"
	// malformed: the request cannot be parsed, or has an impossible value.
	malformed refusalKind = "malformed"
	// tooLarge: the request must be split into smaller ones.
	tooLarge refusalKind = "too large"
	// slower: the collector asks faster than its bounds allow.
	slower refusalKind = "slower"
	// again: the core cannot answer now.
	again refusalKind = "again"
	// held: another process has the name.
	held refusalKind = "held"
	// revoked: the collector was removed, or the registry does not know it.
	revoked refusalKind = "revoked"
	// outdated: the collector's program and the core do not understand each other.
	outdated refusalKind = "outdated"
	// full: the store of outputs has no room.
	full refusalKind = "full"
	// missing: the output is not in the store.
	missing refusalKind = "missing"
	// damaged: the output is not what its digest says.
	damaged refusalKind = "damaged"
)
