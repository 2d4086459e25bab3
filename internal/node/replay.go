package node

import (
	"context"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
)

// ReplayOptions say what a replay is for.
type ReplayOptions struct {
	// Verify compares the tables with what the log gives, and changes nothing.
	Verify bool
	// Forget takes a log for the right one that is another one than before, or lacks events which the archive in the tables
	// has. They are lost then.
	Forget bool
}

// Replay rebuilds the tables from the log. It refuses a log that disagrees with the tables (*DamagedError), unless they may
// forget. Without a NATS cluster in the configuration, no other process may use the data directory.
func (h *Host) Replay(ctx context.Context, o ReplayOptions) (report projector.Report, err error) {
	k, done, err := h.ownLog(ctx, o.Verify || o.Forget)
	if err != nil {
		return report, err
	}
	defer done()
	if err := k.startDatabase(ctx, h); err != nil {
		return report, err
	}
	if !o.Verify && !o.Forget {
		if err := h.checkTables(ctx, k); err != nil {
			return report, err
		}
	}
	report, err = projector.Replay(ctx, k.log, k.databaseURL, projector.ReplayOptions{
		Verify: o.Verify, MaxInProgress: h.Config.Scheduler.MaxInProgress, Logger: h.Logger,
		Progress: func(at, of events.Seq) { h.Say("replay     %d of %d events", at, of) },
	})
	if err == nil && o.Forget && h.Config.NATS.URL == "" {
		// The operator took this log for the right one.
		err = k.remember(ctx, h.data(), &seen{}, h.Clock())
	}
	return report, err
}
