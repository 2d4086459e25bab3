package door

import (
	"context"
	"errors"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

const (
	// maxDelay bounds how long a job that was given back stays away. It blocks its lane that long: a lane has one job
	// at a time.
	maxDelay = 2 * time.Minute
	// cold is how long ago the log got what the server has to read from the disk again. The server's own time is two minutes.
	cold = time.Minute
	// maxWord bounds the texts of a heartbeat, maxOutput a piece of a job's output, both in bytes.
	maxWord   = 256
	maxOutput = 512 << 10
)

// next waits for the next job of the lane. A collector has one wait at a time: a new one ends the one before.
func (d *Door) next(ctx context.Context, name events.CollectorName, who *account, lane events.Lane) answer {
	waiting, cancel := context.WithTimeout(ctx, waitForJob)
	defer cancel()
	defer who.startWaiting(cancel)()
	if v := d.Guard.books.view(name); !v.standing.Takes() || v.lane.assignment.Serving != name {
		return answer{Refusal: taken("collector %s does not serve lane %s now", name, lane)}
	}
	delivery, err := d.nextJob(waiting, lane)
	switch {
	case err != nil && waiting.Err() != nil:
		return answer{}
	case err != nil:
		return answer{Refusal: explain(err)}
	}
	token, ok := delivery.(interface{ Token() string })
	if !ok {
		return answer{Refusal: forbid("jobs of this log cannot be handed to a collector")}
	}
	s := delivery.Stored()
	return answer{Event: show(s), Delivery: token.Token()}
}

// passed is what the consumer of a lane has passed: the log up to an event, and when the log was there.
type passed struct {
	at   events.Seq
	when time.Time
}

// behind reports whether the consumer may have to pass so much to an event that the whole log would wait for it.
func (p passed) behind(from events.Seq, now time.Time) bool {
	return from > p.at+eventlog.FarBehind && now.Sub(p.when) > cold
}

// nextJob waits for the next job of a lane that has not ended. It makes the lane's consumer when the lane asks for the first time since
// this process began, when the server has lost it, and when it is far behind.
func (d *Door) nextJob(ctx context.Context, lane events.Lane) (eventlog.Delivery, error) {
	for lost := false; ; {
		from, now := d.Guard.books.undone(lane), d.Guard.clock()
		known, found := d.lanes.Load(lane)
		has, _ := known.(passed)
		if has.at == 0 || has.behind(from, now) {
			if err := d.Jobs.EnsureLane(ctx, lane, from); err != nil {
				if said := found && has.at == 0; !said && ctx.Err() == nil {
					d.Logger.WarnContext(ctx, "a lane gets no jobs, trying again", "lane", lane, "error", err)
					d.lanes.Store(lane, passed{})
				}
				return nil, err
			}
		}
		// The consumer passes what the log has, unless a job comes first.
		d.lanes.Store(lane, passed{from, now})
		delivery, err := d.Jobs.NextJob(ctx, lane)
		if err == nil {
			s := delivery.Stored()
			d.lanes.Store(lane, passed{s.Seq, s.StoredAt})
		}
		switch {
		case errors.Is(err, eventlog.ErrNoLane):
			d.lanes.Delete(lane)
			if lost && !retry.Sleep(ctx, askAgain) { // a cluster elects who keeps it
				return nil, err
			}
			lost = true
		case err == nil && d.Guard.books.over(lane, delivery.Stored().Seq):
			// Its end was not answered before its consumer was lost, or the consumer began earlier.
			if err := delivery.Ack(ctx); err != nil {
				return nil, err
			}
		default:
			return delivery, err
		}
	}
}

// startWaiting ends the previous wait and registers a new one. Call stop when that is over.
func (a *account) startWaiting(cancel func()) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leave != nil {
		a.leave()
	}
	a.waiting++
	mine := a.waiting
	a.leave = cancel
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.waiting == mine {
			a.leave = nil
		}
	}
}

// stopWaiting ends the collector's wait for a job.
func (a *account) stopWaiting() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leave != nil {
		a.leave()
	}
}

