package node

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/logfiles"
	"github.com/tachobench/tacho/projector"
)

// LogReport says what a check of the log found, or what a repair did.
type LogReport struct {
	// Identity is the log. Last is its last event that is whole, with all before it; Chain is the link there.
	Identity string     `json:"identity"`
	Last     events.Seq `json:"last"`
	Chain    string     `json:"chain"`
	// Archive is the last event in the archive.
	Archive events.Seq `json:"archive"`
	// FromFiles and FromArchive are how many events are whole in the files, and how many in the archive alone.
	FromFiles   int `json:"from_files"`
	FromArchive int `json:"from_archive"`
	// Damage is what is wrong.
	Damage []logfiles.Damage `json:"damage,omitempty"`
	// Lost are events that were there once and are nowhere any more; nil if there are none.
	Lost *Span `json:"lost,omitempty"`
	// Aside is where a repair left the files of before; empty if it did nothing.
	Aside string `json:"aside,omitempty"`
	// Repaired says that a repair put a new log in place.
	Repaired bool `json:"repaired"`
}

// Span is events that follow one another.
type Span struct {
	First events.Seq `json:"first"`
	Last  events.Seq `json:"last"`
}

// Whole reports whether nothing is wrong.
func (r LogReport) Whole() bool { return len(r.Damage) == 0 && r.Lost == nil }

// merging takes each event from the files if they have it whole, and else from the archive. The links of the archive say what is
// whole.
type merging struct {
	archive *projector.Archive
	store   logfiles.Store
	before  seen
	// take is called with each event, in order; nil for none.
	take func(logfiles.Record) error
	say  func(at, of events.Seq)

	report LogReport
	link   projector.Hash
	// id is that of the last event.
	id string
	// diverged is the first event that the files have whole and otherwise than the archive.
	diverged events.Seq
	// elsewhere is an event behind the archive that is not the one that was seen; 0 if there is none.
	elsewhere events.Seq
	matched   bool
	// highest is the last event in the files.
	highest events.Seq
}

var errStopped = errors.New("stopped")

func (m *merging) run(ctx context.Context) error {
	m.report.Identity, m.report.Archive = m.archive.Identity, m.archive.Last
	if err := m.compareSeen(ctx); err != nil {
		return err
	}
	var found logfiles.Found
	var scanErr error
	next, stop := iter.Pull(func(yield func(logfiles.Record) bool) {
		found, scanErr = m.store.Scan(ctx, func(r logfiles.Record) error {
			if !yield(r) {
				return errStopped
			}
			return nil
		})
	})
	defer stop()
	r, ok := next()
	advance := func(to events.Seq) {
		for ok && r.Seq < to {
			m.highest = max(m.highest, r.Seq)
			r, ok = next()
		}
	}
	for at := events.Seq(0); at < m.archive.Last; {
		page, err := m.archive.Events(ctx, at)
		if err != nil {
			return err
		}
		for _, kept := range page {
			advance(kept.Seq)
			have := &r
			if !ok || r.Seq != kept.Seq {
				have = nil
			}
			if err := m.one(have, kept); err != nil {
				return err
			}
			at = kept.Seq
		}
		m.say(at, m.archive.Last)
	}
	advance(m.archive.Last + 1)
	for sameLog := m.continues(); ok && sameLog && r.Seq == m.report.Last+1; r, ok = next() {
		e, err := r.Event()
		if err != nil {
			break
		}
		if err := m.add(r, projector.Chain(m.link, e), e.Header[events.HeaderID]); err != nil {
			return err
		}
		m.report.FromFiles++
	}
	for ok {
		m.highest = max(m.highest, r.Seq)
		r, ok = next()
	}
	if scanErr != nil {
		return scanErr
	}
	m.conclude(found)
	return nil
}

