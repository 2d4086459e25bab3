package readmodel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// WhyShort says what a machine lacks for a job.
type WhyShort struct {
	Machine events.MachineName `json:"machine"`
	// Lacks says it of the machine: "it lacks trait nvme".
	Lacks string `json:"lacks"`
	// Full is set if the machine is passed by because a job found less memory free than it reserves; nil else.
	Full *WhyFull `json:"full,omitempty"`
}

// words says it with the name of the machine.
func (s WhyShort) words() string { return string(s.Machine) + " " + strings.TrimPrefix(s.Lacks, "it ") }

// free reports whether the job waits for a machine, whichever it will be.
func (r whyRows) free() bool { return r.job.Matched && r.job.Place == 0 }

// readPark reads the machines for a job that waits for one. It returns the classes of waiting jobs that some machine
// could run that could run the job, too: only they can come before it. A class is written as in why_leaves.
func (r *whyRows) readPark(ctx context.Context, tx pgx.Tx) (classes []string, err error) {
	classes = []string{}
	if !r.free() {
		return classes, nil
	}
	var waiting []waitingRow
	var b pgx.Batch
	r.park.also(&b)
	also(&b, &r.warms, "why_warm")
	also(&b, &waiting, "machine_waiting")
	also(&b, &r.losers, "why_losers", r.job.ID)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return nil, fmt.Errorf("query the machines for job %s: %w", r.job.ID, tooLong("why_machines", err))
	}
	able := r.park.able(r.job.Requires, r.job.ArtifactKind)
	for _, w := range waiting {
		r.late = r.late || r.waits.Room > 0 && r.waits.Now.Sub(w.Since) >= r.waits.Room
		own := w.Kind == r.job.ArtifactKind && slices.Equal(w.Requires, r.job.Requires)
		both := slices.ContainsFunc(r.park.able(w.Requires, w.Kind), func(m MachineRow) bool {
			return slices.ContainsFunc(able, func(a MachineRow) bool { return a.Name == m.Name })
		})
		if own || both {
			classes = append(classes, strings.Join(append([]string{string(w.Kind)}, w.Requires...), " "))
		}
	}
	return classes, nil
}

// able returns the machines that could run a job if they were empty.
func (p park) able(requires []string, kind events.RequestKind) []MachineRow {
	needs, err := match.Parse(requires)
	if err != nil {
		return nil // terms of a newer program: no machine is known to meet them
	}
	return slices.DeleteFunc(slices.Clone(p.machines), func(m MachineRow) bool { return len(match.Lacks(needs, kind, m.Offer())) > 0 })
}

// fits returns why no machine could run a matched job; "" if one could.
func (r whyRows) fits(w *Why) WaitReason {
	able := r.park.able(r.job.Requires, r.job.ArtifactKind)
	if len(able) == 0 {
		if nearest := r.park.unserved([]waitingRow{{Kind: r.job.ArtifactKind, Requires: r.job.Requires}})[0]; nearest.Lacks != "" {
			w.Short = []WhyShort{{Machine: nearest.Nearest, Lacks: nearest.Lacks}}
		}
		return WaitNoMachine
	}
	var asleep, unable []WhyMachine
	for _, m := range able {
		for _, s := range r.park.slotsOf(m.Name) {
			slot := WhyMachine{Name: s.Name, State: s.State, Since: s.Since, Version: s.Version}
			switch {
			case s.takes() && r.knows(s.Builds):
				return ""
			case s.takes():
				unable = append(unable, slot)
			default:
				asleep = append(asleep, slot)
			}
		}
	}
	if len(unable) > 0 {
		w.Machines = unable
		return WaitUnable
	}
	w.Machines = asleep
	return WaitNoOnline
}

