package door

import (
	"context"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

// sameAs is what a collector asks about the job in hand, and what it is told.
type sameAs struct {
	JobID events.JobID  `json:"job_id"`
	Key   events.Digest `json:"key,omitempty"`
	// From is the run that did the same; empty for none. Counts says that what the job does may stand for others.
	From   events.JobID `json:"from,omitempty"`
	Counts bool         `json:"counts,omitempty"`
}

// maxKey bounds a key in bytes.
const maxKey = 128

// done answers which run did what a collector's job in hand does. The outputs of a build must still be in the store.
func (d *Door) done(ctx context.Context, name events.CollectorName, lane events.Lane, req request) answer {
	q := req.Same
	if q == nil || q.Key == "" || len(q.Key) > maxKey {
		return answer{Refusal: misshapen("a question about a job without a key, or with one of more than %d bytes", maxKey)}
	}
	// The job began with the event that the collector has just appended.
	if why := d.reach(ctx, req.After); why != nil {
		return answer{Refusal: why}
	}
	v := d.Guard.books.view(name)
	if w := v.lane.work; w.Phase != job.Current || w.Collector != name || w.JobID != q.JobID {
		return answer{Refusal: &refusal{Kind: lost, Reason: "collector " + string(name) + " does not execute that job now"}}
	}
	out, yields, complete := sameAs{JobID: q.JobID}, []ledger.Yielded(nil), false
	d.Guard.books.look(func(l *ledger.Ledger) {
		var run ledger.Run
		if run, out.Counts = l.Same(q.JobID, q.Key); run.Job != "" {
			yields, complete = l.YieldsOf(q.JobID, run.Job)
			out.From = run.Job
		}
	})
	if !complete {
		out.From = ""
	}
	for _, y := range yields {
		if out.From != "" && !d.has(ctx, y) {
			out.From = ""
		}
	}
	return answer{Same: &out}
}

// has reports whether an output can still be had. That counts as a use of it, so it stays for a while.
func (d *Door) has(ctx context.Context, y ledger.Yielded) bool {
	if d.Outputs == nil {
		return false
	}
	_, _, err := d.Outputs.Open(ctx, y.Lane, y.Digest)
	return err == nil
}

// Same implements collector.Runs.
func (c *Client) Same(ctx context.Context, id events.JobID, key events.Digest) (from events.JobID, counts bool, err error) {
	a, err := c.ask(ctx, "ask which run did the same as job "+string(id), verbDone, request{Same: &sameAs{JobID: id, Key: key}}, answerWithin)
	if err != nil || a.Same == nil {
		return "", false, err
	}
	return a.Same.From, a.Same.Counts, nil
}

// tookOver checks which run a job took over instead of running: the one that the ledger names for its key, or named a moment ago.
func (w *walk) tookOver(f events.JobFinished) *refusal {
	switch {
	case len(f.Key) > maxKey:
		return misshapen("job %s ends with a key of %d bytes, at most %d", f.JobID, len(f.Key), maxKey)
	case f.ReusedFrom == "":
		return nil
	case f.Outcome != events.Success:
		return forbid("job %s took run %.64s over and ends as %s: only a success is taken over", f.JobID, f.ReusedFrom, f.Outcome)
	case f.Measured+f.Skipped+f.Failed > 0:
		return forbid("job %s took run %.64s over, and has results of its own", f.JobID, f.ReusedFrom)
	case w.view.did == nil || !w.view.did(f.JobID, f.ReusedFrom, f.Key):
		return forbid("job %s took run %.64s over, and the log names no such run for key %.64q of the job: ask again, or run it", f.JobID, f.ReusedFrom, string(f.Key))
	}
	return nil
}
