package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/visible"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// errEnded ends FollowEvents.
var errEnded = errors.New("ended")

// await prints what happens until all the requests have ended.
func (p *Program) await(ctx context.Context, cl *client.Client, ids ...events.RequestID) error {
	t := &teller{
		p: p, began: p.Clock(), asked: map[events.RequestID]bool{}, open: map[events.RequestID]bool{},
		jobs: map[events.JobID]bool{}, running: map[events.CollectorName]string{},
	}
	var start events.Seq
	for _, id := range ids {
		t.asked[id], t.open[id] = true, true
		first, err := cl.Events(ctx, client.EventQuery{Subject: "request." + string(id), After: new(events.Seq), Limit: 1})
		if err != nil {
			return err
		}
		if len(first) > 0 && (start == 0 || first[0].Seq <= start) {
			start = first[0].Seq - 1
		}
	}
	stop := t.tick(ctx)
	defer stop()
	err := cl.FollowEvents(ctx, client.EventQuery{After: &start}, func(e readmodel.Event) error {
		t.tell(e)
		if len(t.open) == 0 {
			return errEnded
		}
		return nil
	})
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// teller prints the progress of requests in plain lines. On a terminal it keeps one line of status below them.
type teller struct {
	p     *Program
	began time.Time
	asked map[events.RequestID]bool

	mu sync.Mutex
	// open has the requests that have not ended, jobs the jobs of all the requests.
	open map[events.RequestID]bool
	jobs map[events.JobID]bool
	// ended counts jobs, cases the test cases that were measured.
	ended, cases int
	running      map[events.CollectorName]string
}

// tick updates the line of status every second; stop removes the line.
func (t *teller) tick(ctx context.Context) (stop func()) {
	if t.p.screen == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			t.show()
			retry.Sleep(ctx, time.Second)
		}
	}()
	return func() {
		cancel()
		<-ended
		t.p.screen.show("")
	}
}

// tell prints the next event if the person who waits should see it.
func (t *teller) tell(e readmodel.Event) {
	recorded, err := events.Decode(events.Stored{Seq: e.Seq, Subject: e.Subject, Header: e.Headers, Data: e.Data})
	if err != nil {
		return
	}
	if t.take(recorded.Fact) {
		t.p.say("%7s  %-18s %s", t.p.Clock().Sub(t.began).Round(100*time.Millisecond), shortType(events.TypeOf(recorded.Fact)), visible.Line(describe(recorded.Fact)))
	}
	if t.p.screen != nil {
		t.show()
	}
}

// take learns from a fact and reports whether the person who waits should see it.
func (t *teller) take(f events.Fact) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The rest is not about requests and their jobs, or the person who waits need not see it.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.RequestStarted:
		if t.asked[f.RequestID] {
			for _, id := range f.Shared {
				t.jobs[id] = true
			}
		}
		return t.asked[f.RequestID]
	case events.JobsCreated:
		if t.asked[f.RequestID] {
			for _, j := range f.Jobs {
				t.jobs[j.ID] = true
			}
		}
	case events.RequestExpansionFailed:
		return t.asked[f.RequestID]
	case events.JobDequeued:
		if t.jobs[f.Job.ID] {
			t.running[f.Collector] = fmt.Sprintf("%s %s/%s", short(f.Job.Artifact.Tag), f.Job.Backend, f.Job.Profile)
		}
		return t.jobs[f.Job.ID]
	case events.TestCasesMeasured:
		if t.jobs[f.JobID] {
			for _, side := range f.Sides() {
				t.cases += len(side.Cases)
			}
		}
	case events.JobFinished:
		if t.jobs[f.JobID] {
			t.ended++
			delete(t.running, f.Collector)
		}
		return t.jobs[f.JobID]
	case events.AttemptLost:
		return t.left(f.JobID, f.Collector)
	case events.AttemptReleased:
		return t.left(f.JobID, f.Collector)
	case events.ErrorRecorded:
		return t.jobs[f.JobID]
	case events.RequestCompleted, events.RequestFailed, events.RequestCancelled, events.RequestCancelledWithJobs,
		events.RequestExpired, events.RequestSuperseded:
		return t.close(f.(events.RequestFact).Whose())
	}
	return false
}

// left notes that a collector does not execute the job any more.
func (t *teller) left(id events.JobID, by events.CollectorName) bool {
	if t.jobs[id] {
		delete(t.running, by)
	}
	return t.jobs[id]
}

// close notes that a request has ended.
func (t *teller) close(id events.RequestID) bool {
	delete(t.open, id)
	return t.asked[id]
}

// show shows the line of status.
func (t *teller) show() {
	t.mu.Lock()
	defer t.mu.Unlock()
	status := fmt.Sprintf("%s  ", t.p.Clock().Sub(t.began).Round(time.Second))
	if len(t.jobs) == 0 {
		status += "waiting in the queue"
	} else {
		status += fmt.Sprintf("%d of %s, %s", t.ended, phrase.Count(len(t.jobs), "job"), phrase.Count(t.cases, "test case"))
	}
	for _, name := range sortedKeys(t.running) {
		status += fmt.Sprintf(" · %s: %s", name, t.running[name])
	}
	t.p.screen.show(status)
}
