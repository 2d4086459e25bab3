package projector_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/events"
)

// TestBatchIsOneTransaction checks what the writing relies on: the statements of one pgx.Batch take effect
// together or not at all, and Close reports an error that only the commit finds.
func TestBatchIsOneTransaction(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `SET search_path TO tacho_g1`); err != nil {
		t.Fatal(err)
	}
	place := `INSERT INTO queue VALUES ($1, $2, 0, 'first', true)`
	for name, second := range map[string]string{
		"23505": "r1",   // one request at two places: a deferred constraint, seen by the commit
		"23502": "null", // a column without value: seen by the statement
	} {
		b := &pgx.Batch{}
		b.Queue(place, 1, "r1")
		if second == "null" {
			b.Queue(place, 2, nil)
		} else {
			b.Queue(place, 2, second)
		}
		err := conn.SendBatch(t.Context(), b).Close()
		var answer *pgconn.PgError
		if !errors.As(err, &answer) || answer.Code != name {
			t.Errorf("got %v, want %s", err, name)
		}
		var n int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM queue`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows stayed, %v", n, err)
		}
	}
}

// unspeakable tells facts with names that no table can hold.
func (w *walker) unspeakable() {
	facts := []events.Fact{
		events.JobFinished{Lane: lanes[0], JobID: "j\x00", Outcome: events.Success},
		events.JobDequeued{Lane: lanes[0], Job: events.JobSpec{ID: "j\x00"}},
		events.RequestExpired{RequestID: "r\x00"},
		events.DeliveryReceived{Hook: "7\x00", Delivery: "d"},
		events.DeliveryHandled{Hook: "7\x00", Delivery: "d", Outcome: events.DeliveryIgnored},
		events.CommentWanted{Key: "k\x00", Revision: 1},
		events.CommentAttempted{Key: "k\x00", Revision: 1},
	}
	w.tell(facts[w.r.IntN(len(facts))])
}
