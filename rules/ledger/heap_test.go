package ledger_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// BenchmarkHeap reports how much heap a job takes while it waits, and after it and its request have ended, with its
// share of a request of 12 jobs and of one of 120, on a farm with and without 1,000 accounts. Each fact has its own strings, like a fact read from the log.
func BenchmarkHeap(b *testing.B) {
	for _, size := range []int{10_000, 30_000, 100_000} {
		for _, each := range []int{12, 120} {
			for _, kind := range []struct {
				name     string
				ended    bool
				accounts int
			}{{"waiting", false, 0}, {"shared", false, 1000}, {"ended", true, 0}} {
				b.Run(fmt.Sprintf("%d/each=%d/%s", size, each, kind.name), func(b *testing.B) {
					for b.Loop() {
						before := heap()
						l := farm(b, size, each, kind.ended, kind.accounts)
						b.ReportMetric(float64(heap()-before)/float64(size), "B/job")
						runtime.KeepAlive(l)
					}
				})
			}
		}
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// farm is a ledger with this many jobs, some for each request, in the own queues of some accounts.
func farm(b *testing.B, jobs, each int, ended bool, accounts int) *ledger.Ledger {
	const lanes = 4
	l := ledger.New()
	var seq events.Seq
	tell := func(f events.Fact) {
		seq++
		l.Fold(events.Recorded{Seq: seq, Event: events.Event{Time: time.Unix(int64(seq), 0).UTC(), Fact: f}})
	}
	for i := range jobs / each {
		a := events.Artifact{Suite: "rustc", Tag: events.Tag(fmt.Sprintf("%040x", i)), Kind: events.Master}
		id := events.NewRequestID(a.Suite, events.Master, string(a.Tag))
		made := events.JobsCreated{RequestID: id}
		for n := range each {
			j := events.JobSpec{
				Artifact: a, Kind: "compile", Target: "x86_64-unknown-linux-gnu", Set: events.Set(n % lanes), Backend: "llvm",
				Profile: events.Profile(fmt.Sprintf("profile-%d", n/lanes)), RequestID: id,
				Definitions: "534605613b71fca0534605613b71fca0534605613b71fca0534605613b71fca0",
			}
			j.ID = events.NewJobID(a, j.Kind, j.Lane(), j.Backend, j.Profile, nil, nil)
			made.Jobs = append(made.Jobs, j)
		}
		text, err := json.Marshal(made)
		if err != nil {
			b.Fatal(err)
		}
		made = events.JobsCreated{}
		if err := json.Unmarshal(text, &made); err != nil {
			b.Fatal(err)
		}
		asked := events.RequestCreated{RequestID: id, Kind: events.Master, Suite: a.Suite, Tag: a.Tag, Key: string(a.Tag), State: events.StateArtifactsReady}
		if accounts > 0 {
			asked.Account = events.AccountName(fmt.Sprintf("account-%d", i%accounts))
			asked.Queue = events.QueueName(asked.Account)
		}
		tell(asked)
		tell(events.RequestStarted{RequestID: id, Jobs: each})
		tell(made)
		for n, j := range made.Jobs {
			if !ended {
				break
			}
			place := uint64(i*each/lanes + n/lanes + 1)
			tell(events.JobDispatched{Place: place, Job: j})
			tell(events.JobDequeued{Lane: j.Lane(), Place: place, Job: j, Collector: "c", Instance: "i", Attempt: 1})
			tell(events.JobFinished{
				Lane: j.Lane(), Place: place, JobID: j.ID, RequestID: id, Token: seq, Attempt: 1, Collector: "c", Outcome: events.Success, Measured: 5, DurationMS: 60_000,
			})
		}
		if ended {
			tell(events.RequestCompleted{RequestID: id})
		}
	}
	return l
}