// compareSeen finds out whether the files have what was seen last. If not, nothing that they have behind the archive is taken.
func (m *merging) compareSeen(ctx context.Context) error {
	if m.before.Last <= m.archive.Last {
		return nil // the archive tells more
	}
	found, err := m.store.Look(ctx, logfiles.FullBytes, m.before.Last)
	if err == nil && found.Identity == m.before.Identity && found.ID != "" && found.ID != m.before.ID {
		m.elsewhere = m.before.Last
	}
	return err
}

// one takes one event that the archive has.
func (m *merging) one(have *logfiles.Record, kept projector.Archived) error {
	if have != nil {
		if e, err := have.Event(); err == nil && projector.Chain(m.link, e) == kept.Link {
			m.matched = true
			m.report.FromFiles++
			return m.add(*have, kept.Link, e.Header[events.HeaderID])
		}
	}
	if projector.Chain(m.link, kept.Stored) != kept.Link {
		return &projector.ArchiveError{Seq: kept.Seq, What: "its hash is wrong, and the files of the log do not have the event either: restore a backup with `tacho restore`"}
	}
	if have != nil && m.diverged == 0 {
		m.diverged = kept.Seq
	}
	m.report.FromArchive++
	return m.add(logfiles.RecordOf(kept.Stored), kept.Link, kept.Header[events.HeaderID])
}

func (m *merging) add(r logfiles.Record, link projector.Hash, id string) error {
	m.link, m.report.Last, m.id = link, r.Seq, id
	if m.take == nil {
		return nil
	}
	return m.take(r)
}

// continues reports whether what the files have behind the archive is of the same log.
func (m *merging) continues() bool {
	identity, err := m.store.Identity()
	same := err == nil && (m.archive.Identity == "" || identity == m.archive.Identity)
	if m.archive.Identity == "" {
		m.report.Identity = identity
	}
	return same && m.diverged == 0 && m.elsewhere == 0 && (m.matched || m.archive.Last == 0)
}

// conclude says what is wrong and what is lost.
func (m *merging) conclude(found logfiles.Found) {
	m.report.Chain = m.link.String()
	m.report.Damage = found.Damage
	if identity := found.Identity; identity != "" && m.report.Identity != identity {
		m.damage(logfiles.Damage{First: 1, File: string(m.store), What: "the files are of another log, " + identity})
	} else if m.diverged != 0 {
		m.damage(logfiles.Damage{First: m.diverged, File: string(m.store), What: "the files have another event than the archive, whose hash is right"})
	}
	if m.elsewhere != 0 {
		m.damage(logfiles.Damage{First: m.archive.Last + 1, File: string(m.store), What: fmt.Sprintf("the files have another event %d than was seen, so nothing behind the archive is taken", m.elsewhere)})
	}
	if m.highest = max(m.highest, found.Last); found.Last < m.archive.Last && len(found.Damage) == 0 {
		d := logfiles.Damage{First: found.Last + 1, Last: m.archive.Last, File: string(m.store), What: "the files end before it"}
		if found.Torn != nil {
			d.File, d.Offset, d.Subject = found.Torn.File, found.Torn.Offset, found.Torn.Subject
		}
		m.damage(d)
	}
	known := events.Seq(0)
	if m.before.Identity == m.report.Identity {
		known = m.before.Last
	}
	if found.Identity == m.report.Identity && m.diverged == 0 && m.elsewhere == 0 {
		known = max(known, m.highest)
	}
	if known > m.report.Last {
		m.report.Lost = &Span{m.report.Last + 1, known}
	}
}

func (m *merging) damage(d logfiles.Damage) { m.report.Damage = append(m.report.Damage, d) }

