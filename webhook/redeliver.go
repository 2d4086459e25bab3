package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
)

// Hook is what the Redeliverer asks of GitHub. *githubapi.Client implements it.
type Hook interface {
	Deliveries(ctx context.Context, repo events.RepoName, hook int64, since time.Time) ([]githubapi.Delivery, error)
	Redeliver(ctx context.Context, repo events.RepoName, hook, id int64) error
}

// Redeliverer asks GitHub again for deliveries that did not reach the log: GitHub itself never tries again.
type Redeliverer struct {
	Log  eventlog.Log
	Hook Hook
	Repo events.RepoName
	// ID is GitHub's number of the webhook.
	ID int64
	// Every is how often it looks for failed deliveries, Back how far back: GitHub keeps deliveries for three days.
	Every, Back time.Duration
	Clock       func() time.Time
	Logger      *slog.Logger
	// Failing is called with the error of each look, nil after a success.
	Failing func(error)
}

// settle is how long a delivery may wait for its answer before it counts as failed.
const settle = time.Minute

// Run looks until ctx ends.
func (r *Redeliverer) Run(ctx context.Context) error {
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	for {
		asked, err := r.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			r.Logger.Warn("failed deliveries cannot be asked for now", "error", err)
		}
		if asked > 0 {
			r.Logger.Info("asked GitHub again for deliveries that had failed", "deliveries", asked)
		}
		r.Failing(err)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look asks once for each delivery that is not in the log and of which no attempt succeeded.
func (r *Redeliverer) look(ctx context.Context) (asked int, err error) {
	now := r.Clock()
	attempts, err := r.Hook.Deliveries(ctx, r.Repo, r.ID, now.Add(-r.Back))
	if err != nil {
		return 0, err
	}
	delivered := map[string]bool{}
	for _, a := range attempts {
		// A delivery that is on its way, or that was just asked for again, is left alone.
		if a.Delivered() || now.Sub(a.At) < settle {
			delivered[a.GUID] = true
		}
	}
	for _, a := range attempts {
		if delivered[a.GUID] {
			continue
		}
		delivered[a.GUID] = true
		_, known, err := r.Log.Last(ctx, events.DeliverySubject(events.NewHookID(fmt.Sprint(r.ID)), events.NewDeliveryID(a.GUID)))
		if err != nil {
			return asked, err
		}
		if known {
			continue
		}
		err = r.Hook.Redeliver(ctx, r.Repo, r.ID, a.ID)
		if failed, ok := errors.AsType[*githubapi.Error](err); ok && (failed.Kind == githubapi.Refused || failed.Kind == githubapi.Missing) {
			r.Logger.Warn("GitHub does not deliver this again", "delivery", a.GUID, "error", err)
			continue
		}
		if err != nil {
			return asked, err
		}
		asked++
	}
	return asked, nil
}
