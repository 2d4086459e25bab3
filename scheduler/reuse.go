package scheduler

import (
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
)

// reusedAtOnce bounds the jobs that one append ends.
const reusedAtOnce = 500

// decideReuse ends the jobs that wait although an earlier run did the same with the same inputs: they take it over. No machine
// gets them.
func decideReuse(s *state) (out []decision) {
	for _, id := range slices.Sorted(maps.Keys(s.Alike)) {
		d := decision{cause: s.Versions[events.RequestSubject(id)], request: id, what: "take runs over"}
		for _, name := range slices.Sorted(maps.Keys(s.Alike[id])) {
			if len(d.facts) == reusedAtOnce {
				break
			}
			j := s.Jobs[name]
			if run, key, ok := s.Taken(j, j.Lane()); ok {
				d.facts = append(d.facts, events.JobReused{RequestID: id, JobID: name, From: run.Job, Key: key})
			}
		}
		if len(d.facts) > 0 {
			out = append(out, d)
		}
	}
	return out
}

// taken ends the job whose turn it is if it takes a run over. One in Alike ends by decideReuse; of a matched job the machine is
// known only now.
func (s *state) taken(id events.JobID, on events.Lane) (d decision, ok bool) {
	j := s.Jobs[id]
	run, key, ok := s.Taken(j, on)
	if !ok {
		return decision{}, false
	}
	request := j.Spec().RequestID
	d = decision{cause: s.Versions[events.RequestSubject(request)], request: request, what: "take a run over"}
	if !s.Alike[request][id] {
		d.facts = []events.Fact{events.JobReused{RequestID: request, JobID: id, From: run.Job, Key: key}}
	}
	return d, true
}
