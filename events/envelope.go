package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// RawJSON is JSON that is kept as it came.
type RawJSON = json.RawMessage

// Event is a fact with its envelope, as it is written.
type Event struct {
	// ID is unique for ever. When the answer to an append is lost, it tells whether the stored event is ours.
	ID string
	// Time is when the fact was decided or observed. It is only information: the log gives the order.
	Time time.Time
	// Source is the part that wrote the event, such as "scheduler".
	Source string
	Actor  Actor
	// Cause is the sequence of the event that led to this one; 0 when it began outside the log.
	Cause Seq
	// Root is the delivery, poll or command where it all began.
	Root string
	Fact Fact
}

// Recorded is an event at its place in the log.
type Recorded struct {
	Event
	Seq Seq
}

// Stored is a message exactly as the log keeps it. Archives and hashes are made from it.
type Stored struct {
	Seq     Seq
	Subject Subject
	// StoredAt is the time by the clock of the log's server.
	StoredAt time.Time
	Header   map[string]string
	Data     []byte
}

// The headers of the envelope: CloudEvents 1.0 attributes in binary mode, and Tacho's own.
const (
	HeaderSpecVersion = "ce-specversion"
	HeaderID          = "ce-id"
	HeaderType        = "ce-type"
	HeaderSource      = "ce-source"
	HeaderTime        = "ce-time"
	HeaderSubject     = "ce-subject"
	HeaderActor       = "actor"
	HeaderCause       = "cause"
	HeaderRoot        = "root"

	// TypePrefix stands before the name of every type: "dev.tacho." + "request.created.v1".
	TypePrefix = "dev.tacho."

	timeLayout = "2006-01-02T15:04:05.000Z07:00"
)

// ErrUnknownType is what a NewerError is.
var ErrUnknownType = errors.New("unknown type of event")

// NewerError is returned by Decode for a type that this program does not know: a newer program wrote it. A part that
// needs the event must not skip it: it decides nothing more and stays, until the event is parked or a newer program runs.
type NewerError struct {
	Seq      Seq
	Subject  Subject
	ID, Type string
	// StoredAt is when the log stored it; zero if that is not known.
	StoredAt time.Time
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("event %d: type %q: %v", e.Seq, e.Type, ErrUnknownType)
}

// Unwrap returns ErrUnknownType.
func (e *NewerError) Unwrap() error { return ErrUnknownType }

// Next says what a person can do about it.
func (e *NewerError) Next() string {
	return fmt.Sprintf("update this program, or leave the event out with `tacho events park %d --reason …`", e.Seq)
}

func newer(s Stored, name string) error {
	return &NewerError{Seq: s.Seq, Subject: s.Subject, ID: s.Header[HeaderID], Type: name, StoredAt: s.StoredAt}
}

// Encode returns the stored form of e, without sequence. It fails only for an event that must not be written: one
// without id, time, actor or fact.
func Encode(e Event) (Stored, error) {
	if e.ID == "" || e.Time.IsZero() || e.Actor == "" || e.Fact == nil {
		return Stored{}, fmt.Errorf("encode event: id, time, actor and fact are required")
	}
	data, err := encodeFact(e.Fact)
	if err != nil {
		return Stored{}, fmt.Errorf("encode %s: %w", TypeOf(e.Fact), err)
	}
	subject := e.Fact.Subject()
	header := map[string]string{
		HeaderSpecVersion: "1.0",
		HeaderID:          e.ID,
		HeaderType:        TypePrefix + TypeOf(e.Fact),
		HeaderSource:      e.Source,
		HeaderTime:        TimeText(e.Time),
		HeaderSubject:     string(subject)[len(SubjectPrefix):],
		HeaderActor:       string(e.Actor),
		HeaderCause:       strconv.FormatUint(uint64(e.Cause), 10),
		HeaderRoot:        e.Root,
	}
	return Stored{Subject: subject, Header: header, Data: data}, nil
}

// TimeText returns a time as the header of an event has it.
func TimeText(t time.Time) string { return t.UTC().Format(timeLayout) }

func encodeFact(f Fact) ([]byte, error) {
	if own, ok := f.(interface{ encode() ([]byte, error) }); ok {
		return own.encode()
	}
	return json.Marshal(f)
}

// Decode returns the event that s holds, upcast to the newest version of its type. It ignores fields that it does not
// know. For a type that it does not know it returns a *NewerError.
func Decode(s Stored) (Recorded, error) {
	name, ok := cutTypePrefix(s.Header[HeaderType])
	if !ok {
		return Recorded{}, newer(s, s.Header[HeaderType])
	}
	fact, err := current.decode(name, s.Data)
	switch {
	case errors.Is(err, ErrUnknownType):
		return Recorded{}, newer(s, name)
	case err != nil:
		return Recorded{}, fmt.Errorf("event %d: %w", s.Seq, err)
	}
	at, err := time.Parse(time.RFC3339Nano, s.Header[HeaderTime])
	if err != nil {
		return Recorded{}, fmt.Errorf("event %d: time: %w", s.Seq, err)
	}
	cause, err := strconv.ParseUint(s.Header[HeaderCause], 10, 64)
	if err != nil {
		return Recorded{}, fmt.Errorf("event %d: cause: %w", s.Seq, err)
	}
	return Recorded{Seq: s.Seq, Event: Event{
		ID: s.Header[HeaderID], Time: at.UTC(), Source: s.Header[HeaderSource], Actor: Actor(s.Header[HeaderActor]),
		Cause: Seq(cause), Root: s.Header[HeaderRoot], Fact: fact,
	}}, nil
}

func cutTypePrefix(s string) (string, bool) {
	if len(s) <= len(TypePrefix) || s[:len(TypePrefix)] != TypePrefix {
		return "", false
	}
	return s[len(TypePrefix):], true
}
