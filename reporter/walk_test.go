package reporter

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// questions counts the calls to a log.
type questions struct {
	eventlog.Log
	mu              sync.Mutex
	asked, recorded int
}

func (q *questions) count(n *int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*n++
}

// Append implements eventlog.Log.
func (q *questions) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	q.count(&q.recorded)
	return q.Log.Append(ctx, parts...)
}

// Read implements eventlog.Log.
func (q *questions) Read(ctx context.Context, s events.Subject) ([]events.Recorded, error) {
	q.count(&q.asked)
	return q.Log.Read(ctx, s)
}

// Last implements eventlog.Log.
func (q *questions) Last(ctx context.Context, s events.Subject) (events.Recorded, bool, error) {
	q.count(&q.asked)
	return q.Log.Last(ctx, s)
}

// Head implements eventlog.Log.
func (q *questions) Head(ctx context.Context) (eventlog.Head, error) {
	q.count(&q.asked)
	return q.Log.Head(ctx)
}

func (q *questions) since() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := fmt.Sprintf("%d questions, %d appends", q.asked, q.recorded)
	q.asked, q.recorded = 0, 0
	return out
}

// Counts the questions to the log to write one comment: none, since the reporter uses its ledger. docs/tour.md
// explains the reason of each append.
func TestHowOftenTheLogIsAskedForAComment(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		log := &questions{Log: r.log}
		r.run(r.config(log, r.client))
		synctest.Wait()
		log.since()
		for _, step := range []struct {
			what string
			do   func()
			want string
		}{
			{"an answer", func() { r.record(answer("a1", "Hello.")) }, "0 questions, 2 appends"},
			{"one with a label", func() {
				w := answer("a2", "Queued.")
				w.AddLabels = []string{"waiting"}
				r.record(w)
			}, "0 questions, 3 appends"},
			// The wish, the attempt, the posted comment and its labels; then both answers are folded away.
			{"a report", func() { r.try("r1", "t1") }, "0 questions, 6 appends"},
		} {
			step.do()
			<-time.After(time.Minute)
			if got := log.since(); got != step.want {
				t.Errorf("%s: the log was asked for %s, want %s", step.what, got, step.want)
			}
		}
	})
}
