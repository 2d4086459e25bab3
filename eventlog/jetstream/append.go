package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// The headers that the server obeys.
const (
	headerExpected = "Nats-Expected-Last-Subject-Sequence"
	// headerExpectedOf says of which other subject that is. Tacho never sends it.
	headerExpectedOf = "Nats-Expected-Last-Subject-Sequence-Subject"

	headerBatch    = "Nats-Batch-Id"
	headerBatchSeq = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
)

// The server's error codes that mean something here.
const (
	codeAccountFull     = 10002 // the account has stored all that it may
	codeNoPeers         = 10005 // a stream finds too few nodes; the description says why
	codeServerFull      = 10023 // the server has
	codeNoMessage       = 10037
	codeWrongLast       = 10071 // the subject has moved on
	codeStoreFailed     = 10077 // such as "maximum bytes exceeded"
	codeWrongLastFlying = 10164 // replicated: another message of the subject is on its way
	codeNoBatches       = 10174 // the stream takes none
	codeBatchIncomplete = 10176 // the leader changed, or a part was lost
	codeBatchesInFlight = 10210
)

// reader is the part of a view that settling an append needs. Its answers come from the leader. For a moment that may be one
// that stood still, and leads no more: it says less than there is, never other than there is.
type reader interface {
	// first returns the first event of the subject after a sequence.
	first(ctx context.Context, subject events.Subject, after events.Seq) (events.Stored, bool, error)
	// last returns the last event of the subject.
	last(ctx context.Context, subject events.Subject) (events.Stored, bool, error)
	// EventAt returns the event of a sequence.
	EventAt(ctx context.Context, seq events.Seq) (events.Stored, bool, error)
	// Head returns the end of the log.
	Head(ctx context.Context) (eventlog.Head, error)
}

// appender writes.
//
// What the server answers is not yet the outcome. The answer may be lost; a repeated message is refused as
// a conflict; on a cluster a conflict may also be with a message that then fails. (Ids for the server's own look for
// duplicates would add nothing, and an id that a stranger guesses first would make a stranger of our event.)
// The log itself knows:
// because of the expectation our first event, if it is stored at all, is the first event of its subject
// after the expected sequence. If that event has our id, and our last event is where it belongs, the append
// is stored (torn.go). If it has another id, or the subject ends elsewhere than expected, it is a conflict. If
// there is none, nothing was stored yet, and sending the same again is safe: whichever copy comes first, the
// expectation refuses the other.
type appender struct {
	nc     *nats.Conn
	stream string
	reads  reader
	room   *room
	torn   *torn
	// alone says that one server keeps the log.
	alone bool
}

// Append implements eventlog.Log.
func (a appender) Append(ctx context.Context, parts ...eventlog.Append) (last events.Seq, err error) {
	staged, err := eventlog.Stage(parts)
	if err != nil {
		return 0, err
	}
	for _, s := range staged {
		if size := storedSize(s); size > maxMessage {
			return 0, fmt.Errorf("append to %s: an event of %d bytes: %w: at most %d bytes", s.Subject, size, eventlog.ErrBatchTooLarge, maxMessage)
		}
	}
	operation := "append to " + string(parts[0].Subject)
	size := sizeOf(staged)
	err = Persist(ctx, operation, func(ctx context.Context) (err error) {
		last, err = a.try(ctx, parts, staged, size)
		return err
	})
	var conflict *eventlog.ConflictError
	if errors.As(err, &conflict) {
		return 0, conflict
	}
	return last, err
}

// try sends the append once and settles what became of it.
func (a appender) try(ctx context.Context, parts []eventlog.Append, staged []events.Stored, size int64) (events.Seq, error) {
	if full := a.room.stopped(); full != nil {
		return a.refused(ctx, parts, staged, full)
	}
	if torn := a.standing(ctx); torn != nil {
		return a.refused(ctx, parts, staged, torn)
	}
	if len(staged) > 1 {
		if full := a.room.tooNarrow(size); full != nil {
			return a.refused(ctx, parts, staged, full)
		}
	}
	last, err := a.publish(ctx, parts, staged)
	var full *eventlog.FullError
	switch {
	case err == nil:
		a.room.took(size)
		return last, nil
	case errors.As(err, &full):
		a.room.refuse(size, full)
		return a.refused(ctx, parts, staged, full)
	case permanent(err):
		return 0, err
	}
	return a.settle(ctx, parts, staged, err)
}

