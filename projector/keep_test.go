package projector_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
)

// said is what a projector logged.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) logger() *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }

// await waits until the text was logged.
func (s *said) await(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		s.mu.Lock()
		all := s.text.String()
		s.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it did not say %q:\n%s", text, all)
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
	var second said
	first := begin(t, projector.New(projector.Config{Log: newFeed("log", log[:200]...), URL: url, Shared: true}).Keep)
	first.await(t, r, 200)
	waits := begin(t, projector.New(projector.Config{Log: newFeed("log", log...), URL: url, Shared: true, Logger: second.logger()}).Keep)
	second.await(t, "another projector writes the tables")
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
