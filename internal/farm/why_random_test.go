package farm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/scheduler"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// whyWaits are the settings of the schedulers of why worlds.
var whyWaits = match.Waits{Affinity: 30 * time.Second, Room: 10 * time.Minute}

// whyWorld is the world of a random pool.
type whyWorld struct {
	*world
	lanes    []events.Lane
	requests int
	accounts int
	// limit is how many places the last account may have open; 0 for any number.
	limit int
}

func newWhyWorld(t *testing.T, seed uint64) *whyWorld {
	w := &whyWorld{
		world:    newWorld(t, rand.New(rand.NewPCG(seed, 5)), scheduler.Policy{MaxInProgress: 1, AffinityWait: whyWaits.Affinity, RoomWait: whyWaits.Room}),
		accounts: 1 + int(seed%3)/2,
	}
	for i := range w.accounts {
		w.limit = w.r.IntN(2) * 3
		w.say(events.AccountConfigured{Account: w.account(i), Weight: 10, Limits: events.Limits{MaxRunning: w.limit}})
	}
	for i := range 1 + w.r.IntN(4) {
		w.machine(i)
	}
	return w
}

func (w *whyWorld) account(i int) events.AccountName {
	return events.AccountName(fmt.Sprintf("a%d", i))
}

func (w *whyWorld) machine(n int) {
	d := events.MachineDescribed{
		Machine: events.MachineName(fmt.Sprintf("m%d", n)), Pool: "p", OS: "linux", Arch: "amd64",
		MemoryMiB: int64(2+w.r.IntN(8)) << 10, CPUs: 1 + w.r.IntN(4), Slots: 1 + w.r.IntN(3),
	}
	if w.r.IntN(2) == 0 {
		d.Traits = []string{"nvme"}
	}
	w.say(d)
	for i := range d.Slots {
		lane := events.PoolLane("p", n*8+i)
		if err := w.log.EnsureLane(w.t.Context(), lane, 0); err != nil {
			w.t.Fatal(err)
		}
		w.lanes = append(w.lanes, lane)
		name := w.slot(lane)
		w.say(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set, Machine: d.Machine}, events.LaneAssigned{Lane: lane, Name: name},
			events.CollectorActivated{Name: name}, events.CollectorOnline{Name: name, Instance: "i", Knows: w.knows()})
	}
}

// knows returns what a collector knows: some are of a version that cannot build.
func (w *whyWorld) knows() []string {
	if w.r.IntN(2) == 0 {
		return []string{events.KnowsMatched}
	}
	return []string{events.KnowsMatched, events.KnowsBuild}
}

func (w *whyWorld) slot(l events.Lane) events.CollectorName {
	return events.CollectorName(fmt.Sprintf("m%d-%d", l.Set/8, l.Set%8))
}

// ask starts a request.
func (w *whyWorld) ask() {
	w.requests++
	account, tag := w.account(w.r.IntN(w.accounts)), events.Tag(fmt.Sprintf("t%03d", w.requests))
	created := events.RequestCreated{
		RequestID: events.RequestID("r" + tag), Kind: events.Master, Suite: "s", Tag: tag, Key: string(tag), State: events.StateArtifactsReady, Account: account,
	}
	var terms, caches []string
	for _, term := range []string{fmt.Sprintf("memory=%dm", 512*(1+w.r.IntN(8))), "cpus=1", "trait=nvme", "exclusive"} {
		if w.r.IntN(5) == 0 || strings.HasPrefix(term, "memory") {
			terms = append(terms, term)
		}
	}
	if w.r.IntN(3) > 0 {
		caches = []string{"git"}
	}
	needs, err := match.Parse(terms)
	if err != nil {
		w.t.Fatal(err)
	}
	recipe := events.Digest("")
	if w.r.IntN(3) == 0 {
		recipe = "r"
	}
	made := events.JobsCreated{RequestID: created.RequestID}
	for i := range 1 + w.r.IntN(3) {
		made.Jobs = append(made.Jobs, events.JobSpec{
			ID: events.JobID(fmt.Sprintf("j%s-%d", tag, i)), RequestID: created.RequestID, Kind: "compile", Target: "here", Set: events.Set(i), Caches: caches,
			Artifact: events.Artifact{Suite: "s", Tag: tag, Kind: events.Master}, Matched: true, Requires: needs.Terms(), Recipe: recipe,
		})
	}
	w.say(created, events.RequestStarted{RequestID: created.RequestID, Definitions: "d", Jobs: len(made.Jobs)}, made)
}

// step lets something happen.
func (w *whyWorld) step() {
	lane := w.lanes[w.r.IntN(len(w.lanes))]
	name := w.slot(lane)
	switch k := w.r.IntN(100); {
	case k < 25:
		w.decide(true)
	case k < 30:
		w.ask()
	case k < 90:
		w.work(lane)
	case k < 94:
		w.say([]events.Fact{
			events.CollectorDraining{Name: name}, events.CollectorOffline{Name: name, Instance: "i", Reason: "silence"}, events.CollectorDeactivated{Name: name},
		}[w.r.IntN(3)])
	default:
		w.say(events.CollectorActivated{Name: name}, events.CollectorOnline{Name: name, Instance: "i", Knows: w.knows()})
	}
}

