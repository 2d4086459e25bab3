package website

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/eventlog"
)

func TestWhatIsFullIsSaidWithWhatToDo(t *testing.T) {
	e, known := explain(fmt.Errorf("publish: %w", &eventlog.FullError{Why: "its disk is full", Next: "free some"}))
	if !known || e.Status != http.StatusInsufficientStorage || e.Message != "the log takes no more events: its disk is full" || !strings.HasPrefix(e.Next, "free some; then ask again") {
		t.Errorf("the log: %t %+v", known, e)
	}
	e, known = explain(fmt.Errorf("sort: %w", &pgconn.PgError{Code: "53100"}))
	if known || e.Status != http.StatusInsufficientStorage || !strings.Contains(e.Message, "Postgres is full") || e.Next == "" {
		t.Errorf("Postgres: %t %+v", known, e)
	}
}
