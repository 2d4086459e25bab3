package watchdog

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/retry"
)

// outputsEvery is how many ticks are between two looks at the store of outputs: it must count them all.
const outputsEvery = 5

// outputsView says how full the store of outputs is.
type outputsView struct {
	// asked is set while the store answers.
	asked bool
	blob.Usage
}

// probeOutputs asks the store of outputs how full it is, again and again.
func (w *Watchdog) probeOutputs(ctx context.Context) error {
	for {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		usage, err := w.Outputs(asking)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		w.mu.Lock()
		if err != nil {
			w.Metrics.failures.WithLabelValues("outputs").Inc()
		}
		w.view.outputs = outputsView{asked: err == nil, Usage: usage}
		w.mu.Unlock()
		if !retry.Together(ctx, outputsEvery*w.Tick) {
			return nil
		}
	}
}

// outputs judges the store of outputs. The store itself remembers which put did not fit, so every watchdog says the same.
func (j *judgement) outputs() {
	u := j.view.outputs
	if !u.asked {
		j.unsureKinds[events.AlertOutputs] = true
		return
	}
	r := u.Refused
	if r == nil {
		return
	}
	a := events.AlertRaised{
		Kind: events.AlertOutputs,
		Message: fmt.Sprintf("The store of outputs has no room for output %s of job %s, with %s: open graphs need what it holds. The job is tried again.",
			r.Output.Name, r.Job, phrase.Bytes(r.Output.Bytes)),
		Action: fmt.Sprintf("Make the store larger than its %s (nats.blob_bytes, then start the core again), or end graphs that are not wanted any more: `tacho request list --state in_progress`, `tacho request cancel REQUEST`.",
			phrase.Bytes(u.Limit)),
	}
	if r.Output.Bytes > u.Limit {
		a.Message = fmt.Sprintf("Output %s of job %s has %s, more than the whole store of outputs.", r.Output.Name, r.Job, phrase.Bytes(r.Output.Bytes))
	}
	j.want(0, a)
}
