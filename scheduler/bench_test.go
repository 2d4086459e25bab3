package scheduler

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/ratio"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
)

// crowd is a scheduler with lanes, each with a working collector and waiting jobs, and with waiting requests.
type crowd struct {
	state *state
	s     *Scheduler
	seq   events.Seq
	lanes []events.Lane
	// turns counts the jobs that ended.
	turns int
}

func newCrowd(lanes, jobs, requests int) *crowd {
	log := memory.New(memory.Config{})
	c := &crowd{state: newState(), s: New(Config{
		Log: log, Hearing: ears{}, Policy: Policy{MaxInProgress: 1, QuarantineAfter: 3, ArtifactDeadline: time.Hour},
		Logger: slog.New(slog.DiscardHandler),
	})}
	started := events.RequestCreated{RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "t1", Key: "t1", State: events.StateArtifactsReady}
	c.fold(started, events.RequestStarted{RequestID: "r1", Jobs: lanes * jobs})
	for i := range lanes {
		lane := events.Lane{Target: "here", Set: events.Set(i)}
		name := events.CollectorName(fmt.Sprintf("c%d", i))
		c.lanes = append(c.lanes, lane)
		c.fold(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set}, events.LaneAssigned{Lane: lane, Name: name},
			events.CollectorOnline{Name: name, Instance: "i"})
		made := events.JobsCreated{RequestID: "r1"}
		for n := range jobs {
			made.Jobs = append(made.Jobs, events.JobSpec{
				ID: events.JobID(fmt.Sprintf("j%d-%d", i, n)), RequestID: "r1", Target: lane.Target, Set: lane.Set,
				Artifact: events.Artifact{Suite: "s", Tag: "t1", Kind: events.Master},
			})
		}
		c.fold(made)
	}
	for i := range requests {
		tag := events.Tag(fmt.Sprintf("w%d", i))
		c.fold(events.RequestCreated{
			RequestID: events.RequestID("r" + tag), Kind: events.Master, Suite: "s", Tag: tag, Key: string(tag), State: events.StateArtifactsReady,
		})
	}
	c.decide()
	for i, lane := range c.lanes {
		c.dequeue(i, c.state.Lanes[lane].Work.Places)
	}
	c.decide()
	return c
}

func (c *crowd) fold(facts ...events.Fact) {
	for _, f := range facts {
		c.seq++
		c.state.Fold(events.Recorded{Event: events.Event{Time: noon, Fact: f}, Seq: c.seq})
	}
}

// decide does what a step does, but without a log: every decision happens at once.
func (c *crowd) decide() {
	for _, d := range c.s.decisions(c.state, noon) {
		c.fold(d.facts...)
	}
}

func (c *crowd) dequeue(i int, place uint64) {
	lane := c.lanes[i]
	s := c.state.Lanes[lane]
	c.fold(events.JobDequeued{
		Lane: lane, Place: place, Job: c.state.Jobs[s.Work.Dispatched[place]].Spec(), Collector: events.CollectorName(fmt.Sprintf("c%d", i)), Instance: "i", Attempt: 1,
	})
}

// turn is the life of a job for the scheduler: the previous job ends, this one is dequeued, the next one is dispatched.
func (c *crowd) turn() {
	i := c.turns % len(c.lanes)
	c.turns++
	work := c.state.Lanes[c.lanes[i]].Work
	c.fold(events.JobFinished{Lane: c.lanes[i], Place: work.Place, JobID: work.JobID, RequestID: "r1", Collector: work.Collector, Token: work.Token, Outcome: events.Success})
	c.decide()
	c.dequeue(i, work.Place+1)
	c.decide()
}