// hasRoom returns why no machine that takes jobs begins a matched job; "" if one has room for it.
func (r whyRows) hasRoom(w *Why) WaitReason {
	needs, _ := match.Parse(r.job.Requires) // fits has found machines for it
	own := r.ownClass()
	chosen, offered, cold := r.chosen(own), r.offered(own), false
	for _, m := range r.park.manned(own) {
		full := r.passedBy(own, m)
		switch {
		case full != nil:
			w.Short = append(w.Short, WhyShort{Machine: m.Name, Lacks: full.words(), Full: full})
			continue
		case !slices.ContainsFunc(chosen, func(c MachineRow) bool { return c.Name == m.Name }):
			continue
		}
		room, on := r.park.room(m)
		takers := slices.DeleteFunc(r.park.slotsOf(m.Name), func(s slotRow) bool { return !s.takes() || !r.knows(s.Builds) })
		idle := slices.ContainsFunc(takers, func(s slotRow) bool {
			_, taken := on[s.lane()]
			return !taken
		})
		short := room.Short(needs)
		switch {
		case len(short) > 0:
			w.Short = append(w.Short, WhyShort{Machine: m.Name, Lacks: match.Sentence(short)})
		case len(takers) == 0:
			w.Short = append(w.Short, WhyShort{Machine: m.Name, Lacks: "it has no collector that knows builds"})
		case !idle:
			w.Short = append(w.Short, WhyShort{Machine: m.Name, Lacks: "it has no free collector"})
		case !slices.ContainsFunc(offered, func(o MachineRow) bool { return o.Name == m.Name }):
			cold = true
		default:
			held := r.heldFor(m)
			if held == nil || held.JobID == r.job.ID {
				w.Short, w.Held = nil, nil
				return ""
			}
			w.Held, w.Short = held, append(w.Short, WhyShort{Machine: m.Name, Lacks: fmt.Sprintf("it is held for job %s", held.JobID)})
		}
	}
	if cold {
		w.Affinity = r.affinity(own, offered)
		return WaitAffinity
	}
	if w.Held == nil {
		w.Held = r.heldForIt(own)
	}
	return WaitNoRoom
}

// heldForIt says which machine is held for the job; nil for none.
func (r whyRows) heldForIt(own whyFirst) *WhyHeld {
	if !r.late {
		return nil
	}
	soonest := r.soonest(own)
	for _, m := range r.park.machines {
		if m.Name != soonest {
			continue
		}
		if held := r.heldFor(m); held != nil && held.JobID == r.job.ID {
			return held
		}
	}
	return nil
}

// where says what a job waits for.
func (r whyRows) where() string {
	if r.free() {
		return "the machines that can run it"
	}
	return "lane " + r.job.Lane().String()
}

// machineWords says the reasons of a job without a lane that others have in other words; "" for the rest.
func (w Why) machineWords() string {
	//exhaustive:ignore
	switch w.Reason {
	case WaitNext:
		return "it is dispatched next"
	case WaitNoRoom, WaitAffinity:
		return w.roomWords("")
	case WaitUnable:
		return "no machine that can run it has a collector that knows builds: " + unableWords(w.Machines)
	case WaitNoOnline:
		if len(w.Machines) == 0 {
			return "no machine that can run it has a collector"
		}
		return "no machine that can run it takes jobs: " + machineWords(w.Machines)
	case WaitNoMachine:
		switch {
		case len(w.Short) == 0:
			return "no machine is registered for matched jobs"
		case w.Short[0].Machine == "":
			return "no machine can run it: " + w.Short[0].Lacks
		}
		return fmt.Sprintf("no machine can run it: %s comes nearest, %s", w.Short[0].Machine, w.Short[0].Lacks)
	}
	return ""
}

// roomWords says what the machines that could run a job lack now, or for which of them it waits, after a separator; "" if
// one of them has room.
func (w Why) roomWords(separator string) string {
	short := make([]string, len(w.Short))
	for i, s := range w.Short {
		short[i] = s.words()
	}
	switch {
	case w.Affinity != nil && len(short) > 0:
		return separator + w.Affinity.words() + "; " + someOf(short, len(short))
	case w.Affinity != nil:
		return separator + w.Affinity.words()
	case len(short) == 0:
		return ""
	}
	text := separator + "no machine has room for it: " + someOf(short, len(short))
	if w.Held != nil && w.Held.JobID == w.JobID {
		text += "; " + w.Held.words()
	}
	return text
}
