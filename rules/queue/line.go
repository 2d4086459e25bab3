package queue

import (
	"cmp"
	"slices"

	"github.com/tachobench/tacho/events"
)

// Line returns the places of requests that start in the order of creation, for queues whose requests hardly depend on
// each other. Ended requests get no place. First come those in progress, by start; then the others, the more urgent ones
// first. Every ready request is startable, unless its parent is ready too: then it waits for the parent's start.
//
// done means the same as for Order, and the time is the same.
func Line(pending []Entry, done func(events.SuiteName, events.Tag) bool) []Place {
	spots := findSpots(pending, done)
	levels := urgencies(pending, spots)
	places := make([]Place, 0, len(pending))
	for i := range pending {
		e, s := &pending[i], spots[i]
		if s.turn == ended {
			continue
		}
		p := Place{Entry: *e, Level: int(s.level), CountsAs: levels[i].priority()}
		p.Startable = e.State == events.StateArtifactsReady && s.level == 0
		if p.Startable {
			p.Reason = levels[i].words(e) + "ready: in the order of creation"
		} else {
			p.Reason = levels[i].words(e) + reason(e, s)
		}
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b Place) int {
		runs, others := a.State == events.StateInProgress, b.State == events.StateInProgress
		switch {
		case runs && others:
			return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
		case runs != others && runs:
			return -1
		case runs != others:
			return 1
		}
		return cmp.Or(cmp.Compare(a.CountsAs.Level(), b.CountsAs.Level()), min(a.Level, 1)-min(b.Level, 1),
			a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	for i := range places {
		places[i].Position = i + 1
	}
	return places
}
