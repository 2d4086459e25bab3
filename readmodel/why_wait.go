package readmodel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/match"
)

// The scheduler lets a matched job wait for a machine that has its caches, and holds a machine for a job that has waited
// long for room (rules/ledger/affinity.go). Here the same is told from rows. For a moment it may differ, as the tables
// trail the log and clocks differ. Two things the tables do not know. One is whose turn it is among several accounts: here
// the account comes first whose first job has waited longest. The other is since when an earlier job of the same request
// has waited that is not in the line any more.

// WhyAffinity says that a job waits for a machine that has its caches, though another one has room for it.
type WhyAffinity struct {
	// Machines have the most of its caches. Caches are those that they have; Results says that they have the results of the
	// artifact that it measures against.
	Machines []events.MachineName `json:"machines"`
	Caches   []string             `json:"caches,omitempty"`
	Results  bool                 `json:"results,omitempty"`
	// Until is when it stops to wait for them, in LeftMS milliseconds.
	Until  time.Time `json:"until"`
	LeftMS int64     `json:"left_ms"`
}

// WhyHeld says that a machine is held for a job that has waited long for room: until it has its room, no other job gets
// a place there.
type WhyHeld struct {
	Machine events.MachineName `json:"machine"`
	// JobID is the job for which it is held, Since is since when.
	JobID events.JobID `json:"job_id"`
	Since time.Time    `json:"since"`
	// Jobs must end there before that one has room, in the order in which they are expected to end.
	Jobs []events.JobID `json:"jobs"`
}

// whyFirst is the first job of a leaf, of those in it that wait for the same.
type whyFirst struct {
	Tier    events.Tier        `db:"tier"`
	Queue   events.QueueName   `db:"queue"`
	Account events.AccountName `db:"account"`
	// MaxRunning is the limit of the account; 0 for none.
	MaxRunning int                  `db:"max_running"`
	Kind       events.RequestKind   `db:"artifact_kind"`
	Requires   []string             `db:"requires"`
	Near       []string             `db:"near"`
	Avoids     []events.MachineName `db:"avoids"`
	JobID      events.JobID         `db:"job_id"`
	// Since is since when jobs of its request wait so, ClassSince is since when jobs of any request do.
	Since      time.Time `db:"since"`
	ClassSince time.Time `db:"class_since"`
	// Rank orders the jobs of a leaf.
	Rank int `db:"rank"`
}

// ownClass returns the first job of those that wait for the same as the job.
func (r whyRows) ownClass() whyFirst {
	own := whyFirst{Kind: r.job.ArtifactKind, Requires: r.job.Requires, Near: r.job.Near, Avoids: r.avoids(), JobID: r.job.ID}
	own.ClassSince = r.job.CreatedAt
	if r.job.MovedAt != nil {
		own.ClassSince = *r.job.MovedAt
	}
	for _, f := range r.firsts {
		if f.Kind == own.Kind && slices.Equal(f.Requires, own.Requires) && slices.Equal(f.Near, own.Near) && slices.Equal(f.Avoids, own.Avoids) {
			own.ClassSince = f.ClassSince
		}
	}
	return own
}

// avoids returns the machines that lost an attempt of the job, sorted.
func (r whyRows) avoids() []events.MachineName {
	names := make([]events.MachineName, len(r.losers))
	for i, l := range r.losers {
		names[i] = l.Machine
	}
	slices.Sort(names)
	return names
}

// chosen returns the machines from which jobs that wait for the same get one: those that could run them, have a collector
// that takes jobs, and are not passed by. One that lost an attempt of them is among these only if all are such machines.
func (r whyRows) chosen(f whyFirst) []MachineRow {
	able := slices.DeleteFunc(r.park.manned(f), func(m MachineRow) bool { return r.passedBy(f, m) != nil })
	others := slices.DeleteFunc(slices.Clone(able), func(m MachineRow) bool { return slices.Contains(f.Avoids, m.Name) })
	if len(others) > 0 {
		return others
	}
	return able
}

// manned returns the machines that could run jobs if they were empty and have a collector that takes jobs.
func (p park) manned(f whyFirst) []MachineRow {
	return slices.DeleteFunc(p.able(f.Requires, f.Kind), func(m MachineRow) bool { return !p.online(m.Name) })
}

// online reports whether a collector of a machine takes jobs.
func (p park) online(name events.MachineName) bool {
	return slices.ContainsFunc(p.slots, func(s slotRow) bool { return s.Machine == name && s.takes() })
}

// offered returns those of the chosen machines that may begin the jobs now if they have room: while these wait for their
// caches, the machines that have most of them.
func (r whyRows) offered(f whyFirst) []MachineRow {
	chosen := r.chosen(f)
	if len(f.Near) == 0 || r.waits.Now.Sub(f.ClassSince) >= r.waits.Affinity {
		return chosen
	}
	most := 0
	for _, m := range chosen {
		if !slices.Contains(f.Avoids, m.Name) {
			most = max(most, r.warm(m.Name).Count(f.Near))
		}
	}
	return slices.DeleteFunc(chosen, func(m MachineRow) bool { return r.warm(m.Name).Count(f.Near) < most })
}

// warm returns which of the caches for which jobs wait a machine has.
func (r whyRows) warm(name events.MachineName) match.Warm {
	warm := match.Warm{}
	for _, w := range r.warms {
		if w.Machine == name {
			warm[w.Name] = w.Seq
		}
	}
	return warm
}

