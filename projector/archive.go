package projector

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// archivePage is how many events or links of the archive are read at once.
const archivePage = 500

// Archive reads the events that the tables keep, each with its link of the chain. It is for one goroutine.
type Archive struct {
	conn *pgx.Conn
	// Identity is the log that the tables were made of; empty if they are.
	Identity string
	// Last is the last event in the tables, ID its id, Chain its link.
	Last  events.Seq
	ID    string
	Chain Hash
}

// Archived is one event of the archive.
type Archived struct {
	events.Stored
	Link Hash
}

// OpenArchive opens the archive of a migrated database, as it is now.
func OpenArchive(ctx context.Context, url string) (_ *Archive, err error) {
	public, err := connect(ctx, url, "public")
	if err != nil {
		return nil, err
	}
	schema, err := readmodel.Live(ctx, public)
	if err = errors.Join(err, public.Close(ctx)); err != nil {
		return nil, err
	}
	// A replay drops these tables. Then the archive must be opened again.
	conn, err := connect(ctx, url, schema)
	if err != nil {
		return nil, err
	}
	a := &Archive{conn: conn}
	if err := a.Look(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Look reads how far the archive is now.
func (a *Archive) Look(ctx context.Context) error {
	var link []byte
	err := a.conn.QueryRow(ctx, statement("archive_head")).Scan(&a.Identity, &a.Last, &a.ID, &link)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	copy(a.Chain[:], link)
	return wrap("look at the archive", err)
}

// Close ends the connection.
func (a *Archive) Close() { _ = a.conn.Close(context.Background()) } // nothing depends on how it ends

// Link returns the link of an event; the zero Hash for event 0.
func (a *Archive) Link(ctx context.Context, seq events.Seq) (h Hash, err error) {
	if seq == 0 {
		return h, nil
	}
	var link []byte
	if err := a.conn.QueryRow(ctx, statement("load_link"), seq).Scan(&link); err != nil {
		return h, fmt.Errorf("read the link of event %d in the archive: %w", seq, err)
	}
	copy(h[:], link)
	return h, nil
}

// Links returns the links of the events after a sequence up to another one, without a gap.
func (a *Archive) Links(ctx context.Context, after, last events.Seq) ([]Hash, error) {
	rows, err := a.conn.Query(ctx, statement("archive_links"), after, last)
	if err != nil {
		return nil, wrap("read the archive", err)
	}
	var out []Hash
	var seq events.Seq
	var link []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &link}, func() error {
		if want := after + events.Seq(len(out)) + 1; seq != want {
			return &ArchiveError{Seq: want, What: "it is missing"}
		}
		out = append(out, Hash(link))
		return nil
	})
	return out, err
}

// Events returns the events after a sequence, without a gap, as many as are read at once; none at the end.
func (a *Archive) Events(ctx context.Context, after events.Seq) ([]Archived, error) {
	rows, err := a.conn.Query(ctx, statement("archive_events"), after, min(after+archivePage, a.Last))
	if err != nil {
		return nil, wrap("read the archive", err)
	}
	var out []Archived
	var wrong error
	err = collect(rows, "event", func(row *eventRow) {
		header, err := row.Header()
		switch want := after + events.Seq(len(out)) + 1; {
		case wrong != nil:
			return
		case row.Seq != want:
			wrong = &ArchiveError{Seq: want, What: "it is missing"}
		case err != nil:
			wrong = &ArchiveError{Seq: row.Seq, What: "its headers cannot be read"}
		}
		out = append(out, Archived{
			Stored: events.Stored{Seq: row.Seq, Subject: row.Subject, StoredAt: row.StoredAt.UTC(), Header: header, Data: row.Data}, Link: Hash(row.Chain),
		})
	})
	err = errors.Join(err, wrong)
	if err == nil && len(out) == 0 && after < a.Last {
		err = &ArchiveError{Seq: after + 1, What: "it is missing"}
	}
	return out, err
}

// ArchiveError says that the archive is damaged.
type ArchiveError struct {
	Seq  events.Seq
	What string
}

func (e *ArchiveError) Error() string {
	return fmt.Sprintf("event %d of the archive in the database: %s", e.Seq, e.What)
}

// Agree checks that a log is the one that the tables were made of, that it is at least as long, and that it has the same event
// where the tables end. It costs two questions to the database and two to the log. Tables that are empty agree with every log.
func Agree(ctx context.Context, log Pages, a *Archive) error {
	if a.Last == 0 {
		return nil
	}
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	at := position{version: Version, seq: a.Last, eventID: a.ID, chain: a.Chain, identity: a.Identity}
	if err := check(head, at); err != nil {
		return err
	}
	before, err := a.Link(ctx, a.Last-1)
	if err != nil {
		return err
	}
	page, err := log.Page(ctx, a.Last-1)
	if err != nil {
		return err
	}
	if len(page) == 0 {
		return &eventlog.GapError{Want: a.Last}
	}
	return checkEvent(page[0], at, before)
}

