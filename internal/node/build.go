package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/logfiles"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/projector"
)

// The directory in which a new log is made, and the file in it that says that the log is whole and may be put in place.
const (
	buildDir     = "log.repair"
	verifiedFile = "verified.json"
)

// tip is the end of a log.
type tip struct {
	Last  events.Seq
	Chain projector.Hash
	ID    string
}

// verified is what the file says.
type verified struct {
	Report LogReport `json:"report"`
	ID     string    `json:"event_id"`
}

// build makes a log beside the one of the data directory and puts it in place. It may end at any moment: before the new log is
// verified, the old one is where it was, and the next build begins anew; after that, resume goes on.
type build struct {
	*Host
	// step is called before each step that changes what is there; tests end the build in it.
	step func(name string) error
}

func (b build) dir() string { return b.data().Path(buildDir) }

func (b build) before(step string) error {
	if b.step == nil {
		return nil
	}
	return b.step(step)
}

// interrupted refuses a data directory in which a build was not put in place to its end.
func interrupted(d datadir.Dir) error {
	if _, err := os.Stat(d.Path(buildDir, verifiedFile)); err == nil {
		return refuse("a repair of the log, or a restore, was interrupted when it put the new log in place: run `tacho log repair` again, which ends it")
	}
	return nil
}

// make makes and verifies the log. records calls its argument with each event, and returns the end.
func (b build) make(ctx context.Context, identity string, records func(add func(logfiles.Record) error) (tip, error)) (end tip, err error) {
	if err := b.before("begin"); err != nil {
		return end, err
	}
	if err := os.RemoveAll(b.dir()); err != nil {
		return end, err
	}
	// A server makes the stream as every start does. Then the files get the events, with the times that no client can set.
	if err := b.with(ctx, func(*jetstream.Log) error { return nil }); err != nil {
		return end, fmt.Errorf("make the new log: %w", err)
	}
	if err := b.before("fill"); err != nil {
		return end, err
	}
	store := logfiles.In(b.dir())
	w, err := store.Write(0)
	if err == nil {
		err = store.SetIdentity(identity)
	}
	if err != nil {
		return end, fmt.Errorf("make the new log: %w", err)
	}
	if end, err = records(w.Add); err != nil {
		return end, err
	}
	if err := w.Close(); err != nil {
		return end, fmt.Errorf("write the new log: %w", err)
	}
	if err := b.before("verify"); err != nil {
		return end, err
	}
	err = b.with(ctx, func(l *jetstream.Log) error { return b.verify(ctx, l, identity, end) })
	if err != nil {
		return end, fmt.Errorf("verify the new log: %w", err)
	}
	return end, nil
}

// with runs f on the log of a server in the directory of the build.
func (b build) with(ctx context.Context, f func(*jetstream.Log) error) error {
	s, err := natsserver.Start(natsserver.Config{Dir: b.dir(), Log: b.Logger})
	if err != nil {
		return err
	}
	defer s.Shutdown()
	nc, err := s.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	l, err := jetstream.Open(ctx, nc, b.logConfig())
	if err != nil {
		return explainOpen(err)
	}
	return f(l)
}

// verify reads the new log as every reader does. The chain covers every byte of every event.
func (b build) verify(ctx context.Context, l *jetstream.Log, identity string, want tip) error {
	head, err := l.Head(ctx)
	if err != nil {
		return err
	}
	if head.Identity != identity || head.Last != want.Last {
		return fmt.Errorf("it is %s with %d events, want %s with %d", head.Identity, head.Last, identity, want.Last)
	}
	var at tip
	say := b.progress("verify")
	for at.Last < want.Last {
		page, err := l.Page(ctx, at.Last)
		if err != nil {
			return err
		}
		for _, e := range page {
			at = tip{Last: e.Seq, Chain: projector.Chain(at.Chain, e), ID: e.Header[events.HeaderID]}
		}
		say(at.Last, want.Last)
	}
	if at != want {
		return fmt.Errorf("its chain ends with %s, want %s", at.Chain, want.Chain)
	}
	return nil
}

// place puts the verified log where the old one is, and fills in the report.
func (b build) place(end tip, report *LogReport) error {
	report.Repaired = true
	there, err := logfiles.In(b.data().Path("log")).Exists()
	if err != nil {
		return err
	}
	if there {
		report.Aside = b.data().Path("log.damaged-" + b.Clock().UTC().Format("20060102T150405Z"))
		_, err := os.Stat(report.Aside)
		if err == nil {
			return refuse("%s is there from an earlier repair, and is never overwritten: run the command again a second later", report.Aside)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	text, err := json.Marshal(verified{*report, end.ID})
	if err != nil {
		return err
	}
	if err := b.before("sign"); err != nil {
		return err
	}
	if err := b.data().Write(filepath.Join(buildDir, verifiedFile), string(text)); err != nil {
		return err
	}
	if err := logfiles.SyncDir(b.dir()); err != nil {
		return err
	}
	ended, err := b.resume()
	if err == nil && ended == nil {
		err = errors.New("the verified log is gone")
	}
	return err
}

// resume puts a verified log in place, from whichever step on. It returns nil if there is none.
func (b build) resume() (*LogReport, error) {
	text, err := os.ReadFile(filepath.Join(b.dir(), verifiedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var v verified
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return nil, fmt.Errorf("read how far the last repair came: %w", err)
	}
	made, log := logfiles.In(b.dir()), logfiles.In(b.data().Path("log"))
	waits, err := made.Exists()
	if err != nil {
		return nil, err
	}
	if waits {
		if err := b.swap(string(made), string(log), v.Report.Aside); err != nil {
			return nil, err
		}
	}
	if err := b.before("remember"); err != nil {
		return nil, err
	}
	if err := keepSeen(b.data(), seen{Identity: v.Report.Identity, Last: v.Report.Last, ID: v.ID, At: b.Clock().UTC()}); err != nil {
		return nil, err
	}
	// What the scrub found was in the old log.
	if err := os.Remove(b.data().Path(scrubFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := b.before("tidy"); err != nil {
		return nil, err
	}
	// Without the file nothing goes on here, so the file goes first.
	if err := os.Remove(filepath.Join(b.dir(), verifiedFile)); err != nil {
		return nil, err
	}
	return &v.Report, os.RemoveAll(b.dir())
}

// swap moves the old files aside and the new ones in their place. Only the log itself is exchanged: the outputs of jobs and what
// they printed stay.
func (b build) swap(made, log, aside string) error {
	if aside != "" {
		to := filepath.Join(aside, filepath.Base(log))
		_, err := os.Stat(to)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := b.before("aside"); err != nil {
				return err
			}
			if err := os.MkdirAll(aside, 0o700); err != nil {
				return err
			}
			if err := rename(log, to); err != nil {
				return fmt.Errorf("put the old log aside: %w", err)
			}
		case err != nil:
			return err
		}
	}
	if err := b.before("place"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(log), 0o750); err != nil {
		return err
	}
	if err := rename(made, log); err != nil {
		return fmt.Errorf("put the new log in place: %w", err)
	}
	return nil
}

// rename renames and waits until the disk has it.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(logfiles.SyncDir(filepath.Dir(from)), logfiles.SyncDir(filepath.Dir(to)))
}

// logConfig says how the log is kept.
func (h *Host) logConfig() jetstream.Config {
	c := h.Config
	return jetstream.Config{
		Replicas: c.NATS.Replicas, MaxBytes: c.NATS.MaxBytes, AckWait: c.Collector.AckWait.Std(), BeatTTL: c.Scheduler.OfflineAfter.Std(),
	}
}
