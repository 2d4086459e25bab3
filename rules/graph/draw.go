package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// MaxDrawn is how many jobs a drawing shows one by one. More are folded: one box for all jobs of a kind on a target.
const MaxDrawn = 200

// Drawn is a job as a drawing shows it.
type Drawn struct {
	Label
	// State is its state in the words of the log, such as in_progress; empty for none.
	State    string
	Optional bool
	// Link is where more is said about the job, Note what the drawing says about it to who points at it. Either may be
	// empty.
	Link, Note string
}

// Drawing is a graph as it is drawn: boxes, and lines between them.
type Drawing struct {
	Boxes []Box
	Lines []Line
	// Folded says that a box is all jobs of a kind, or of a kind on a target.
	Folded bool
}

// Box is a job, or several ones in a folded drawing.
type Box struct {
	Name string
	// Jobs are the places of its jobs in the list that was drawn.
	Jobs []int
	// State is that of its jobs; if they differ, "failure" or "in_progress" if one of them is that, else "mixed".
	State string
	// Counts says how many jobs are in which state; empty if the jobs have none.
	Counts     []Count
	Optional   bool
	Link, Note string
}

// Count is how many jobs are in a state.
type Count struct {
	State string
	Jobs  int
}

// Line leads from a box to one that needs it.
type Line struct {
	On, Job int
	// Until is events.UntilEnded if no job of the box needs a success.
	Until events.Until
}

// The states that a drawing knows beside those of jobs in graphs.
const (
	drawnQueued  = "queued"
	drawnRunning = "in_progress"
	drawnMixed   = "mixed"
)

// drawnStates are the states in the order in which they are counted, with their marks.
var drawnStates = []struct{ state, mark string }{
	{string(Succeeded), "✓"},
	{string(Failed), "✕"},
	{string(Cancelled), "⊘"},
	{string(Skipped), "↷"},
	{drawnRunning, "▶"},
	{drawnQueued, "○"},
	{string(Ready), "○"},
	{string(Blocked), "◌"},
	{drawnMixed, "◆"},
}

// Draw returns the drawing of jobs and what they need. Needs name jobs by their places in the list; one that names no
// job is not drawn.
func Draw(jobs []Drawn, needs []Need) Drawing {
	d := Drawing{Folded: len(jobs) > MaxDrawn}
	of := make([]int, len(jobs))
	switch {
	case !d.Folded:
		names := Names(labels(jobs))
		for i, j := range jobs {
			of[i] = i
			d.Boxes = append(d.Boxes, Box{Name: names[i], Jobs: []int{i}, State: j.State, Optional: j.Optional, Link: j.Link, Note: j.Note})
		}
	default:
		d.Boxes = fold(jobs, of, func(l Label) Label { return Label{Kind: l.Kind, Target: l.Target} })
		if len(d.Boxes) > MaxDrawn {
			d.Boxes = fold(jobs, of, func(l Label) Label { return Label{Kind: l.Kind} })
		}
	}
	for i := range d.Boxes {
		d.Boxes[i].count(jobs)
	}
	d.Lines = lines(needs, of)
	return d
}

func labels(jobs []Drawn) []Label {
	all := make([]Label, len(jobs))
	for i, j := range jobs {
		all[i] = j.Label
	}
	return all
}

// fold returns one box for all jobs that have the same part of their labels, in the order of their first jobs. It notes
// in which box each job is.
func fold(jobs []Drawn, of []int, part func(Label) Label) []Box {
	var boxes []Box
	var groups []Label
	at := map[Label]int{}
	for i, j := range jobs {
		group := part(j.Label)
		box, known := at[group]
		if !known {
			box = len(boxes)
			at[group] = box
			boxes, groups = append(boxes, Box{Optional: true}), append(groups, group)
		}
		of[i] = box
		boxes[box].Jobs = append(boxes[box].Jobs, i)
		boxes[box].Optional = boxes[box].Optional && j.Optional
	}
	for i, name := range Names(groups) {
		boxes[i].Name = fmt.Sprintf("%s · %d jobs", name, len(boxes[i].Jobs))
		if len(boxes[i].Jobs) == 1 {
			boxes[i].Name = name + " · 1 job"
		}
	}
	return boxes
}

