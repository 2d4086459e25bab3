package projector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/ledger"
)

// Whatever stands in the log, in whatever order: the tables are the same in one batch, in many and after each restart, and
// they say of each job what the ledger says.
func TestAnyLogAgreesWithTheTables(t *testing.T) {
	shapes := hostile.ShapesIn(t, "../events/testdata")
	shapes.Hashed = true
	shapes.Unparked()
	shapes.EachLog(t, projector.AnyTables, 120, func(t *testing.T, log []events.Stored) {
		url := project(t, log, 1000)
		want := contents(t, url)
		for _, other := range []string{project(t, log, 1), restarted(t, log)} {
			if diff := cmp.Diff(want, contents(t, other)); diff != "" {
				t.Fatalf("in one batch (-) and in many (+):\n%s", diff)
			}
		}
		if why := disagree(t, log, url); why != "" {
			t.Error(why)
		}
	})
}

// restarted folds a log with a new projector after each few events.
func restarted(t testing.TB, log []events.Stored) string {
	t.Helper()
	url := database(t)
	r := open(t, url)
	for n := 20; n <= len(log); n += 20 {
		p := start(t, projector.Config{Log: newFeed("log", log[:n]...), URL: url})
		p.await(t, r, events.Seq(n))
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
	}
	return url
}

// disagree says in words where the ledger and the tables differ about a job; empty if they do not.
func disagree(t testing.TB, log []events.Stored, url string) string {
	l := ledger.New()
	parks, err := parksIn(log)
	if err != nil {
		t.Fatal(err)
	}
	l.Obey(parks)
	for _, m := range log {
		if _, err := l.Take(m); err != nil {
			t.Fatal(err)
		}
	}
	jobs, err := open(t, url).Jobs(t.Context(), readmodel.JobFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var why []string
	for _, j := range jobs {
		if state := l.StateOf(j.ID); state != j.State {
			why = append(why, fmt.Sprintf("job %s is %s in the tables, and %q in the ledger", j.ID, j.State, state))
		}
	}
	return strings.Join(why, "\n")
}
