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
// anything else; where the registry is open already it does nothing.
//
// In logs of earlier versions the standing of a collector lies on the collector's own subject, where the collector
// could write it as well. What stands there is copied, and does not count from then on. The copies and the opening are
// one append, so that either all of it happened or nothing. A farm with more collectors than one append takes is copied
// in several, of which the last opens the registry: after a crash in between, the next start copies the rest. Two
// processes may do it at once: the log takes each copy, and the opening, from one of them.
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

// copied returns the copies of what stands at the old place, and the opening if these are the last ones.
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

// earlierStandings reads the whole log and returns what stands on the subjects of collectors, in the order of names,
// and how many collectors the registry holds already.
func earlierStandings(ctx context.Context, log eventlog.Log) (copies []events.RegistryCopied, there int, err error) {
	standings, held := map[events.CollectorName]job.Standing{}, map[events.CollectorName]bool{}
	var reader events.Reader
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

// upToHead gives take all events that the log holds now, in order.
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
