package webhook

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// questions counts the calls to a log.
type questions struct {
	eventlog.Log
	mu                               sync.Mutex
	reads, lasts, newer, heads, adds int
}

func (q *questions) count(n *int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*n++
}

// Append implements eventlog.Log.
func (q *questions) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	q.count(&q.adds)
	return q.Log.Append(ctx, parts...)
}

// Read implements eventlog.Log.
func (q *questions) Read(ctx context.Context, s events.Subject) ([]events.Recorded, error) {
	q.count(&q.reads)
	return q.Log.Read(ctx, s)
}

// Last implements eventlog.Log.
func (q *questions) Last(ctx context.Context, s events.Subject) (events.Recorded, bool, error) {
	q.count(&q.lasts)
	return q.Log.Last(ctx, s)
}

// Newer implements eventlog.Log.
func (q *questions) Newer(ctx context.Context, s events.Subject, version events.Seq) (bool, error) {
	q.count(&q.newer)
	return q.Log.Newer(ctx, s, version)
}

// Head implements eventlog.Log.
func (q *questions) Head(ctx context.Context) (eventlog.Head, error) {
	q.count(&q.heads)
	return q.Log.Head(ctx)
}

// since returns the counts since the last call of since.
func (q *questions) since() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := fmt.Sprintf("%d reads, %d lasts, %d newer, %d heads, %d appends", q.reads, q.lasts, q.newer, q.heads, q.adds)
	q.reads, q.lasts, q.newer, q.heads, q.adds = 0, 0, 0, 0, 0
	return out
}

// Counts the calls to the log for a comment. docs/tour.md explains the reason of each call.
func TestHowOftenTheLogIsAskedForAComment(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		log := &questions{Log: r.log}
		b := r.bot()
		b.Log, b.Control = log, &control.Control{Log: log, Clock: time.Now}
		r.start(b)
		r.deliver("issue_comment", from(99, alice, "@tacho help").payload())
		log.since()
		for i, step := range []struct {
			what string
			c    comments
			want string
		}{
			{"nothing for us", by(alice, "looks good"), "0 reads, 0 lasts, 0 newer, 0 heads, 1 appends"},
			{"who may not", by(mallory, "@tacho queue"), "0 reads, 0 lasts, 0 newer, 0 heads, 1 appends"},
			// The definitions, and the newest try of the pull request.
			{"the first queue", by(alice, "@tacho queue"), "0 reads, 1 lasts, 1 newer, 0 heads, 1 appends"},
			// Also the try before it, which it supersedes.
			{"another queue", by(alice, "@tacho queue"), "1 reads, 1 lasts, 1 newer, 0 heads, 1 appends"},
			// The newest try, its request, the definitions; the second append announces the place in the queue.
			{"the merge bot's message", by(bors, builtMessage), "1 reads, 1 lasts, 1 newer, 0 heads, 2 appends"},
			// Whether it was answered, the definitions; the second append announces the place in the queue.
			{"build", by(alice, "@tacho build "+merged), "0 reads, 1 lasts, 1 newer, 0 heads, 2 appends"},
			{"status", by(alice, "@tacho status"), "0 reads, 0 lasts, 1 newer, 0 heads, 1 appends"},
		} {
			step.c.id = int64(100 + i)
			r.deliver("issue_comment", step.c.payload())
			if got := log.since(); got != step.want {
				t.Errorf("%s: the log was asked for %s, want %s", step.what, got, step.want)
			}
		}
	})
}

// moving is a log on which, while it is set, another writer is always first on one request.
type moving struct {
	eventlog.Log
	first atomic.Bool
}

// Append implements eventlog.Log.
func (m *moving) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	for _, p := range parts {
		if m.first.Load() && p.Subject.Family() == "request" {
			return 0, &eventlog.ConflictError{Subject: p.Subject, Expected: p.Expected, Actual: p.Expected + 1}
		}
	}
	return m.Log.Append(ctx, parts...)
}

// If other writers change a request all the time, the delivery waits, whatever it asks for.
func TestADeliveryWaitsForABusyRequest(t *testing.T) {
	for _, c := range []comments{by(alice, "@tacho queue"), by(alice, "@tacho build "+merged), by(alice, "@tacho cancel"), by(bors, builtMessage)} {
		inRig(t, func(t *testing.T, r *rig) {
			log := &moving{Log: r.log}
			b := r.bot()
			b.Log, b.Control = log, &control.Control{Log: log, Clock: time.Now}
			r.start(b)
			first := from(99, alice, "@tacho queue")
			r.deliver("issue_comment", first.payload())
			log.first.Store(true)
			c.id = 200
			id := r.post("issue_comment", c.payload())
			pass(time.Minute)
			if got := read(t, r.log, id); len(got) != 1 {
				t.Fatalf("%q came to %+v", c.body, got[len(got)-1].Fact)
			}
			log.first.Store(false)
			pass(10 * time.Minute)
			if h := r.handled(id); h.Outcome != events.DeliveryAccepted {
				t.Errorf("%q: %+v", c.body, h)
			}
		})
	}
}
