package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// MaxDrawn is how many jobs a drawing shows one by one, MaxLines how many needs. More are folded: one box for all jobs of a
// kind on a lane, on a target, of the kind, or for all.
const (
	MaxDrawn = 200
	MaxLines = 400
)

// Drawn is a job as a drawing shows it.
type Drawn struct {
	Label
	// State is its state in the words of the log, such as in_progress; empty for none.
	State    string
	Optional bool
	// Copy is the number of the sample that it measures; 0 for the base series.
	Copy int
	// Link is where more is said about the job, Note what the drawing says about it to who points at it. Either may be
	// empty.
	Link, Note string
}

// Drawing is a graph as it is drawn: boxes, and lines between them.
type Drawing struct {
	Boxes []Box
	Lines []Line
	// Folded says that a box is several jobs, and Depth what they have in common.
	Folded bool
	Depth  Depth
}

// Box is a job, or several ones in a folded drawing.
type Box struct {
	Name string
	// Label is what its jobs have in common.
	Label Label
	// Jobs is how many it has. Copies is the highest number of their samples; 0 for the base series.
	Jobs, Copies int
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
	if len(jobs) > MaxDrawn {
		return FoldWithin(jobs, needs, MaxDrawn, MaxLines)
	}
	all := lines(needs, len(jobs))
	if len(all) > MaxLines {
		return FoldWithin(jobs, needs, MaxDrawn, MaxLines)
	}
	d := Drawing{Lines: all}
	names := Names(labels(jobs))
	for i, j := range jobs {
		b := Box{Name: names[i], Label: j.Label, Jobs: 1, State: j.State, Optional: j.Optional, Link: j.Link, Note: j.Note}
		b.add(j.State, 1)
		d.Boxes = append(d.Boxes, b)
	}
	return d
}

func labels(jobs []Drawn) []Label {
	all := make([]Label, len(jobs))
	for i, j := range jobs {
		all[i] = j.Label
	}
	return all
}

// add counts jobs in a state.
func (b *Box) add(state string, jobs int) {
	at := slices.IndexFunc(b.Counts, func(c Count) bool { return c.State == state })
	switch {
	case state == "":
	case at < 0:
		b.Counts = append(b.Counts, Count{state, jobs})
	default:
		b.Counts[at].Jobs += jobs
	}
}

// settle sorts the counts of the box, and says in one word what they amount to.
func (b *Box) settle() {
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
	has := func(state string) bool {
		return slices.ContainsFunc(b.Counts, func(c Count) bool { return c.State == state })
	}
	switch {
	case len(b.Counts) == 1:
		b.State = b.Counts[0].State
	case has(string(Failed)):
		b.State = string(Failed)
	case has(drawnRunning):
		b.State = drawnRunning
	case len(b.Counts) > 0:
		b.State = drawnMixed
	}
}

// Words says in which states the jobs of the box are: "success", or "500 success, 12 skipped".
func (b Box) Words() string {
	if b.Jobs == 1 {
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

// lines returns the lines between so many jobs, each once, sorted.
func lines(needs []Need, jobs int) []Line {
	anyEnd := map[Line]bool{}
	for _, n := range needs {
		if n.Job < 0 || n.Job >= jobs || n.On < 0 || n.On >= jobs || n.Job == n.On {
			continue
		}
		l := Line{On: n.On, Job: n.Job}
		all, seen := anyEnd[l]
		anyEnd[l] = n.Until == events.UntilEnded && (all || !seen)
	}
	return linesOf(anyEnd)
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
	var all Box
	for _, j := range jobs {
		all.add(j.State, 1)
	}
	all.settle()
	return tally(all.Counts)
}
