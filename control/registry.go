package control

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
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
	_, err := again("open the registry of collectors", func() (Answer, error) { return Answer{}, c.openRegistry(ctx, by) })
	return err
}

func (c *Control) openRegistry(ctx context.Context, by By) error {
	_, open, err := c.Log.Last(ctx, events.RegistryOpenedSubject())
	if err != nil || open {
		return err
	}
	copies, there, err := earlierStandings(ctx, c.Log)
	if err != nil {
		return fmt.Errorf("read the collectors of an earlier version: %w", err)
	}
	all := there + len(copies)
	for len(copies) >= eventlog.MaxBatch {
		if _, err := c.Log.Append(ctx, c.copied(by, copies[:eventlog.MaxBatch])...); err != nil {
			return fmt.Errorf("copy collectors into the registry: %w", err)
		}
		copies = copies[eventlog.MaxBatch:]
	}
	opened := eventlog.Append{Subject: events.RegistryOpenedSubject(), Events: c.events(by, events.RegistryOpened{Collectors: all})}
	if _, err := c.Log.Append(ctx, append(c.copied(by, copies), opened)...); err != nil {
		return fmt.Errorf("open the registry: %w", err)
	}
	return nil
}

func (c *Control) copied(by By, copies []events.RegistryCopied) []eventlog.Append {
	var parts []eventlog.Append
	for _, f := range copies {
		parts = append(parts, eventlog.Append{Subject: f.Subject(), Events: c.events(by, f)})
	}
	return parts
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
