package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/logfiles"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/projector"
)

// seenFile is beside the log, so that a log that is exchanged does not take it along.
const seenFile = "log.seen"

// seenEvery is how often the end of the log is written down.
const seenEvery = time.Second

// leaderLag is how long a new leader of a cluster may be behind.
const leaderLag = 5 * time.Second

// seen is the end of the embedded log as this installation saw it last.
type seen struct {
	Identity string     `json:"identity"`
	Last     events.Seq `json:"last"`
	// ID is the id of the last event.
	ID string    `json:"event_id"`
	At time.Time `json:"at"`
}

// lastSeen returns what was seen last. A file that cannot be read says nothing: the tables know the same.
func lastSeen(d datadir.Dir) (s seen) {
	if json.Unmarshal([]byte(d.Read(seenFile)), &s) != nil {
		return seen{}
	}
	return s
}

func keepSeen(d datadir.Dir, s seen) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return d.Write(seenFile, string(text)+"\n")
}

// remember writes down how far the embedded log is until ctx ends. It asks the log when the ledger has read on since.
func (p *parts) remember(ctx context.Context) error {
	before := lastSeen(p.data())
	for ctx.Err() == nil {
		if at, _ := p.shell.Position(); at != before.Last {
			if err := p.core.remember(ctx, p.data(), &before, p.Clock()); err != nil && ctx.Err() == nil {
				p.Logger.Warn("the end of the log could not be written down", "error", err)
			}
		}
		retry.Together(ctx, seenEvery)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return p.core.remember(last, p.data(), &before, p.Clock())
}

func (k *core) remember(ctx context.Context, d datadir.Dir, before *seen, now time.Time) error {
	head, err := k.log.Head(ctx)
	if err != nil || head.Last == 0 || head.Last == before.Last && head.Identity == before.Identity {
		return err
	}
	last, ok, err := k.log.EventAt(ctx, head.Last)
	if err != nil || !ok {
		return err
	}
	s := seen{Identity: head.Identity, Last: head.Last, ID: last.Header[events.HeaderID], At: now.UTC()}
	if err := keepSeen(d, s); err != nil {
		return err
	}
	*before = s
	return nil
}

// DamagedError says that the log must not be used as it is.
type DamagedError struct {
	// What is wrong, as a sentence without its end. Next is what to do.
	What, Next string
	// Places are where, as far as that is known.
	Places []logfiles.Damage
}

func (e *DamagedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Nothing was written, and nothing is served.", e.What)
	const most = 3
	for i, d := range e.Places {
		if i == most {
			fmt.Fprintf(&b, "\n  and %d more places", len(e.Places)-most)
			break
		}
		fmt.Fprintf(&b, "\n  %v", d)
	}
	fmt.Fprintf(&b, "\n%s", e.Next)
	return b.String()
}

const (
	checkFirst   = "See all of it with `tacho log check`, and restore the log from the archive in the database with `tacho log repair`; docs/repair.md tells more."
	repairOrKeep = checkFirst + " If this log is the right one and the database may forget what it has beyond it, run `tacho replay --forget` instead."
)

// checkFiles looks at the files of the embedded log before a server does. With accept, the log may be another one than before,
// or shorter: a replay makes the tables of what is there.
func (h *Host) checkFiles(ctx context.Context, accept bool) error {
	d := h.data()
	if _, err := os.Stat(d.Path(restoringFile)); err == nil {
		return refuse("`tacho restore` did not end on %s: run it again, which ends it", d)
	}
	if err := interrupted(d); err != nil {
		return err
	}
	before := lastSeen(d)
	found, err := logfiles.In(d.Path("log")).Look(ctx, logfiles.FullBytes, before.Last)
	if err != nil {
		return fmt.Errorf("look at the files of the log: %w", err)
	}
	h.Logger.DebugContext(ctx, "the files of the log were checked", "events", found.Last, "files", found.Files, "bytes", found.Read, "whole", found.Whole)
	if len(found.Damage) > 0 {
		return &DamagedError{What: "the log in " + d.Path("log") + " is damaged", Places: found.Damage, Next: checkFirst}
	}
	if accept {
		return nil
	}
	return changed(d.Path("log"), before, found)
}

// changed compares the files with what was seen last.
func changed(where string, before seen, found logfiles.Found) error {
	was := fmt.Sprintf("event %d was there at %s", before.Last, before.At.Format(time.RFC3339))
	switch {
	case before.Last == 0:
		return nil
	case found.Identity == "":
		return &DamagedError{What: fmt.Sprintf("the log in %s is gone: %s", where, was), Next: checkFirst}
	case found.Identity != before.Identity:
		return &DamagedError{What: fmt.Sprintf("the log in %s is another one: it is %s, and it was %s", where, found.Identity, before.Identity), Next: repairOrKeep}
	case found.Last < before.Last:
		e := &DamagedError{What: fmt.Sprintf("the log in %s ends at event %d, and %s: it was cut, or is an older copy", where, found.Last, was), Next: repairOrKeep}
		if found.Torn != nil {
			e.Places = append(e.Places, *found.Torn)
		}
		return e
	case found.ID != "" && found.ID != before.ID:
		return &DamagedError{What: fmt.Sprintf("the log in %s has another event %d than at %s: it is an older copy that went on without Tacho",
			where, before.Last, before.At.Format(time.RFC3339)), Next: repairOrKeep}
	}
	return nil
}

// checkTables compares the log with the tables: the archive's last link must fit the log's event at that place.
func (h *Host) checkTables(ctx context.Context, k *core) error {
	if k.databaseURL == "" {
		return nil
	}
	a, err := projector.OpenArchive(ctx, k.databaseURL)
	if err != nil {
		return fmt.Errorf("compare the log with the tables: %w", err)
	}
	defer a.Close()
	// A new leader of a cluster may be behind the one before it for a moment.
	began := time.Now()
	err = projector.Agree(ctx, k.log, a)
	for h.Config.NATS.URL != "" && errors.Is(err, projector.ErrLogRegressed) && time.Since(began) < leaderLag {
		retry.Sleep(ctx, tryEvery)
		err = projector.Agree(ctx, k.log, a)
	}
	if err == nil || !projector.Disagrees(err) {
		return err
	}
	return &DamagedError{What: fmt.Sprintf("the log is not the one that the tables were made of, or not all of it: %v", err), Next: repairOrKeep}
}

// refused is what a log says that is not contiguous.
func refused(err error) error {
	if err == nil || !projector.Disagrees(err) {
		return err
	}
	return errors.Join(&DamagedError{What: fmt.Sprintf("the log is damaged: %v", err), Next: checkFirst}, err)
}
