package ledger

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/queue"
)

// Rank returns how long the jobs of a graph that is about to be made are expected to take, in milliseconds, and their places
// in the order in which they are to run. over says which have ended before. Both depend on the log up to now alone, and they
// are recorded with the jobs: what ends later changes the order of later graphs only.
func (l *Ledger) Rank(jobs []events.JobSpec, over func(int) bool, needs []events.JobNeeds) (costMS []int64, ranks []int) {
	r := graph.Rehearsal{Jobs: make([]graph.Rehearsed, len(jobs))}
	costMS = l.costs(jobs)
	var classes []int
	classes, r.Pooled, r.Lanes = l.lanesOf(jobs)
	for i := range jobs {
		r.Jobs[i] = graph.Rehearsed{CostMS: costMS[i], Class: classes[i], Over: over(i)}
	}
	for _, n := range needs {
		for _, on := range n.On {
			r.Needs = append(r.Needs, graph.Need{Job: n.Job, On: on, Until: n.Until})
		}
	}
	return costMS, r.Ranks()
}

// costs returns how long jobs are expected to take. One of which nothing is known takes the mean of the others.
func (l *Ledger) costs(jobs []events.JobSpec) []int64 {
	type alike struct {
		queue.Sort
		definitions events.Digest
	}
	known := map[alike]time.Duration{} // 0 for unknown
	all := l.Lengths.similar(func(queue.Sort) bool { return true })
	costs, lacks := make([]int64, len(jobs)), []int(nil)
	sum := int64(0)
	for i, spec := range jobs {
		like := alike{sortOf(spec), spec.Definitions}
		length, seen := known[like]
		if !seen {
			length = l.expect(like.Sort, like.definitions, all)
			known[like] = length
		}
		if length == 0 {
			lacks = append(lacks, i)
			continue
		}
		costs[i] = partly(spec.Chunk, length).Milliseconds()
		sum += costs[i] // each is 30 days at most
	}
	mean := unknownLength.Milliseconds()
	if some := int64(len(jobs) - len(lacks)); some > 0 {
		mean = sum / some
	}
	for _, i := range lacks {
		costs[i] = mean
	}
	return costs
}

// sortOf returns the properties that decide how long a job takes.
func sortOf(spec events.JobSpec) queue.Sort {
	return queue.Sort{Suite: spec.Artifact.Suite, Lane: spec.Part(), Kind: spec.Kind, Backend: spec.Backend, Profile: spec.Profile}
}

// Expected returns how long a job is expected to take; of a chunk its part of the whole.
func (l *Ledger) Expected(j *Job) time.Duration { return partly(j.chunk(), l.wholeLength(j)) }

// wholeLength returns how long a job is expected to take, and of a chunk all chunks of its job together.
func (l *Ledger) wholeLength(j *Job) time.Duration {
	sort := j.Sort()
	length := l.expect(sort, j.of.definitions, l.Lengths.similar(func(other queue.Sort) bool {
		return other.Suite == sort.Suite && other.Kind == sort.Kind
	}))
	if length == 0 {
		return unknownLength
	}
	return length
}

// expect returns how long jobs of a sort are expected to take: the median of the last ones, or the middle of those of similar
// sorts, or what their definitions say; 0 if nothing is known. all are the similar ones.
func (l *Ledger) expect(sort queue.Sort, definitions events.Digest, all func() similar) time.Duration {
	if known := l.Lengths.Expect(sort); known.Known {
		return known.Length
	}
	for _, group := range groupsOf(sort) {
		if lengths := all()[group]; len(lengths) > 0 {
			slices.Sort(lengths)
			return lengths[len(lengths)/2]
		}
	}
	kind, _ := l.Definitions[definitions].Kind(sort.Kind)
	if length, err := time.ParseDuration(kind.Expect); err == nil && length > 0 {
		return min(length, longestLength)
	}
	return 0
}

// unknownLength is how long a job is expected to take of which nothing like it was measured, longestLength how long at most.
const (
	unknownLength = 10 * time.Minute
	longestLength = 30 * 24 * time.Hour
)

// group is what similar sorts have in common.
type group struct {
	suite events.SuiteName
	kind  events.JobKind
	// lane is zero if they may have any lane; anywhere tells that from the zero lane.
	lane     events.Lane
	anywhere bool
}

// groupsOf returns the groups of a sort, the closest first.
func groupsOf(s queue.Sort) [2]group {
	return [2]group{{suite: s.Suite, kind: s.Kind, lane: s.Lane}, {suite: s.Suite, kind: s.Kind, anywhere: true}}
}

// similar has the lengths of the sorts of each group.
type similar map[group][]time.Duration

// similar returns a function that finds the lengths of all sorts that are wanted, when it is first called.
func (l Lengths) similar(wanted func(queue.Sort) bool) func() similar {
	var all similar
	return func() similar {
		if all != nil {
			return all
		}
		all = similar{}
		for other := range l {
			if wanted(other) {
				length := l.Expect(other).Length
				for _, g := range groupsOf(other) {
					all[g] = append(all[g], length)
				}
			}
		}
		return all
	}
}

// learn adds how long a job took, if that tells how long others take.
func (l *Ledger) learn(j *Job, f events.JobFinished) {
	kind, _ := l.Definitions[j.of.definitions].Kind(j.like.Kind)
	if took, tells := queue.Took(f, kind.Does == ""); tells {
		list := append(l.Lengths[j.Sort()], wholly(j.chunk(), took))
		l.Lengths[j.Sort()] = slices.Clone(list[max(len(list)-queue.Recent, 0):])
	}
}

// lanesOf returns the classes of jobs by the lanes that take them, and these lanes: one for each lane of a target, and of each
// machine as many as have a collector that may take jobs, but not more than have room for jobs at once.
func (l *Ledger) lanesOf(jobs []events.JobSpec) (classes []int, pooled []bool, lanes []graph.Lanes) {
	classes = make([]int, len(jobs))
	known := map[string]int{}
	machines := slices.Sorted(maps.Keys(l.Machines))
	at := map[events.MachineName]int{} // the lanes of a machine
	for i, spec := range jobs {
		key := spec.Part().String()
		if spec.Matched {
			key = strings.Join(append([]string{"", string(spec.Artifact.Kind)}, spec.Requires...), " ")
		}
		class, seen := known[key]
		if !seen {
			class = len(pooled)
			known[key], pooled = class, append(pooled, spec.Matched)
		}
		classes[i] = class
		if seen || !spec.Matched {
			continue
		}
		needs, err := match.Parse(spec.Requires)
		for _, name := range machines {
			m := l.Machines[name]
			if err != nil || m.Removed || m.Takers == 0 || len(match.Lacks(needs, spec.Artifact.Kind, m.Offer())) > 0 {
				continue
			}
			if _, has := at[name]; !has {
				at[name] = len(lanes)
				lanes = append(lanes, graph.Lanes{})
			}
			group := &lanes[at[name]]
			group.Classes = append(group.Classes, class)
			group.Number = max(group.Number, m.atOnce(needs))
		}
	}
	return classes, pooled, lanes
}

// atOnce returns how many jobs that need the same the machine can run at once when it is empty.
func (m *Machine) atOnce(needs match.Requirement) (n int) {
	room := match.NewRoom(m.Offer())
	for ; n < m.Takers && room.Fits(needs); n++ {
		room.Reserve(needs)
	}
	return n
}
