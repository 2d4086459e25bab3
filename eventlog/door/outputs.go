package door

import (
	"context"
	"slices"
	"time"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

const (
	// beginCosts is what a put costs besides its bytes: the store may have to look for room.
	beginCosts = 8 << 20
	// finishCosts is what a check of stored chunks costs: the store reads no chunk twice.
	finishCosts = 1 << 20
	// carriedInAll bounds the requests with chunks that one door works on: each takes the memory of its chunk.
	carriedInAll = 64
	// carryAgain is the pause of a collector when the door works on so many.
	carryAgain = 20 * time.Millisecond
	// carryWithin bounds the beginning and the end of a put, which take longer than an append. The client waits longer, and
	// the server still remembers the request then.
	carryWithin = 7 * time.Second
)

// carries reports whether a verb moves outputs. These have bounds of their own: they must be quick, and nothing else may
// wait behind them.
func carries(v Verb) bool {
	return slices.Contains([]Verb{verbBegin, verbChunk, verbFinish, verbOpen, verbPiece}, v)
}

// carry is admit for requests that move outputs. Those that come too fast wait in the door, which has at most as many of a
// collector as it may carry at once. More of them at once count as an excess. The caller holds mu.
func (a *account) carry(v Verb, now time.Time) (verdict, time.Duration) {
	if a.carried >= a.bounds.CarriedAtOnce {
		if a.count(now) > a.bounds.Excess/2 {
			return dropped, 0
		}
		return later, carryAgain
	}
	limiter, costs := a.stores, blob.ChunkBytes
	// The others are chunks.
	//exhaustive:ignore
	switch v {
	case verbBegin:
		costs = beginCosts
	case verbFinish:
		costs = finishCosts
	case verbOpen, verbPiece:
		limiter = a.fetches
	}
	a.carried++
	return admitted, limiter.ReserveN(now, min(costs, limiter.Burst())).DelayFrom(now)
}

// carry takes a place among the requests that the door works on, if there is one.
func (d *Door) carry() bool {
	select {
	case d.carrying <- struct{}{}:
		return true
	default:
		return false
	}
}

// mostBytes returns how many bytes a collector may send per second. One that executes a job may store outputs, which
// makes twice of what the door takes: some of it may have waited on the way.
func (g *Guard) mostBytes(name events.CollectorName) int64 {
	if v := g.books.view(name); v.lane.work.Phase == job.Current && v.lane.work.Collector == name {
		return g.bounds.Bytes + 2*int64(g.bounds.StoreBytes)
	}
	return g.bounds.Bytes
}

// outputs stores and fetches outputs. A collector stores only those of the job that it executes now, under its own lane,
// and fetches only what that job uses and what its own lane has stored.
func (d *Door) outputs(ctx context.Context, v Verb, name events.CollectorName, lane events.Lane, req request) (out answer) {
	if d.Outputs == nil {
		return answer{Refusal: &refusal{Kind: again, Reason: "this core has no store of outputs", Wait: time.Second}}
	}
	if req.Place == nil {
		req.Place = &blob.Place{}
	}
	if why := d.mayCarry(ctx, v, name, lane, req); why != nil {
		return answer{Refusal: why}
	}
	within := appendWithin
	if v == verbBegin || v == verbFinish {
		within = carryWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var place blob.Place
	var err error
	// judge calls it for no other.
	//exhaustive:ignore
	switch v {
	case verbBegin:
		place, out.There, err = d.Outputs.Begin(ctx, *req.Wish)
		out.Place = &place
	case verbChunk:
		err = d.Outputs.Chunk(ctx, req.JobID, *req.Place, req.N, req.chunk)
	case verbFinish:
		out.Done, err = d.Outputs.Finish(ctx, req.JobID, *req.Place)
	case verbOpen:
		place, out.Bytes, err = d.Outputs.Open(ctx, req.Place.Lane, req.Place.Digest)
		out.Place = &place
	case verbPiece:
		out.chunk, err = d.Outputs.Piece(ctx, *req.Place, req.N)
	}
	if err != nil {
		return answer{Refusal: explain(err)}
	}
	return out
}

// maxName bounds the name of an output, in bytes.
const maxName = 256

// mayCarry returns why a collector may not store or fetch this; nil if it may.
func (d *Door) mayCarry(ctx context.Context, v Verb, name events.CollectorName, lane events.Lane, req request) *refusal {
	p := *req.Place
	if v == verbOpen || v == verbPiece {
		if p.Lane == lane {
			return nil
		}
		_, why := d.inHand(ctx, name, req.After, func(held job.Lane) bool {
			return slices.ContainsFunc(held.Job.Inputs, func(i events.Input) bool { return i.Lane == p.Lane && i.Digest == p.Digest })
		})
		if why != nil && why.Kind == lost {
			return forbid("output %.64q of lane %.128s is no input of a job of collector %s", p.Digest, p.Lane, name)
		}
		return why
	}
	if v == verbBegin {
		switch w := req.Wish; {
		case w == nil:
			return misshapen("a put of nothing")
		case len(w.Output.Name) > maxName:
			return misshapen("the name of an output has %d bytes, at most %d", len(w.Output.Name), maxName)
		default:
			p.Lane, req.JobID = w.Lane, w.Job
		}
	}
	if p.Lane != lane {
		return forbid("lane %.128s does not belong to the collector", p.Lane)
	}
	_, why := d.inHand(ctx, name, req.After, func(held job.Lane) bool { return held.JobID == req.JobID })
	return why
}

// inHand returns the attempt of a collector, if it fits. The ledger is behind for a moment after each append, so inHand
// waits for the newest event that the collector knows before it refuses.
func (d *Door) inHand(ctx context.Context, name events.CollectorName, after events.Seq, fits func(job.Lane) bool) (job.Lane, *refusal) {
	for waited := false; ; waited = true {
		v := d.Guard.books.view(name)
		if held := v.lane.work; held.Phase == job.Current && held.Collector == name && fits(held) {
			return held, nil
		}
		if waited || v.at >= after {
			return job.Lane{}, taken("collector %s does not execute this job now", name)
		}
		if why := d.reach(ctx, after); why != nil {
			return job.Lane{}, why
		}
	}
}
