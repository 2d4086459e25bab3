package farm

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// reads notes what a collector reads.
type reads struct {
	eventlog.Aggregates

	mu  sync.Mutex
	all []events.Subject
}

func (r *reads) note(s events.Subject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, s)
}

// Read implements eventlog.Aggregates.
func (r *reads) Read(ctx context.Context, s events.Subject) ([]events.Recorded, error) {
	r.note(s)
	return r.Aggregates.Read(ctx, s)
}

// Last implements eventlog.Aggregates.
func (r *reads) Last(ctx context.Context, s events.Subject) (events.Recorded, bool, error) {
	r.note(s)
	return r.Aggregates.Last(ctx, s)
}

// What only the collector could have changed, and what never changes, it does not read for each job.
func TestJobsAfterTheFirstReadNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(t, manyJobs(5), policy)
		defer f.Stop()
		lane := events.Lane{Target: "here"}
		f.Register("c", lane)
		var r *reads
		f.Start("c", lane, "i", &Bench{}, func(c *collector.Config) {
			r = &reads{Aggregates: c.Log}
			c.Log, c.BeatEvery = r, time.Hour
		})
		for _, tag := range []events.Tag{"a", "b"} {
			if _, _, err := f.Control.CreateRequest(t.Context(), By, control.NewRequest{Suite: f.Suite.Name, Kind: events.Master, Tag: tag}); err != nil {
				t.Fatal(err)
			}
			ended := 0
			f.Await("the end of the request", func(fact events.Fact) bool {
				if _, ok := fact.(events.RequestCompleted); ok {
					ended++
				}
				return ended == map[events.Tag]int{"a": 1, "b": 2}[tag]
			})
			r.mu.Lock()
			if tag == "a" && !slices.Contains(r.all, events.SuiteSubject(f.Suite.Name)) {
				t.Errorf("the first job read %s, and not its definitions", r.all)
			}
			if tag == "b" && len(r.all) > 0 {
				t.Errorf("five jobs read %s", r.all)
			}
			r.all = nil
			r.mu.Unlock()
		}
	})
}
