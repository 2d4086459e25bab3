package farm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// TestTimingsOfRandomGraphs compares the timings of random graphs, many of which fail, with an observer of their log: what ran over
// time is the sum of the durations of the attempts, and the critical path has no gaps.
func TestTimingsOfRandomGraphs(t *testing.T) {
	graphs, lost, paths, failed := 0, int64(0), 0, 0
	for seed := range graphLogs {
		var log []events.Stored
		synctest.Test(t, func(t *testing.T) {
			w := newGraphWorld(t, rand.New(rand.NewPCG(seed, 17)))
			for range 40 + w.r.IntN(80) {
				w.step()
			}
			w.settle()
			log = w.stored()
		})
		url := pgtest.New(t, "migrated", readmodel.Migrate)
		tables, err := readmodel.OpenPools(t.Context(), url, readmodel.Patient(5*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		defer tables.Close()
		feed := &slowFeed{log: log, grown: make(chan struct{})}
		feed.show(len(log))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- projector.New(projector.Config{Log: feed, URL: url}).Run(ctx) }()
		err = tables.WaitFor(t.Context(), events.Seq(len(log)))
		stop()
		if stopped := <-done; err != nil || stopped != nil {
			t.Fatal(err, stopped)
		}
		seen := watch(t, log)
		for _, id := range seen.requests {
			list, err := tables.Graphs(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range list {
				name := fmt.Sprintf("seed %d, graph %d of %s", seed, g.Number, id)
				got, err := tables.TimingsOf(t.Context(), g, seen.end)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				over := int64(0)
				for i, p := range got.Points[:max(len(got.Points)-1, 0)] {
					over += int64(p.Running) * (got.Points[i+1].AtMS - p.AtMS)
				}
				running, gone := seen.ran(id, g.Number)
				if over != got.RunningMS || got.Left == 0 && (running != got.RunningMS || gone != got.LostMS) {
					t.Fatalf("%s: %d ms over time, %d of all jobs, %d lost; the attempts took %d and lost %d", name, over, got.RunningMS, got.LostMS, running, gone)
				}
				for i, s := range got.Path[:max(len(got.Path)-1, 0)] {
					if next := got.Path[i+1]; next.ReadyMS != s.ReadyMS+s.WaitingMS+s.RunningMS+s.SkippedMS {
						t.Fatalf("%s: step %+v follows %+v", name, next, s)
					}
				}
				graphs++
				lost += got.LostMS
				paths = max(paths, len(got.Path))
				if g.Outcome == events.Failure {
					failed++
				}
			}
		}
	}
	t.Logf("%d graphs, %d failed, %d ms lost, paths of up to %d jobs", graphs, failed, lost, paths)
	if graphs == 0 || graphLogs > 2 && (failed == 0 || lost == 0 || paths < 2) { // under the race detector there are few
		t.Error("something did not happen")
	}
}

// watcher is what an observer of a log knows of graphs: which jobs they had since when, and all attempts.
type watcher struct {
	requests []events.RequestID
	had      map[string]map[events.JobID]time.Time
	closed   map[string]time.Time
	attempts map[events.JobID][]*span
	end      time.Time
}

type span struct {
	from, to time.Time
	lost     bool
}

func watch(t *testing.T, log []events.Stored) *watcher {
	w := &watcher{
		had: map[string]map[events.JobID]time.Time{}, closed: map[string]time.Time{}, attempts: map[events.JobID][]*span{},
	}
	tokens := map[events.Seq]*span{}
	for _, s := range log {
		e, err := events.Decode(s)
		if err != nil {
			t.Fatal(err)
		}
		w.end = s.StoredAt
		over := func(token events.Seq, lost bool) {
			if a := tokens[token]; a != nil && a.to.IsZero() {
				a.to, a.lost = s.StoredAt, lost
			}
		}
		// The others are no part of an attempt or a graph.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.RequestCreated:
			w.requests = append(w.requests, f.RequestID)
		case events.GraphCreated:
			w.had[fmt.Sprint(f.RequestID, f.Graph)] = map[events.JobID]time.Time{}
		case events.GraphEnded:
			w.closed[fmt.Sprint(f.RequestID, f.Graph)] = s.StoredAt
		case events.JobsCreated:
			if f.Graph == nil {
				continue
			}
			jobs := w.had[fmt.Sprint(f.RequestID, f.Graph.Graph)]
			for _, j := range f.Jobs {
				jobs[j.ID] = s.StoredAt
			}
			for _, shared := range f.Graph.Shared {
				jobs[shared.ID] = s.StoredAt
			}
		case events.JobDequeued:
			a := &span{from: s.StoredAt}
			tokens[s.Seq], w.attempts[f.Job.ID] = a, append(w.attempts[f.Job.ID], a)
		case events.JobFinished:
			over(f.Token, false)
		case events.AttemptLost:
			over(f.Token, true)
		case events.AttemptReleased:
			over(f.Token, true)
		}
	}
	return w
}

// ran returns how long the jobs of a graph ran while it had them, and how much of that was lost.
func (w *watcher) ran(id events.RequestID, number int) (running, lost int64) {
	key := fmt.Sprint(id, number)
	for job, since := range w.had[key] {
		for _, a := range w.attempts[job] {
			from, to := a.from.UnixMilli(), w.end.UnixMilli()
			if !a.to.IsZero() {
				to = a.to.UnixMilli()
			}
			if closed, ok := w.closed[key]; ok {
				to = min(to, closed.UnixMilli())
			}
			took := max(to-max(from, since.UnixMilli()), 0)
			running += took
			if a.lost {
				lost += took
			}
		}
	}
	return running, lost
}
