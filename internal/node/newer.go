package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website"
)

// askAgain is the pause between two tries of what an event that is not understood stops.
const askAgain = time.Second

// stays are the parts of this process that stay at an event of a newer version: they decide nothing more.
type stays struct {
	clock func() time.Time

	mu sync.Mutex
	by map[string]stay
}

// stay is the event that a part stays at, and since when.
type stay struct {
	*events.NewerError
	since time.Time
}

// note takes the event that a part stays at; nil when it goes on.
func (s *stays) note(part string, at *events.NewerError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch had, known := s.by[part]; {
	case at == nil:
		delete(s.by, part)
	case !known || had.Seq != at.Seq:
		if s.by == nil {
			s.by = map[string]stay{}
		}
		s.by[part] = stay{at, s.clock()}
	}
}

// of returns what a part calls with the event that it stays at.
func (s *stays) of(part string) func(*events.NewerError) {
	return func(at *events.NewerError) { s.note(part, at) }
}

// alerts returns an alert for each event that parts stay at, the first event first.
func (s *stays) alerts(version string) (list []readmodel.Alert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := map[events.Seq][]string{}
	for _, part := range slices.Sorted(maps.Keys(s.by)) {
		at[s.by[part].Seq] = append(at[s.by[part].Seq], part)
	}
	for _, seq := range slices.Sorted(maps.Keys(at)) {
		first := s.by[at[seq][0]]
		for _, part := range at[seq] {
			if s.by[part].since.Before(first.since) {
				first = s.by[part]
			}
		}
		about := strconv.FormatUint(uint64(seq), 10)
		list = append(list, readmodel.Alert{
			Key: events.NewAlertKey(events.AlertNewer, about), Kind: events.AlertNewer, About: about,
			Message: fmt.Sprintf("A newer version of Tacho wrote event %d (%s on %s, stored at %s), and tacho %s does not understand it. Here %s decide nothing from there on. "+
				"Collectors end the jobs that they have, and nothing is lost.", seq, first.Type, first.Subject, first.StoredAt.UTC().Format(time.RFC3339), version, strings.Join(at[seq], ", ")),
			Action: fmt.Sprintf("Update this program: then everything goes on by itself. Or leave the event out with `tacho events park %d --reason …`.", seq),
			// The tables do not have it.
			RaisedAt: first.since, ChangedAt: first.since,
		})
	}
	return list
}

// newer returns the alerts about events that parts of this process do not understand.
func (p *parts) newer() []readmodel.Alert {
	p.stays.note("all that follow the ledger", p.shell.Newer())
	return p.stays.alerts(p.Version)
}

// understands is the check of readiness that no part stays at an event.
func (p *parts) understands(context.Context) website.Check {
	check := website.Check{Name: "newer", OK: true, Detail: "this program understands the log"}
	if list := p.newer(); len(list) > 0 {
		check.OK, check.Detail = false, list[0].Message+" "+list[0].Action
	}
	return check
}

// position returns how far the ledger is, and whether all of the log is read that this program understands.
func (p *parts) position() (events.Seq, bool) {
	at, current := p.shell.Position()
	return at, current || p.shell.Newer() != nil
}

// patiently does f again until it does not meet an event that this program does not understand. what names it.
func (h *Host) patiently(ctx context.Context, s *stays, what string, f func(context.Context) error) error {
	for {
		err := f(ctx)
		var newer *events.NewerError
		if !errors.As(err, &newer) {
			s.note(what, nil)
			return err
		}
		s.note(what, newer)
		h.Logger.WarnContext(ctx, "an event is not understood, trying again", "what", what, "error", err, "next", newer.Next())
		if !retry.Sleep(ctx, askAgain) {
			return nil
		}
	}
}

// openRegistry opens the registry of collectors.
func (h *Host) openRegistry(ctx context.Context, k *core) error {
	by := control.By{Actor: "tacho", Source: "core", Root: "opening the registry"}
	if err := control.OpenRegistry(ctx, k.log, by, h.Clock); err != nil {
		return fmt.Errorf("open the registry of collectors: %w", err)
	}
	return nil
}
