package node

import (
	"context"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
)

// Replay rebuilds the tables from the log or, with verify, compares them with what the log gives. Without a NATS cluster in
// the configuration, no other process may use the data directory.
func (h *Host) Replay(ctx context.Context, verify bool) (report projector.Report, err error) {
	k, done, err := h.ownLog(ctx, true)
	if err != nil {
		return report, err
	}
	defer done()
	if err := k.startDatabase(ctx, h); err != nil {
		return report, err
	}
	report, err = projector.Replay(ctx, k.log, k.databaseURL, projector.ReplayOptions{
		Verify: verify, MaxInProgress: h.Config.Scheduler.MaxInProgress, Logger: h.Logger,
		Progress: func(at, of events.Seq) { h.Say("replay     %d of %d events", at, of) },
	})
	if err == nil && !verify && h.Config.NATS.URL == "" {
		// The operator took this log for the right one.
		err = k.remember(ctx, h.data(), &seen{}, h.Clock())
	}
	return report, err
}
