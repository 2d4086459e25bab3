package ledger

import (
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// Gone is an output that the store had not any more when a job of a graph wanted to use it. What yielded it runs again, once
// in the graph; then those that failed for that do.
type Gone struct {
	// On is the number of the job that yielded it.
	On     int
	Output string
	// Failed are the runs that failed for it, Cause is the end of the first.
	Failed []events.JobID
	Cause  events.Seq
	// Remade says that a round of the job was made since.
	Remade bool `json:",omitempty"`
}

// foldGone notes which inputs of a job were gone when it failed: those whose jobs the reason names.
func (l *Ledger) foldGone(j *Job, f events.JobFinished, inputs []events.Input, seq events.Seq) {
	if f.Fault != events.ErrorOutput || f.Outcome != events.Failure {
		return
	}
	for _, in := range inputs {
		if !strings.Contains(f.Reason, string(in.JobID)) {
			continue
		}
		for _, at := range l.in[j.ID] {
			at.graph.States.Inputs(at.number, func(on int, output string) {
				if had, ok := l.inputOf(at.graph.Jobs[on], output); ok && output == in.Name && had.JobID == in.JobID {
					at.graph.lost(on, output, j.ID, seq)
					l.Amending[at.graph.Request] = true
				}
			})
		}
		l.gone(in)
	}
}

// gone forgets an output that the store does not have.
func (l *Ledger) gone(in events.Input) {
	all := l.Outputs[in.JobID]
	i := slices.IndexFunc(all, func(y Yielded) bool { return y.Name == in.Name && y.Lane == in.Lane && y.Digest == in.Digest })
	if i < 0 {
		return
	}
	l.unstore(in.JobID, all[i])
	if l.Outputs[in.JobID] = slices.Delete(slices.Clone(all), i, i+1); len(l.Outputs[in.JobID]) == 0 {
		delete(l.Outputs, in.JobID)
	}
}

// lost notes that a job failed for an output. One that was made again and is gone once more stays so: a person has to look.
func (g *Graph) lost(on int, output string, failed events.JobID, seq events.Seq) {
	i := slices.IndexFunc(g.Gone, func(o Gone) bool { return o.On == on && o.Output == output })
	switch {
	case i < 0:
		g.Gone = append(g.Gone, Gone{On: on, Output: output, Failed: []events.JobID{failed}, Cause: seq})
	case !g.Gone[i].Remade:
		g.Gone[i].Failed = append(slices.Clip(g.Gone[i].Failed), failed)
	}
}

// remade notes that a job runs again: its outputs come again, and it fails no more for those of others.
func (g *Graph) remade(number int, before events.JobID) {
	for i := range g.Gone {
		g.Gone[i].Remade = g.Gone[i].Remade || g.Gone[i].On == number
		g.Gone[i].Failed = slices.DeleteFunc(slices.Clone(g.Gone[i].Failed), func(id events.JobID) bool { return id == before })
	}
}

// Amends returns the jobs of a request in progress that run again because an output was gone: what yielded it, and once that
// has stored it again, what failed for it. The cause is the first end that said so.
func (l *Ledger) Amends(r *request.Request) (jobs []*Job, cause events.Seq) {
	if !l.Amending[r.ID] || r.State != events.StateInProgress {
		return nil, 0
	}
	for _, g := range l.Graphs[r.ID] {
		if g.Cancelled {
			continue
		}
		for _, o := range g.Gone {
			again := o.Failed
			if !o.Remade {
				again = []events.JobID{g.Jobs[o.On]}
			} else if _, stored := l.OutputOf(g.Jobs[o.On], o.Output); !stored {
				continue
			}
			for _, id := range again {
				if j := l.Jobs[id]; j != nil && j.State.Terminal() && !slices.Contains(jobs, j) {
					jobs = append(jobs, j)
				}
			}
			if cause == 0 {
				cause = o.Cause
			}
		}
	}
	return jobs, cause
}
