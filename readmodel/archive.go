package readmodel

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// EventFilter selects a page of the archive; a zero field selects all.
type EventFilter struct {
	// After selects events after this sequence, oldest first.
	After events.Seq
	// Before selects events before this sequence, newest first. With neither of the two, the newest come first.
	Before events.Seq
	// Type is the stored name, such as "request.created.v1".
	Type string
	// Subject selects one aggregate; SubjectPrefix selects all whose subject begins with it.
	Subject       events.Subject
	SubjectPrefix events.Subject
	Root          string
	Cause         events.Seq
	// Limit bounds the page; 0 means 100.
	Limit int
}

// EventRow is one row of event.
type EventRow struct {
	Seq     events.Seq     `db:"seq"`
	Subject events.Subject `db:"subject"`
	// Type is the stored name without its prefix.
	Type   string `db:"type"`
	ID     string `db:"event_id"`
	Source string `db:"source"`
	// Time is nil if the event is parked.
	Time     *time.Time   `db:"time"`
	Actor    events.Actor `db:"actor"`
	Cause    events.Seq   `db:"cause"`
	Root     string       `db:"root"`
	StoredAt time.Time    `db:"stored_at"`
	// Headers is a JSON object (see Header).
	Headers string `db:"headers,json"`
	Data    []byte `db:"data"`
	Chain   Link   `db:"chain"`
	// Parked says why no fold took the event; it is empty if one did.
	Parked string `db:"parked"`
}

func (r EventRow) event() (Event, error) {
	e := Event{
		Seq: r.Seq, Subject: r.Subject, Type: r.Type, ID: r.ID, Source: r.Source, Time: r.Time, Actor: r.Actor,
		Cause: r.Cause, Root: r.Root, StoredAt: r.StoredAt, Data: r.Data,
		Chain: events.Digest(hex.EncodeToString(r.Chain)), Parked: r.Parked,
	}
	var err error
	if e.Headers, err = r.Header(); err != nil {
		return Event{}, err
	}
	if !json.Valid(r.Data) {
		text, err := json.Marshal(string(r.Data))
		if err != nil {
			return Event{}, fmt.Errorf("data of event %d: %w", r.Seq, err)
		}
		e.Data = text
	}
	return e, nil
}

// Events returns a page of the archive.
func (r *Reader) Events(ctx context.Context, f EventFilter) ([]Event, error) {
	name := "events_newest"
	if f.After > 0 {
		name = "events_after"
	}
	return r.events(ctx, name, f, Extent{})
}

// Extent bounds one read of the archive, whatever its filter; 0 is no bound.
type Extent struct {
	// Bytes ends the page with the event whose data make it this large.
	Bytes int
	// Span ends the page this many sequences after its beginning. It bounds the reading of events that the filter drops.
	Span uint64
}

// Page returns the oldest events after f.After, which may be 0, that the filter selects. full reports that the
// limit or the bytes ended the page, so there may be more within the span.
func (r *Reader) Page(ctx context.Context, f EventFilter, e Extent) (list []Event, full bool, err error) {
	if e.Bytes == 0 {
		e.Bytes = math.MaxInt
	}
	if list, err = r.events(ctx, "events_page", f, e); err != nil {
		return nil, false, err
	}
	held := 0
	for _, e := range list {
		held += len(e.Data) // at least what the query counted
	}
	return list, len(list) >= limit(f.Limit) || held >= e.Bytes, nil
}

func (r *Reader) events(ctx context.Context, query string, f EventFilter, e Extent) ([]Event, error) {
	rows, err := all[EventRow](ctx, r.pool, query, pgx.NamedArgs{
		"after": f.After, "before": f.Before, "type": f.Type, "subject": f.Subject, "prefix": f.SubjectPrefix,
		"root": f.Root, "cause": f.Cause, "limit": limit(f.Limit), "bytes": e.Bytes, "span": min(e.Span, math.MaxInt32),
	})
	if err != nil {
		return nil, err
	}
	list := make([]Event, len(rows))
	for i, row := range rows {
		if list[i], err = row.event(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Event returns the event of one sequence, or ErrNotFound.
func (r *Reader) Event(ctx context.Context, seq events.Seq) (Event, error) {
	row, err := one[EventRow](ctx, r.pool, "event", seq)
	if err != nil {
		return Event{}, fmt.Errorf("event %d: %w", seq, err)
	}
	return row.event()
}

// DefinitionFilter selects published definitions; a zero field selects all.
type DefinitionFilter struct {
	Suite events.SuiteName
	// Before selects those that were published before the event of this sequence. Use it to page backwards.
	Before events.Seq
	// Limit bounds the list; 0 means that it is not bounded.
	Limit int
}

func (f DefinitionFilter) args() pgx.NamedArgs {
	return pgx.NamedArgs{"suite": f.Suite, "before": f.Before, "limit": cmp.Or(f.Limit, everything)}
}

// Definitions returns the published definitions that the filter selects, newest first, without their content.
func (r *Reader) Definitions(ctx context.Context, f DefinitionFilter) ([]Definition, error) {
	return all[Definition](ctx, r.pool, "definitions", f.args())
}

// CurrentDefinitions returns the current definitions of each suite, the newest first, without their content.
func (r *Reader) CurrentDefinitions(ctx context.Context) ([]Definition, error) {
	return all[Definition](ctx, r.pool, "definitions_current")
}

// CurrentDefinition returns the current definitions of a suite, or ErrNotFound.
func (r *Reader) CurrentDefinition(ctx context.Context, suite events.SuiteName) (Definition, error) {
	d, err := one[Definition](ctx, r.pool, "definition_current", suite)
	if err != nil {
		return d, fmt.Errorf("current definitions of suite %s: %w", suite, err)
	}
	return d, nil
}

// Definition returns the definitions with that digest, or ErrNotFound.
func (r *Reader) Definition(ctx context.Context, digest events.Digest) (Definition, error) {
	d, err := one[Definition](ctx, r.pool, "definition", digest)
	if err != nil {
		return d, fmt.Errorf("definitions %s: %w", digest, err)
	}
	return d, nil
}

// Branches returns which definitions the branches of a suite use, or ErrNotFound if none were published. First come those
// of the branches that have none of their own. There are none if no branch uses what was published.
func (r *Reader) Branches(ctx context.Context, suite events.SuiteName) ([]DefinitionLine, error) {
	lines, err := all[DefinitionLine](ctx, r.pool, "branches", suite)
	if err == nil && len(lines) == 0 {
		var published []Definition
		published, err = r.Definitions(ctx, DefinitionFilter{Suite: suite, Limit: 1})
		if err == nil && len(published) == 0 {
			err = ErrNotFound
		}
	}
	if err != nil {
		return nil, fmt.Errorf("suite %s: %w", suite, err)
	}
	return lines, nil
}
