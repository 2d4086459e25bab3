package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/logfiles"
	"github.com/tachobench/tacho/projector"
)

// BackupFile holds the events in the directory of a backup. Beside it is what the data directory knows by itself.
const BackupFile = "events.jsonl.gz"

// keptDir holds the files of the data directory.
const keptDir = "data"

// kept are the files of a data directory that a backup takes along; a directory with all of its files.
var kept = []string{"token", datadir.PortFile, "credentials"}

// Backup describes a backup, or what a restore made of one; a restore does not say the chain.
type Backup struct {
	Identity string     `json:"identity"`
	Events   events.Seq `json:"events"`
	Chain    string     `json:"chain,omitempty"`
	// Dir is where the backup is, or the data directory that was restored.
	Dir string `json:"dir"`
	// Files are the files of the data directory in it.
	Files []string `json:"files"`
}

// Backup writes a backup into a new directory. events writes the events; it is nil if no Tacho runs on the data directory, which
// is then read here.
func (h *Host) Backup(ctx context.Context, dir string, running func(context.Context, io.Writer) error) (b Backup, err error) {
	if err := emptyDir(dir); err != nil {
		return b, err
	}
	// A backup that was not finished has another name.
	partial := filepath.Join(dir, BackupFile+".partial")
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return b, fmt.Errorf("make the backup: %w", err)
	}
	defer func() { err = errors.Join(err, ignoreClosed(f.Close())) }()
	if running == nil {
		running = h.backupOwn
	}
	if err := running(ctx, f); err != nil {
		return b, err
	}
	// What was written is read again.
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return b, err
	}
	r, err := projector.ReadBackup(f)
	if err != nil {
		return b, err
	}
	end, err := r.Each(func(events.Stored) error { return ctx.Err() })
	if err != nil {
		return b, err
	}
	b = Backup{Identity: end.Identity, Events: end.Last, Chain: end.Chain.String(), Dir: dir}
	if h.Config.Server == "" && h.Config.NATS.URL == "" {
		if b.Files, err = copyKept(string(h.data()), filepath.Join(dir, keptDir)); err != nil {
			return b, err
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return b, err
	}
	return b, rename(partial, filepath.Join(dir, BackupFile))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// backupOwn writes the events of a log that no Tacho on this machine uses.
func (h *Host) backupOwn(ctx context.Context, to io.Writer) error {
	k, done, err := h.ownLog(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	if err := k.startDatabase(ctx, h); err != nil {
		return err
	}
	if err := h.migrate(ctx, k.databaseURL); err != nil {
		return err
	}
	return h.writeBackup(ctx, k, to)
}

func (h *Host) writeBackup(ctx context.Context, k *core, to io.Writer) error {
	if err := h.checkTables(ctx, k); err != nil {
		return err
	}
	a, err := projector.OpenArchive(ctx, k.databaseURL)
	if err != nil {
		return err
	}
	defer a.Close()
	_, err = projector.WriteBackup(ctx, to, k.log, a, h.progress("backup"))
	return err
}

// emptyDir makes a directory; one that holds anything is refused.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of the backup: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return refuse("%s is not empty: name a new directory for the backup", dir)
	}
	return nil
}

// copyKept copies the kept files from one directory into another, and returns their names.
func copyKept(from, to string) (names []string, err error) {
	for _, name := range kept {
		err := filepath.WalkDir(filepath.Join(from, name), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !e.Type().IsRegular() || strings.HasSuffix(path, ".lock") || strings.HasPrefix(e.Name(), ".new-") {
				return err
			}
			inside, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			names = append(names, inside)
			return datadir.Dir(to).Write(inside, string(text))
		})
		if err != nil {
			return names, fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return names, nil
}

// Restore makes an empty data directory that of a backup. The tables are not in a backup: the next start, or a replay, fills
// them from the log.
func (h *Host) Restore(ctx context.Context, dir string) (b Backup, err error) {
	return h.restore(ctx, dir, nil)
}

func (h *Host) restore(ctx context.Context, dir string, step func(string) error) (b Backup, err error) {
	if h.Config.NATS.URL != "" {
		return b, refuse("a backup is restored into a data directory, and nats.url names a cluster: leave it out; docs/repair.md says how the log then gets to a cluster")
	}
	from, err := os.Open(filepath.Join(dir, BackupFile))
	if errors.Is(err, fs.ErrNotExist) {
		return b, refuse("%s holds no whole backup: it has no file %s", dir, BackupFile)
	}
	if err != nil {
		return b, err
	}
	defer from.Close()
	if err := h.data().Make(); err != nil {
		return b, err
	}
	unlock, err := h.data().Own()
	if err != nil {
		return b, err
	}
	defer unlock()
	work := build{Host: h, step: step}
	if err := work.unused(); err != nil {
		return b, err
	}
	report, err := work.resume()
	if err != nil {
		return b, err
	}
	there, err := logfiles.In(h.data().Path("log")).Exists()
	if err != nil {
		return b, err
	}
	if report == nil && !there {
		if err := work.fromBackup(ctx, from); err != nil {
			return b, err
		}
	}
	last := lastSeen(h.data())
	b = Backup{Identity: last.Identity, Events: last.Last, Dir: string(h.data())}
	if err := work.before("files"); err != nil {
		return b, err
	}
	b.Files, err = copyKept(filepath.Join(dir, keptDir), string(h.data()))
	if err != nil {
		return b, err
	}
	return b, os.Remove(h.data().Path(restoringFile))
}

// restoringFile is in a data directory from the first to the last step of a restore.
const restoringFile = "restoring"

// unused refuses a directory that has been used for anything but this restore.
func (b build) unused() error {
	if _, err := os.Stat(b.data().Path(restoringFile)); err == nil {
		return nil
	}
	entries, err := os.ReadDir(string(b.data()))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name != "lock" {
			return refuse("the data directory %s is in use: it has %s; restore into an empty one, named with --data", b.data(), name)
		}
	}
	return b.data().Write(restoringFile, "`tacho restore` did not end here: run it again\n")
}

// fromBackup makes the log of a backup.
func (b build) fromBackup(ctx context.Context, from io.Reader) error {
	r, err := projector.ReadBackup(from)
	if err != nil {
		return err
	}
	end, err := b.make(ctx, r.Identity(), func(add func(logfiles.Record) error) (tip, error) {
		end, err := r.Each(func(s events.Stored) error { return errors.Join(ctx.Err(), add(logfiles.RecordOf(s))) })
		return tip{Last: end.Last, Chain: end.Chain, ID: end.ID}, err
	})
	if err != nil {
		return err
	}
	return b.place(end, &LogReport{Identity: r.Identity(), Last: end.Last, Chain: end.Chain.String()})
}
