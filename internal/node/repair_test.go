package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/logfiles"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// install is a data directory with an embedded log, and a database. Nothing runs on it between the steps of a test.
type install struct {
	*Host
	t *testing.T
	// want is the log as it was before anything was harmed; chain, its last link.
	want  []events.Stored
	chain projector.Hash
}

// newInstall makes a log of so many events. The tables have all but those in late.
func newInstall(t *testing.T, count, late int) *install {
	t.Helper()
	return newInstallOn(t, newHost(t, pgtest.New(t, "migrated", readmodel.Migrate)), count, late)
}

func newInstallOn(t *testing.T, h *Host, count, late int) *install {
	t.Helper()
	i := &install{t: t, Host: h}
	i.grow(count)
	i.project()
	i.grow(late)
	i.want = i.read()
	for _, e := range i.want {
		i.chain = projector.Chain(i.chain, e)
	}
	return i
}

func newHost(t *testing.T, database string) *Host {
	t.Helper()
	h := &Host{Config: config.Default(filepath.Join(t.TempDir(), "data")), Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Say: t.Logf}
	h.Config.NATS.Listen, h.Config.Database.URL, h.Config.StartWait = "", database, config.Duration(10*time.Second)
	if err := h.data().Make(); err != nil {
		t.Fatal(err)
	}
	return h
}

// with runs f with the opened log, and writes down what was seen, as a Tacho that runs does.
func (i *install) with(f func(k *core)) {
	i.t.Helper()
	k, done, err := i.ownLog(i.t.Context(), false)
	if err != nil {
		i.t.Fatal(err)
	}
	defer done()
	k.databaseURL = i.Config.Database.URL
	f(k)
	if err := k.remember(i.t.Context(), i.data(), &seen{}, time.Now()); err != nil {
		i.t.Fatal(err)
	}
}

func (i *install) grow(n int) {
	i.t.Helper()
	if n == 0 {
		return
	}
	i.with(func(k *core) { grow(i.t, k, n) })
}

func grow(t *testing.T, k *core, n int) {
	t.Helper()
	subject := events.AlertSubject("a")
	last, _, err := k.log.Last(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	part := eventlog.Append{Subject: subject, Expected: last.Seq}
	for m := range n {
		fact := events.Fact(events.AlertRaised{Key: "a", Kind: events.AlertStalled, Message: fmt.Sprintf("fact %d.%s", m, strings.Repeat("x", 200))})
		part.Events = append(part.Events, eventlog.NewEvent(fact, eventlog.Meta{Source: "test", Actor: "test"}, time.Now()))
	}
	if _, err := k.log.Append(t.Context(), part); err != nil {
		t.Fatal(err)
	}
}

// project fills the tables from the log.
func (i *install) project() {
	i.t.Helper()
	i.with(func(k *core) {
		head, err := k.log.Head(i.t.Context())
		if err != nil {
			i.t.Fatal(err)
		}
		ctx, stop := context.WithCancel(i.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- projector.New(projector.Config{Log: k.log, URL: k.databaseURL}).Run(ctx) }()
		reader, err := readmodel.OpenPools(ctx, k.databaseURL, readmodel.Patient(5*time.Minute))
		if err != nil {
			i.t.Fatal(err)
		}
		defer reader.Close()
		if err := reader.WaitFor(ctx, head.Last); err != nil {
			i.t.Error(err)
		}
		stop()
		if err := <-ended; err != nil {
			i.t.Error(err)
		}
	})
}

// read returns the whole log.
func (i *install) read() (all []events.Stored) {
	i.t.Helper()
	i.with(func(k *core) {
		for {
			page, err := k.log.Page(i.t.Context(), events.Seq(len(all)))
			if err != nil {
				i.t.Fatal(err)
			}
			if len(page) == 0 {
				return
			}
			all = append(all, page...)
		}
	})
	return all
}

// start does what `tacho up` does before it writes or answers anything.
func (i *install) start() error {
	k, done, err := i.ownLog(i.t.Context(), false)
	if err != nil {
		return err
	}
	defer done()
	k.databaseURL = i.Config.Database.URL
	return i.checkTables(i.t.Context(), k)
}

func (i *install) log(parts ...string) string {
	return filepath.Join(append([]string{i.data().Path("log", "jetstream", "$G", "streams", "EVENTS")}, parts...)...)
}

func (i *install) change(file string, f func([]byte) []byte) {
	i.t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, f(text), 0o600)
	}
	if err != nil {
		i.t.Fatal(err)
	}
}

