package control

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// OpenRegistry opens the registry of collectors, once in the life of a log. Every process of the core calls it before
// anything else; if the registry is already open it does nothing.
//
// Earlier versions kept the standing of a collector on the collector's own subject, where the collector could write it
// as well. OpenRegistry copies it from there; from then on the old place does not count. The copies and the opening are
// one append: all or nothing. A farm with more collectors than one append takes is copied in several appends, and the
// last one opens the registry. After a crash in between, the next start copies the rest. Two processes may do this at
// once: the log takes each copy, and the opening, from one of them.
func OpenRegistry(ctx context.Context, log eventlog.Log, by By, clock func() time.Time) error {
	c := &Control{Log: log, Clock: clock}
	open := false
	for !open {
		_, err := eventlog.Transact(ctx, log, func(tx *eventlog.Tx) (_ []events.Event, err error) {
			if _, open, err = tx.Last(ctx, events.RegistryOpenedSubject()); err != nil || open {
				return nil, err
			}
			copies, there, err := earlierStandings(ctx, log)
			if err != nil {
				return nil, fmt.Errorf("read the collectors of an earlier version: %w", err)
			}
			open = len(copies) < eventlog.MaxBatch
			return c.copied(tx, by, copies[:min(len(copies), eventlog.MaxBatch)], there, open), nil
		})
		if err != nil {
			return fmt.Errorf("open the registry of collectors: %w", err)
		}
	}
	return nil
}

// copied returns the events of these copies, and the opening if they are the last ones.
func (c *Control) copied(tx *eventlog.Tx, by By, copies []events.RegistryCopied, there int, last bool) []events.Event {
	var facts []events.Fact
	for _, f := range copies {
		tx.Expect(f.Subject(), 0)
		facts = append(facts, f)
	}
	if last {
		facts = append(facts, events.RegistryOpened{Collectors: there + len(copies)})
	}
	return c.events(by, facts...)
}

// earlierStandings reads the whole log. It returns copies of the standings on the collectors' own subjects that the
// registry does not hold yet, sorted by name, and how many collectors it already holds.
func earlierStandings(ctx context.Context, log eventlog.Log) (copies []events.RegistryCopied, there int, err error) {
	standings, held := map[events.CollectorName]job.Standing{}, map[events.CollectorName]bool{}
	var reader events.Reader
	parks, err := log.Parks(ctx)
	if err != nil {
		return nil, 0, err
	}
	reader.Obey(parks)
	err = upToHead(ctx, log, func(m events.Stored) error {
		name := events.CollectorName(m.Subject.Last())
		switch m.Subject.Family() {
		case "registry":
			held[name] = true
		case "collector":
		default:
			return nil
		}
		e, litter, err := reader.Understand(m)
		if err == nil && litter == "" {
			standings[name] = job.Stand(standings[name], e.Fact, e.Time)
		}
		return err
	})
	for _, name := range slices.Sorted(maps.Keys(standings)) {
		if s := standings[name]; s.Registered != nil && !held[name] {
			copies = append(copies, s.Copy())
		}
	}
	return copies, len(held), err
}

// upToHead calls take for all events that the log holds now, in order.
func upToHead(ctx context.Context, log eventlog.Log, take func(events.Stored) error) error {
	head, err := log.Head(ctx)
	if err != nil || head.Last == 0 {
		return err
	}
	cursor, err := log.Follow(ctx, 0)
	if err != nil {
		return err
	}
	defer cursor.Close()
	for at := events.Seq(0); at < head.Last; {
		stored, err := cursor.Next(ctx, int(min(uint64(head.Last-at), eventlog.MaxBatch)))
		if err != nil {
			return err
		}
		for _, m := range stored {
			if err := take(m); err != nil {
				return err
			}
		}
		at = stored[len(stored)-1].Seq
	}
	return nil
}
