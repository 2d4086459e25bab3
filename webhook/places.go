package webhook

import (
	"context"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// Place is the place of a request in the queue.
type Place struct {
	RequestID events.RequestID
	Position  int
	// Ahead is how many requests are benchmarked before it.
	Ahead int
	// Start and End are the estimates; nil when they are unknown.
	Start, End *time.Time
}

// placesWait bounds the wait for the tables. After it the answer is written without places in the queue.
const placesWait = 5 * time.Second

// TablePlaces returns what reads the queue from the tables, for Config.Places.
func TablePlaces(tables *readmodel.Reader) func(ctx context.Context, at events.Seq) ([]Place, error) {
	return func(ctx context.Context, at events.Seq) ([]Place, error) {
		ctx, cancel := context.WithTimeout(ctx, placesWait)
		defer cancel()
		if err := tables.WaitFor(ctx, at); err != nil {
			return nil, err
		}
		queue, err := tables.Queue(ctx)
		if err != nil {
			return nil, err
		}
		places := make([]Place, 0, len(queue))
		for i, e := range queue {
			places = append(places, Place{RequestID: e.RequestID, Position: e.Position, Ahead: i, Start: e.EstimatedStart, End: e.EstimatedEnd})
		}
		return places, nil
	}
}