// affinity returns for which machines a job waits that does not go to any that has room.
func (r whyRows) affinity(own whyFirst, offered []MachineRow) *WhyAffinity {
	a := &WhyAffinity{Until: own.ClassSince.Add(r.waits.Affinity)}
	a.LeftMS = a.Until.Sub(r.waits.Now).Milliseconds()
	for _, m := range offered {
		a.Machines = append(a.Machines, m.Name)
	}
	for _, name := range own.Near {
		_, results := strings.CutPrefix(name, "=")
		has := slices.ContainsFunc(offered, func(m MachineRow) bool { return r.warm(m.Name).Count([]string{name}) > 0 })
		switch {
		case has && results:
			a.Results = true
		case has:
			a.Caches = append(a.Caches, name)
		}
	}
	return a
}

// heldFor returns the job for which a machine is held now; nil if it is held for none.
func (r whyRows) heldFor(m MachineRow) *WhyHeld {
	if !r.late {
		return nil
	}
	first, found := r.firstFor(m)
	if !found || r.waits.Now.Sub(first.Since) < r.waits.Room {
		return nil
	}
	needs, _ := match.Parse(first.Requires) // a machine can run it
	places, n, _ := r.park.frees(m, needs, r.waits.Now)
	if n == 0 || r.soonest(first) != m.Name {
		return nil
	}
	h := &WhyHeld{Machine: m.Name, JobID: first.JobID, Since: first.Since.Add(r.waits.Room)}
	for _, p := range places[:n] {
		h.Jobs = append(h.Jobs, p.JobID)
	}
	return h
}

// firstFor returns the job whose turn it is on a machine, with room or not; false if none waits for it.
func (r whyRows) firstFor(m MachineRow) (first whyFirst, found bool) {
	t := r.tree()
	best := map[whyLeaf]whyFirst{}
	for _, f := range r.firsts {
		leaf := whyLeaf{Tier: f.Tier, Queue: f.Queue, Account: f.Account}
		if known, has := best[leaf]; has && known.Rank < f.Rank {
			continue
		}
		needs, err := match.Parse(f.Requires)
		if err != nil || len(match.Lacks(needs, f.Kind, m.Offer())) > 0 {
			continue
		}
		if paused, limit := t.held(f.Queue, f.Account, f.MaxRunning); paused != "" || limit != nil {
			continue
		}
		if slices.ContainsFunc(r.offered(f), func(o MachineRow) bool { return o.Name == m.Name }) {
			best[leaf] = f
		}
	}
	for _, f := range best {
		if !found || cmp.Or(cmp.Compare(level(f.Tier), level(first.Tier)), f.Since.Compare(first.Since), cmp.Compare(f.JobID, first.JobID)) < 0 {
			first, found = f, true
		}
	}
	return first, found
}

// soonest returns the machine that is expected to have room first; "" for none.
func (r whyRows) soonest(f whyFirst) (first events.MachineName) {
	var best time.Time
	needs, _ := match.Parse(f.Requires) // terms of a newer program choose no machine
	for _, m := range r.chosen(f) {
		_, _, at := r.park.frees(m, needs, r.waits.Now)
		if first == "" || at.Before(best) || at.Equal(best) && m.Name < first {
			first, best = m.Name, at
		}
	}
	return first
}

// frees returns the places of a machine in the order in which they are expected to end, how many of them must end until
// it has room, and when that is; 0 and the zero time if it has room now.
func (p park) frees(m MachineRow, needs match.Requirement, now time.Time) (places []placeRow, n int, at time.Time) {
	_, on := p.room(m)
	for _, place := range on {
		places = append(places, place)
	}
	slices.SortFunc(places, func(a, b placeRow) int {
		return cmp.Or(a.ends(now).Compare(b.ends(now)), cmp.Compare(a.JobID, b.JobID))
	})
	open := make([]match.Open, len(places))
	for i, place := range places {
		taken, _ := match.Parse(place.Requires) // terms of a newer program reserve nothing
		open[i] = match.Open{Needs: taken, Ends: place.ends(now)}
	}
	if n = match.Frees(m.Offer(), open, needs); n > 0 {
		at = open[n-1].Ends
	}
	return places, n, at
}

// ends returns when the place is expected to be over.
func (p placeRow) ends(now time.Time) time.Time {
	if p.Share == nil {
		return now
	}
	if p.State == events.JobInProgress && p.Share.BegunAt != nil {
		now = *p.Share.BegunAt
	}
	return now.Add(time.Duration(p.Share.ExpectMS) * time.Millisecond)
}

// words says for which machines the job waits, and until when.
func (a WhyAffinity) words() string {
	names := make([]string, len(a.Machines))
	for i, m := range a.Machines {
		names[i] = string(m)
	}
	have, one := "have", "one of "
	if len(names) == 1 {
		have, one = "has", ""
	}
	var what []string
	if len(a.Caches) == 1 {
		what = append(what, "its cache "+a.Caches[0])
	} else if len(a.Caches) > 1 {
		what = append(what, "its caches "+someOf(a.Caches, len(a.Caches)))
	}
	if a.Results {
		what = append(what, "the results that it measures against")
	}
	left := phrase.Duration((time.Duration(a.LeftMS) * time.Millisecond).Round(time.Second))
	return fmt.Sprintf("it waits for %s%s, which %s %s: for at most %s more, until %s, then any machine that fits takes it",
		one, someOf(names, len(names)), have, strings.Join(what, " and "), left, phrase.Moment(a.Until))
}

// words says that the machine is held for the job itself, and until when.
func (h WhyHeld) words() string {
	names := make([]string, len(h.Jobs))
	for i, id := range h.Jobs {
		names[i] = string(id)
	}
	jobs, end := "jobs", "end"
	if len(names) == 1 {
		jobs, end = "job", "ends"
	}
	return fmt.Sprintf("%s has been held for it since %s, until %s %s %s there", h.Machine, phrase.Moment(h.Since), jobs, someOf(names, len(names)), end)
}
