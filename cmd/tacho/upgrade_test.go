package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A new program that folds the log in another way than the old one fills the tables anew from the log, by itself.
func TestAnUpgradeFillsTheTablesAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	s.must("request", "master", "v1", "--wait")
	if err := s.up.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	s.eventually("tacho up ends", 30*time.Second, func() bool { return syscall.Kill(s.up.Process.Pid, 0) != nil })

	s.inTables(func(conn *pgx.Conn) {
		// Another version left other rows, and its number.
		for _, sql := range []string{"UPDATE tacho_g1.projection_cursor SET version = version - 1", "DELETE FROM tacho_g1.result", "DELETE FROM tacho_g1.queue"} {
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
	})

	s.start()
	s.eventually("the tables are filled anew", 30*time.Second, func() bool { return strings.Contains(s.log.String(), "the tables are filled anew") })
	s.must("request", "master", "v2", "--parent", "v1", "--wait")
	if out := s.must("replay", "--verify"); !strings.Contains(out, "identical") {
		t.Error(out)
	}
	if out := s.must("compare", "v1", "v2"); !strings.Contains(out, "wall-time") {
		t.Error(out)
	}
}
