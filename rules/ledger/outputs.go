package ledger

import (
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/job"
)

// Yielded is an output of a job, the lane that stored it, and the kind of the job.
type Yielded struct {
	events.Output
	Lane events.Lane
	Kind events.JobKind
}

// place returns where the store has it.
func (y Yielded) place() stored { return stored{y.Lane, y.Digest} }

// stored is where the store has an output.
type stored struct {
	lane   events.Lane
	digest events.Digest
}

// maxSpent bounds the jobs that have left the memory and whose outputs are known still, so that later requests can use them.
const maxSpent = 4096

// takeResult folds a stored event of the family result. Results are the bulk of a log, and nothing is decided on them: it
// decodes outputs alone.
func (l *Ledger) takeResult(m events.Stored) (events.Fact, error) {
	l.Seq, l.Moved = m.Seq, later(l.Moved, m.StoredAt)
	id := events.JobID(m.Subject.Last())
	if j, ok := l.Jobs[id]; ok && l.OnLane(j) {
		l.Versions[m.Subject] = m.Seq
	}
	if events.Tells[events.TestCasesMeasured](m) {
		l.Outbox.measured(l.artifactOf(id), News{m.Seq, m.StoredAt})
	}
	if !events.Tells[events.OutputStored](m) {
		return nil, nil
	}
	e, parked, err := l.reader.Understand(m)
	if err != nil || parked != "" { // the projector archives litter
		return nil, err
	}
	l.at, l.stored = e.Time, m.StoredAt
	f, ok := e.Fact.(events.OutputStored)
	if !ok {
		return nil, nil
	}
	l.foldOutput(f)
	return f, nil
}

// foldOutput notes what a job yielded. Nothing else is decided on it: what counts is said by job.Yields.
func (l *Ledger) foldOutput(f events.OutputStored) {
	j, ok := l.Jobs[f.JobID]
	if !ok || f.Upload || j.Lane() != f.Lane || !job.Yields(j.Life, f) {
		return
	}
	l.yields(f.JobID, Yielded{f.Output, f.Lane, j.like.Kind})
}

// yields notes an output of a job; one of the same name is replaced.
func (l *Ledger) yields(id events.JobID, y Yielded) {
	all := l.Outputs[id]
	at := slices.IndexFunc(all, func(had Yielded) bool { return had.Name == y.Name })
	if at < 0 {
		all = append(slices.Clip(all), y)
	} else {
		l.unstore(id, all[at])
		all = slices.Clone(all)
		all[at] = y
	}
	l.Outputs[id] = all
	l.store(id, y)
	for _, at := range l.in[id] {
		changed := at.graph.States.Stored(at.number, y.Name)
		l.follow(at.graph, changed, "")
		l.reline(at.graph.of(changed))
	}
}

// OutputsOf returns the names of what a job yielded, sorted.
func (l *Ledger) OutputsOf(id events.JobID) (names []string) {
	for _, y := range l.Outputs[id] {
		names = append(names, y.Name)
	}
	slices.Sort(names)
	return names
}

// OutputOf returns what a job yielded under a name; false if it did not, or if that is forgotten.
func (l *Ledger) OutputOf(id events.JobID, name string) (Yielded, bool) {
	all := l.Outputs[id]
	i := slices.IndexFunc(all, func(y Yielded) bool { return y.Name == name })
	if i < 0 {
		return Yielded{}, false
	}
	return all[i], true
}

// NeedsOutput reports whether an open graph still needs an output that a lane stored.
func (l *Ledger) NeedsOutput(lane events.Lane, digest events.Digest) bool {
	return slices.ContainsFunc(l.yielders[stored{lane, digest}], func(id events.JobID) bool {
		return slices.ContainsFunc(l.Outputs[id], func(y Yielded) bool {
			return y.Lane == lane && y.Digest == digest && slices.ContainsFunc(l.in[id], func(at place) bool { return at.graph.uses(at.number, y.Name) })
		})
	})
}

// uses reports whether a job of a graph may still use an output of another one: it has not succeeded. One that failed or is
// skipped may run again while the graph is open.
func (g *Graph) uses(number int, output string) (uses bool) {
	if !g.States.Settled() { // its jobs and needs are still to be named
		return true
	}
	g.States.Uses(number, output, func(job int) { uses = uses || g.States.State(job) != graph.Succeeded })
	return uses
}

// inherit gives a job the outputs of another one that did the same.
func (l *Ledger) inherit(id, from events.JobID) {
	for _, y := range l.Outputs[from] {
		l.yields(id, y)
	}
}

// store and unstore note which jobs yielded what a lane stored.
func (l *Ledger) store(id events.JobID, y Yielded) {
	l.yielders[y.place()] = append(slices.Clip(l.yielders[y.place()]), id)
}

func (l *Ledger) unstore(id events.JobID, y Yielded) {
	left := slices.Clone(l.yielders[y.place()])
	if i := slices.Index(left, id); i >= 0 {
		left = slices.Delete(left, i, i+1)
	}
	if l.yielders[y.place()] = left; len(left) == 0 {
		delete(l.yielders, y.place())
	}
}

// spend notes that a job has left the memory. Of those the newest keep their outputs, and those that an open graph needs.
func (l *Ledger) spend(id events.JobID) {
	if len(l.Outputs[id]) == 0 {
		return
	}
	l.Spent = append(l.Spent, id)
	for over := len(l.Spent) - maxSpent; over > 0; over-- {
		oldest := slices.IndexFunc(l.Spent, func(id events.JobID) bool { return len(l.in[id]) == 0 })
		if oldest < 0 {
			return
		}
		l.forgetOutputs(l.Spent[oldest])
		l.Spent = slices.Delete(l.Spent, oldest, oldest+1)
	}
}

// unspend notes that a job is back in the memory.
func (l *Ledger) unspend(id events.JobID) {
	if i := slices.Index(l.Spent, id); i >= 0 {
		l.Spent = slices.Delete(l.Spent, i, i+1)
	}
}

func (l *Ledger) forgetOutputs(id events.JobID) {
	for _, y := range l.Outputs[id] {
		l.unstore(id, y)
	}
	delete(l.Outputs, id)
}

// restoreOutputs makes what a snapshot leaves out of outputs.
func (l *Ledger) restoreOutputs() {
	for id, all := range l.Outputs {
		for _, y := range all {
			l.store(id, y)
		}
	}
}