// merge reads files and archive, and calls take with each event of the whole log.
func (h *Host) merge(ctx context.Context, a *projector.Archive, take func(logfiles.Record) error) (*merging, error) {
	m := &merging{
		archive: a, store: logfiles.In(h.data().Path("log")), before: lastSeen(h.data()), take: take,
		say: h.progress("log"),
	}
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// progress returns what says from time to time how far something is.
func (h *Host) progress(what string) func(at, of events.Seq) {
	said := time.Now()
	return func(at, of events.Seq) {
		if time.Since(said) >= 2*time.Second {
			said = time.Now()
			h.Say("%-10s %d of %d events", what, at, of)
		}
	}
}

// withArchive runs f with the archive and no log: nothing else runs on the data directory, and no NATS server reads it.
func (h *Host) withArchive(ctx context.Context, f func(*projector.Archive) error) error {
	if h.Config.NATS.URL != "" {
		return &control.RefusedError{Kind: control.Invalid, Reason: "this is for the embedded log of a data directory, and nats.url names a cluster: see docs/repair.md for the log of a cluster"}
	}
	unlock, err := h.data().Own()
	if err != nil {
		return err
	}
	defer unlock()
	k := &core{}
	defer k.close()
	if err := k.startDatabase(ctx, h); err != nil {
		return err
	}
	if err := h.migrate(ctx, k.databaseURL); err != nil {
		return err
	}
	a, err := projector.OpenArchive(ctx, k.databaseURL)
	if err != nil {
		return err
	}
	defer a.Close()
	return f(a)
}

// CheckLog compares all of the log with the archive: the files of a data directory that no Tacho uses, or the log of a cluster.
func (h *Host) CheckLog(ctx context.Context) (report LogReport, err error) {
	if h.Config.NATS.URL != "" {
		err = h.withLog(ctx, func(k *core) error {
			report, err = h.audit(ctx, k, h.progress("check"))
			return err
		})
		return report, err
	}
	err = h.withArchive(ctx, func(a *projector.Archive) error {
		m, err := h.merge(ctx, a, nil)
		if err == nil {
			report = m.report
		}
		return err
	})
	return report, err
}

// RepairLog puts a whole log in the place of a damaged one, and leaves the old files aside. It changes nothing if the log is
// whole.
func (h *Host) RepairLog(ctx context.Context) (LogReport, error) { return h.repair(ctx, nil) }

func (h *Host) repair(ctx context.Context, step func(string) error) (report LogReport, err error) {
	err = h.withArchive(ctx, func(a *projector.Archive) error {
		b := build{Host: h, step: step}
		if ended, err := b.resume(); err != nil || ended != nil {
			if ended != nil {
				report = *ended
			}
			return err
		}
		if err := h.repairable(a); err != nil {
			return err
		}
		planned, err := h.merge(ctx, a, nil)
		if err != nil {
			return err
		}
		if report = planned.report; report.Whole() {
			return nil
		}
		var m *merging
		made, err := b.make(ctx, report.Identity, func(add func(logfiles.Record) error) (tip, error) {
			if m, err = h.merge(ctx, a, add); err != nil {
				return tip{}, err
			}
			return tip{Last: m.report.Last, Chain: m.link, ID: m.id}, nil
		})
		if err != nil {
			return err
		}
		report = m.report
		return b.place(made, &report)
	})
	return report, err
}

// repairable refuses an archive that is not of this log, or empty.
func (h *Host) repairable(a *projector.Archive) error {
	ours := lastSeen(h.data()).Identity
	store := logfiles.In(h.data().Path("log"))
	if there, err := store.Exists(); ours == "" && there && err == nil {
		if ours, err = store.Identity(); err != nil {
			ours = ""
		}
	}
	switch {
	case a.Last == 0:
		return refuse("the archive in the database is empty, so there is nothing to repair the log from: restore a backup into an empty data directory with `tacho restore`")
	case ours != "" && ours != a.Identity:
		return refuse("the archive in the database is of another log: it has %s, and the log of this data directory is %s; give the configuration the database that belongs to it (database.url)",
			a.Identity, ours)
	}
	return nil
}

func refuse(format string, args ...any) error {
	return &control.RefusedError{Kind: control.Conflict, Reason: fmt.Sprintf(format, args...)}
}
