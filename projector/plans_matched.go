package projector

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/match"
)

// match returns what a matched job needs of its machine; nil for other jobs.
func (j *jobRow) match() *readmodel.ExpectedMatch {
	if !j.Matched {
		return nil
	}
	return &readmodel.ExpectedMatch{Requires: j.Requires, Kind: j.ArtifactKind}
}

// waitsFor is match for a job that waits for a machine; nil for one that has a lane.
func (j *jobRow) waitsFor() *readmodel.ExpectedMatch {
	if !j.free() {
		return nil
	}
	return j.match()
}

// laneFor returns the lane on which a job is expected to run: its own, or for a matched job that has none the lane that
// could take it and has least to do in the plan so far. If no collector could take it, that is the zero lane.
func (p *planning) laneFor(list *planner, own events.Lane, m *readmodel.ExpectedMatch) events.Lane {
	if m == nil {
		return own
	}
	best, least := events.Lane{}, time.Duration(-1)
	for _, lane := range p.lanesFor(m) {
		if load := list.loads[lane]; least < 0 || load < least {
			best, least = lane, load
		}
	}
	return best
}

// lanesFor returns the lanes with a collector that begins jobs, of machines that could run a matched job when they are
// empty. Of a machine that the job has for itself it returns one lane.
func (p *planning) lanesFor(m *readmodel.ExpectedMatch) []events.Lane {
	key := joined(m.Requires) + string(m.Kind)
	if known, ok := p.fitting[key]; ok {
		return known
	}
	p.fitting[key] = nil
	needs, err := match.Parse(m.Requires)
	if err != nil {
		return nil // terms of a newer program: no machine is known to meet them
	}
	taken := map[events.MachineName]bool{}
	for _, c := range slices.SortedFunc(maps.Values(p.collectors), func(a, b *collectorRow) int { return cmp.Compare(a.Name, b.Name) }) {
		row, lane := p.machines[c.Machine], events.Lane{Target: c.Target, Set: c.Set}
		if row == nil || row.RemovedAt != nil || !p.manned[lane] || needs.Exclusive() && taken[c.Machine] || len(match.Lacks(needs, m.Kind, row.Offer())) > 0 {
			continue
		}
		taken[c.Machine] = true
		p.fitting[key] = append(p.fitting[key], lane)
	}
	return p.fitting[key]
}
