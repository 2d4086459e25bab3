package door

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// wall holds the given connections and counts the cuts.
type wall struct {
	all []Connection
	cut int
}

func (w *wall) Connections() ([]Connection, error) { return append([]Connection(nil), w.all...), nil }

func (w *wall) Disconnect(Connection) error { w.cut++; return nil }

// shelf is a ledger that is never updated.
type shelf struct {
	*ledger.Ledger
	current bool
}

func (s *shelf) View(look func(*ledger.Ledger)) { look(s.Ledger) }

func (s *shelf) Newer() *events.NewerError { return nil }

func (s *shelf) Position() (events.Seq, bool) { return s.Seq, s.current }

func (s *shelf) Wait(context.Context, events.Seq) error { return nil }

// recorded returns a fact in its stored form.
func recorded(t *testing.T, seq events.Seq, f events.Fact) events.Stored {
	t.Helper()
	s, err := events.Encode(eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, noon))
	if err != nil {
		t.Fatal(err)
	}
	s.Seq, s.StoredAt = seq, noon
	return s
}

// A core that starts beside a running cluster has not yet read that a key was rotated: it must not cut the new key.
func TestNobodyIsCutBeforeTheLogIsRead(t *testing.T) {
	w := &wall{all: []Connection{
		{ID: 1, Account: "eider", Key: "NEW"}, {ID: 2, Account: "eider", Key: "OLD"}, {ID: 3, Account: "somebody", Key: "ELSE"},
	}}
	g := NewGuard(DefaultBounds(), func() time.Time { return noon })
	l := &shelf{Ledger: ledger.New()}
	g.Learn(l)
	d := New(Config{Guard: g, Wall: w, Metrics: NewMetrics(nil), Logger: slog.New(slog.DiscardHandler)})
	steps := []struct {
		what    string
		event   events.Fact
		current bool
		cut     int
	}{
		{"the log is being read", events.CollectorRegistered{Name: "eider", Target: "linux", NKey: "OLD"}, false, 0},
		{"it is read", events.CollectorKeyRotated{Name: "eider", NKey: "NEW"}, true, 1},
		{"the collector is removed", events.CollectorRemoved{Name: "eider"}, true, 2},
	}
	for i, step := range steps {
		if _, err := l.Take(recorded(t, events.Seq(i+1), step.event)); err != nil {
			t.Fatal(err)
		}
		l.current = step.current
		w.cut = 0
		d.sweep()
		if w.cut != step.cut {
			t.Errorf("%s: %d connections are cut, want %d", step.what, w.cut, step.cut)
		}
		w.cut = 0
		d.weigh(map[place]Connection{})
		if w.cut != step.cut {
			t.Errorf("%s, at the next look: %d connections are cut, want %d", step.what, w.cut, step.cut)
		}
	}
}
