package website

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/eventlog"
)

// A reader who asks while Postgres restarts is told to come back, and not that Tacho has a fault.
func TestAPostgresThatLeavesIsAway(t *testing.T) {
	for want, list := range map[int][]error{
		http.StatusServiceUnavailable:  {&pgconn.PgError{Code: "57P01"}, &pgconn.PgError{Code: "57P03"}, io.ErrUnexpectedEOF},
		http.StatusInternalServerError: {&pgconn.PgError{Code: "42P01"}, &pgconn.PgError{Code: "57014"}},
	} {
		for _, err := range list {
			if e, known := explain(fmt.Errorf("query queue: %w", err)); e.Status != want || known {
				t.Errorf("%v: %d, known %v", err, e.Status, known)
			}
		}
	}
}

// A writer that lost every race is told to ask again.
func TestAWriterThatWasNeverFirst(t *testing.T) {
	e, known := explain(fmt.Errorf("add: %w", &eventlog.BusyError{Tries: 16, Conflict: &eventlog.ConflictError{Subject: "s"}}))
	if e.Status != http.StatusServiceUnavailable || e.Next != "ask again" || !known {
		t.Errorf("%+v, known %v", e, known)
	}
}