// BenchmarkDecide is what deciding takes for one job, from the end of the one before: two decisions and the folds of its events,
// on farms of 8, 256 and 1,000 lanes with 100,000 jobs and 50,000 requests behind them, in turns. It should not grow with the lanes,
// and is compared with the synced append of one event; a job makes four of those.
func BenchmarkDecide(b *testing.B) {
	sizes := []int{8, 256, 1000}
	best := make([]time.Duration, len(sizes))
	for b.Loop() {
		crowds := make([]*crowd, len(sizes))
		for i, lanes := range sizes {
			crowds[i] = newCrowd(lanes, 100_000/lanes, 50_000)
		}
		inTurns(best, func(i int) {
			for range atOnce {
				crowds[i].turn()
			}
		})
	}
	for i, lanes := range sizes {
		b.ReportMetric(micros(best[i]), fmt.Sprintf("µs/job-%d", lanes))
	}
	b.ReportMetric(float64(best[2])/atOnce/float64(rawAppend(b)), "times-raw")
	ratio.AtMost(b, "1000-lanes-of-8", float64(best[2])/float64(best[0]), 2)
	ratio.AtMost(b, "µs/job", micros(best[2]), 30)
}

// atOnce is how many jobs are timed at once: few, so that the shortest time is one without other work on the machine.
const atOnce = 50

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / atOnce }

