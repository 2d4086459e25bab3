package node

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/time/rate"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// scrubbing returns parts that have a scrub, which the test drives.
func (i *install) scrubbing(k *core) *scrub {
	i.t.Helper()
	ctx, stop := context.WithCancel(i.t.Context())
	p := newParts(ctx, i.Host, k, "")
	stop() // nothing runs by itself
	p.scrubs()
	i.ok(p.group.Wait())
	return p.scrub
}

func (i *install) alert(k *core) (raised events.AlertRaised, cleared bool) {
	i.t.Helper()
	last, ok, err := k.log.Last(i.t.Context(), events.AlertSubject("damaged"))
	i.ok(err)
	if ok {
		raised, _ = last.Fact.(events.AlertRaised)
		_, cleared = last.Fact.(events.AlertCleared)
	}
	return raised, cleared
}

// A byte flips under a running Tacho. The scrub finds it, names it on /readyz and in an alert, and the log goes on. What it found
// is known after a restart too. Once the log is repaired, the next pass over all of it clears the alert.
func TestTheScrubFindsAFlippedByte(t *testing.T) {
	h := newHost(t, pgtest.New(t, "migrated", readmodel.Migrate))
	h.Config.NATS.MaxBytes = 127_000 // small blocks: the server keeps the last one in memory, and reads the others again
	i := newInstallOn(t, h, 130, 0)
	i.with(func(k *core) {
		f, err := os.OpenFile(i.log("msgs", "1.blk"), os.O_RDWR, 0)
		i.ok(err)
		defer f.Close()
		text, err := os.ReadFile(f.Name())
		i.ok(err)
		_, err = f.WriteAt([]byte("X"), int64(strings.Index(string(text), "fact 7.")))
		i.ok(err)
		s := i.scrubbing(k)
		if c := s.check(t.Context()); !c.OK {
			t.Errorf("before: %+v", c)
		}
		i.ok(s.pass(t.Context()))
		c := s.check(t.Context())
		for _, words := range []string{"event 8 (alert.a)", "1.blk, byte ", "tacho log repair"} {
			if c.OK || !strings.Contains(c.Detail, words) {
				t.Errorf("%+v does not say %q", c, words)
			}
		}
		if raised, _ := i.alert(k); raised.Kind != events.AlertDamaged || !strings.Contains(raised.Message, "event 8") || !strings.Contains(raised.Action, "tacho log repair") {
			t.Errorf("the alert is %+v", raised)
		}
		if at := s.scrubbed(); at.Of != 130 || at.Found == "" {
			t.Errorf("the status says %+v", at)
		}
		if c := i.scrubbing(k).check(t.Context()); c.OK {
			t.Error("after a restart nothing is known of it")
		}
	})
	if err := i.start(); err == nil {
		t.Error("the next start took the log")
	}
	_, err := i.RepairLog(t.Context())
	i.ok(err)
	i.project()
	i.with(func(k *core) {
		s := i.scrubbing(k)
		i.ok(s.pass(t.Context()))
		if c := s.check(t.Context()); !c.OK {
			t.Errorf("after the repair: %+v", c)
		}
		if _, cleared := i.alert(k); !cleared {
			t.Error("the alert stands")
		}
	})
}

// The archive can be the damaged one. Then the log is right, and a replay makes the archive anew.
func TestTheScrubBlamesTheArchive(t *testing.T) {
	i := newInstall(t, 40, 0)
	conn, err := pgx.Connect(t.Context(), i.Config.Database.URL)
	i.ok(err)
	_, err = conn.Exec(t.Context(), "UPDATE tacho_g1.event SET data = 'x' WHERE seq = 8; UPDATE tacho_g1.event SET chain = sha256('x') WHERE seq = 9")
	i.ok(err)
	i.ok(conn.Close(t.Context()))
	i.with(func(k *core) {
		s := i.scrubbing(k)
		i.ok(s.pass(t.Context()))
		if c := s.check(t.Context()); c.OK || !strings.Contains(c.Detail, "event 9") || !strings.Contains(c.Detail, "tacho replay") {
			t.Errorf("%+v", c)
		}
	})
	_, err = i.Replay(t.Context(), ReplayOptions{})
	i.ok(err)
	i.with(func(k *core) {
		s := i.scrubbing(k)
		i.ok(s.pass(t.Context()))
		if c := s.check(t.Context()); !c.OK {
			t.Errorf("after the replay: %+v", c)
		}
	})
}

// The scrub goes on where it was, at its pace.
func TestTheScrubKeepsItsPlaceAndItsPace(t *testing.T) {
	i := newInstall(t, 700, 0)
	i.with(func(k *core) {
		s := i.scrubbing(k)
		bytes := 0
		a, err := projector.OpenArchive(t.Context(), k.databaseURL)
		i.ok(err)
		defer a.Close()
		_, err = projector.Audit{Log: k.log, Archive: a, Found: func(f projector.Finding) { t.Errorf("found %+v", f) }, Read: func(_ context.Context, _ events.Seq, n int) error {
			bytes += n
			return nil
		}}.Run(t.Context(), 0, 700)
		i.ok(err)
		// Half of it at once, and the other half in half a second.
		s.pace = rate.NewLimiter(rate.Limit(bytes), bytes/2)
		began := time.Now()
		i.ok(s.pass(t.Context()))
		if took := time.Since(began); took < 300*time.Millisecond {
			t.Errorf("it took %s, which is too quick", took)
		}
		head, err := k.log.Head(t.Context())
		i.ok(err)
		text, err := json.Marshal(scrubPlace{Identity: head.Identity, At: 650, Began: time.Now()})
		i.ok(err)
		i.ok(i.data().Write(scrubFile, string(text)))
		again := i.scrubbing(k)
		if at := again.scrubbed(); at.At != 650 {
			t.Errorf("it goes on at %+v", at)
		}
		read := again.pace.Tokens()
		i.ok(again.pass(t.Context()))
		if used := read - again.pace.Tokens(); used > float64(bytes)/5 {
			t.Errorf("it read %.0f bytes of %d again", used, bytes)
		}
	})
}