func (i *install) ok(err error) {
	i.t.Helper()
	if err != nil {
		i.t.Fatal(err)
	}
}

// wantRepaired repairs, and then everything is as before, up to the event last: the same events at the same times, the same chain,
// the same tables, and the log goes on.
func (i *install) wantRepaired(last int) LogReport {
	i.t.Helper()
	report, err := i.RepairLog(i.t.Context())
	i.ok(err)
	if !report.Repaired || report.Last != events.Seq(last) {
		i.t.Errorf("repaired: %+v", report)
	}
	i.wantWhole(last)
	return report
}

func (i *install) wantWhole(last int) {
	i.t.Helper()
	i.wantEvents(last)
	i.project()
	verified, err := i.Replay(i.t.Context(), ReplayOptions{Verify: true})
	if err != nil || !verified.Identical() {
		i.t.Errorf("replay --verify: %+v %v", verified, err)
	}
	again, err := i.CheckLog(i.t.Context())
	if err != nil || !again.Whole() || again.Last != events.Seq(last) {
		i.t.Errorf("after the repair: %+v %v", again, err)
	}
	i.grow(2)
}

func (i *install) wantEvents(last int) {
	i.t.Helper()
	i.ok(i.start())
	got := i.read()
	// The archive knows times to the microsecond; so does the chain.
	for n, e := range got {
		if want := i.want[n]; !e.StoredAt.Equal(want.StoredAt) {
			e.StoredAt, want.StoredAt = e.StoredAt.Truncate(time.Microsecond), want.StoredAt.Truncate(time.Microsecond)
			got[n], i.want[n] = e, want
		}
	}
	if want := i.want[:last]; !cmp.Equal(got, want) {
		i.t.Errorf("the repaired log differs:\n%s", cmp.Diff(want, got))
	}
	var chain projector.Hash
	for _, e := range got {
		chain = projector.Chain(chain, e)
	}
	if last == len(i.want) && chain != i.chain {
		i.t.Errorf("the chain is %s, want %s", chain, i.chain)
	}
}

// Each harm is refused before anything is written or answered, with the right place and what to do. Then it is repaired.
func TestAHarmedLogIsRefusedAndRepaired(t *testing.T) {
	for _, c := range []struct {
		name string
		late int
		harm func(*install)
		says []string
		last int
	}{
		{"a flipped byte", 5, func(i *install) {
			i.change(i.log("msgs", "1.blk"), func(b []byte) []byte { b[bytes.Index(b, []byte("fact 7."))] ^= 1; return b })
		}, []string{"event 8 (alert.a)", "1.blk, byte "}, 45},
		{"a cut log", 0, func(i *install) {
			i.change(i.log("msgs", "1.blk"), func(b []byte) []byte { return b[:len(b)/2+9] })
			i.ok(os.Remove(i.log("msgs", "index.db")))
		}, []string{"ends at event 20, and event 40 was there", "1.blk, byte "}, 40},
		{"a cut log whose end only the files had", 5, func(i *install) {
			i.change(i.log("msgs", "1.blk"), func(b []byte) []byte { return b[:len(b)-10] })
		}, []string{"ends at event 44, and event 45 was there"}, 44},
		{"a removed log", 0, func(i *install) { i.ok(os.RemoveAll(i.data().Path("log"))) }, []string{"is gone: event 40 was there"}, 40},
		{"a removed description", 5, func(i *install) { i.ok(os.Remove(i.log("meta.inf"))) }, []string{"meta.inf", "event 1 and all after it"}, 40},
		{"the log of another Tacho", 5, func(i *install) {
			other := newInstall(i.t, 60, 0)
			i.ok(os.RemoveAll(i.data().Path("log")))
			i.ok(os.CopyFS(i.data().Path("log"), os.DirFS(other.data().Path("log"))))
		}, []string{"is another one: it is EVENTS@"}, 40},
		{"an older copy", 5, func(i *install) { i.older(nil) }, []string{"ends at event 40, and event 45 was there"}, 40},
		{"an older copy that went on", 5, func(i *install) {
			i.older(func() {
				i.ok(os.Remove(i.data().Path(seenFile)))
				i.grow(30)
			})
		}, []string{"has another event 45"}, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := newInstall(t, 40, 0)
			if c.late > 0 {
				// The copy of the older log is made in between.
				i.ok(os.CopyFS(i.data().Path("copy"), os.DirFS(i.data().Path("log"))))
				i.grow(c.late)
				i.want = i.read()
				for _, e := range i.want[40:] {
					i.chain = projector.Chain(i.chain, e)
				}
			}
			c.harm(i)
			var refused *DamagedError
			if err := i.start(); !errors.As(err, &refused) {
				t.Fatalf("it started: %v", err)
			}
			for _, words := range append(c.says, "Nothing was written, and nothing is served", "tacho log repair") {
				if !strings.Contains(refused.Error(), words) {
					t.Errorf("%q does not say %q", refused, words)
				}
			}
			checked, err := i.CheckLog(t.Context())
			if err != nil || checked.Whole() {
				t.Errorf("check: %+v %v", checked, err)
			}
			report := i.wantRepaired(c.last)
			if lost := 40 + c.late - c.last; lost > 0 && (report.Lost == nil || *report.Lost != Span{events.Seq(c.last + 1), events.Seq(40 + c.late)}) {
				t.Errorf("lost %+v, want the last %d", report.Lost, lost)
			} else if lost == 0 && report.Lost != nil {
				t.Errorf("lost %+v, want nothing", report.Lost)
			}
			if again, err := i.RepairLog(t.Context()); err != nil || again.Repaired {
				t.Errorf("a whole log was repaired: %+v %v", again, err)
			}
		})
	}
}

