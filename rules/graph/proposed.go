package graph

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// MaxProposed is the most bytes of JSON in which somebody may write a graph.
const MaxProposed = 16 << 20

// The most that one GraphProposed holds, that one job of it may take, and what one job may need.
const (
	jobsPerPart   = 200
	bytesPerPart  = 256 << 10
	bytesPerJob   = 64 << 10
	needsPerJob   = 10_000
	problemsNamed = 20
)

// Proposed is a graph that somebody wrote.
type Proposed struct {
	Jobs []events.ProposedJob
	// Needs are by the places of jobs in Jobs, sorted by the job that needs.
	Needs []Need
}

// Problems are all that is wrong with something, each in a sentence.
type Problems []string

// Error names the first problems.
func (p Problems) Error() string {
	named := p[:min(len(p), problemsNamed)]
	text := strings.Join(named, "; ")
	if more := len(p) - len(named); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// AsError returns the problems as an error; nil if there are none.
func (p Problems) AsError() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Name returns what a job is called in messages: its number and what it measures.
func (p Proposed) Name(i int) string {
	j := p.Jobs[i]
	return fmt.Sprintf("job %d (%.200s)", j.Number, Label{Kind: j.Kind, Target: j.Target, Set: j.Set, Backend: j.Backend, Profile: j.Profile})
}

// Check reports what no graph may have, whatever the definitions say. It returns Problems, or what is wrong with the graph as a
// whole.
func (p Proposed) Check() error {
	if len(p.Jobs) == 0 {
		return fmt.Errorf("the graph has no jobs: submit one with jobs, as `tacho graph show REQUEST/N --json` prints it")
	}
	if len(p.Jobs) > MaxJobs || len(p.Needs) > MaxNeeds {
		return tooLarge(len(p.Jobs), len(p.Needs))
	}
	var problems Problems
	for i, j := range p.Jobs {
		if why := form(j); why != "" {
			problems = append(problems, p.Name(i)+": "+why)
		}
	}
	needed := map[int]int{}
	for _, n := range p.Needs {
		if needed[n.Job]++; needed[n.Job] == needsPerJob+1 {
			problems = append(problems, fmt.Sprintf("job %d needs more than %d others", p.Jobs[n.Job].Number, needsPerJob))
		}
		if n.Until != events.UntilSuccess && n.Until != events.UntilEnded {
			problems = append(problems, fmt.Sprintf("job %d: until is %.40q: write %q for a job that runs whatever becomes of the one that it needs, or leave it out", p.Jobs[n.Job].Number, n.Until, events.UntilEnded))
		}
	}
	if err := problems.AsError(); err != nil {
		return err
	}
	return Check(len(p.Jobs), p.Needs, p.Name)
}

// tooLarge refuses more than a graph may have.
func tooLarge(jobs, needs int) error {
	return fmt.Errorf("%d jobs with %d needs are too many: a graph has at most %d jobs and %d needs; submit it in parts", jobs, needs, MaxJobs, MaxNeeds)
}

// form says what is wrong with a job, whatever the definitions say; empty for nothing.
func form(j events.ProposedJob) string {
	switch {
	case j.Kind == "" || j.Target == "":
		return "it has no kind or no target: the job has left the tables, or was not written down; leave it out, or say what it measures"
	case size(j) > bytesPerJob:
		return fmt.Sprintf("it is larger than %d bytes: name fewer benchmarks, or use patterns", bytesPerJob)
	case j.Iterations < 0:
		return fmt.Sprintf("iterations is %d: use 1 or more, or leave it out", j.Iterations)
	case j.Set < 0:
		return fmt.Sprintf("set is %d: sets are numbered from 0", j.Set)
	}
	if j.Tag != "" {
		if err := events.CheckTag(j.Tag); err != nil {
			return err.Error()
		}
	}
	return ""
}

// size returns how many bytes of JSON something takes.
func size(v any) int { return len(written(v)) }

func written(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("a part of a graph cannot be written: " + err.Error()) // it has only texts, numbers and lists
	}
	return text
}

// grouped returns the needs as events have them.
func (p Proposed) grouped() (all []events.JobNeeds) {
	for _, n := range p.Needs {
		last := len(all) - 1
		if last < 0 || all[last].Job != n.Job || all[last].Until != n.Until || all[last].Output != n.Output {
			all = append(all, events.JobNeeds{Job: n.Job, Until: n.Until, Output: n.Output})
			last++
		}
		all[last].On = append(all[last].On, n.On)
	}
	return all
}

// Content names what the graph says: equal graphs have equal contents.
func (p Proposed) Content() events.Digest {
	h := sha256.New()
	for _, j := range p.Jobs {
		h.Write(written(j))
	}
	for _, n := range p.Needs {
		h.Write(written(n))
	}
	return events.Digest(hex.EncodeToString(h.Sum(nil)))
}

// Parts returns the graph as events of a bounded size. It has been checked.
func (p Proposed) Parts(id events.RequestID, key string) (parts []events.GraphProposed) {
	part, bytes := events.GraphProposed{RequestID: id, Key: key}, 0
	cut := func(next int) {
		if len(part.Jobs)+len(part.Needs) > 0 {
			parts = append(parts, part)
		}
		part, bytes = events.GraphProposed{RequestID: id, Key: key, First: next}, 0
	}
	for i, j := range p.Jobs {
		n := size(j) + 1
		if len(part.Jobs) == jobsPerPart || bytes+n > bytesPerPart {
			cut(i)
		}
		part.Jobs, bytes = append(part.Jobs, j), bytes+n
	}
	for _, n := range p.grouped() {
		more := size(n) + 1
		if bytes+more > bytesPerPart {
			cut(len(p.Jobs))
		}
		part.Needs, bytes = append(part.Needs, n), bytes+more
	}
	cut(0)
	return parts
}

// JoinParts returns the graph of parts, and whether they are all that a wish speaks of.
func JoinParts(w events.GraphWanted, parts []events.GraphProposed) (p Proposed, whole bool) {
	if len(parts) != w.Parts {
		return Proposed{}, false
	}
	for _, part := range parts {
		if part.Key != w.Key || len(part.Jobs) > 0 && part.First != len(p.Jobs) {
			return Proposed{}, false
		}
		p.Jobs = append(p.Jobs, part.Jobs...)
		for _, n := range part.Needs {
			for _, on := range n.On {
				p.Needs = append(p.Needs, Need{Job: n.Job, On: on, Until: n.Until, Output: n.Output})
			}
		}
	}
	return p, p.Content() == w.Content
}

// sortNeeds puts the needs in the order of the jobs, and takes out those that are said twice.
func (p *Proposed) sortNeeds() {
	slices.SortStableFunc(p.Needs, func(a, b Need) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Until, b.Until), cmp.Compare(a.Output, b.Output), cmp.Compare(a.On, b.On))
	})
	p.Needs = slices.Compact(p.Needs)
}
