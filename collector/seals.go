package collector

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/seal"
	"github.com/tachobench/tacho/rules/suite"
)

// Seals are what a collector wants to see before it executes a job.
type Seals struct {
	// Enforce ends a job whose seals are wrong before anything of it is executed. Without it the collector only says so.
	Enforce bool
	// Publishers seal definitions, Dispatchers seal dispatches.
	Publishers, Dispatchers seal.Keys

	// admitted holds the definitions whose seal was good. Only the goroutine that executes jobs uses it. The keys of a process stay
	// the same, so what was admitted once is good.
	admitted keptDefinitions
}

// trusted returns the definitions of the job, after its seals were checked. It uses nothing of the definitions before.
func (a *attempt) trusted(ctx context.Context) (suite.Definitions, error) {
	c := a.c
	if c.Seals == nil {
		return c.definitions(ctx, a.spec)
	}
	d, why, err := c.admit(ctx, a.dispatched)
	switch {
	case err != nil, why == nil:
		return d, err
	case c.Seals.Enforce:
		c.Logger.Warn("a job is refused because of its seals", "job", a.spec.ID, "reason", why)
		return suite.Definitions{}, &PermanentError{Kind: events.ErrorSeal, Err: fmt.Errorf("the collector enforces seals, and executed nothing of the job: %w", why)}
	}
	c.Logger.Warn("a job runs although its seals are wrong, because collector.seals is \"warn\"", "job", a.spec.ID, "reason", why)
	a.note(ctx, events.ErrorSeal, fmt.Sprintf("the job ran, and a collector that enforces seals would have refused it: %s", why))
	return c.definitions(ctx, a.spec)
}

// admit returns the definitions of a dispatched job if its seals are good, or why they are not. An error says that the definitions
// could not be read.
func (c *Collector) admit(ctx context.Context, d events.JobDispatched) (out suite.Definitions, why, err error) {
	s := c.Seals
	why = s.Dispatchers.CheckDispatch(c.Lane, d)
	if why != nil {
		return out, why, nil
	}
	of := namedBy(d.Job)
	if known, ok := s.admitted[of]; ok {
		return known, nil, nil
	}
	published, err := c.published(ctx, d.Job)
	if err != nil {
		return out, nil, err
	}
	var seals []events.Seal
	for _, p := range published {
		if p.Seal != nil {
			seals = append(seals, *p.Seal)
		}
	}
	why = s.Publishers.CheckDefinitions(of.suite, of.digest, seals)
	if why != nil {
		return out, why, nil
	}
	for _, p := range published {
		why = seal.CheckContent(of.digest, p.Content)
		if why == nil {
			out, err = s.admitted.keep(of, p.Content)
			break
		}
	}
	return out, why, err
}
