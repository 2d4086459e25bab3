package projector

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// The reasons for which the projector stops instead of going on.
var (
	// ErrFenced: another projector writes the same tables.
	ErrFenced = errors.New("another projector writes the same tables; stop it, or stop this one")
	// ErrLogReplaced: the log is not the one that the tables were made from.
	ErrLogReplaced = errors.New("the log was replaced by another one since the tables were written; give the projector the log that belongs to this database, or a new database")
	// ErrLogRegressed: the log ends before the event that the tables have reached.
	ErrLogRegressed = errors.New("the log ends before what the tables hold: it was cut or restored from an older copy; restore its newest copy")
	// ErrLogCut: the first events of the log are missing.
	ErrLogCut = errors.New("the first events of the log are missing; restore it from a copy that has them")
	// ErrLogChanged: the event at the cursor is not what was archived.
	ErrLogChanged = errors.New("the log was changed: the event that the tables have reached is not the one that was archived; restore the log from a copy")
	// ErrParks: the tables took an event that is parked by now, or left one out that is not parked any more.
	ErrParks = errors.New("other events are parked than when the tables were filled; run `tacho replay` to fill them anew")
	// ErrTablesOutdated: the tables were filled by folds of another version.
	ErrTablesOutdated = errors.New("the tables were filled by another version of the projector; run `tacho replay` to fill them anew")
)

// permanent reports whether it is useless to try again.
func permanent(err error) bool {
	var gap *eventlog.GapError
	for _, reason := range []error{
		ErrParks, ErrFenced, ErrLogReplaced, ErrLogRegressed, ErrLogCut, ErrLogChanged, ErrTablesOutdated, readmodel.ErrOtherTables,
	} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return errors.As(err, &gap) || refusedByPostgres(err)
}

// refusedByPostgres reports whether Postgres answers the same each time: it refuses the data, a constraint, the
// statement or a right. A server that is full, starting or going down is not such an answer.
func refusedByPostgres(err error) bool {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) || len(answer.Code) != 5 {
		return false
	}
	switch answer.Code[:2] {
	case "22", "23", "28", "42", "0A":
		return true
	}
	return false
}

// full reports whether Postgres has no room for what it is told to store.
func full(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == "53100" // disk_full
}

// missing reports whether a schema or table was not there, because a replay swapped the generations.
func missing(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && (answer.Code == "42P01" || answer.Code == "3F000")
}

// cursorMissed reports whether move_cursor divided by zero, which means that it hit no row.
func cursorMissed(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == "22012"
}

// check compares version, identity and extent of the log with the cursor.
func check(head eventlog.Head, at position) error {
	switch {
	case at.version != Version:
		return fmt.Errorf("%w (tables %d, program %d)", ErrTablesOutdated, at.version, Version)
	case at.identity != "" && head.Identity != at.identity:
		return fmt.Errorf("%w (tables %s, log %s)", ErrLogReplaced, at.identity, head.Identity)
	case head.Last < at.seq:
		return fmt.Errorf("%w (tables at event %d, log ends at %d)", ErrLogRegressed, at.seq, head.Last)
	case head.First > 1:
		return fmt.Errorf("%w (it begins at event %d)", ErrLogCut, head.First)
	}
	return nil
}

// checkEvent compares the event at the cursor with what was archived.
func checkEvent(s events.Stored, at position, before Hash) error {
	if id := cleanText(s.Header[events.HeaderID]); id != at.eventID {
		return fmt.Errorf("%w (event %d: id %q in the archive, %q in the log)", ErrLogChanged, at.seq, at.eventID, id)
	}
	if Chain(before, s) != at.chain {
		return fmt.Errorf("%w (event %d has another hash)", ErrLogChanged, at.seq)
	}
	return nil
}

// swapped reports whether err comes from tables that are not live any more.
func swapped(live, ours readmodel.Schema, err error) bool {
	return live != ours && (errors.Is(err, errFence) || missing(err))
}