// older puts the copy in the place of the log; then does what happens in the meantime, without what was seen.
func (i *install) older(meanwhile func()) {
	i.t.Helper()
	i.ok(os.RemoveAll(i.data().Path("log")))
	i.ok(os.Rename(i.data().Path("copy"), i.data().Path("log")))
	if meanwhile == nil {
		return
	}
	was := lastSeen(i.data())
	meanwhile()
	i.ok(keepSeen(i.data(), was))
}

// The archive is the only copy of what an older log lacks: a replay replaces it only when told to.
func TestAReplayForgetsOnlyWhenTold(t *testing.T) {
	i := newInstall(t, 10, 0)
	i.ok(os.CopyFS(i.data().Path("copy"), os.DirFS(i.data().Path("log"))))
	i.grow(5)
	i.project()
	i.older(nil)
	var refused *DamagedError
	_, err := i.Replay(t.Context(), ReplayOptions{})
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "tacho replay --forget") {
		t.Fatalf("it was not refused, or does not say what to do: %v", err)
	}
	report, err := i.Replay(t.Context(), ReplayOptions{Forget: true})
	if err != nil || report.Seq != 10 {
		t.Fatalf("forgotten: %+v %v", report, err)
	}
	i.ok(i.start())
}

// A record that was not written to its end when the power went was not acknowledged: the log starts, and goes on.
func TestATornEndIsNoDamage(t *testing.T) {
	i := newInstall(t, 10, 0)
	i.change(i.log("msgs", "1.blk"), func(b []byte) []byte { return append(b, b[:50]...) })
	i.wantWhole(10)
}

var errDied = errors.New("died")

// A repair dies before each of its steps. Run again, it ends, and the old files are in one place as they were.
func TestARepairThatDiesIsEndedByTheNext(t *testing.T) {
	for _, step := range []string{"fill", "sign", "aside", "place", "remember", "tidy"} {
		t.Run(step, func(t *testing.T) {
			i := newInstall(t, 8, 2)
			i.change(i.log("msgs", "1.blk"), func(b []byte) []byte { b[100] ^= 1; return b })
			harmed, err := os.ReadFile(i.log("msgs", "1.blk"))
			i.ok(err)
			reached := false
			_, err = i.repair(t.Context(), func(at string) error {
				if at != step {
					return nil
				}
				reached = true
				return errDied
			})
			if !errors.Is(err, errDied) || !reached {
				t.Fatalf("reached %t: %v", reached, err)
			}
			if err := i.start(); err == nil {
				t.Error("a Tacho starts on a log whose repair did not end")
			}
			report, err := i.RepairLog(t.Context())
			if err != nil || !report.Repaired {
				t.Errorf("the second repair: %+v %v", report, err)
			}
			i.wantEvents(10)
			if old, err := os.ReadFile(filepath.Join(report.Aside, "EVENTS", "msgs", "1.blk")); err != nil || !bytes.Equal(old, harmed) {
				t.Errorf("the old files are not aside: %v", err)
			}
		})
	}
}

