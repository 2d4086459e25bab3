package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Nothing is done twice that is the same. Done has the newest run for each key (rules/suite) that really ran and succeeded. A
// job that waits and has the key of one takes it over, and never runs.

// Run is a run that others may take over.
type Run struct {
	Job events.JobID
	// Seq is the event of its end, and Ended when that was.
	Seq   events.Seq
	Ended time.Time
	// Earlier is the run that stood for the key before. A collector may have been told of that one a moment ago.
	Earlier events.JobID `json:",omitempty"`
}

// maxDone bounds the runs that can be taken over. Beyond it the oldest leave, an eighth of them at once.
const maxDone = 50_000

// foldKey notes under its key what a run did, and gives a job that took a run over the outputs of that.
func (l *Ledger) foldKey(j *Job, f events.JobFinished, seq events.Seq) {
	switch {
	case f.Outcome != events.Success || j.State.Terminal():
	case f.ReusedFrom != "":
		l.inherit(j.ID, f.ReusedFrom)
	case f.Key != "" && f.Skipped == 0 && l.counts(j):
		key := j.scoped(f.Key)
		l.Done[key] = Run{j.ID, seq, l.at, l.Done[key].Job}
		l.boundDone()
		l.noteKey(key)
	}
}

// scoped returns a key as Done has it. A collector says the key of what it did, and could say that of another job. So it can stand
// only for jobs of the same kind, target and set, and what a try did never stands for a master or a release: it may have run on
// machines that execute what nothing was merged of.
func (j *Job) scoped(key events.Digest) events.Digest {
	trust := "merged"
	if j.of.artifact.Kind == events.Try {
		trust = "try"
	}
	return events.Digest(fmt.Sprintf("%s %s %s %s %t %s", key, trust, j.of.artifact.Suite, j.like.Kind, j.like.Matched, j.like.Part()))
}

// counts reports whether what a job does may stand for others and others for it: not if it is a sample or a pair, if people let
// it run without what it needs, or if its request has definitions that its branch never used.
func (l *Ledger) counts(j *Job) bool {
	r, ok := l.Requests[j.of.request]
	return ok && !j.Sampled() && (j.of.more == nil || j.of.more.against == (events.Artifact{})) && !r.Pins().Customised &&
		!slices.ContainsFunc(l.in[j.ID], func(at place) bool { return at.graph.States.Forced(at.number) })
}

// KeyOf returns the key of a job that waits, as it would have it on a lane; false if it takes nothing over, or if not all that
// goes into it is known. What a person asked to run again runs, and so does what has begun: it may have results of its own.
func (l *Ledger) KeyOf(j *Job, on events.Lane) (events.Digest, bool) {
	d, known := l.Definitions[j.of.definitions]
	if !known || d.Version < suite.FormVersion || j.State != events.JobQueued || j.Place > 0 || j.Round > 0 || j.Attempt > 0 || !l.counts(j) {
		return "", false
	}
	var with suite.Goes
	if with.Inputs, known = l.inputs(j); !known {
		return "", false
	}
	if lane, ok := l.Lanes[on]; ok {
		c := l.Collector(lane.Assignment.Serving)
		with.Fingerprint, with.Drivers = c.Fingerprint, c.Drivers
	}
	return d.Key(j.Spec(), with)
}

// Taken returns the run that a job which waits takes over on a lane; false if it has to run.
func (l *Ledger) Taken(j *Job, on events.Lane) (run Run, key events.Digest, ok bool) {
	if key, ok = l.KeyOf(j, on); !ok {
		return Run{}, "", false
	}
	run, ok = l.Done[j.scoped(key)]
	return run, key, ok && run.Job != j.ID && l.Wanted(j)
}

// Same returns the run that did what a job in hand does; the zero value for none. counts is false if what the job does stands
// for no other one.
func (l *Ledger) Same(id events.JobID, key events.Digest) (run Run, counts bool) {
	j, ok := l.Jobs[id]
	if !ok || j.State.Terminal() || !l.counts(j) {
		return Run{}, false
	}
	if run = l.Done[j.scoped(key)]; j.Round > 0 || j.Attempt > 1 || run.Job == id {
		run = Run{} // a person asked to run it again, or it may have results of its own
	}
	return run, true
}

// Did reports whether a run stands for what a job in hand does: the one that Same names for the key, or named a moment ago. What it
// yielded must be known.
func (l *Ledger) Did(id, run events.JobID, key events.Digest) bool {
	named, counts := l.Same(id, key)
	if !counts || run == "" || run != named.Job && run != named.Earlier {
		return false
	}
	_, complete := l.YieldsOf(id, run)
	return complete
}

