package readmodel

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

var whyNoon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// waitingJob is a job of alice in her own queue that nothing keeps from its dispatch.
func waitingJob() whyRows {
	return whyRows{
		job:      Job{ID: "j1", RequestID: "r1", Target: "linux", State: events.JobQueued, CreatedAt: whyNoon},
		request:  Request{ID: "r1", Account: "alice", Queue: "alice"},
		machines: []WhyMachine{{Name: "c1", State: CollectorIdle, Since: whyNoon}},
		leaves:   []whyLeaf{{Tier: events.TierDefault, Queue: "alice", Account: "alice", Waiting: 1}},
		shared:   true,
	}
}

func TestWhyAJobWaits(t *testing.T) {
	running := []WhyRunning{{"j0", "c1", whyNoon}}
	for _, tc := range []struct {
		name   string
		change func(*whyRows)
		reason WaitReason
		words  string
	}{
		{"nothing before it", func(*whyRows) {}, WaitNext, "it is dispatched next on lane linux/0"},
		{"a running job", func(r *whyRows) { r.running = running }, WaitNext, "it is dispatched next on lane linux/0; job j0 has run since 2026-11-22 12:00:00 UTC"},
		{"dispatched, alone", func(r *whyRows) { r.job.Place = 7 }, WaitNext, "it is the next job that runs on lane linux/0: its collector has not begun it yet"},
		{
			"dispatched behind one", func(r *whyRows) { r.job.Place, r.places, r.running = 7, 1, running }, WaitLane,
			"it is dispatched, and 1 job is before it on lane linux/0; job j0 has run since 2026-11-22 12:00:00 UTC",
		},
		{"dispatched behind two", func(r *whyRows) { r.job.Place, r.places = 7, 2 }, WaitLane, "it is dispatched, and 2 jobs are before it on lane linux/0"},
		{"no collector", func(r *whyRows) { r.machines = nil }, WaitNoMachine, "no collector is registered for lane linux/0"},
		{
			"no collector online", func(r *whyRows) {
				r.machines = []WhyMachine{
					{Name: "c1", State: CollectorOffline, Since: whyNoon}, {Name: "c2", State: CollectorRegistered, Since: whyNoon}, {Name: "c3", State: CollectorDraining, Since: whyNoon}, {Name: "c4", State: CollectorInactive, Since: whyNoon},
				}
			}, WaitNoOnline,
			"no collector of lane linux/0 takes jobs: c1 has been offline since 2026-11-22 12:00:00 UTC, " +
				"c2 has been registered since 2026-11-22 12:00:00 UTC and was never online, c3 has been draining since 2026-11-22 12:00:00 UTC and 1 more",
		},
		{
			"a collector that cannot build", func(r *whyRows) {
				r.uses, r.machines = true, []WhyMachine{{Name: "c1", State: CollectorIdle, Version: "v1", Serves: true}, {Name: "c2", State: CollectorIdle, Builds: true}}
			}, WaitUnable, "the collector of lane linux/0 does not know builds: c1 runs version v1; update it: `tacho collector want VERSION` does so under a supervisor",
		},
		{
			"a collector that can build", func(r *whyRows) {
				r.job.Built, r.machines = &JobBuilt{}, []WhyMachine{{Name: "c1", State: CollectorIdle, Serves: true, Builds: true}}
			}, WaitNext, "it is dispatched next on lane linux/0",
		},
		{
			"a chunk, and a collector that cannot build", func(r *whyRows) {
				r.job.Chunks, r.machines = 2, []WhyMachine{{Name: "c1", State: CollectorIdle, Serves: true}}
			}, WaitUnable, "the collector of lane linux/0 does not know builds: c1 runs a version that it does not name; update it: `tacho collector want VERSION` does so under a supervisor",
		},
		{"paused", func(r *whyRows) { r.queues = []NamedQueue{{Name: "alice", Paused: true}} }, WaitPaused, "queue alice is paused"},
		{
			"a paused parent", func(r *whyRows) {
				r.queues = []NamedQueue{{Name: "alice", Parent: "team"}, {Name: "team", Paused: true}}
			},
			WaitPaused, "queue team is paused",
		},
		{
			"the main queue paused", func(r *whyRows) {
				r.request.Queue, r.queues = "", []NamedQueue{{Name: events.MainQueue, Paused: true}}
			}, WaitPaused, "queue main is paused",
		},
		{
			"limit of the account", func(r *whyRows) {
				r.leaves[0].MaxRunning, r.open = 3, []whyOpen{{"alice", "alice", 2}, {"bisect", "alice", 1}, {"", "", 9}}
			}, WaitLimit, "account alice has 3 of 3 places open",
		},
		{
			"limit of a parent", func(r *whyRows) {
				r.queues = []NamedQueue{{Name: "alice", Parent: "team"}, {Name: "bob", Parent: "team"}, {Name: "team", MaxRunning: 2}}
				r.open = []whyOpen{{"alice", "alice", 1}, {"bob", "bob", 1}}
			}, WaitLimit, "queue team has 2 of 2 places open",
		},
		{
			"room below the limits", func(r *whyRows) { r.leaves[0].MaxRunning, r.open = 3, []whyOpen{{"alice", "alice", 2}} }, WaitNext,
			"it is dispatched next on lane linux/0",
		},
		{
			"a more urgent tier", func(r *whyRows) {
				r.leaves = append(r.leaves, whyLeaf{Tier: events.TierVIP, Queue: "bob", Account: "bob", Waiting: 3}, whyLeaf{Tier: events.TierIdle, Waiting: 5})
			}, WaitTier, "3 jobs of more urgent tiers are before it for lane linux/0",
		},
		{
			"others by weight", func(r *whyRows) {
				r.leaves = append(r.leaves,
					whyLeaf{Tier: events.TierDefault, Queue: "bob", Account: "bob", Waiting: 7, Weight: 20},
					whyLeaf{Tier: events.TierDefault, Queue: "bisect", Account: "carol", Waiting: 1},
					whyLeaf{Tier: events.TierDefault, Waiting: 2})
				r.queues = []NamedQueue{{Name: "bisect", Weight: 40}}
			}, WaitShare,
			"no job of its account and queue is before it; bob (7 jobs), queue main (2 jobs) and carol in queue bisect (1 job) also have work for lane linux/0, and its own share is 12.5 % by weight",
		},
		{
			"another in its queue", func(r *whyRows) {
				r.request.Queue, r.leaves[0].Queue = "bisect", "bisect"
				r.leaves = append(r.leaves, whyLeaf{Tier: events.TierDefault, Queue: "bisect", Account: "bob", Waiting: 1, Weight: 30},
					whyLeaf{Tier: events.TierDefault, Waiting: 2})
				r.queues = []NamedQueue{{Name: "bisect", Weight: 30, Parent: "team"}, {Name: "team", Weight: 10}}
			}, WaitShare,
			"no job of its account and queue is before it; queue main (2 jobs) and bob in queue bisect (1 job) also have work for lane linux/0, and its own share is 12.5 % by weight",
		},
		{
			"another that is held", func(r *whyRows) {
				r.leaves = append(r.leaves, whyLeaf{Tier: events.TierDefault, Queue: "bob", Account: "bob", Waiting: 7})
				r.queues = []NamedQueue{{Name: "bob", Paused: true}}
			}, WaitNext, "it is dispatched next on lane linux/0",
		},
		{
			"a cancelled request", func(r *whyRows) { r.request.State = events.StateCancelled }, WaitNext,
			"it is dispatched next on lane linux/0; its own request was cancelled, so it runs only if another one wants it",
		},
		{
			"own ones and others", func(r *whyRows) {
				r.leaves[0].Before, r.leaves[0].Waiting = 4, 5
				r.leaves = append(r.leaves, whyLeaf{Tier: events.TierDefault, Queue: "bob", Account: "bob", Waiting: 1})
			}, WaitOwn,
			"4 jobs of the same account and queue are before it for lane linux/0; bob (1 job) also has work for lane linux/0, and its own share is 50 % by weight",
		},
		{
			"own ones of a farm that is not shared", func(r *whyRows) {
				r.request, r.shared, r.running = Request{ID: "r1"}, false, running
				r.leaves = []whyLeaf{{Tier: events.TierDefault, Before: 1, Waiting: 2}}
			}, WaitOwn, "1 job is before it for lane linux/0; job j0 has run since 2026-11-22 12:00:00 UTC",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows := waitingJob()
			tc.change(&rows)
			w := rows.why()
			if diff := cmp.Diff([]any{true, tc.reason, tc.words}, []any{w.Waits, w.Reason, w.Words}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhyAJobDoesNotWait(t *testing.T) {
	ended, began := whyNoon.Add(time.Hour), whyNoon.Add(time.Minute)
	for _, tc := range []struct {
		job   Job
		words string
		since time.Time
	}{
		{
			Job{State: events.JobInProgress, DispatchedAt: &whyNoon, DequeuedAt: &began, Collector: "c1", Attempts: 2},
			"it does not wait: it has run on c1 since 2026-11-22 12:01:00 UTC, attempt 2", began,
		},
		{
			Job{State: events.JobCancelled, FinishedAt: &ended, Reason: "its request was cancelled"},
			"it does not wait: it ended (cancelled) at 2026-11-22 13:00:00 UTC: its request was cancelled", ended,
		},
		{Job{State: events.JobSuccess, FinishedAt: &ended, DequeuedAt: &began}, "it does not wait: it ended (success) at 2026-11-22 13:00:00 UTC", ended},
	} {
		w := whyRows{job: tc.job}.why()
		if w.Waits || w.Reason != "" || w.Words != tc.words || !w.Since.Equal(tc.since) {
			t.Errorf("%+v", w)
		}
	}
}

func TestWhyARequestHasNotStarted(t *testing.T) {
	three := 3
	ready := Request{ID: "r1", State: events.StateArtifactsReady, Account: "alice", Queue: "bisect"}
	vip := ready
	vip.Priority = events.PriorityVIP
	failed := ready
	failed.ExpansionFailures, failed.Reason = 1, "no such profile"
	for _, tc := range []struct {
		name    string
		request Request
		counts  startCounts
		reason  StartReason
		words   string
	}{
		{"artifacts", Request{State: events.StateWaitingForArtifacts, Queue: "q"}, startCounts{Paused: true}, StartArtifacts, "it waits for its artifacts"},
		{"paused", ready, startCounts{Paused: true}, StartPaused, "queue bisect is paused"},
		{"in progress", ready, startCounts{InProgress: 2, MaxInProgress: 2}, StartInProgress, "queue bisect has 2 of 2 requests of tier default in progress"},
		{"vips", vip, startCounts{VIPs: 3, MaxVIP: &three}, StartVIPs, "account alice has 3 of 3 vip requests in progress"},
		{"vips, usual", vip, startCounts{VIPs: 3}, StartVIPs, "account alice has 3 of 3 vip requests in progress"},
		{"vips that do not matter", ready, startCounts{VIPs: 3}, StartNext, "it starts next in queue bisect"},
		{"jobs of the account", ready, startCounts{QueuedOf: 9, MaxQueuedOf: 8}, StartQueued, "account alice has 9 of 8 jobs waiting"},
		{"jobs of the queue", ready, startCounts{QueuedIn: 1, MaxQueuedIn: 1}, StartQueued, "queue bisect has 1 of 1 job waiting"},
		{"failed", failed, startCounts{}, StartRetried, "its jobs could not be made: no such profile"},
		{"parent", ready, startCounts{Parents: 1, Before: 1}, StartParent, "the request of its parent starts first"},
		{"behind", ready, startCounts{Before: 2}, StartBehind, "2 requests are before it in queue bisect"},
		{"next", ready, startCounts{}, StartNext, "it starts next in queue bisect"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := startRows{tc.request, tc.counts}.why()
			if w == nil || w.Reason != tc.reason || w.Words != tc.words {
				t.Errorf("%+v", w)
			}
		})
	}
	plain := Request{ID: "r1", State: events.StateArtifactsReady}
	for _, counts := range []startCounts{{}, {Before: 3}, {InProgress: 1}} {
		if w := (startRows{plain, counts}).why(); w != nil {
			t.Errorf("the queue says it already: %+v", w)
		}
	}
	if w := (startRows{plain, startCounts{Paused: true}}).why(); w == nil || w.Reason != StartPaused {
		t.Errorf("%+v", w)
	}
}

func TestWhyNamesSomeOfManyOthers(t *testing.T) {
	rows := waitingJob()
	for i := range 25 {
		name := events.AccountName(string(rune('a' + i)))
		rows.leaves = append(rows.leaves, whyLeaf{Tier: events.TierDefault, Queue: events.QueueName(name), Account: name, Waiting: 100 - i})
	}
	w := rows.why()
	want := "no job of its account and queue is before it; a (100 jobs), b (99 jobs), c (98 jobs) and 22 more also have work for lane linux/0, and its own share is 3.8 % by weight"
	if len(w.Others) != 20 || w.OthersCount != 25 || w.Words != want {
		t.Errorf("%d of %d others: %s", len(w.Others), w.OthersCount, w.Words)
	}
}
