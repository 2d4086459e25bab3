package farm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

// heard follows a log until enough returns true.
func heard(t testing.TB, log eventlog.Log, enough func(events.Recorded) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cursor, err := log.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	for {
		stored, err := cursor.Next(ctx, eventlog.MaxBatch)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range stored {
			e, err := events.Decode(s)
			if err != nil {
				t.Fatal(err)
			}
			if enough(e) {
				return
			}
		}
	}
}

// Twenty clients ask for a thousand retriggers at once. In the midst of it a master comes. It does not wait until all are answered, and
// after its admission its first dispatch is at most the second one of its lane.
func TestAMasterAmongTwentyClients(t *testing.T) {
	const clients, each = 20, retriggers / 20
	f := newSharedFarm(t, memory.New(memory.Config{}), 1, 0)
	var asked []events.RequestID
	for n := range clients {
		asked = append(asked, f.submit(t, "", n))
	}
	ended := 0
	heard(t, f.log, func(e events.Recorded) bool {
		if _, ok := e.Fact.(events.RequestCompleted); ok {
			ended++
		}
		return ended == clients
	})
	f.hold.Store(int64(2 * time.Second)) // the retriggers come faster than they are measured

	var tasks sync.WaitGroup
	for n := range clients {
		tasks.Go(func() {
			for i := 0; i < each; {
				wish := events.GraphWanted{Key: fmt.Sprint("k", n, "-", i), Kind: events.GraphRetrigger, Copies: 1}
				_, _, err := f.control.Want(t.Context(), By, asked[n], wish)
				if refused, ok := errors.AsType[*control.RefusedError](err); ok && refused.Kind == control.TooMany {
					<-time.After(200 * time.Millisecond) // as a client does that is told to come back
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				i++
			}
		})
	}
	answered := 0
	heard(t, f.log, func(e events.Recorded) bool {
		if _, ok := e.Fact.(events.GraphAdmitted); ok {
			answered++
		}
		return answered == retriggers/4
	})
	master := f.submit(t, "", clients)
	tasks.Wait()

	made, refused, ran, waiting, before, passed := 0, 0, 0, 0, 0, -1
	heard(t, f.log, func(e events.Recorded) bool {
		// The others say nothing about the order.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.GraphAdmitted:
			made++
		case events.GraphRefused:
			refused++
		case events.RequestCreated:
			before = made // the last one is the master
		case events.RequestAdmitted:
			if fact.RequestID == master {
				waiting, before, passed = made-ran, made-before, 0
			}
		case events.JobDispatched:
			if fact.Job.Sample != "" {
				ran++
			}
			if passed >= 0 && fact.Job.RequestID == master {
				t.Logf("admitted behind %d retriggers; dispatch %d of its lane", waiting, passed+1)
				if passed > 1 {
					t.Errorf("its first dispatch is number %d of its lane", passed+1)
				}
				passed = -1
			} else if passed >= 0 {
				passed++
			}
		}
		return passed < 0 && made+refused == clients*each
	})
	if before > clients {
		t.Errorf("%d retriggers were answered while the master waited for its admission", before)
	}
	if waiting < retriggers/50 || refused > 0 {
		t.Errorf("%d retriggers waited when the master was admitted, %d were refused: this shows nothing", waiting, refused)
	}
}

// wideSuite has so many jobs in two layers, and each job of the second needs so many of the first.
func wideSuite(jobs, needs int) suite.Definitions {
	d := manyJobs(needs)
	d.Version, d.Targets[0].Sets = 2, jobs/2/needs
	first := suite.Kind{Name: "build", PerSet: true, PerProfile: true}
	d.Kinds = []suite.Kind{first, {Name: "compile", PerSet: true, PerProfile: true, Needs: []suite.KindNeed{{Kind: first.Name, Across: []string{"profile"}}}}}
	return d
}

// BenchmarkGraph asks for 10,000 jobs with 100,000 needs: how long until they are in a synced log, and how long then until
// the tables have them.
func BenchmarkGraph(b *testing.B) {
	for b.Loop() {
		inLog, inTables := startGraph(b, wideSuite(graph.MaxJobs, graph.MaxNeeds/5_000))
		b.ReportMetric(inLog.Seconds()*1000, "ms-to-log")
		b.ReportMetric(inTables.Seconds()*1000, "ms-to-tables")
	}
}

func startGraph(b *testing.B, d suite.Definitions) (inLog, inTables time.Duration) {
	_, log := syncedLog(b)
	c := &control.Control{Log: log, Clock: time.Now}
	_, err := c.Publish(b.Context(), By, d)
	if err != nil {
		b.Fatal(err)
	}
	url := pgtest.New(b, "migrated", readmodel.Migrate)
	tables, err := readmodel.OpenPools(b.Context(), url, readmodel.Patient(5*time.Minute))
	if err != nil {
		b.Fatal(err)
	}
	defer tables.Close()
	ctx, stop := context.WithCancel(b.Context())
	var tasks sync.WaitGroup
	defer func() { stop(); tasks.Wait() }()
	goes := func(run func(context.Context) error) {
		tasks.Go(func() {
			err := run(ctx)
			if err != nil {
				b.Error(err)
			}
		})
	}
	s := shell.New(shell.Config{Log: log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	s.Seat(scheduler.New(scheduler.Config{Log: log, Policy: policy, OfflineAfter: time.Minute, Logger: slog.New(slog.DiscardHandler)}))
	goes(s.Run)
	goes(projector.New(projector.Config{Log: log, URL: url}).Run)
	at := head(b, log)
	err = errors.Join(s.Wait(ctx, at), tables.WaitFor(ctx, at))
	if err != nil {
		b.Fatal(err)
	}

	began := time.Now()
	_, _, err = c.CreateRequest(ctx, By, control.NewRequest{Suite: d.Name, Kind: events.Master, Tag: "t1"})
	if err != nil {
		b.Fatal(err)
	}
	jobs, needs := 0, 0
	heard(b, log, func(e events.Recorded) bool {
		made, ok := e.Fact.(events.JobsCreated)
		if ok {
			jobs, at = jobs+len(made.Jobs), e.Seq
			for _, n := range made.Graph.Needs {
				needs += len(n.On)
			}
		}
		return jobs == graph.MaxJobs
	})
	inLog = time.Since(began)
	if needs != graph.MaxNeeds {
		b.Fatalf("%d needs", needs)
	}
	err = tables.WaitFor(ctx, at)
	if err != nil {
		b.Fatal(err)
	}
	return inLog, time.Since(began) - inLog
}

func head(b *testing.B, log *jetstream.Log) events.Seq {
	h, err := log.Head(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return h.Last
}