// YieldsOf returns what a run yielded of what the kind of a job yields; complete is false if some of it is not known any more.
func (l *Ledger) YieldsOf(id, run events.JobID) (all []Yielded, complete bool) {
	j, ok := l.Jobs[id]
	if !ok {
		return nil, false
	}
	kind, ok := l.Definitions[j.of.definitions].Kind(j.like.Kind)
	if !ok {
		return nil, false
	}
	for _, o := range kind.Outputs {
		y, known := l.OutputOf(run, o.Name)
		if !known {
			return nil, false
		}
		all = append(all, y)
	}
	return all, true
}

// noteAlike notes whether a job stands in a line and can take a run over.
func (l *Ledger) noteAlike(j *Job) {
	if key, had := l.keys.of[j.ID]; had {
		delete(l.keys.of, j.ID)
		delete(l.keys.jobs[key], j.ID)
		if len(l.keys.jobs[key]) == 0 {
			delete(l.keys.jobs, key)
		}
		l.alike(j, false)
	}
	if !j.lined {
		return
	}
	key, ok := l.KeyOf(j, j.Lane())
	if !ok {
		return
	}
	key = j.scoped(key)
	l.keys.of[j.ID] = key
	if l.keys.jobs[key] == nil {
		l.keys.jobs[key] = map[events.JobID]bool{}
	}
	l.keys.jobs[key][j.ID] = true
	_, done := l.Done[key]
	l.alike(j, done)
}

// keyed are the jobs that stand in a line and whose keys are known.
type keyed struct {
	of   map[events.JobID]events.Digest
	jobs map[events.Digest]map[events.JobID]bool
}

func (l *Ledger) alike(j *Job, is bool) {
	all := l.Alike[j.of.request]
	switch {
	case is && all == nil:
		l.Alike[j.of.request] = map[events.JobID]bool{j.ID: true}
	case is:
		all[j.ID] = true
	default:
		delete(all, j.ID)
		if len(all) == 0 {
			delete(l.Alike, j.of.request)
		}
	}
}

// noteKey notes for the jobs that wait with a key whether there is a run with it.
func (l *Ledger) noteKey(key events.Digest) {
	_, done := l.Done[key]
	for id := range l.keys.jobs[key] {
		l.alike(l.Jobs[id], done)
	}
}

// noteServer notes that the collector that serves a lane is another one, or another process: what waits there has other keys, and
// may be what the new one can or cannot do.
func (l *Ledger) noteServer(name events.Lane) {
	lane, ok := l.Lanes[name]
	if !ok {
		return
	}
	if builds := l.knowsBuilds(lane); builds != lane.builds {
		var jobs []events.JobID
		for _, ids := range lane.Queued {
			jobs = append(jobs, ids...)
		}
		l.reseat(jobs, func() { lane.builds = builds })
	}
	for _, request := range slices.Sorted(maps.Keys(lane.Queued)) {
		for _, id := range lane.Queued[request] {
			l.noteAlike(l.Jobs[id])
		}
	}
}

// foldReused ends a job that takes a run over.
func (l *Ledger) foldReused(f events.JobReused) {
	j, ok := l.Jobs[f.JobID]
	if !ok || j.State != events.JobQueued || j.Place > 0 {
		return
	}
	l.inherit(j.ID, f.From)
	l.live(j, f, l.Seq)
	l.noteUnserved(j.Lane())
	l.Outbox.finished(j.of.request, News{l.Seq, l.stored})
	l.Moved = later(l.Moved, l.stored)
	l.rest(j)
}

// boundDone lets the oldest runs leave if there are too many.
func (l *Ledger) boundDone() {
	if len(l.Done) <= maxDone {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(l.Done), func(a, b events.Digest) int { return cmp.Compare(l.Done[a].Seq, l.Done[b].Seq) })
	for _, key := range oldest[:maxDone/8] {
		delete(l.Done, key)
		l.noteKey(key)
	}
}

// forgetDone forgets the runs that have left the tables: what was taken over could not be shown any more.
func (l *Ledger) forgetDone(f events.JobsRetired) {
	before, err := time.Parse(time.RFC3339, f.EndedBefore)
	if err != nil {
		return
	}
	for key, run := range l.Done {
		if run.Ended.Before(before) {
			delete(l.Done, key)
			l.noteKey(key)
		}
	}
}
