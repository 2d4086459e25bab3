package projector_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgserver"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// TestPostgresIsKilled kills the server of a projector and starts it again: the projector says that it waits,
// and continues without losing or repeating anything.
func TestPostgresIsKilled(t *testing.T) {
	t.Parallel()
	// Nothing waits for the disk: the server forgets some of what readers have seen.
	t.Run("live", func(t *testing.T) { killedIn(t, 3, 150, 0) })
	t.Run("behind", func(t *testing.T) { killedIn(t, 200, 500, 200) })
}

// killedIn kills the server twice, each time after the projector was given so many events and has done the first of them.
func killedIn(t *testing.T, size, given, done int) {
	dir, err := os.MkdirTemp("", "tacho-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server := startServer(t, dir)
	log := walk(t, 6, 3*given)
	feed := newFeed("log", log[:given]...)
	said := &warnings{first: make(chan struct{})}
	if err := readmodel.Migrate(t.Context(), server.URL()); err != nil {
		t.Fatal(err)
	}
	p := start(t, projector.Config{Log: feed, URL: server.URL(), BatchSize: size, Logger: slog.New(said)})
	reach(t, p, server.URL(), events.Seq(given))

	for _, end := range []int{2 * given, 3 * given} {
		feed.add(log[end-given : end-1]...) // the server dies somewhere in these
		reach(t, p, server.URL(), events.Seq(end-given+done))
		killServer(t, dir)
		<-server.Done()
		feed.add(log[end-1]) // or else before this one
		said.await(t)
		server = startServer(t, dir)
		reach(t, p, server.URL(), events.Seq(end))
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	verify(t, feed, server.URL())
}

func startServer(t testing.TB, dir string) *pgserver.Server {
	t.Helper()
	s, err := pgserver.Start(t.Context(), pgserver.Config{Dir: filepath.Join(dir, "pg")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func killServer(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "pg", "*", "postmaster.pid"))
	if err != nil || len(found) != 1 {
		t.Fatal("no server runs: ", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// reach waits until the tables hold the event. It uses a connection of its own.
func reach(t *testing.T, p *running, url string, seq events.Seq) {
	t.Helper()
	p.await(t, open(t, url), seq)
}

// warnings notes that the projector warned of something lost.
type warnings struct {
	slog.Handler
	mu    sync.Mutex
	first chan struct{}
}

func (w *warnings) Enabled(context.Context, slog.Level) bool { return true }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(r.Message, "lost Postgres") {
		select {
		case <-w.first:
		default:
			close(w.first)
		}
	}
	return nil
}

// await waits for a warning, and from then on for the next one.
func (w *warnings) await(t *testing.T) {
	t.Helper()
	select {
	case <-w.first:
	case <-time.After(patience):
		t.Fatal("the projector did not say that Postgres is away")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first = make(chan struct{})
}
