package node

import (
	"context"

	"github.com/tachobench/tacho/watchdog"
)

// watchdog runs the watchdog. It gives the website of this process the alerts that the tables may not show. link is the URL
// of the pages; empty if this process serves none.
func (p *parts) watchdog(link string) {
	c := p.Config.Watchdog
	if c.Link != "" {
		link = c.Link
	}
	var hook *watchdog.Hook
	if c.Webhook != "" {
		hook = watchdog.NewHook(c.Webhook, link, p.data().Path("alerts.place"))
	}
	conf := watchdog.Config{
		Log: p.core.log, Hearing: p.hearing(), Control: p.control(nil), Hook: hook, Metrics: watchdog.NewMetrics(p.registry), Outputs: p.core.outputs.Usage,
		Room: p.room.places, Marks: p.Config.Room.Marks,
		Limits: watchdog.Limits{
			OfflineAfter: p.Config.Scheduler.OfflineAfter.Std(), StalledAfter: c.StalledAfter.Std(),
			LagEvents: uint64(c.LagEvents), LagFor: c.LagFor.Std(), TurnAfter: c.TurnAfter.Std(),
		},
		Others: p.newer, Newer: p.stays.of("the webhook of alerts"), Clock: p.Clock, Logger: p.Logger.With("part", "watchdog"),
	}
	tables := &watchdog.LateTables{URL: p.core.databaseURL}
	if tables.URL != "" {
		conf.Tables = tables
	}
	w := watchdog.New(conf)
	p.alerts = w.Local
	p.shell.Seat(w)
	p.run(func(ctx context.Context) error {
		defer tables.Close()
		return w.Run(ctx)
	})
}
