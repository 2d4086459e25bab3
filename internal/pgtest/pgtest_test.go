package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/internal/scratch"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// run runs one statement that returns one number.
func run(ctx context.Context, url, sql string) (n int, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, sql).Scan(&n)
	return n, errors.Join(err, conn.Close(ctx))
}

// runs counts the runs of tests that need a new template each time: a process keeps each template to its end.
var runs atomic.Int32

func TestEachTestHasItsOwnCopy(t *testing.T) {
	facts := fmt.Sprintf("facts%d", runs.Add(1))
	var prepared atomic.Int32
	prepare := func(ctx context.Context, url string) error {
		prepared.Add(1)
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "CREATE TABLE fact (n int); INSERT INTO fact VALUES (1)")
		return errors.Join(err, conn.Close(ctx))
	}
	t.Run("tests", func(t *testing.T) {
		for i := range 6 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				url := New(t, facts, prepare)
				if _, err := run(t.Context(), url, "INSERT INTO fact VALUES (2) RETURNING n"); err != nil {
					t.Fatal(err)
				}
				if sum, err := run(t.Context(), url, "SELECT sum(n)::int FROM fact"); err != nil || sum != 3 {
					t.Errorf("sum = %d, %v; want 3: the template's row and this test's", sum, err)
				}
			})
		}
	})
	if n := prepared.Load(); n != 1 {
		t.Errorf("prepared %d times, want once", n)
	}
}

func TestDatabaseIsDroppedWithGuests(t *testing.T) {
	var url string
	t.Run("a test that leaves a connection", func(t *testing.T) {
		url = New(t, "empty", nil)
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		parent := context.WithoutCancel(t.Context())
		t.Cleanup(func() { _ = conn.Close(parent) }) // runs before the drop; another one stays:
		if _, err := pgx.Connect(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := run(t.Context(), url, "SELECT 1"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("after the test: %v, want no such database", err)
	}
}

func TestFailedTemplateFailsEveryTest(t *testing.T) {
	s, err := binary.get()
	if err != nil {
		t.Fatal(err)
	}
	name, calls := fmt.Sprintf("broken%d", runs.Add(1)), 0
	broken := func(context.Context, string) error { calls++; return errors.New("no such migration") }
	for range 2 {
		if _, err := s.template(name, broken); err == nil || !strings.Contains(err.Error(), "no such migration") {
			t.Errorf("template = %v, want the failure", err)
		}
	}
	if calls != 1 {
		t.Errorf("prepared %d times, want once", calls)
	}
}

// TestOutsideServer runs this package's tests again, in a process that uses this process's server.
func TestOutsideServer(t *testing.T) {
	if os.Getenv("TACHO_TEST_DATABASE_URL") != "" {
		return // this is that process
	}
	url := New(t, "outside", nil)
	tmp := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.v")
	cmd.Env = append(os.Environ(), "TACHO_TEST_DATABASE_URL="+url, "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestEachTestHasItsOwnCopy") {
		t.Fatalf("with an outside server: %v\n%s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(tmp, scratch.Prefix+"*")); err != nil || len(left) != 0 {
		t.Errorf("it had a server of its own: %v, %v", left, err)
	}
	s, err := binary.get()
	if err != nil {
		t.Fatal(err)
	}
	left, err := run(t.Context(), url,
		"SELECT count(*)::int FROM pg_database WHERE datname LIKE 'tacho\\_test\\_%' AND datname NOT LIKE '"+s.words+"%'")
	if err != nil || left != 0 {
		t.Errorf("%d databases of the other process are left, %v", left, err)
	}
}

func TestWithoutMain(t *testing.T) {
	var b shared
	if _, err := b.get(); err == nil || !strings.Contains(err.Error(), "func TestMain") {
		t.Errorf("get = %v, want the line to write", err)
	}
}

func TestOutsideNameIsChecked(t *testing.T) {
	for _, wrong := range []string{"host=/tmp dbname=x", "mysql://x", "%"} {
		if err := new(server).name(wrong); err == nil {
			t.Errorf("name(%q) succeeded", wrong)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(b, "empty", nil)
	}
}
