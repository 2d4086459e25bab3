package poller

import (
	"context"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// Policy says which artifacts of a source have to be requests.
type Policy struct {
	// Horizon is the age above which commits are ignored; 0 is no limit.
	Horizon time.Duration
	// Backlog is how many commits, from the tip, are wanted of a branch that was never polled; at least 1.
	Backlog int
	// Keep is how many releases are wanted, the newest ones; at least 1.
	Keep int
}

// Look returns what a poller would ask for if the source had never been polled, the oldest first. It records nothing.
func (p Policy) Look(ctx context.Context, from Source, now time.Time) ([]Artifact, error) {
	n := 0
	return p.wanted(ctx, from, now, func(context.Context, events.Tag) (bool, error) {
		// The walk need not go further than the backlog.
		n++
		return n >= p.Backlog, nil
	})
}

// wanted returns what has to be a request, the oldest first.
//
// Of releases these are the newest. For commits, wanted walks from the tip down to the first one that a poller asked
// for. Everything above that is wanted, also commits for which a request exists already. So no ancestor is missing,
// and a force push needs no special care. If no poller has asked for a commit within the horizon, only the backlog is
// wanted: the past must not keep a new installation busy for weeks.
func (p Policy) wanted(ctx context.Context, from Source, now time.Time,
	polled func(context.Context, events.Tag) (bool, error),
) ([]Artifact, error) {
	var out []Artifact
	for a, err := range from.Newest(ctx) {
		if err != nil {
			return nil, err
		}
		if a.Kind == events.Release {
			if out = append(out, a); len(out) >= p.Keep {
				break
			}
			continue
		}
		if p.tooOld(a.At, now) {
			break
		}
		out = append(out, a)
		met, err := polled(ctx, a.Tag)
		if err != nil {
			return nil, err
		}
		if met {
			slices.Reverse(out)
			return out, nil
		}
	}
	if len(out) > p.Backlog && out[0].Kind == events.Master {
		out = out[:p.Backlog]
	}
	slices.Reverse(out)
	return out, nil
}

func (p Policy) tooOld(at, now time.Time) bool { return p.Horizon > 0 && now.Sub(at) > p.Horizon }