// Pages is a log that is read page by page.
type Pages interface {
	Head(ctx context.Context) (eventlog.Head, error)
	// Page returns events after a sequence; none at the end of the log.
	Page(ctx context.Context, after events.Seq) ([]events.Stored, error)
}

// Finding is an event that is not as the archive has it.
type Finding struct {
	First, Last events.Seq
	Subject     events.Subject
	What        string
	// InArchive says that the log is right and the archive is not.
	InArchive bool
}

// Audit compares the events of a log with the archive.
type Audit struct {
	Log     Pages
	Archive *Archive
	// Found is called with everything that is wrong.
	Found func(Finding)
	// Read is called after each page with the last event of it and its size in bytes; it may wait. It may be nil.
	Read func(ctx context.Context, at events.Seq, bytes int) error
}

// Run compares the events after a sequence up to another one, and returns the last one that it compared. It ends early where
// the log or the archive ends.
func (a Audit) Run(ctx context.Context, after, to events.Seq) (events.Seq, error) {
	to = min(to, a.Archive.Last)
	before, err := a.Archive.Link(ctx, after)
	if err != nil {
		return after, err
	}
	for after < to {
		page, err := a.Log.Page(ctx, after)
		var gap *eventlog.GapError
		switch {
		case errors.As(err, &gap):
			if after, err = a.skip(ctx, after, to); err != nil {
				return after, err
			}
			if before, err = a.Archive.Link(ctx, after); err != nil {
				return after, err
			}
			continue
		case err != nil:
			return after, err
		case len(page) == 0:
			return after, nil
		}
		page = page[:min(len(page), int(to-after))]
		bytes, err := a.compare(ctx, before, after, page)
		if err != nil {
			return after, err
		}
		after += events.Seq(len(page))
		if before, err = a.Archive.Link(ctx, after); err != nil {
			return after, err
		}
		if a.Read != nil {
			if err := a.Read(ctx, after, bytes); err != nil {
				return after, err
			}
		}
	}
	return after, nil
}

// compare compares one page. Each event is compared by its own link, so one that differs does not make those after it differ.
func (a Audit) compare(ctx context.Context, before Hash, after events.Seq, page []events.Stored) (bytes int, err error) {
	links, err := a.Archive.Links(ctx, after, after+events.Seq(len(page)))
	if err != nil {
		return 0, err
	}
	if len(links) < len(page) {
		return 0, &ArchiveError{Seq: after + events.Seq(len(links)) + 1, What: "it is missing"}
	}
	for i, s := range page {
		bytes += size(s)
		if Chain(before, s) != links[i] {
			if err := a.blame(ctx, before, s); err != nil {
				return bytes, err
			}
		}
		before = links[i]
	}
	return bytes, nil
}

func size(s events.Stored) int {
	n := len(s.Subject) + len(s.Data)
	for k, v := range s.Header {
		n += len(k) + len(v)
	}
	return n
}

// blame finds out whether the log or the archive is wrong about an event.
func (a Audit) blame(ctx context.Context, before Hash, s events.Stored) error {
	kept, err := a.Archive.Events(ctx, s.Seq-1)
	if err != nil {
		return err
	}
	f := Finding{First: s.Seq, Last: s.Seq, Subject: s.Subject, What: "the log has another event than the archive, whose hash is right"}
	if Chain(before, kept[0].Stored) != kept[0].Link {
		f.InArchive, f.What = true, "the archive in the database has a row whose hash is wrong"
	}
	a.Found(f)
	return nil
}

// skip notes which events the log does not have, and returns the last one of them.
func (a Audit) skip(ctx context.Context, after, to events.Seq) (events.Seq, error) {
	f := Finding{First: after + 1, Last: after + 1, What: "the log counts it and cannot give it"}
	for f.Last < to {
		page, err := a.Log.Page(ctx, f.Last)
		if gap := new(eventlog.GapError); errors.As(err, &gap) {
			f.Last++
			continue
		}
		if err != nil {
			return after, err
		}
		if len(page) == 0 {
			f.Last = to
		}
		break
	}
	kept, err := a.Archive.Events(ctx, after)
	if err != nil {
		return after, err
	}
	f.Subject = kept[0].Subject
	a.Found(f)
	return f.Last, nil
}

// Disagrees reports whether an error says that the log is damaged, or not the one of the tables. Other errors mean that it could
// not be found out.
func Disagrees(err error) bool {
	var gap *eventlog.GapError
	if errors.As(err, &gap) {
		return true
	}
	for _, reason := range []error{ErrLogReplaced, ErrLogRegressed, ErrLogCut, ErrLogChanged} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}