// count counts the states of the jobs in the box.
func (b *Box) count(jobs []Drawn) {
	in := map[string]int{}
	for _, i := range b.Jobs {
		if s := jobs[i].State; s != "" {
			in[s]++
		}
	}
	for s, n := range in {
		b.Counts = append(b.Counts, Count{s, n})
	}
	place := func(s string) int {
		at := slices.IndexFunc(drawnStates, func(k struct{ state, mark string }) bool { return k.state == s })
		if at < 0 {
			return len(drawnStates)
		}
		return at
	}
	slices.SortFunc(b.Counts, func(x, y Count) int {
		return cmp.Or(cmp.Compare(place(x.State), place(y.State)), cmp.Compare(x.State, y.State))
	})
	switch {
	case len(b.Counts) == 1:
		b.State = b.Counts[0].State
	case in[string(Failed)] > 0:
		b.State = string(Failed)
	case in[drawnRunning] > 0:
		b.State = drawnRunning
	case len(in) > 0:
		b.State = drawnMixed
	}
}

// Words says in which states the jobs of the box are: "success", or "500 success, 12 skipped".
func (b Box) Words() string {
	if len(b.Jobs) == 1 {
		return spaced(b.State)
	}
	return tally(b.Counts)
}

func tally(counts []Count) string {
	all := make([]string, len(counts))
	for i, c := range counts {
		all[i] = fmt.Sprintf("%d %s", c.Jobs, spaced(c.State))
	}
	return strings.Join(all, ", ")
}

func spaced(state string) string { return strings.ReplaceAll(state, "_", " ") }

// lines returns the lines between boxes, each once, sorted.
func lines(needs []Need, of []int) []Line {
	ended := map[Line]bool{} // whether all needs from one box on another one end with any end
	for _, n := range needs {
		if n.Job < 0 || n.Job >= len(of) || n.On < 0 || n.On >= len(of) || of[n.Job] == of[n.On] {
			continue
		}
		l := Line{On: of[n.On], Job: of[n.Job]}
		all, seen := ended[l]
		ended[l] = n.Until == events.UntilEnded && (all || !seen)
	}
	all := make([]Line, 0, len(ended))
	for l, anyEnd := range ended {
		if anyEnd {
			l.Until = events.UntilEnded
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b Line) int { return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Job, b.Job)) })
	return all
}

// Steps returns for each job in which step it may run, from 0: one after the last of those that it needs. In a cycle,
// which no graph has, needs that lead back do not count.
func Steps(jobs int, needs []Need) []int {
	step, left := make([]int, jobs), make([]int, jobs)
	to := make([][]int, jobs)
	for _, n := range needs {
		if n.Job >= 0 && n.Job < jobs && n.On >= 0 && n.On < jobs && n.Job != n.On {
			to[n.On] = append(to[n.On], n.Job)
			left[n.Job]++
		}
	}
	var next []int
	for i := range jobs {
		if left[i] == 0 {
			next = append(next, i)
		}
	}
	for len(next) > 0 {
		job := next[0]
		next = next[1:]
		for _, other := range to[job] {
			step[other] = max(step[other], step[job]+1)
			left[other]--
			if left[other] == 0 {
				next = append(next, other)
			}
		}
	}
	return step
}

// Tally says in which states jobs are: "500 success, 12 skipped".
func Tally(jobs []Drawn) string {
	all := Box{Jobs: make([]int, len(jobs))}
	for i := range all.Jobs {
		all.Jobs[i] = i
	}
	all.count(jobs)
	return tally(all.Counts)
}