// A repair is refused if the archive cannot help, and changes nothing.
func TestARepairThatCannotHelpIsRefused(t *testing.T) {
	i := newInstall(t, 8, 0)
	i.change(i.log("msgs", "1.blk"), func(b []byte) []byte { b[100] ^= 1; return b })
	harmed, err := os.ReadFile(i.log("msgs", "1.blk"))
	i.ok(err)
	own := i.Config.Database.URL
	other := newInstall(t, 20, 0)
	for what, c := range map[string]struct{ url, says string }{
		"an empty archive":             {pgtest.New(t, "migrated", readmodel.Migrate), "is empty"},
		"the archive of another Tacho": {other.Config.Database.URL, "is of another log"},
	} {
		i.Config.Database.URL = c.url
		var refused *control.RefusedError
		if _, err := i.RepairLog(t.Context()); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	i.Config.Database.URL = own
	if now, err := os.ReadFile(i.log("msgs", "1.blk")); err != nil || !bytes.Equal(now, harmed) {
		t.Errorf("the log was changed: %v", err)
	}
	i.wantRepaired(8)
}

// A backup is restored into an empty directory, from whichever step a first try died at; the tables come from the log.
func TestABackupIsRestored(t *testing.T) {
	i := newInstall(t, 30, 3)
	_, err := i.data().Token()
	i.ok(err)
	dir := filepath.Join(t.TempDir(), "backup")
	made, err := i.Backup(t.Context(), dir, nil)
	if err != nil || made.Events != 33 || made.Chain != i.chain.String() {
		t.Fatalf("%+v %v", made, err)
	}
	var refused *control.RefusedError
	if _, err := i.Backup(t.Context(), dir, nil); !errors.As(err, &refused) {
		t.Errorf("a second backup in one directory: %v", err)
	}
	if _, err := i.Restore(t.Context(), dir); !errors.As(err, &refused) || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("a restore into a directory in use: %v", err)
	}
	for _, step := range []string{"verify", "place", "files", ""} {
		t.Run("died at "+step, func(t *testing.T) {
			to := &install{t: t, Host: newHost(t, i.Config.Database.URL), want: i.want, chain: i.chain}
			if step != "" {
				_, err := to.restore(t.Context(), dir, func(at string) error {
					if at == step {
						return errDied
					}
					return nil
				})
				if !errors.Is(err, errDied) {
					t.Fatal(err)
				}
				if err := to.start(); err == nil {
					t.Error("a Tacho starts on a directory whose restore did not end")
				}
			}
			restored, err := to.Restore(t.Context(), dir)
			if err != nil || restored.Events != 33 || restored.Identity != made.Identity {
				t.Fatalf("%+v %v", restored, err)
			}
			if to.data().KnownToken() != i.data().KnownToken() {
				t.Error("the token is another one")
			}
			to.Config.Database.URL = pgtest.New(t, "migrated", readmodel.Migrate)
			if step == "" {
				to.wantWhole(33)
				return
			}
			to.wantEvents(33)
		})
	}
}

// A backup that is cut or changed is refused with its place, and nothing is restored.
func TestADamagedBackupIsRefused(t *testing.T) {
	i := newInstall(t, 30, 0)
	dir := filepath.Join(t.TempDir(), "backup")
	_, err := i.Backup(t.Context(), dir, nil)
	i.ok(err)
	file := filepath.Join(dir, BackupFile)
	whole, err := os.ReadFile(file)
	i.ok(err)
	for what, text := range map[string][]byte{
		"cut": whole[:len(whole)/2], "flipped": append(append(bytes.Clone(whole[:900]), whole[900]^4), whole[901:]...), "no gzip": []byte("{}"), "empty": nil,
	} {
		i.ok(os.WriteFile(file, text, 0o600))
		to := newHost(t, "")
		var where *projector.BackupError
		if _, err := to.Restore(t.Context(), dir); !errors.As(err, &where) || where.Line == 0 {
			t.Errorf("%s: %v", what, err)
		}
		if there, err := logfiles.In(to.data().Path("log")).Exists(); err != nil || there {
			t.Errorf("%s: a log was put in place (%v)", what, err)
		}
	}
	i.ok(os.Remove(file))
	if _, err := newHost(t, "").Restore(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "holds no whole backup") {
		t.Errorf("a backup that was not finished: %v", err)
	}
}