// work begins the job of a lane, ends it, loses it, or finds too little memory.
func (w *whyWorld) work(at events.Lane) {
	lane := w.ledger.Lanes[at]
	tell := func(c job.Command) {
		if facts, err := job.Decide(lane.Work.Lane, at, c); err == nil {
			w.say(facts...)
		}
	}
	if lane.Work.Phase != job.Current {
		for _, d := range lane.Dispatches {
			tell(job.Dequeue{Place: lane.Work.Places, Job: d.Job, Collector: w.slot(at), Instance: "i", MaxAttempts: 9, Attempt: d.Attempt, Lost: d.Lost})
		}
		return
	}
	needs, _ := match.Parse(lane.Dispatches[lane.Work.Place].Job.Requires)
	switch k := w.r.IntN(10); {
	case k < 2:
		tell(job.Release{
			Token: lane.Work.Token, Reason: "full", At: time.Now(),
			HostFull: &events.HostFull{ReservedMiB: needs.MemoryMiB(), FreeMiB: w.r.Int64N(needs.MemoryMiB())},
		})
	case k < 3:
		tell(job.Lose{Token: lane.Work.Token, Reason: "silence"})
	default:
		tell(job.Finish{Token: lane.Work.Token, Outcome: events.Success, Measured: 1, At: time.Now()})
	}
}

// decide carries out what the scheduler decides, once. Without dispatch it leaves the dispatches out. It returns the jobs
// that were dispatched, and whether anything was recorded.
func (w *whyWorld) decide(dispatch bool) (jobs []events.JobID, did bool) {
	before := w.ledger.Seq
	for _, step := range w.scheduler.Decide(w.ledger, w.now) {
		if step.What == "dispatch job" && !dispatch {
			continue
		}
		if _, err := step.Do(w.t.Context()); err != nil {
			w.t.Fatalf("%s: %v", step.What, err)
		}
	}
	waiting := w.waiting()
	w.read()
	for _, id := range waiting {
		if w.ledger.Jobs[id].Place > 0 {
			jobs = append(jobs, id)
		}
	}
	return jobs, w.ledger.Seq > before
}

// waiting returns the jobs that wait for a machine.
func (w *whyWorld) waiting() (ids []events.JobID) {
	for id, j := range w.ledger.Jobs {
		if _, waits := w.ledger.ClassOf(j); waits && j.State == events.JobQueued && j.Place == 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// limited reports whether the only account has as many places open as it may. Its last one may go to a later job, on a
// machine on which the first has no room.
func (w *whyWorld) limited() bool {
	open := 0
	for _, lane := range w.ledger.Lanes {
		open += len(lane.Dispatches)
	}
	return w.limit > 0 && open >= w.limit
}

// TestWhySaysWhatTheSchedulerDoes: the tables and the ledger of a scheduler read the same log. A job that is dispatched
// next is dispatched if its account is the only one. A job that no machine takes now is not in the next decision.
func TestWhySaysWhatTheSchedulerDoes(t *testing.T) {
	said := map[readmodel.WaitReason]int{}
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWhyWorld(t, seed)
			for range 2 + w.r.IntN(3) {
				w.ask()
			}
			for range 10 + w.r.IntN(60) {
				w.step()
			}
			for again := true; again; {
				_, again = w.decide(false)
			}
			w.now = time.Now().Add([]time.Duration{0, 0, 0, 15 * time.Second, time.Minute, 5 * time.Minute, 12 * time.Minute}[w.r.IntN(7)])
			told := w.told()
			first, _ := w.decide(true)
			then := slices.Clone(first)
			for again := true; again; {
				var more []events.JobID
				more, again = w.decide(true)
				then = append(then, more...)
			}
			for id, why := range told {
				said[why.Reason]++
				switch why.Reason {
				case readmodel.WaitNext:
					if w.accounts == 1 && !w.limited() && !slices.Contains(then, id) {
						t.Errorf("job %s is not dispatched: %s", id, why.Words)
					}
				case readmodel.WaitNoMachine, readmodel.WaitNoOnline, readmodel.WaitUnable, readmodel.WaitNoRoom, readmodel.WaitAffinity, readmodel.WaitLimit:
					if slices.Contains(first, id) {
						t.Errorf("job %s is dispatched now: %s %s", id, why.Reason, why.Words)
					}
				case readmodel.WaitLane, readmodel.WaitPaused, readmodel.WaitTier, readmodel.WaitNeeds, readmodel.WaitSkipped:
					t.Errorf("job %s: %s", id, why.Words)
				case readmodel.WaitOwn, readmodel.WaitShare: // another may have no room
				}
			}
		})
	}
	t.Logf("%v", said)
	for _, reason := range []readmodel.WaitReason{
		readmodel.WaitNext, readmodel.WaitNoMachine, readmodel.WaitNoOnline, readmodel.WaitUnable, readmodel.WaitNoRoom, readmodel.WaitLimit, readmodel.WaitOwn,
	} {
		if said[reason] == 0 {
			t.Errorf("no job has the reason %s", reason)
		}
	}
}

// told returns what the tables say of the jobs that wait.
func (w *whyWorld) told() map[events.JobID]readmodel.Why {
	t := w.t
	url := pgtest.New(t, "migrated", readmodel.Migrate)
	tables, err := readmodel.OpenPools(t.Context(), url, readmodel.Patient(5*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	p := projector.New(projector.Config{Log: w.log, URL: url})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	if err := tables.WaitFor(ctx, w.head()); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
	waits := whyWaits
	waits.Now = w.now
	told := map[events.JobID]readmodel.Why{}
	for _, id := range w.waiting() {
		why, err := tables.WhyJob(t.Context(), id, waits)
		if err != nil {
			t.Fatal(err)
		}
		told[id] = why
	}
	return told
}