// refused returns the error of an append for which there is no room, unless an earlier try has stored it, or another writer
// was first: the server looks for room before it compares versions.
func (a appender) refused(ctx context.Context, parts []eventlog.Append, staged []events.Stored, full error) (events.Seq, error) {
	last, err := a.settle(ctx, parts, staged, full)
	if errors.Is(err, ErrAgain) {
		return 0, full
	}
	return last, err
}

// settle finds out whether the append is stored; cause is why that is in doubt. While nothing is stored
// and nothing is in the way it returns ErrAgain. An append of which only the beginning is stored is a *eventlog.TornError.
func (a appender) settle(ctx context.Context, parts []eventlog.Append, staged []events.Stored, cause error) (events.Seq, error) {
	again := fmt.Errorf("%w: %w", ErrAgain, cause)
	before := events.Seq(0) // events of the append before this part
	for _, p := range parts {
		now, _, err := a.reads.last(ctx, p.Subject)
		if err != nil {
			return 0, fmt.Errorf("settle (%w): %w", cause, err)
		}
		n := events.Seq(len(p.Events))
		if now.Header[events.HeaderID] == p.Events[n-1].ID {
			return a.whole(ctx, staged, now.Seq+1-n-before, now, again)
		}
		if now.Seq < p.Expected {
			if found, ok := refusedAt(cause); !ok || found >= p.Expected {
				return 0, again
			}
			return 0, a.beyond(ctx, p, now.Seq, again)
		}
		if now.Seq > p.Expected {
			first, ok, err := a.reads.first(ctx, p.Subject, p.Expected)
			switch {
			case err != nil:
				return 0, fmt.Errorf("settle (%w): %w", cause, err)
			case !ok:
				return 0, again
			case first.Header[events.HeaderID] == p.Events[0].ID:
				return a.whole(ctx, staged, first.Seq-before, first, again)
			}
			return 0, &eventlog.ConflictError{Subject: p.Subject, Expected: p.Expected, Actual: now.Seq}
		}
		before += n
	}
	return 0, again
}

// beyond returns the error of an append whose decision was taken on more than there is, as its subject ends at last and the server
// that refused it says so too. Of several servers one that stood still says so, until it hears that it leads no more, while
// the next leader stores the append. So the log must end before what is expected, or have an event of another subject there.
func (a appender) beyond(ctx context.Context, p eventlog.Append, last events.Seq, again error) error {
	conflict := &eventlog.ConflictError{Subject: p.Subject, Expected: p.Expected, Actual: last}
	if a.alone {
		return conflict
	}
	head, err := eventlog.HeadAt(ctx, a.reads, p.Expected)
	if err != nil {
		return fmt.Errorf("settle (%w): %w", again, err)
	}
	if head.Last < p.Expected {
		return conflict
	}
	s, ok, err := a.reads.EventAt(ctx, p.Expected)
	switch {
	case err != nil:
		return fmt.Errorf("settle (%w): %w", again, err)
	case ok && s.Subject != p.Subject:
		return conflict
	}
	return again
}

// refusedAt returns the sequence that the server found in place of the expected one, if it says so.
func refusedAt(err error) (events.Seq, bool) {
	var api *natsjs.APIError
	if !errors.As(err, &api) || api.ErrorCode != codeWrongLast {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(api.Description, "wrong last sequence: "), 10, 64)
	return events.Seq(n), err == nil
}

// publish sends the events once.
func (a appender) publish(ctx context.Context, parts []eventlog.Append, staged []events.Stored) (events.Seq, error) {
	if len(staged) == 1 {
		m := message(staged[0])
		m.Header[headerExpected] = []string{seqText(parts[0].Expected)}
		return a.answer(request(ctx, a.nc, m))
	}
	// Each try is a batch of its own: the server may still hold the torn rest of the one before.
	batch, n := uuid.NewString(), 0
	for _, p := range parts {
		for i := range p.Events {
			m := message(staged[n])
			n++
			m.Header[headerBatch] = []string{batch}
			m.Header[headerBatchSeq] = []string{strconv.Itoa(n)}
			if i == 0 {
				m.Header[headerExpected] = []string{seqText(p.Expected)}
			}
			switch n {
			case 1: // the server says with an empty answer that it has begun a batch
				if begun, err := request(ctx, a.nc, m); err != nil || len(begun.Data) > 0 {
					return a.unbegun(begun, err)
				}
			case len(staged):
				m.Header[headerCommit] = []string{"1"}
				committed, err := request(ctx, a.nc, m)
				return a.committed(committed, err, batch, n)
			default:
				if err := a.nc.PublishMsg(m); err != nil {
					return 0, err
				}
			}
		}
	}
	return 0, errors.New("append: a batch without an end")
}

