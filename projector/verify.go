package projector

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// shownDifferences bounds how many rows a report names per table.
const shownDifferences = 10

// TableReport compares one table of the live generation with the rebuilt one.
type TableReport struct {
	Name string `json:"name"`
	Live Side   `json:"live"`
	// Rebuilt is what the log gives.
	Rebuilt Side `json:"rebuilt"`
	// Differing counts the rows that are not the same on both sides; Differences names the first of them.
	Differing   int          `json:"differing"`
	Differences []Difference `json:"differences,omitempty"`
}

// Side is one side of a comparison: how many rows, and a SHA-256 over all of them in the order of the key.
type Side struct {
	Rows   int           `json:"rows"`
	Digest events.Digest `json:"digest"`
}

// Difference is one row that is not the same on both sides. A side that lacks the row is empty.
type Difference struct {
	Key     string `json:"key"`
	Live    string `json:"live,omitempty"`
	Rebuilt string `json:"rebuilt,omitempty"`
}

// Identical reports whether the table is the same row for row.
func (t TableReport) Identical() bool { return t.Differing == 0 && t.Live == t.Rebuilt }

// verify rebuilds the tables up to the live cursor and compares them. It reads the live side as one snapshot, so a
// projector may run meanwhile.
func (r *replay) verify(ctx context.Context, conn *pgx.Conn) (Report, error) {
	if _, err := conn.Exec(ctx, "SET search_path TO "+pgx.Identifier{string(r.live)}.Sanitize()); err != nil {
		return Report{}, fmt.Errorf("look at schema %s: %w", r.live, err)
	}
	var report Report
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, conn, snapshot, func(live pgx.Tx) error {
		var obeyed events.Seq
		if err := live.QueryRow(ctx, `SELECT coalesce(max(seq), 0), coalesce(max(parks), 0) FROM projection_cursor`).Scan(&report.Seq, &obeyed); err != nil {
			return fmt.Errorf("read the live cursor: %w", err)
		}
		r.source = asOf{r.source, obeyed}
		if to := r.options.To; to > 0 && to != report.Seq {
			return fmt.Errorf("%w (they are at event %d, not at %d)", ErrElsewhere, report.Seq, to)
		}
		if err := r.build(ctx, report.Seq); err != nil {
			return err
		}
		rebuilt, err := connect(ctx, r.url, r.scratch)
		if err != nil {
			return err
		}
		defer rebuilt.Close(context.WithoutCancel(ctx))
		report.Tables, err = compareTables(ctx, live, rebuilt)
		return err
	})
	return report, err
}

// rowSource is a connection or a transaction whose search path leads to the tables.
type rowSource interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// asOf is a log whose parks are those that the live tables obey: a park that they do not know yet is no difference.
type asOf struct {
	Source
	obeyed events.Seq
}

// Parks implements Source.
func (a asOf) Parks(ctx context.Context) (events.Parks, error) {
	p, err := a.Source.Parks(ctx)
	return p.Until(a.obeyed), err
}

// compareTables compares all tables of two generations, row for row.
func compareTables(ctx context.Context, live, rebuilt rowSource) ([]TableReport, error) {
	reports := make([]TableReport, 0, len(readmodel.Tables()))
	for _, t := range readmodel.Tables() {
		report, err := compareTable(ctx, t, live, rebuilt)
		if err != nil {
			return nil, fmt.Errorf("compare table %s: %w", t.Name, err)
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// compareTable walks both sides in the order of their keys, like a merge of two sorted lists.
func compareTable(ctx context.Context, t readmodel.Table, live, rebuilt rowSource) (TableReport, error) {
	a, err := walk(ctx, t, live)
	if err != nil {
		return TableReport{}, err
	}
	defer a.rows.Close()
	b, err := walk(ctx, t, rebuilt)
	if err != nil {
		return TableReport{}, err
	}
	defer b.rows.Close()

	report := TableReport{Name: t.Name}
	differ := func(d Difference) {
		report.Differing++
		if len(report.Differences) < shownDifferences {
			report.Differences = append(report.Differences, d)
		}
	}
	for a.more || b.more {
		switch {
		case !b.more || a.more && a.key < b.key:
			differ(Difference{Key: a.key, Live: a.row})
			a.next()
		case !a.more || b.key < a.key:
			differ(Difference{Key: b.key, Rebuilt: b.row})
			b.next()
		default:
			if a.row != b.row {
				differ(Difference{Key: a.key, Live: a.row, Rebuilt: b.row})
			}
			a.next()
			b.next()
		}
	}
	if err := errors.Join(a.err, b.err); err != nil {
		return TableReport{}, fmt.Errorf("read the rows: %w", err)
	}
	report.Live, report.Rebuilt = a.side(), b.side()
	return report, nil
}

// walker goes through one table, row by row, and hashes what it sees.
type walker struct {
	rows  pgx.Rows
	more  bool
	key   string
	row   string
	count int
	hash  hash.Hash
	err   error
}

// walk begins at the first row of a table. The keys are texts whose bytes sort as the rows do.
func walk(ctx context.Context, t readmodel.Table, from rowSource) (*walker, error) {
	parts := make([]string, len(t.Key))
	for i, column := range t.Key {
		parts[i] = pgx.Identifier{column}.Sanitize() + "::text"
	}
	key := "concat_ws(E'\\x1f', " + strings.Join(parts, ", ") + `) COLLATE "C"`
	order := key
	if t.Numbered {
		key, order = "lpad("+parts[0]+", 20, '0')", strings.TrimSuffix(parts[0], "::text")
	}
	table := pgx.Identifier{t.Name}.Sanitize()
	rows, err := from.Query(ctx, fmt.Sprintf("SELECT %s AS key, t::text FROM %s AS t ORDER BY %s", key, table, order))
	if err != nil {
		return nil, fmt.Errorf("read the rows: %w", err)
	}
	w := &walker{rows: rows, hash: sha256.New()}
	w.next()
	return w, nil
}

func (w *walker) next() {
	if w.more = w.rows.Next(); !w.more {
		w.err = w.rows.Err()
		return
	}
	if w.err = w.rows.Scan(&w.key, &w.row); w.err != nil {
		w.more = false
		return
	}
	w.count++
	w.hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(w.row))))
	w.hash.Write([]byte(w.row))
}

func (w *walker) side() Side {
	return Side{Rows: w.count, Digest: events.Digest(hex.EncodeToString(w.hash.Sum(nil)))}
}
