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

	// admitted holds the content of definitions whose seal was good. Only the goroutine that executes jobs uses it. An event never
	// changes and the keys of a process stay the same, so what was admitted once is good.
	admitted map[named]events.RawJSON
}

// maxAdmitted bounds how many definitions are kept, of at most a megabyte each.
const maxAdmitted = 16

// named names definitions.
type named struct {
	suite  events.SuiteName
	digest events.Digest
}

// trusted returns the definitions of the job, after its seals were checked. It uses nothing of the definitions before.
func (a *attempt) trusted(ctx context.Context) (suite.Definitions, error) {
	c := a.c
	if c.Seals == nil {
		return c.definitions(ctx, a.spec)
	}
	content, why, err := c.admit(ctx, a.dispatched)
	switch {
	case err != nil:
		return suite.Definitions{}, err
	case why == nil:
		return parseDefinitions(content)
	case c.Seals.Enforce:
		c.Logger.Warn("a job is refused because of its seals", "job", a.spec.ID, "reason", why)
		return suite.Definitions{}, &PermanentError{Kind: events.ErrorSeal, Err: fmt.Errorf("the collector enforces seals, and executed nothing of the job: %w", why)}
	}
	c.Logger.Warn("a job runs although its seals are wrong, because collector.seals is \"warn\"", "job", a.spec.ID, "reason", why)
	a.note(ctx, events.ErrorSeal, fmt.Sprintf("the job ran, and a collector that enforces seals would have refused it: %s", why))
	return c.definitions(ctx, a.spec)
}

// admit returns the content of the definitions of a dispatched job if its seals are good, or why they are not. An error says that
// the definitions could not be read.
func (c *Collector) admit(ctx context.Context, d events.JobDispatched) (content events.RawJSON, why, err error) {
	s := c.Seals
	why = s.Dispatchers.CheckDispatch(c.Lane, d)
	if why != nil {
		return nil, why, nil
	}
	of := named{d.Job.Artifact.Suite, d.Job.Definitions}
	if known, ok := s.admitted[of]; ok {
		return known, nil, nil
	}
	published, err := c.published(ctx, d.Job)
	if err != nil {
		return nil, nil, err
	}
	var seals []events.Seal
	for _, p := range published {
		if p.Seal != nil {
			seals = append(seals, *p.Seal)
		}
	}
	why = s.Publishers.CheckDefinitions(of.suite, of.digest, seals)
	if why != nil {
		return nil, why, nil
	}
	for _, p := range published {
		why = seal.CheckContent(of.digest, p.Content)
		if why == nil {
			content = p.Content
			break
		}
	}
	if why == nil {
		if s.admitted == nil || len(s.admitted) >= maxAdmitted {
			s.admitted = map[named]events.RawJSON{}
		}
		s.admitted[of] = content
	}
	return content, why, nil
}
