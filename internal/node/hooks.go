package node

import (
	"context"
	"strings"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/hook"
	"github.com/tachobench/tacho/internal/usage"
)

// hooks runs the configured hooks, and clears the alerts of those that were removed.
func (p *parts) hooks() error {
	metrics := hook.NewMetrics(p.registry)
	names := make([]string, 0, len(p.Config.Hooks))
	for _, c := range p.Config.Hooks {
		secret, err := c.Secret()
		if err != nil {
			return err
		}
		place := p.data().Path("hook-" + c.Name + ".place")
		one := hook.New(hook.Config{
			Name: c.Name, URL: c.URL, Secret: secret, Filter: hook.Filter{On: c.On, Queue: c.Queue, Account: c.Account},
			Place: place, Log: p.core.log, Ledger: p.shell, Failing: p.alarm(events.AlertHook, c.Name, hook.Action(place)),
			Newer: p.stays.of("hook " + c.Name), Clock: p.Clock, Logger: p.Logger.With("part", "hook", "hook", c.Name), Metrics: metrics,
		})
		p.run(one.Run)
		p.Say("hook       %s: %s to %s", c.Name, strings.Join(c.On, ", "), config.RedactWebhook(c.URL))
		names = append(names, c.Name)
	}
	p.run(func(ctx context.Context) error {
		return hook.ClearRemoved(ctx, p.control(nil), p.shell, names, p.Logger.With("part", "hook"))
	})
	return nil
}

// checkHooks returns a usage.Error for the first hook whose secret cannot be read.
func (h *Host) checkHooks() error {
	for _, c := range h.Config.Hooks {
		if _, err := c.Secret(); err != nil {
			return usage.Error{Err: err}
		}
	}
	return nil
}

// doctorHooks reads the secrets of the hooks. It posts nothing.
func (h *Host) doctorHooks() (out []Finding) {
	for _, c := range h.Config.Hooks {
		f := Finding{What: "hook " + c.Name, Verdict: "good", Detail: strings.Join(c.On, ", ") + " to " + config.RedactWebhook(c.URL)}
		if _, err := c.Secret(); err != nil {
			f.Verdict, f.Detail, f.Next = "bad", err.Error(), "make a secret, for example with `openssl rand -hex 32`, and give it to the receiver too"
		} else if strings.HasPrefix(c.URL, "http://") {
			f.Verdict, f.Next = "note", "the signature covers the event but hides nothing: use https outside of your own network"
		}
		out = append(out, f)
	}
	return out
}
