package node

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

const (
	// tidyEvery is how often the store of outputs is tidied, countEvery how often its size is counted.
	tidyEvery  = time.Minute
	countEvery = 15 * time.Second
)

// upToDate waits until the ledger holds all that is in the log now. A ledger that stays at an event cannot tell what is needed.
func (k *core) upToDate(ctx context.Context) error {
	if newer := k.shell.Newer(); newer != nil {
		return newer
	}
	head, err := k.log.Head(ctx)
	if err != nil {
		return err
	}
	return k.shell.Wait(ctx, head.Last)
}

// neededOutputs returns what tells whether an output must stay: an open graph needs it, or the job that stored it runs and
// has not said so yet.
func (k *core) neededOutputs(ctx context.Context) (func(blob.Kept) bool, error) {
	if err := k.upToDate(ctx); err != nil {
		return nil, err
	}
	return func(o blob.Kept) (needed bool) {
		k.shell.View(func(l *ledger.Ledger) { needed = l.NeedsOutput(o.Lane, o.Output.Digest) || runs(l, o.Wish) })
		return needed
	}, nil
}

// putsUnderWay returns what tells whether a put may still be finished.
func (k *core) putsUnderWay(ctx context.Context) (func(blob.Wish) bool, error) {
	if err := k.upToDate(ctx); err != nil {
		return nil, err
	}
	return func(w blob.Wish) (goesOn bool) {
		k.shell.View(func(l *ledger.Ledger) { goesOn = runs(l, w) })
		return goesOn
	}, nil
}

// runs reports whether the job of a put runs on its lane.
func runs(l *ledger.Ledger, w blob.Wish) bool {
	lane, ok := l.Lanes[w.Lane]
	return ok && lane.Work.Phase == job.Current && lane.Work.JobID == w.Job
}

// outputUsage is how full the store of outputs was when it was counted last.
type outputUsage struct {
	mu      sync.Mutex
	counted bool
	usage   blob.Usage
}

func (u *outputUsage) note(usage blob.Usage, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.usage, u.counted = usage, err == nil
}

// last returns how full the store was, and false while that is not known.
func (u *outputUsage) last() (blob.Usage, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.usage, u.counted
}

// keepOutputs tidies the store of outputs and counts what it holds, until everything ends.
func (p *parts) keepOutputs() {
	gauge := func(name, help string, of func(blob.Usage) int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "tacho", Subsystem: "outputs", Name: name, Help: help}, func() float64 {
			u, _ := p.usage.last()
			return float64(of(u))
		})
	}
	p.registry.MustRegister(
		gauge("bytes", "What the outputs of jobs take in their store.", func(u blob.Usage) int64 { return u.Bytes }),
		gauge("needed_bytes", "What open graphs need of it.", func(u blob.Usage) int64 { return u.Needed }),
		gauge("limit_bytes", "The bound of the store (nats.blob_bytes).", func(u blob.Usage) int64 { return u.Limit }),
		gauge("upload_bytes", "What uploads take beside it.", func(u blob.Usage) int64 { return u.Uploads }),
		gauge("count", "How many outputs are stored.", func(u blob.Usage) int64 { return int64(u.Outputs) }),
	)
	p.run(func(ctx context.Context) error {
		for retry.Sleep(ctx, tidyEvery) {
			if err := p.core.outputs.Tidy(ctx); err != nil && ctx.Err() == nil {
				p.Logger.Warn("the store of outputs could not be tidied, trying again", "error", err)
			}
		}
		return nil
	})
	p.run(func(ctx context.Context) error {
		for {
			p.usage.note(p.core.outputs.Usage(ctx))
			if !retry.Together(ctx, countEvery) {
				return nil
			}
		}
	})
}
