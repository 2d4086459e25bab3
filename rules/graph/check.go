package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Check reports what is wrong with a graph of so many jobs: too many of them, a need on a job that it does not have or
// on the job itself, or a cycle. name says what a job is called.
func Check(jobs int, needs []Need, name func(int) string) error {
	if jobs > MaxJobs || len(needs) > MaxNeeds {
		return fmt.Errorf("%d jobs with %d needs are too many: a graph has at most %d jobs and %d needs", jobs, len(needs), MaxJobs, MaxNeeds)
	}
	on := make([][]int, jobs)
	for _, n := range needs {
		switch {
		case n.Job < 0 || n.Job >= jobs:
			return fmt.Errorf("a need of job %d: the graph has jobs 0 to %d", n.Job, jobs-1)
		case n.On < 0 || n.On >= jobs:
			return fmt.Errorf("%s needs job %d: the graph has jobs 0 to %d", name(n.Job), n.On, jobs-1)
		case n.Job == n.On:
			return fmt.Errorf("%s needs itself", name(n.Job))
		}
		on[n.Job] = append(on[n.Job], n.On)
	}
	if cycle := findCycle(on); cycle != nil {
		var names []string
		for _, job := range append(cycle, cycle[0]) {
			names = append(names, name(job))
		}
		return fmt.Errorf("%s: none of them could ever run", strings.Join(names, " → "))
	}
	return nil
}

// findCycle returns the jobs of a cycle in the order in which they need each other; nil if there is none.
func findCycle(on [][]int) []int {
	const (
		unseen = iota
		above  // on the way from the first job to this one
		clear
	)
	mark := make([]int, len(on))
	at := make([]int, len(on)) // how many of its needs were followed
	for first := range on {
		if mark[first] != unseen {
			continue
		}
		mark[first] = above
		for path := []int{first}; len(path) > 0; {
			job := path[len(path)-1]
			if at[job] == len(on[job]) {
				mark[job] = clear
				path = path[:len(path)-1]
				continue
			}
			next := on[job][at[job]]
			at[job]++
			switch mark[next] {
			case above:
				return slices.Clone(path[slices.Index(path, next):])
			case unseen:
				mark[next] = above
				path = append(path, next)
			}
		}
	}
	return nil
}
