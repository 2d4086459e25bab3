package main

import (
	"context"
	"sync"

	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/watchdog"
)

// watchdog watches, and tells the website of this process what tables may not show. link is where the pages
// are; empty when no page is served here.
func (p *parts) watchdog(link string) {
	c := p.config.Watchdog
	if c.Link != "" {
		link = c.Link
	}
	var hook *watchdog.Hook
	if c.Webhook != "" {
		hook = watchdog.NewHook(c.Webhook, link, directory(p.config.Data).path("alerts.place"))
	}
	conf := watchdog.Config{
		Log: p.core.log, Hearing: p.hearing(), Control: p.control(nil), Hook: hook, Metrics: watchdog.NewMetrics(p.registry),
		Limits: watchdog.Limits{
			OfflineAfter: p.config.Scheduler.OfflineAfter.Std(), StalledAfter: c.StalledAfter.Std(),
			LagEvents: uint64(c.LagEvents), LagFor: c.LagFor.Std(),
		},
		Clock: p.clock, Logger: p.logger.With("part", "watchdog"),
	}
	tables := &lateReader{url: p.core.databaseURL}
	if tables.url != "" {
		conf.Tables = tables
	}
	w := watchdog.New(conf)
	p.alerts = w.Local
	p.shell.Seat(w)
	p.run(func(ctx context.Context) error {
		defer tables.close()
		return w.Run(ctx)
	})
}

// lateReader asks the tables of a database that may not be there yet: that is what is asked for.
type lateReader struct {
	url string

	// mu guards reader.
	mu     sync.Mutex
	reader *readmodel.Reader
}

// Cursor implements watchdog.Tables.
func (l *lateReader) Cursor(ctx context.Context) (readmodel.Cursor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reader == nil {
		reader, err := readmodel.Open(ctx, l.url)
		if err != nil {
			return readmodel.Cursor{}, err
		}
		l.reader = reader
	}
	return l.reader.Cursor(ctx)
}

func (l *lateReader) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reader != nil {
		l.reader.Close()
	}
}