// inTurns notes the shortest of a hundred times that each of some works takes, one after the other.
func inTurns(best []time.Duration, work func(i int)) {
	for range 100 {
		for i := range best {
			began := time.Now()
			work(i)
			if took := time.Since(began); best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
}

// flow is a scheduler of a farm with one lane on which each request has one job. So each job ends a request, and the next one of
// those that wait starts.
type flow struct {
	crowd
	n int
}

func newFlow(pending int) *flow {
	log := memory.New(memory.Config{})
	f := &flow{crowd: crowd{state: newState(), lanes: []events.Lane{{Target: "here"}}, s: New(Config{
		Log: log, Hearing: ears{}, Policy: Policy{MaxInProgress: 2, QuarantineAfter: 3, ArtifactDeadline: time.Hour},
		Logger: slog.New(slog.DiscardHandler),
	})}}
	d := suite.Definitions{
		Version: 1, Name: "s", PrimaryTarget: "here", Sources: suite.Sources{Root: "file"}, Targets: []suite.Target{{Name: "here", Sets: 1}},
		Kinds: []suite.Kind{{Name: "compile"}}, Backends: []suite.Backend{{Name: "any"}}, Profiles: []suite.Profile{{Name: "p"}},
		Categories: map[events.RequestKind][]suite.Category{events.Master: {suite.Primary}},
	}
	f.fold(events.DefinitionsPublished{Suite: d.Name, Digest: d.Digest(), Content: d.Canonical()},
		events.CollectorRegistered{Name: "c0", Target: "here"}, events.LaneAssigned{Lane: f.lanes[0], Name: "c0"}, events.CollectorOnline{Name: "c0", Instance: "i"})
	for range pending {
		f.ask()
	}
	return f
}

// ask asks for the next artifact, a child of the one before.
func (f *flow) ask() {
	f.n++
	tag := events.Tag(fmt.Sprintf("t%d", f.n))
	f.fold(events.RequestCreated{
		RequestID: events.RequestID("r" + tag), Kind: events.Master, Suite: "s", Tag: tag, Parent: events.Tag(fmt.Sprintf("t%d", f.n-1)), Key: string(tag),
		State: events.StateArtifactsReady,
	})
}

// job is the life of one job, for which another request comes.
func (f *flow) job(b *testing.B) {
	for f.state.Lanes[f.lanes[0]].Work.Phase != job.Current {
		before := f.seq
		f.decide()
		if work := f.state.Lanes[f.lanes[0]].Work; work.Phase != job.Current && len(work.Dispatched) > 0 {
			f.dequeue(0, work.Place+1)
		} else if f.seq == before {
			b.Fatalf("nothing is decided at event %d", f.seq)
		}
	}
	work := f.state.Lanes[f.lanes[0]].Work
	f.fold(events.JobFinished{
		Lane: f.lanes[0], Place: work.Place, JobID: work.JobID, RequestID: work.Job.RequestID, Collector: work.Collector, Token: work.Token, Outcome: events.Success,
	})
	f.decide()
	f.ask()
}

// BenchmarkPending is what deciding takes for one job that ends its request, so that the next one starts, with 1,000, 10,000 and
// 100,000 requests that wait, in turns. It should not grow with them.
func BenchmarkPending(b *testing.B) {
	sizes := []int{1000, 10_000, 100_000}
	best := make([]time.Duration, len(sizes))
	for b.Loop() {
		flows := make([]*flow, len(sizes))
		for i, pending := range sizes {
			flows[i] = newFlow(pending)
		}
		inTurns(best, func(i int) {
			for range atOnce {
				flows[i].job(b)
			}
		})
	}
	for i, pending := range sizes {
		b.ReportMetric(micros(best[i]), fmt.Sprintf("µs/job-%d", pending))
	}
	ratio.AtMost(b, "100000-pending-of-1000", float64(best[2])/float64(best[0]), 1.5)
}

// BenchmarkInProgress is a turn of a shared farm with 10,000 requests in progress, and how many times longer it takes
// than one with 100.
func BenchmarkInProgress(b *testing.B) {
	few := inProgress(b, 100, 2000)
	var many time.Duration
	turns := 0
	for b.Loop() {
		many += inProgress(b, 10_000, 2000)
		turns++
	}
	b.ReportMetric(float64((many/time.Duration(turns)).Nanoseconds())/1000, "µs/job")
	b.ReportMetric(float64(many/time.Duration(turns))/float64(few), "times-100")
}

// inProgress is how long a turn takes on a farm with this many requests in progress, of 50 accounts on 10 lanes.
func inProgress(b *testing.B, requests, turns int) time.Duration {
	b.Helper()
	f := newSharedFarm(b, 10)
	for i := range requests {
		f.ask(i%10, 1+30_000/requests, time.Minute, own(events.AccountName(fmt.Sprintf("u%d", i%50))))
	}
	f.dispatch()
	f.all = true
	began := time.Now()
	for range turns {
		f.step()
	}
	return time.Since(began) / time.Duration(turns)
}

// rawAppend is how long a synced append of one event takes.
func rawAppend(b *testing.B) time.Duration {
	b.Helper()
	server, err := natsserver.Start(natsserver.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Shutdown()
	nc, err := server.Connect()
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	log, err := jetstream.Open(b.Context(), nc, jetstream.Config{})
	if err != nil {
		b.Fatal(err)
	}
	const n = 300
	subject := events.RegistrySubject("c1")
	began := time.Now()
	var at events.Seq
	for range n {
		at, err = log.Append(b.Context(), eventlog.Append{Subject: subject, Expected: at, Events: []events.Event{
			eventlog.NewEvent(events.CollectorActivated{Name: "c1"}, eventlog.Meta{Source: "bench", Actor: "bench"}, noon),
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began) / n
}

// BenchmarkMatched decides which machine gets the next matched job, and folds that: machines of one slot, ten classes of
// jobs, a tenth of the lanes free. A decision and its fold are compared with a synced append.
func BenchmarkMatched(b *testing.B) {
	for _, machines := range []int{100, 1000} {
		b.Run(fmt.Sprintf("machines=%d", machines), func(b *testing.B) {
			p := newPool(1, 1)
			for range machines {
				p.machine(size(64, 16, 1))
			}
			for i := range 10 {
				p.ask(account(i%4), 10_000, fmt.Sprintf("memory=%dg", 1+i))
			}
			s := p.schedulers[0]
			dispatch := func() {
				d := decideAll(s, p.policy, p.now)
				if len(d) == 0 {
					b.Fatal("nothing is dispatched")
				}
				b.StopTimer()
				p.say(d[0].facts...)
				b.StartTimer()
				p.read(s, len(p.log))
			}
			p.read(s, len(p.log))
			for len(p.places) < machines*9/10 {
				dispatch()
			}
			for b.Loop() {
				b.StopTimer()
				for lane := range p.places { // any job begins and ends
					h := p.hostOf(lane)
					p.work(h, lane)
					p.work(h, lane)
					break
				}
				p.read(s, len(p.log))
				b.StartTimer()
				dispatch()
			}
			turn := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(turn.Microseconds()), "µs/job")
			b.ReportMetric(float64(turn)/float64(rawAppend(b)), "times-raw")
		})
	}
}