// answerDelivery prolongs, gives back or ends a delivery. It ends only the delivery of a job that has ended: otherwise a
// collector could leave a hole in the lane that no later collector notices.
func (d *Door) answerDelivery(ctx context.Context, lane events.Lane, req request) answer {
	delivery, err := d.Jobs.Delivered(lane, req.Delivery)
	if err != nil {
		return answer{Refusal: forbid("%.200q is not a delivery of lane %s", req.Delivery, lane)}
	}
	ctx, cancel := context.WithTimeout(ctx, appendWithin)
	defer cancel()
	switch req.What {
	case prolonged:
		err = delivery.InProgress(ctx)
	case givenBack:
		err = delivery.Nak(ctx, min(max(req.Delay, 0), maxDelay))
	case ended:
		if !d.Guard.books.over(lane, delivery.Stored().Seq) {
			// The job's end may be the event that the collector has just appended.
			if why := d.reach(ctx, req.After); why != nil {
				return answer{Refusal: why}
			}
		}
		if !d.Guard.books.over(lane, delivery.Stored().Seq) {
			return answer{Refusal: forbid("the job of event %d has not ended", delivery.Stored().Seq)}
		}
		err = delivery.Ack(ctx)
	default:
		return answer{Refusal: misshapen("unknown answer to a delivery: %.32q", string(req.What))}
	}
	if err != nil {
		return answer{Refusal: explain(err)}
	}
	return answer{}
}

// beat claims the collector's name for a process, renews the claim or gives it back.
func (d *Door) beat(ctx context.Context, r events.CollectorRegistered, req request) answer {
	b := req.Beat
	if b == nil || b.Name != r.Name {
		return answer{Refusal: forbid("a heartbeat of another collector")}
	}
	words := []string{b.Instance, b.Host, b.Version, string(b.JobID), string(b.Benchmark), b.Waits, req.Replaces}
	if b.Turn != nil {
		if len(b.Turn.Holders) > eventlog.MaxTurnHolders {
			return answer{Refusal: misshapen("a heartbeat that names %d holders of a turn, at most %d", len(b.Turn.Holders), eventlog.MaxTurnHolders)}
		}
		for _, h := range b.Turn.Holders {
			words = append(words, string(h.Name), string(h.JobID))
		}
	}
	for _, word := range words {
		if len(word) > maxWord {
			return answer{Refusal: misshapen("a heartbeat with a text of %d bytes, at most %d", len(word), maxWord)}
		}
	}
	if b.Instance == "" {
		return answer{Refusal: misshapen("a heartbeat without the instance of a process")}
	}
	now := d.Guard.clock()
	if b.Time.After(now.Add(clockAhead)) || b.Time.Before(now.Add(-clockBehind)) {
		b.Time = now.UTC()
	}
	ctx, cancel := context.WithTimeout(ctx, appendWithin)
	defer cancel()
	out := answer{BeatTTL: d.BeatTTL}
	var err error
	switch {
	case req.Claim:
		var holder eventlog.Beat
		holder, err = d.Presence.Claim(ctx, *b, req.Replaces)
		out.Holder = &holder
	case req.Release:
		err = d.Presence.Release(ctx, *b)
	default:
		if _, err = d.Presence.Beat(ctx, *b); err == nil {
			out.News = d.Guard.books.news(r)
		}
	}
	if err != nil {
		out.Refusal = explain(err)
	}
	return out
}

// output stores a piece of the output of one of the lane's jobs.
func (d *Door) output(ctx context.Context, lane events.Lane, req request) answer {
	c := req.Output
	switch {
	case c == nil || events.CheckToken("job", string(c.JobID)) != nil:
		return answer{Refusal: misshapen("output without the id of a job")}
	case len(c.Text) > maxOutput:
		return answer{Refusal: &refusal{Kind: tooLarge, Reason: "a piece of output of more than 512 KiB"}}
	}
	now := d.Guard.clock()
	if c.Time.After(now.Add(clockAhead)) || c.Time.Before(now.Add(-clockBehind)) {
		c.Time = now.UTC()
	}
	ctx, cancel := context.WithTimeout(ctx, appendWithin)
	defer cancel()
	if err := d.JobLogs.WriteLog(ctx, lane, *c); err != nil {
		return answer{Refusal: explain(err)}
	}
	return answer{}
}
