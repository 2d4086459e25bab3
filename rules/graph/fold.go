package graph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
)

// Depth says what the jobs of one box of a folded drawing have in common.
type Depth int

// The depths, the finest first.
const (
	// ByLane folds jobs of one kind, target and set, ByTarget those of one kind and target, ByKind those of one kind, and
	// Whole all of them.
	ByLane Depth = iota
	ByTarget
	ByKind
	Whole
)

// Part returns the part of a label that jobs in one box have in common.
func (d Depth) Part(l Label) Label {
	switch d {
	case ByLane:
		return Label{Kind: l.Kind, Target: l.Target, Set: l.Set}
	case ByTarget:
		return Label{Kind: l.Kind, Target: l.Target}
	case ByKind:
		return Label{Kind: l.Kind}
	case Whole:
	}
	return Label{}
}

// Group is jobs that go into one box of a folded drawing and have one state.
type Group struct {
	Label
	State string
	Jobs  int
	// Optional says that all of them are. Copies is the highest number of their samples; 0 for the base series.
	Optional bool
	Copies   int
}

// Between says that a job with one label needs one with another label.
type Between struct {
	On, Job Label
	// Until is events.UntilEnded if no such job needs a success.
	Until events.Until
}

// Fits reports whether a drawing may have so many boxes and lines.
func Fits(boxes, lines int) bool { return boxes <= MaxDrawn && lines <= MaxLines }

// Fold returns the drawing of groups, one box for all that have the same part of their labels at a depth, in the order of
// the groups. Needs within a box are no lines.
func Fold(groups []Group, needs []Between, depth Depth) Drawing {
	d := Drawing{Folded: true, Depth: depth}
	at := map[Label]int{}
	var labels []Label
	for _, g := range groups {
		part := depth.Part(g.Label)
		box, known := at[part]
		if !known {
			box = len(d.Boxes)
			at[part] = box
			d.Boxes, labels = append(d.Boxes, Box{Label: part, Optional: true}), append(labels, part)
		}
		b := &d.Boxes[box]
		b.Jobs += g.Jobs
		b.Copies = max(b.Copies, g.Copies)
		b.Optional = b.Optional && g.Optional
		b.add(g.State, g.Jobs)
	}
	for i, name := range Names(labels) {
		d.Boxes[i].Name = d.Boxes[i].folded(cmp.Or(name, when(depth == Whole, "all")))
		d.Boxes[i].settle()
	}
	anyEnd := map[Line]bool{} // whether all needs from one box on another one end with any end
	for _, n := range needs {
		on, known := at[depth.Part(n.On)]
		job, known2 := at[depth.Part(n.Job)]
		if !known || !known2 || on == job {
			continue
		}
		l := Line{On: on, Job: job}
		all, seen := anyEnd[l]
		anyEnd[l] = n.Until == events.UntilEnded && (all || !seen)
	}
	d.Lines = linesOf(anyEnd)
	return d
}

// folded returns the name of a box of many jobs. The samples of a job are said apart.
func (b Box) folded(name string) string {
	if name == "" {
		name = "no longer in the tables" // its jobs ended long ago
	}
	of := func(n int) string {
		if n == 1 {
			return "1 job"
		}
		return fmt.Sprintf("%d jobs", n)
	}
	switch {
	case b.Copies > 1 && b.Jobs%b.Copies == 0:
		return fmt.Sprintf("%s · %s × %d samples", name, of(b.Jobs/b.Copies), b.Copies)
	case b.Copies > 1:
		return fmt.Sprintf("%s · %s, %d samples", name, of(b.Jobs), b.Copies)
	}
	return name + " · " + of(b.Jobs)
}

func when(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

// groups returns the jobs as groups and their needs between labels, each once.
func groups(jobs []Drawn, needs []Need) (all []Group, between []Between) {
	type key struct {
		label Label
		state string
	}
	at := map[key]int{}
	for _, j := range jobs {
		k := key{ByLane.Part(j.Label), j.State}
		g, known := at[k]
		if !known {
			g = len(all)
			at[k] = g
			all = append(all, Group{Label: k.label, State: j.State, Optional: true})
		}
		all[g].Jobs++
		all[g].Copies = max(all[g].Copies, j.Copy)
		all[g].Optional = all[g].Optional && j.Optional
	}
	seen := map[Between]bool{}
	for _, n := range needs {
		if n.Job < 0 || n.Job >= len(jobs) || n.On < 0 || n.On >= len(jobs) {
			continue
		}
		b := Between{ByLane.Part(jobs[n.On].Label), ByLane.Part(jobs[n.Job].Label), n.Until}
		if !seen[b] {
			seen[b] = true
			between = append(between, b)
		}
	}
	return all, between
}

// FoldWithin returns the finest drawing of jobs with at most so many boxes and lines, folded in any case.
func FoldWithin(jobs []Drawn, needs []Need, boxes, lines int) Drawing {
	all, between := groups(jobs, needs)
	depth := ByLane
	for ; depth < Whole; depth++ {
		if d := Fold(all, between, depth); len(d.Boxes) <= boxes && len(d.Lines) <= lines {
			return d
		}
	}
	return Fold(all, between, depth)
}

// linesOf returns lines, sorted. The values say whether any end is enough.
func linesOf(anyEnd map[Line]bool) []Line {
	all := slices.Collect(maps.Keys(anyEnd))
	for i, l := range all {
		if anyEnd[l] {
			all[i].Until = events.UntilEnded
		}
	}
	slices.SortFunc(all, func(a, b Line) int { return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Job, b.Job)) })
	return all
}
