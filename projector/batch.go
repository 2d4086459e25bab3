package projector

import (
	"context"
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

// forever is the end of a following that has none.
const forever events.Seq = math.MaxUint64

// batch is what one transaction will hold: events, decoded and made ready for the archive.
type batch struct {
	facts  []fact
	parked int
	archive
	// head and chain are the last event of the batch and its link.
	head  events.Stored
	chain Hash
	// err ends the following after this batch, whose events came before it.
	err error
}

// newBatch has room for n events.
func newBatch(n int) batch {
	texts := func() []string { return make([]string, 0, n) }
	numbers := func() []int64 { return make([]int64, 0, n) }
	return batch{
		facts: make([]fact, 0, n),
		archive: archive{
			seqs: numbers(), causes: numbers(),
			subjects: texts(), types: texts(), ids: texts(), sources: texts(), actors: texts(),
			roots: texts(), headers: texts(), parkedFor: texts(),
			times: make([]*time.Time, 0, n), storedAt: make([]time.Time, 0, n),
			data: make([][]byte, 0, n), chains: make([][]byte, 0, n),
		},
	}
}

// fact is an event with what can be made of it before its fold: the samples of its test cases as columns.
type fact struct {
	events.Recorded
	samples []samples
}

// samples are the columns of one measured test case.
type samples struct {
	statistics   string
	interference *string
}

func newFact(e events.Recorded) fact {
	measured, ok := e.Fact.(events.TestCasesMeasured)
	if !ok {
		return fact{Recorded: e}
	}
	f := fact{Recorded: e, samples: make([]samples, len(measured.Cases))}
	for i, c := range measured.Cases {
		f.samples[i] = samples{statistics: statistics(c.Iterations), interference: interference(c.Iterations)}
	}
	return f
}

// archive holds the columns of the rows of event.
type archive struct {
	seqs, causes                          []int64
	subjects, types, ids, sources, actors []string
	roots, headers, parkedFor             []string
	times                                 []*time.Time
	storedAt                              []time.Time
	data, chains                          [][]byte
}

// reader turns the log into batches. It runs ahead of the transactions, one batch at most.
type reader struct {
	cursor eventlog.Cursor
	events *events.Reader
	size   int
	at     events.Seq
	until  events.Seq
	chain  Hash
	room   []byte
}

// next waits for events and returns what is there, up to the size of a batch. What ends the following, such
// as a gap or a type that is not known, comes with the batch of what was before it.
func (r *reader) next(ctx context.Context) batch {
	stored, err := r.cursor.Next(ctx, int(min(uint64(r.size), uint64(r.until-r.at))))
	if err != nil {
		return batch{err: fmt.Errorf("read the log after event %d: %w", r.at, err)}
	}
	b := newBatch(len(stored))
	for _, s := range stored {
		if s.Seq != r.at+1 {
			b.err = &eventlog.GapError{Want: r.at + 1, Got: s.Seq}
			return b
		}
		e, parked, err := r.events.Understand(s)
		if err != nil {
			b.err = fmt.Errorf("%w: a newer version of Tacho wrote it; update this program and start it again", err)
			return b
		}
		r.at = s.Seq
		b.add(r, s, e, parked)
	}
	return b
}

func (b *batch) add(r *reader, s events.Stored, e events.Recorded, parked string) {
	names := slices.Sorted(maps.Keys(s.Header))
	r.room = slices.Grow(r.room[:0], len(s.Data)+1024)
	r.chain = chain(r.room, r.chain, s, names)
	link := r.chain

	b.head, b.chain = s, link
	if parked == "" {
		b.facts = append(b.facts, newFact(e))
	} else {
		b.parked++
	}
	cause, _ := strconv.ParseInt(s.Header[events.HeaderCause], 10, 64) // what cannot be read has no cause
	b.seqs = append(b.seqs, int64(s.Seq))
	b.causes = append(b.causes, cause)
	b.subjects = append(b.subjects, cleanText(string(s.Subject)))
	b.types = append(b.types, cleanText(strings.TrimPrefix(s.Header[events.HeaderType], events.TypePrefix)))
	b.ids = append(b.ids, cleanText(s.Header[events.HeaderID]))
	b.sources = append(b.sources, cleanText(s.Header[events.HeaderSource]))
	b.actors = append(b.actors, cleanText(s.Header[events.HeaderActor]))
	b.roots = append(b.roots, cleanText(s.Header[events.HeaderRoot]))
	b.headers = append(b.headers, headerJSON(s.Header, names))
	b.parkedFor = append(b.parkedFor, cleanText(parked))
	b.storedAt = append(b.storedAt, s.StoredAt)
	if s.Data == nil {
		s.Data = []byte{} // no data is not NULL
	}
	b.data = append(b.data, s.Data)
	b.chains = append(b.chains, link[:])
	if parked == "" {
		b.times = append(b.times, &e.Time)
	} else {
		b.times = append(b.times, nil)
	}
}

func (b *batch) empty() bool { return len(b.seqs) == 0 }
