package hook

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// ClearRemoved clears the alerts of hooks that were removed, which no hook does: names are those that are left. It
// returns an error only when ctx ends.
func ClearRemoved(ctx context.Context, c *control.Control, l Ledger, names []string, logger *slog.Logger) error {
	if err := l.Wait(ctx, 0); err != nil {
		return fmt.Errorf("clear the alerts of removed hooks: %w", err)
	}
	var stale []events.AlertKey
	l.View(func(l *ledger.Ledger) {
		for key, a := range l.Alerts {
			if a.Kind == events.AlertHook && !slices.Contains(names, a.About) {
				stale = append(stale, key)
			}
		}
	})
	by := control.By{Actor: "tacho", Source: string(events.AlertHook), Root: "removed hooks"}
	for _, key := range stale {
		if _, err := c.ClearAlert(ctx, by, key, "the hook was removed from the configuration"); err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "the alert of a removed hook could not be cleared; the next start tries again", "alert", key, "error", err)
		}
	}
	return nil
}
