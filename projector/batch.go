package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// forever is the last event to follow to, if there is no end.
const forever events.Seq = math.MaxUint64

// batch is what one transaction stores: events, decoded and encoded for the archive.
type batch struct {
	facts  []fact
	parked int
	// events are the rows of the archive. archive holds the same as arrays, copied in the form of COPY if they are many.
	events  []eventRow
	archive []any
	copied  []byte
	// head and chain are the last event of the batch and its link.
	head  events.Stored
	chain Hash
	// parks is the last event of the subject park that the batch obeys.
	parks events.Seq
	// err ends the following after this batch. The events of the batch came before it.
	err error
}

// fact is an event together with the samples of its test cases, encoded as columns before its fold.
type fact struct {
	events.Recorded
	// stored is when the log stored it.
	stored time.Time
	// samples has a list for each side (see events.TestCasesMeasured.Sides).
	samples [][]samples
}

// samples are the columns of one measured test case.
type samples struct {
	statistics   string
	interference *string
}

func newFact(e events.Recorded, stored time.Time) fact {
	measured, ok := e.Fact.(events.TestCasesMeasured)
	if !ok {
		return fact{Recorded: e, stored: stored}
	}
	f := fact{Recorded: e, stored: stored}
	for _, side := range measured.Sides() {
		list := make([]samples, len(side.Cases))
		for i, c := range side.Cases {
			list[i] = samples{statistics: statistics(c.Iterations), interference: interference(c.Iterations)}
		}
		f.samples = append(f.samples, list)
	}
	return f
}

// reader turns the log into batches. It runs at most one batch ahead of the transactions.
type reader struct {
	cursor eventlog.Cursor
	events *events.Reader
	size   int
	at     events.Seq
	until  events.Seq
	chain  Hash
	room   []byte
}

// next waits for events and returns those that are there, at most one batch. If a gap or an unknown type ends the
// following, the batch holds the events before it and the error.
func (r *reader) next(ctx context.Context) batch {
	stored, err := r.cursor.Next(ctx, int(min(uint64(r.size), uint64(r.until-r.at))))
	if err != nil {
		return batch{err: fmt.Errorf("read the log after event %d: %w", r.at, err)}
	}
	b := batch{facts: make([]fact, 0, len(stored)), events: make([]eventRow, 0, len(stored))}
	for _, s := range stored {
		if s.Seq != r.at+1 {
			b.err = &eventlog.GapError{Want: r.at + 1, Got: s.Seq}
			break
		}
		e, parked, err := r.events.Understand(s)
		if err != nil {
			b.err = r.stopped(err)
			break
		}
		if b.err = r.obey(e, s); b.err != nil {
			break
		}
		r.at = s.Seq
		b.add(r, s, e, parked)
	}
	b.parks = r.events.Parks().At
	b.archive, err = arrays("event", b.events)
	if b.err = cmp.Or(b.err, err); len(b.events) >= copyFrom && err == nil {
		b.copied = copyForm(b.archive, len(b.events))
	}
	return b
}

// stopped returns the error of an event that is not understood.
func (r *reader) stopped(err error) error {
	var newer *events.NewerError
	if errors.As(err, &newer) {
		return &stoppedError{newer, r.events.Parks().At}
	}
	return err
}

// obey takes over what the subject park says, if the parks that the reader began with do not hold it yet. It returns
// ErrParks if that concerns an event that was read.
func (r *reader) obey(e events.Recorded, s events.Stored) error {
	if s.Subject != events.ParkSubject() || s.Seq <= r.events.Parks().At {
		return nil
	}
	parks := r.events.Parks().Evolve(events.Recorded{Event: e.Event, Seq: s.Seq})
	if err := obeys(position{seq: r.at, parks: r.events.Parks().At}, parks); err != nil {
		return err
	}
	r.events.Obey(parks)
	return nil
}

func (b *batch) add(r *reader, s events.Stored, e events.Recorded, parked string) {
	names := slices.Sorted(maps.Keys(s.Header))
	r.room = slices.Grow(r.room[:0], len(s.Data)+1024)
	r.chain = chain(r.room, r.chain, s, names)
	link := r.chain

	b.head, b.chain = s, link
	cause, _ := strconv.ParseInt(s.Header[events.HeaderCause], 10, 64) // 0, no cause, if it cannot be read
	row := eventRow{
		Seq: s.Seq, Subject: events.Subject(cleanText(string(s.Subject))), Type: cleanText(strings.TrimPrefix(s.Header[events.HeaderType], events.TypePrefix)),
		ID: cleanText(s.Header[events.HeaderID]), Source: cleanText(s.Header[events.HeaderSource]),
		Actor: events.Actor(cleanText(s.Header[events.HeaderActor])), Cause: events.Seq(cause), Root: cleanText(s.Header[events.HeaderRoot]),
		StoredAt: s.StoredAt, Data: s.Data, Chain: link[:], Parked: parked,
	}
	if row.Data == nil {
		row.Data = []byte{} // no data is not NULL
	}
	if parked == "" {
		row.Time = pointer(e.Time.Truncate(time.Microsecond)) // as Postgres keeps it
		b.facts = append(b.facts, newFact(e, s.StoredAt))
	} else {
		b.parked++
	}
	row.Headers = headerJSON(&row, s.Header, names)
	b.events = append(b.events, row)
}

func (b *batch) empty() bool { return len(b.events) == 0 }
