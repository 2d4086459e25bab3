package projector_test

import (
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// Postgres says that its disk is full: the projector says so and waits, readers go on, and once there is room it goes on by
// itself and has lost nothing. The answer of Postgres is real, the full disk behind it is a trigger.
func TestAFullDatabaseIsWaitedFor(t *testing.T) {
	url := database(t)
	log := walk(t, 7, 300)
	feed := newFeed("log", log[:100]...)
	said := make(chan string, 100)
	p := start(t, projector.Config{Log: feed, URL: url, BatchSize: 50, Logger: slog.New(slog.DiscardHandler), Full: func(why string) {
		select {
		case said <- why:
		default:
		}
	}})
	r := open(t, url)
	p.await(t, r, 100)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device' USING ERRCODE = '53100'; END $$`)
	live, err := readmodel.Live(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	exec(`CREATE TRIGGER no_room BEFORE INSERT ON ` + string(live) + `.event FOR EACH STATEMENT EXECUTE FUNCTION public.no_room()`)
	feed.add(log[100:200]...)
	for why := range said {
		if why != "" {
			t.Log(why)
			break
		}
	}
	if c, err := r.Cursor(t.Context()); err != nil || c.Seq != 100 {
		t.Errorf("the tables are at %d (%v)", c.Seq, err)
	}
	exec(`DROP TRIGGER no_room ON ` + string(live) + `.event`)
	feed.add(log[200:]...)
	p.await(t, r, 300)
	for why := "?"; why != ""; {
		why = <-said
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	verify(t, feed, url)
}
