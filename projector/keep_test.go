package projector_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/transcript"
	"github.com/tachobench/tacho/projector"
)

// awaitText waits until the text was logged.
func awaitText(t *testing.T, said *transcript.Buffer, text string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !strings.Contains(said.String(), text) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it did not say %q:\n%s", text, said)
		}
	}
}

func TestKeepFillsOutdatedTablesAnew(t *testing.T) {
	log := walk(t, 2, 200)
	url := project(t, log[:150], 1000)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{"UPDATE tacho_g1.projection_cursor SET version = version - 1", "DELETE FROM tacho_g1.queue"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	r := open(t, url)
	if err := start(t, projector.Config{Log: newFeed("log", log...), URL: url}).wait(t); !errors.Is(err, projector.ErrTablesOutdated) {
		t.Fatalf("Run takes the tables of another version: %v", err)
	}
	p := begin(t, projector.New(projector.Config{Log: newFeed("log", log...), URL: url}).Keep)
	p.await(t, r, events.Seq(len(log)))
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	verify(t, newFeed("log", log...), url)
}

// The second projector of one database writes nothing until the first one has ended, and then goes on.
func TestKeepWaitsForItsTurn(t *testing.T) {
	log := walk(t, 3, 300)
	url := database(t)
	r := open(t, url)
	var second transcript.Buffer
	first := begin(t, projector.New(projector.Config{Log: newFeed("log", log[:200]...), URL: url, Shared: true}).Keep)
	first.await(t, r, 200)
	waits := begin(t, projector.New(projector.Config{Log: newFeed("log", log...), URL: url, Shared: true, Logger: slog.New(slog.NewTextHandler(&second, nil))}).Keep)
	awaitText(t, &second, "another projector writes the tables")
	checkSeq(t, r, 200)
	if err := first.stop(); err != nil {
		t.Error(err)
	}
	waits.await(t, r, events.Seq(len(log)))
	if err := waits.stop(); err != nil {
		t.Error(err)
	}
	verify(t, newFeed("log", log...), url)
}
