package readmodel

import (
	"cmp"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// WaitReason is the closed set of reasons why a job waits.
type WaitReason string

// The reasons why a job waits.
const (
	// WaitNext means that no job comes before it: it waits for room on its lane, or for its collector.
	WaitNext WaitReason = "next"
	// WaitLane means that it is dispatched, and that other jobs are before it on the lane.
	WaitLane WaitReason = "lane_busy"
	// WaitNoMachine means that no collector is registered for its lane; of a matched job, that no machine can run it.
	WaitNoMachine WaitReason = "no_machine"
	// WaitNoOnline means that none of the collectors that could run it takes jobs now.
	WaitNoOnline WaitReason = "no_online_machine"
	// WaitUnable means that a job builds, or uses what others built, and that no collector that could get it knows how.
	WaitUnable WaitReason = "unable"
	// WaitAffinity means that a matched job waits for a machine that has its caches, though another one has room for it.
	WaitAffinity WaitReason = "affinity"
	// WaitNoRoom means that no job comes before a matched job, and that no machine has room for it, or that the one that
	// has is held for another job.
	WaitNoRoom WaitReason = "no_room"
	// WaitPaused means that its queue, or one above, is paused.
	WaitPaused WaitReason = "paused"
	// WaitLimit means that its account or queue has as many places open as it may.
	WaitLimit WaitReason = "limit"
	// WaitTier means that a more urgent tier has jobs for the lane.
	WaitTier WaitReason = "tier"
	// WaitShare means that other accounts or queues have jobs for the lane, too.
	WaitShare WaitReason = "behind_in_share"
	// WaitOwn means that jobs of its own account and queue come before it.
	WaitOwn WaitReason = "behind_own"
	// WaitNeeds means that it needs jobs that have not ended.
	WaitNeeds WaitReason = "needs"
	// WaitSkipped means that a job that it needs did not succeed. It runs if that one runs again, else it ends with its graph.
	WaitSkipped WaitReason = "skipped"
)

// Why says why a job waits, or that it does not.
type Why struct {
	JobID     events.JobID     `json:"job_id"`
	RequestID events.RequestID `json:"request_id"`
	Target    events.Target    `json:"target"`
	Set       events.Set       `json:"set"`
	State     events.JobState  `json:"state"`
	// Waits says whether the job waits. Since is when it was made or dispatched, began to run, or ended.
	Waits bool      `json:"waits"`
	Since time.Time `json:"since"`
	// Reason is empty if the job does not wait. Words say it with numbers.
	Reason WaitReason `json:"reason,omitempty"`
	Words  string     `json:"words"`
	// Ahead counts the jobs that come before it: on the lane, of its account and queue, or of more urgent tiers.
	Ahead int `json:"ahead,omitempty"`
	// Running is what runs on its lane; nil for nothing.
	Running *WhyRunning `json:"running,omitempty"`
	// Machines are the collectors that could run it if none of them takes jobs, or if none of them knows how.
	Machines []WhyMachine `json:"machines,omitempty"`
	// Requires is what a matched job requires of its machine. Short says what each machine lacks: the nearest one if none
	// can run the job, or those that could run it if none of them has room now.
	Requires []string   `json:"requires,omitempty"`
	Short    []WhyShort `json:"short,omitempty"`
	// Needs are the first 20 of the jobs that it still needs, NeedsCount counts them. SkippedBy is the job that did not
	// succeed; nil unless the job is skipped.
	Needs      []WhyNeed `json:"needs,omitempty"`
	NeedsCount int       `json:"needs_count,omitempty"`
	SkippedBy  *WhyNeed  `json:"skipped_by,omitempty"`
	// Affinity says for which machines it waits because they have its caches; nil for none. Held is a machine that is held
	// for it, or that has room for it but is held for another job; nil for none.
	Affinity *WhyAffinity `json:"affinity,omitempty"`
	Held     *WhyHeld     `json:"held,omitempty"`
	// Queue is the paused queue.
	Queue events.QueueName `json:"queue,omitempty"`
	// Limit is the limit that holds it; nil for none.
	Limit *WhyLimit `json:"limit,omitempty"`
	// Others are those who have jobs for the lane in its tier, the most jobs first. OthersCount counts them: Others are the
	// first 20. SharePercent is its share of the lane by weight while they have jobs; nil if there are none.
	Others       []WhyOther `json:"others,omitempty"`
	OthersCount  int        `json:"others_count,omitempty"`
	SharePercent *float64   `json:"share_percent,omitempty"`
	// Starts is when it is expected to start; nil if that is not known.
	Starts *WhyStart `json:"starts,omitempty"`
}

// WhyRunning is the job that runs on a lane.
type WhyRunning struct {
	JobID     events.JobID         `db:"job_id" json:"job_id"`
	Collector events.CollectorName `db:"collector" json:"collector"`
	Since     time.Time            `db:"started_at" json:"since"`
}

// WhyMachine is a collector of a lane.
type WhyMachine struct {
	Name  events.CollectorName `db:"name" json:"name"`
	State CollectorState       `db:"state" json:"state"`
	Since time.Time            `db:"since" json:"since"`
	// Version is that of its newest process; empty before there was one.
	Version string `db:"version" json:"version,omitempty"`
	// Serves says that it executes the jobs of the lane, Builds that it can build.
	Serves bool `db:"serves" json:"-"`
	Builds bool `db:"builds" json:"-"`
}

// takes reports whether the collector takes jobs.
func (m WhyMachine) takes() bool { return m.State == CollectorIdle || m.State == CollectorBenchmarking }

// WhyLimit is a limit on the open places of an account or a queue. One of the two is set.
type WhyLimit struct {
	Account events.AccountName `json:"account,omitempty"`
	Queue   events.QueueName   `json:"queue,omitempty"`
	// Open places count, Most is the limit.
	Open int `json:"open"`
	Most int `json:"most"`
}

// WhyOther has jobs that wait for the lane. The main queue is main.
type WhyOther struct {
	Queue   events.QueueName   `json:"queue"`
	Account events.AccountName `json:"account"`
	Jobs    int                `json:"jobs"`
}

// othersNamed bounds how many others an answer names.
const othersNamed = 20

// whyLeaf is what an account has in a queue and a tier for a lane.
type whyLeaf struct {
	Tier    events.Tier        `db:"tier"`
	Queue   events.QueueName   `db:"queue"`
	Account events.AccountName `db:"account"`
	// Waiting counts the jobs for the lane; Before, those that come before the job, in its own leaf.
	Waiting int `db:"waiting"`
	Before  int `db:"before"`
	// Weight is 0 if the account was never configured, MaxRunning is 0 if it has no limit.
	Weight     int `db:"weight"`
	MaxRunning int `db:"max_running"`
}

// whyOpen counts the open places of an account in a queue.
type whyOpen struct {
	Queue   events.QueueName   `db:"queue"`
	Account events.AccountName `db:"account"`
	Running int                `db:"running"`
}

// whyRows are the rows that the reason of a job depends on.
type whyRows struct {
	job     Job
	request Request
	// places counts the open places before its own on the lane; 0 if it is not dispatched.
	places   int
	running  []WhyRunning
	machines []WhyMachine
	leaves   []whyLeaf
	open     []whyOpen
	queues   []NamedQueue
	// shared says that the farm is shared.
	shared bool
	// park and losers are read for a matched job that has no lane. losers are the machines that lost an attempt of it.
	park   park
	losers []whyLoser
	// waits are the settings of the scheduler. late says that some matched job may have waited longer than they say for room.
	waits match.Waits
	late  bool
	// firsts and warms are read for a matched job that has no lane, firsts only if something may depend on them: the first
	// jobs of those that wait, and the machines with caches for which jobs wait.
	firsts []whyFirst
	warms  []WarmRow
	// lengths are those of the last jobs like it.
	lengths []whyLength
	// needs are read for a job that waits for others: those that it still needs, or the one that it is skipped for.
	needs []WhyNeed
	// uses says that the job uses what others built.
	uses bool
}

// why returns why the job waits. It knows who else has work and who is how heavy, but not what each was charged: so it does
// not say in which order they have their turns.
func (r whyRows) why() Why {
	w := Why{JobID: r.job.ID, RequestID: r.job.RequestID, Target: r.job.Target, Set: r.job.Set, State: r.job.State, Since: r.since(), Requires: r.job.Requires}
	if len(r.running) > 0 {
		w.Running = &r.running[0]
	}
	if r.job.State != events.JobQueued {
		w.Running = nil
		w.Words = r.doesNotWait()
		return w
	}
	w.Waits = true
	w.Reason = r.reason(&w)
	w.Starts = r.starts(w)
	w.Words = r.words(w) + w.Starts.words()
	if r.request.State == events.StateCancelled {
		w.Words += "; its own request was cancelled, so it runs only if another one wants it"
	}
	return w
}

// since returns since when the job is in its state, or on its lane.
func (r whyRows) since() time.Time {
	switch {
	case r.job.FinishedAt != nil:
		return *r.job.FinishedAt
	case r.job.State == events.JobInProgress && r.job.DequeuedAt != nil:
		return *r.job.DequeuedAt
	case r.job.DispatchedAt != nil:
		return *r.job.DispatchedAt
	}
	return r.job.CreatedAt
}

// reason returns the first reason that holds, and fills in its numbers.
func (r whyRows) reason(w *Why) WaitReason {
	if r.job.Held != "" {
		return r.held(w)
	}
	if r.free() {
		for _, why := range []func(*Why) WaitReason{r.fits, r.turn, r.hasRoom} {
			if reason := why(w); reason != "" {
				if reason == WaitOwn || reason == WaitShare || reason == WaitTier {
					r.hasRoom(w)
				}
				return reason
			}
		}
		return WaitNext
	}
	switch {
	case len(r.machines) == 0:
		return WaitNoMachine
	case !slices.ContainsFunc(r.machines, WhyMachine.takes):
		w.Machines = r.machines
		return WaitNoOnline
	case r.job.Place > 0 && r.places > 0:
		w.Ahead = r.places
		return WaitLane
	case r.job.Place > 0:
		return WaitNext
	case r.unable(w):
		return WaitUnable
	}
	return cmp.Or(r.turn(w), WaitNext)
}

// turn returns why it is not the turn of a job that has no place, and fills in the numbers; "" if it is.
func (r whyRows) turn(w *Why) WaitReason {
	t := r.tree()
	own := r.own()
	if w.Queue, w.Limit = t.held(own.Queue, own.Account, own.MaxRunning); w.Queue != "" {
		return WaitPaused
	} else if w.Limit != nil {
		return WaitLimit
	}
	var rivals []whyLeaf
	for _, l := range r.leaves {
		if paused, limit := t.held(l.Queue, l.Account, l.MaxRunning); paused != "" || limit != nil {
			continue
		}
		switch {
		case level(l.Tier) < level(own.Tier):
			w.Ahead += l.Waiting
		case l.Tier == own.Tier:
			rivals = append(rivals, l)
		}
	}
	if w.Ahead > 0 {
		return WaitTier
	}
	w.Ahead = own.Before
	w.Others, w.SharePercent = t.among(own, rivals)
	w.OthersCount = len(w.Others)
	w.Others = w.Others[:min(w.OthersCount, othersNamed)]
	switch {
	case w.Ahead > 0:
		return WaitOwn
	case len(w.Others) > 0:
		return WaitShare
	}
	return ""
}

// own returns the leaf in which the job waits.
func (r whyRows) own() whyLeaf {
	own := whyLeaf{Tier: r.priority().Tier(), Queue: r.request.Queue, Account: r.request.Account}
	for _, l := range r.leaves {
		if l.Tier == own.Tier && l.Queue == own.Queue && l.Account == own.Account {
			return l
		}
	}
	return own
}

// priority returns the priority at which the job waits.
func (r whyRows) priority() events.Priority {
	if r.job.Sample != "" {
		return r.job.Priority
	}
	return r.request.Priority
}

// level numbers the tiers, the first one first.
func level(t events.Tier) int { return slices.Index(tiersInOrder, t) }

// whyTree knows what holds an account or a queue.
type whyTree struct {
	tree
	// of and in count the open places of each account, and those in each queue and its parts.
	of map[events.AccountName]int
	in map[events.QueueName]int
}

func (r whyRows) tree() whyTree {
	t := whyTree{newTree(nil, r.queues), map[events.AccountName]int{}, map[events.QueueName]int{}}
	for _, o := range r.open {
		t.of[o.Account] += o.Running
		for _, name := range t.path(o.Queue) {
			t.in[name] += o.Running
		}
	}
	return t
}

// path returns a queue and those above it, up to the one without a parent.
func (t tree) path(name events.QueueName) []events.QueueName {
	path := []events.QueueName{name}
	for range maxDepth - 1 {
		if name = t.queues[name].Parent; name == "" {
			break
		}
		path = append(path, name)
	}
	return path
}

// held returns the queue that is paused, or the limit that is reached, for the jobs of an account in a queue.
func (t whyTree) held(queue events.QueueName, account events.AccountName, most int) (paused events.QueueName, limit *WhyLimit) {
	path := t.path(queue)
	for _, name := range path {
		if t.queues[name].Paused {
			return shownQueue(name), nil
		}
	}
	if of := t.of[account]; most > 0 && of >= most {
		return "", &WhyLimit{Account: account, Open: of, Most: most}
	}
	for _, name := range path {
		if most := t.queues[name].MaxRunning; most > 0 && t.in[name] >= most {
			return "", &WhyLimit{Queue: shownQueue(name), Open: t.in[name], Most: most}
		}
	}
	return "", nil
}

func shownQueue(name events.QueueName) events.QueueName { return cmp.Or(name, events.MainQueue) }

// among returns the others among those who have work in the tier, and the share of the own leaf in percent.
func (t whyTree) among(own whyLeaf, rivals []whyLeaf) ([]WhyOther, *float64) {
	var others []WhyOther
	t.leaves = nil
	for _, l := range rivals {
		t.leaves = append(t.leaves, leaf{Tier: l.Tier, Queue: l.Queue, Account: l.Account, Waiting: l.Waiting, Weight: l.Weight})
		if l.Queue != own.Queue || l.Account != own.Account {
			others = append(others, WhyOther{Queue: shownQueue(l.Queue), Account: l.Account, Jobs: l.Waiting})
		}
	}
	if len(others) == 0 {
		return nil, nil
	}
	slices.SortFunc(others, func(a, b WhyOther) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Account, b.Account))
	})
	part, nodes := 1.0, t.tiers()[0].Nodes
	path := t.path(own.Queue)
	slices.Reverse(path)
	for _, name := range path {
		part, nodes = below(part, nodes, NodeQueue, string(shownQueue(name)))
	}
	part, _ = below(part, nodes, NodeAccount, string(own.Account))
	return others, percent(part)
}

// below returns the part that is due to a node of what is due to its parent, and what is below it.
func below(part float64, nodes []ShareNode, kind NodeKind, name string) (float64, []ShareNode) {
	for _, n := range nodes {
		if n.Kind == kind && n.Name == name {
			return part * due(n) / 100, n.Nodes
		}
	}
	return part, nil
}
