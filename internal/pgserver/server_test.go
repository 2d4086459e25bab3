package pgserver

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// start starts a server and stops it at the end of the test.
func start(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{Dir: dir, Fast: true, Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func exec1(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func query[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var v T
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func wantFact(t *testing.T, s *Server, want string) {
	t.Helper()
	if got := query[string](t, s.URL(), "SELECT what FROM fact"); got != want {
		t.Errorf("fact = %q, want %q", got, want)
	}
}

func writeFact(t *testing.T, url, what string) {
	t.Helper()
	exec1(t, url, "CREATE TABLE fact AS SELECT '"+what+"' AS what")
}

// eventually waits until ok says yes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(2 * time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within 2 min", what)
		}
	}
}

func waitDone(t *testing.T, s *Server) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the child has not ended within 2 min")
	}
}

// pidOf reads the number of the server's process from its pid file.
func pidOf(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	return parsePID(b)
}

func TestRestartKeepsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "postgres")
	before := runtime.NumGoroutine()

	s := start(t, dir)
	writeFact(t, s.URL(), "kept")
	if got := query[string](t, s.URL(), "SHOW listen_addresses"); got != "" {
		t.Errorf("listens on %q, want no address", got)
	}
	got := map[string]string{
		"user":     query[string](t, s.URL(), "SELECT current_user::text"),
		"encoding": query[string](t, s.URL(), "SHOW server_encoding"),
		"collate":  query[string](t, s.URL(), "SELECT datcollate FROM pg_database WHERE datname = current_database()"),
	}
	if diff := cmp.Diff(map[string]string{"user": "tacho", "encoding": "UTF8", "collate": "C"}, got); diff != "" {
		t.Error(diff)
	}
	stop(t, s)
	waitDone(t, s)
	if err := s.Err(); err != nil {
		t.Errorf("Err after Stop = %v, want nil", err)
	}
	if left := residents(filepath.Join(dir, "data")); len(left) != 0 {
		t.Errorf("processes left after Stop: %v", left)
	}
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before })

	wantFact(t, start(t, dir), "kept")
}

func TestKilledServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	writeFact(t, s.URL(), "kept")
	if err := syscall.Kill(pidOf(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitDone(t, s)
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "killed") || !strings.Contains(err.Error(), "ready to accept") {
		t.Errorf("Err = %v, want the signal and the log's last lines", err)
	}
	wantFact(t, start(t, dir), "kept")
	stop(t, s) // after the end it is nothing
}

func TestStopInAHurry(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
	waitDone(t, s)
}

// The thread that calls Start may end at any time. The server must not take that for the caller's death.
func TestServerOutlivesTheCallersThread(t *testing.T) {
	var s *Server
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		s, err = Start(context.Background(), Config{Dir: t.TempDir(), Fast: true})
	}()
	<-done
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	if got := query[int](t, s.URL(), "SELECT 1"); got != 1 {
		t.Errorf("SELECT 1 = %d", got)
	}
}

func TestSecondOwnerIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	_, err := Start(t.Context(), Config{Dir: dir, Fast: true})
	if err == nil || !strings.Contains(err.Error(), "another Tacho (process "+strconv.Itoa(os.Getpid())+")") {
		t.Fatalf("second Start: %v, want a refusal that names the owner", err)
	}
	if got := query[int](t, s.URL(), "SELECT 1"); got != 1 {
		t.Errorf("SELECT 1 = %d: the first server was disturbed", got)
	}
}

func TestCanceledStartLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Start(ctx, Config{Dir: dir, Fast: true, Progress: func(line string) {
		if strings.HasPrefix(line, "starting") {
			cancel()
		}
	}})
	if err == nil {
		t.Fatal("Start succeeded although its context ended")
	}
	if left := residents(filepath.Join(dir, "data")); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
	start(t, dir)
}

func TestUnfinishedClusterIsRemoved(t *testing.T) {
	dir := t.TempDir()
	half := filepath.Join(dir, unfinished+"1")
	if err := os.MkdirAll(filepath.Join(half, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
	if _, err := os.Stat(half); err == nil {
		t.Error("the unfinished cluster is still there")
	}
}

func TestLongPathGetsAShortSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 20), strings.Repeat("path", 20))
	s := start(t, dir)
	if got := query[int](t, s.URL(), "SELECT 1"); got != 1 {
		t.Errorf("SELECT 1 = %d", got)
	}
	short, err := os.Readlink(filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(short); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("socket directory: %v, %v; want mode 0700", st, err)
	}
	stop(t, s)
	if _, err := os.Stat(short); err == nil {
		t.Errorf("%s is left after Stop", short)
	}
	again := start(t, dir)
	if again.URL() != s.URL() {
		t.Errorf("the address was %s and is %s", s.URL(), again.URL())
	}
	if got := query[string](t, again.URL(), "SELECT current_database()::text"); got != "tacho" {
		t.Errorf("database = %q, want tacho", got)
	}
}

// The path of a socket stays the same for one directory, and no two share it.
func TestEachDirectoryHasItsShortSocket(t *testing.T) {
	parent := t.TempDir()
	first, err := makeShort(parent, "/a")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := makeShort(parent, "/a"); err != nil || again != first {
		t.Errorf("the same directory has %s and %s, %v", first, again, err)
	}
	if other, err := makeShort(parent, "/b"); err != nil || other == first {
		t.Errorf("two directories have %s and %s, %v", first, other, err)
	}
}

func TestRefusals(t *testing.T) {
	otherMajor := t.TempDir()
	if err := os.MkdirAll(filepath.Join(otherMajor, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(otherMajor, "data", "PG_VERSION"), []byte("9.6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		config Config
		want   []string
	}{
		"wrong binaries": {Config{Dir: t.TempDir(), BinDir: "/nowhere"}, []string{"TACHO_PG_BIN names /nowhere", "unset it"}},
		"other major":    {Config{Dir: otherMajor}, []string{"made by PostgreSQL 9.6", "TACHO_PG_BIN", "tacho replay"}},
		"no directory":   {Config{}, []string{"needs a directory"}},
		"a file":         {Config{Dir: file}, []string{file}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), tc.config)
			if err == nil {
				t.Fatal("Start succeeded")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}
