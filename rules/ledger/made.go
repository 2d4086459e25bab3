package ledger

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// foldJobs makes jobs. It returns which of them there were not before.
func (l *Ledger) foldJobs(f events.JobsCreated) (made []bool) {
	made = make([]bool, len(f.Jobs))
	defer func() { l.madeChunks(f.Jobs, made) }()
	for i, spec := range f.Jobs {
		spec.RequestID = f.RequestID // the subject says whose it is
		if l.revive(spec) == nil {
			made[i] = true
			j := l.names.job(spec, justMade)
			l.Jobs[spec.ID] = j
			l.reblock(spec.ID, 1)
			if f.Graph == nil {
				l.lineUp(j, f.RequestID)
			} else {
				j.course = justGraphed
			}
			if spec.Round > 0 { // a new round gets a new budget
				l.artifact(spec.Artifact, func(a *Artifact) { a.Since = time.Time{} })
			}
		}
		l.wants(spec.ID, f.RequestID, f.Key)
	}
	return made
}

// lineUp puts a new job into the line behind the others of its request.
func (l *Ledger) lineUp(j *Job, maker events.RequestID) {
	if j.like.Matched {
		l.near(j)
		l.ready(j, l.at)
	}
	line := l.lineOf(j)
	line.Queued[maker] = slices.Insert(line.Queued[maker], l.standsBefore(line.Queued[maker], j), j.ID)
	j.lined = true
	l.noteAlike(j)
	l.noteUnserved(j.Lane())
}
