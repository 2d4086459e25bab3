package node

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/website"
)

// ready returns the checks of what each process of the core needs. Each of them asks, with the patience of /readyz: none
// remembers what was so a moment ago.
func (p *parts) ready() []func(context.Context) website.Check {
	return []func(context.Context) website.Check{p.appends, p.current, p.collectors}
}

// appends checks that the log takes events.
func (p *parts) appends(ctx context.Context) website.Check {
	if _, err := p.core.log.Takes(ctx); err != nil {
		return p.unready(ctx, "appends", "the log takes no events now: jobs that run go on, and nothing new is recorded; look at the servers of NATS", err)
	}
	return website.Check{Name: "appends", OK: true, Detail: "the log takes events"}
}

// current checks that this process has read what the log holds.
func (p *parts) current(ctx context.Context) website.Check {
	head, err := p.core.log.Head(ctx)
	if err == nil {
		err = p.shell.Wait(ctx, head.Last)
	}
	if err != nil {
		at, _ := p.shell.Position()
		return p.unready(ctx, "current", fmt.Sprintf("this process has read the log up to event %d and not to its end: it decides late, or the log cannot be read", at), err)
	}
	return website.Check{Name: "current", OK: true, Detail: fmt.Sprintf("this process has read event %d, the last one", head.Last)}
}

// collectors checks that the door of this process answers.
func (p *parts) collectors(ctx context.Context) website.Check {
	if err := p.gate.Answers(ctx); err != nil {
		return p.unready(ctx, "collectors", "this process does not answer collectors now: they ask another one, or wait and go on with the jobs that they have", err)
	}
	return website.Check{Name: "collectors", OK: true, Detail: "collectors are let in"}
}

func (p *parts) unready(ctx context.Context, name, detail string, err error) website.Check {
	p.Logger.WarnContext(ctx, "not ready", "check", name, "error", err)
	return website.Check{Name: name, Detail: detail}
}
