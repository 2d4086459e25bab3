package pgserver

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A kept server that is killed comes back at the same address with what it had, also if its path is too long for a socket.
func TestAKeptServerComesBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 25), "postgres")
	k, err := Keep(t.Context(), Config{Dir: dir, Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		k.Stop()
	})
	url := k.URL()
	writeFact(t, url, "kept")
	for range 2 {
		before := k.current()
		if err := syscall.Kill(pidOf(t, dir), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waitDone(t, before)
		eventually(t, "it answers again", func() bool {
			conn, err := pgx.Connect(t.Context(), url)
			return err == nil && conn.Close(t.Context()) == nil
		})
		if got := query[string](t, url, "SELECT what FROM fact"); got != "kept" {
			t.Errorf("got %q", got)
		}
	}
}