// errNoBatches says that decisions of several events cannot be stored. They are never stored one by one: a crash between two of
// them would leave half a decision.
var errNoBatches = errors.New("the NATS server does not take atomic batches, and the log needs them: run NATS 2.12 or a newer one " +
	"on all nodes, and have the stream's operator set allow_atomic")

// unbegun returns why a batch did not begin. A server that knows no batches stores the first event like any other.
func (a appender) unbegun(m *nats.Msg, err error) (events.Seq, error) {
	seq, err := a.answer(m, err)
	var api *natsjs.APIError
	switch {
	case err == nil:
		return 0, fmt.Errorf("it stored the first event of a batch alone, as event %d: %w", seq, errNoBatches)
	case errors.As(err, &api) && api.ErrorCode == codeNoBatches:
		return 0, errNoBatches
	}
	return 0, err
}

// committed returns the sequence of a batch's last event. An acknowledgement that is not about the whole batch leaves it in doubt.
func (a appender) committed(m *nats.Msg, err error, batch string, n int) (events.Seq, error) {
	ack, err := a.read(m, err)
	if err == nil && (ack.Batch != batch || ack.Count != n) {
		return 0, fmt.Errorf("%w: it acknowledged %d events of a batch of %d", ErrAgain, ack.Count, n)
	}
	return ack.Seq, err
}

// answer returns the sequence that the server acknowledged.
func (a appender) answer(m *nats.Msg, err error) (events.Seq, error) {
	ack, err := a.read(m, err)
	return ack.Seq, err
}

// acknowledgement is the server's answer to an append. Batch and Count are set for a batch.
type acknowledgement struct {
	Error  *natsjs.APIError `json:"error"`
	Stream string           `json:"stream"`
	Seq    events.Seq       `json:"seq"`
	Batch  string           `json:"batch"`
	Count  int              `json:"count"`
}

// read reads the server's acknowledgement; it is empty if there is an error.
func (a appender) read(m *nats.Msg, err error) (acknowledgement, error) {
	if err != nil {
		return acknowledgement{}, err
	}
	var ack acknowledgement
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return acknowledgement{}, fmt.Errorf("acknowledgement %q: %w", m.Data, err)
	}
	switch {
	case ack.Error != nil && fullBy(ack.Error) != nil:
		return acknowledgement{}, fullBy(ack.Error)
	case ack.Error != nil:
		return acknowledgement{}, ack.Error
	case ack.Stream != a.stream:
		return acknowledgement{}, fmt.Errorf("the events went to stream %q and not to %q", ack.Stream, a.stream)
	}
	return ack, nil
}

// permanent reports whether the server refused for a reason that neither time nor the log's state changes.
func permanent(err error) bool {
	var api *natsjs.APIError
	if !errors.As(err, &api) {
		return !transient(err)
	}
	switch api.ErrorCode {
	case codeWrongLast, codeWrongLastFlying, codeBatchIncomplete, codeBatchesInFlight:
		return false
	}
	return !transient(err)
}

// message returns the event as it is published.
func message(s events.Stored) *nats.Msg {
	h := make(nats.Header, len(s.Header)+4)
	for k, v := range s.Header {
		h[k] = []string{v}
	}
	return &nats.Msg{Subject: string(s.Subject), Header: h, Data: s.Data}
}

// storedSize is about what the server counts for an event, with room for its own headers.
func storedSize(s events.Stored) int {
	size := len(s.Data) + 256
	for k, v := range s.Header {
		size += len(k) + len(v) + 4
	}
	return size
}

func seqText(s events.Seq) string { return strconv.FormatUint(uint64(s), 10) }
