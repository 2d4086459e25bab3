package node

import (
	"context"

	"github.com/tachobench/tacho/watchdog"
)

// watchdog watches, and tells the website of this process what tables may not show. link is where the pages
// are; empty when no page is served here.
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
		Log: p.core.log, Hearing: p.hearing(), Control: p.control(nil), Hook: hook, Metrics: watchdog.NewMetrics(p.registry),
		Limits: watchdog.Limits{
			OfflineAfter: p.Config.Scheduler.OfflineAfter.Std(), StalledAfter: c.StalledAfter.Std(),
			LagEvents: uint64(c.LagEvents), LagFor: c.LagFor.Std(),
		},
		Clock: p.Clock, Logger: p.Logger.With("part", "watchdog"),
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
