package readmodel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/match"
)

// RequestRest says when the jobs of a request of another queue than the main one are expected to end. Requests of the main
// queue have estimates in the queue.
type RequestRest struct {
	// Known says that the two times are known: half to double of what the jobs before its last ones let expect, in
	// milliseconds from now.
	Known      bool  `json:"known"`
	EarliestMS int64 `json:"earliest_ms,omitempty"`
	LatestMS   int64 `json:"latest_ms,omitempty"`
	// Words say it, or why it is not known.
	Words string `json:"words"`
}

// restLines bounds for how many lanes, or kinds of machines, the jobs of a request may wait, if their end is estimated.
// Each of them costs as much as the reason of one job.
const restLines = 8

// Rest says when the jobs of a request are expected to end. It is nil for requests of the main queue and for those that
// have ended. Jobs that the request shares with an earlier one are left out, and so are optional ones.
func (r *Reader) Rest(ctx context.Context, found Request, waits match.Waits) (*RequestRest, error) {
	switch {
	case found.Queue == "" || found.State.Terminal():
		return nil, nil
	case found.State != events.StateInProgress:
		return unknown("it has not started"), nil
	}
	open, err := all[Job](ctx, r.pool, "rest_jobs", found.ID)
	if err != nil {
		return nil, err
	}
	ends := rest{now: waits.Now}
	last := ends.last(open)
	if len(last) > restLines {
		return unknown(fmt.Sprintf("its jobs wait for %d lanes and kinds of machines", len(last))), nil
	}
	for _, id := range last {
		rows, err := r.whyRows(ctx, id, waits)
		if err != nil {
			return nil, err
		}
		ends.wait(rows)
	}
	return ends.said(), nil
}

// rest finds when the last of some jobs ends.
type rest struct {
	now time.Time
	// earliest and latest are in milliseconds; jobs counts those that have not ended.
	earliest, latest int64
	jobs             int
	// why says of what the end is not known.
	why string
}

// last notes the jobs that run, and returns the last one of those that wait for the same.
func (e *rest) last(jobs []Job) (last map[string]events.JobID) {
	last = map[string]events.JobID{}
	for _, j := range jobs {
		switch {
		case j.Optional || j.State.Terminal():
		case j.State == events.JobQueued && j.Matched && j.Place == 0:
			last["any "+strings.Join(j.Requires, " ")] = j.ID
		case j.State == events.JobQueued:
			last[j.Lane().String()] = j.ID
		case j.Share == nil || j.DequeuedAt == nil:
			e.why = "how long job " + string(j.ID) + " takes is not known"
		default:
			left := max(j.Share.ExpectMS-e.now.Sub(*j.DequeuedAt).Milliseconds(), 0)
			e.add(left/2, 2*left)
		}
	}
	return last
}

// wait notes a job that waits.
func (e *rest) wait(rows whyRows) {
	w := rows.why()
	length, known := rows.length()
	switch {
	case !w.Waits: // it began or ended a moment ago
	case w.Starts == nil && known:
		e.why = fmt.Sprintf("of job %s, %s", w.JobID, w.Words)
	case !known:
		e.why = fmt.Sprintf("no job like job %s has ended yet", w.JobID)
	default:
		e.add(w.Starts.AfterMS+int64(length/2), w.Starts.BeforeMS+int64(2*length))
	}
}

func (e *rest) add(earliest, latest int64) {
	e.jobs++
	e.earliest, e.latest = max(e.earliest, earliest), max(e.latest, latest)
}

// said returns what is known; nil if no job is left.
func (e *rest) said() *RequestRest {
	switch {
	case e.why != "":
		return unknown(e.why)
	case e.jobs == 0:
		return nil
	}
	long := func(ms int64) string {
		return phrase.Duration((time.Duration(ms) * time.Millisecond).Round(time.Second))
	}
	return &RequestRest{true, e.earliest, e.latest, fmt.Sprintf("its jobs end in about %s to %s", long(e.earliest), long(e.latest))}
}

func unknown(why string) *RequestRest {
	return &RequestRest{Words: "when its jobs end is not known: " + why}
}
