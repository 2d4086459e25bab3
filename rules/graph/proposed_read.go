package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tachobench/tacho/events"
)

// ReadProposed reads a graph from JSON of the form that `tacho graph show REQUEST/N --json` prints, or `tacho request show REQUEST
// --json` of a request whose jobs need no others. What a job does not consist
// of, such as its state, is ignored. An error names the line and the column, or the numbers of jobs.
func ReadProposed(data []byte) (Proposed, error) {
	if len(data) > MaxProposed {
		return Proposed{}, fmt.Errorf("the graph has more than %d MiB: leave out what jobs do not consist of, or submit it in parts", MaxProposed>>20)
	}
	r := proposalReader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	if err := r.syntax(); err != nil {
		return Proposed{}, err
	}
	if err := r.file(); err != nil {
		return Proposed{}, err
	}
	return r.resolve()
}

// proposalReader reads a graph token by token, so that one that is too large is refused before all of it is in memory.
type proposalReader struct {
	data []byte
	dec  *json.Decoder
	// found says that there are jobs, or an empty list of them.
	found bool
	jobs  []events.ProposedJob
	// numbers are nil for jobs without one; needs are by the numbers of those that are needed.
	numbers []*int
	needs   []Need
}

// writtenJob is a job as somebody wrote it.
type writtenJob struct {
	Number *int `json:"number"`
	events.ProposedJob
	Needs writtenNeeds `json:"needs"`
}

// writtenNeeds are needs, at most so many as a job may have.
type writtenNeeds []writtenNeed

type writtenNeed struct {
	On     *int         `json:"on"`
	Until  events.Until `json:"until,omitempty"`
	Output string       `json:"output,omitempty"`
}

// UnmarshalJSON reads needs one by one.
func (n *writtenNeeds) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	switch {
	case err != nil:
		return err
	case open == nil:
		return nil
	case open != json.Delim('['):
		return errors.New("needs is no list: write [{\"on\": 0}]")
	}
	for dec.More() {
		var one writtenNeed
		if err := dec.Decode(&one); err != nil {
			return fmt.Errorf("a need is wrong: write {\"on\": 0} with the number of a job: %s", plainly(err))
		}
		if one.On == nil {
			return errors.New("a need names no job: write {\"on\": 0} with the number of a job")
		}
		if *n = append(*n, one); len(*n) > needsPerJob {
			return fmt.Errorf("it needs more than %d others", needsPerJob)
		}
	}
	return nil
}

// at returns a message with the line and the column of a place in the text.
func (r *proposalReader) at(offset int64, format string, args ...any) error {
	before := r.data[:min(max(offset, 0), int64(len(r.data)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

// syntax reports where the text is no JSON.
func (r *proposalReader) syntax() error {
	if !utf8.Valid(r.data) {
		for i, rest := 0, r.data; len(rest) > 0; {
			c, n := utf8.DecodeRune(rest)
			if c == utf8.RuneError && n == 1 {
				return r.at(int64(i), "this is no UTF-8 text")
			}
			i, rest = i+n, rest[n:]
		}
	}
	if json.Valid(r.data) {
		return nil
	}
	var nothing struct{}
	err := json.Unmarshal(r.data, &nothing)
	var wrong *json.SyntaxError
	if !errors.As(err, &wrong) {
		return r.at(0, "this is no JSON")
	}
	if len(bytes.TrimSpace(r.data)) == 0 {
		return errors.New("the graph is empty: submit what `tacho graph show REQUEST/N --json` prints")
	}
	return r.at(wrong.Offset-1, "this is no JSON: %s", wrong)
}

// plainly returns an error of package json without the names of Go types.
func plainly(err error) string {
	if mistyped, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		if mistyped.Field == "" {
			return "found a " + mistyped.Value
		}
		return fmt.Sprintf("%s cannot be a %s", mistyped.Field, mistyped.Value)
	}
	return err.Error()
}

// object reads an object, and calls f for each key, before its value.
func (r *proposalReader) object(what string, f func(key string) error) error {
	start := r.next()
	if open, err := r.dec.Token(); err != nil || open != json.Delim('{') {
		return r.at(start, "%s", what)
	}
	for r.dec.More() {
		key, err := r.dec.Token()
		if err != nil {
			return r.at(r.dec.InputOffset(), "this is no JSON: %v", err)
		}
		if err := f(key.(string)); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

// list reads a list, and calls f before each value.
func (r *proposalReader) list(what string, f func() error) error {
	start := r.next()
	if open, err := r.dec.Token(); err != nil || open != json.Delim('[') {
		return r.at(start, "%s", what)
	}
	for r.dec.More() {
		if err := f(); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

// next returns where the next value begins.
func (r *proposalReader) next() int64 {
	at := r.dec.InputOffset()
	for at < int64(len(r.data)) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[at]) >= 0 {
		at++
	}
	return at
}

func (r *proposalReader) skip() error {
	var ignored json.RawMessage
	return r.dec.Decode(&ignored)
}

const noGraph = "a graph is an object with the list \"nodes\", as `tacho graph show REQUEST/N --json` prints it"

// file reads one graph, or an object with a list of one.
func (r *proposalReader) file() error {
	err := r.object(noGraph, func(key string) error {
		switch key {
		case "nodes", "job_list":
			return r.nodes()
		case "graphs":
			return r.graphs()
		}
		return r.skip()
	})
	if err == nil && !r.found {
		return errors.New(noGraph)
	}
	return err
}

func (r *proposalReader) graphs() error {
	count, start := 0, r.next()
	err := r.list("graphs is no list: "+noGraph, func() error {
		if count++; count > 1 {
			return r.at(start, "there are several graphs: print one of them, with `tacho graph show REQUEST/N --json`")
		}
		return r.object(noGraph, func(key string) error {
			if key == "nodes" {
				return r.nodes()
			}
			return r.skip()
		})
	})
	return err
}

func (r *proposalReader) nodes() error {
	r.found = true
	return r.list("nodes is no list of jobs: "+noGraph, r.node)
}

func (r *proposalReader) node() error {
	start := r.next()
	var raw json.RawMessage
	if err := r.dec.Decode(&raw); err != nil {
		return r.at(start, "this is no JSON: %v", err)
	}
	var one writtenJob
	if err := json.Unmarshal(raw, &one); err != nil {
		if mistyped, is := errors.AsType[*json.UnmarshalTypeError](err); is {
			start += mistyped.Offset
		}
		return r.at(start, "this is no job: %s", plainly(err))
	}
	if len(r.jobs) == MaxJobs || len(r.needs)+len(one.Needs) > MaxNeeds {
		return fmt.Errorf("the graph is too large: it may have %d jobs and %d needs; submit it in parts", MaxJobs, MaxNeeds)
	}
	for _, n := range one.Needs {
		r.needs = append(r.needs, Need{Job: len(r.jobs), On: *n.On, Until: n.Until, Output: n.Output})
	}
	r.jobs, r.numbers = append(r.jobs, one.ProposedJob), append(r.numbers, one.Number)
	return nil
}

// resolve replaces the numbers that jobs were given by their places. A job without a number has that of its place.
func (r *proposalReader) resolve() (Proposed, error) {
	p := Proposed{Jobs: r.jobs, Needs: r.needs}
	var problems Problems
	place := map[int]int{}
	for i := range r.jobs {
		number := i
		if r.numbers[i] != nil {
			number = *r.numbers[i]
		}
		p.Jobs[i].Number = number
		if _, taken := place[number]; taken {
			problems = append(problems, fmt.Sprintf("two jobs have the number %d: give each a number of its own", number))
		}
		place[number] = i
	}
	for i, n := range p.Needs {
		on, known := place[n.On]
		if !known {
			problems = append(problems, fmt.Sprintf("job %d needs job %d, which the graph does not have: take the need out, or the job in", p.Jobs[n.Job].Number, n.On))
		}
		p.Needs[i].On = on
	}
	if err := problems.AsError(); err != nil {
		return Proposed{}, err
	}
	p.sortNeeds()
	return p, p.Check()
}

// Written returns the graph in the form that ReadProposed reads, without what jobs do not consist of.
func (p Proposed) Written() any {
	type written struct {
		Number int `json:"number"`
		events.ProposedJob
		Needs []writtenNeed `json:"needs,omitempty"`
	}
	nodes := make([]written, len(p.Jobs))
	for i, j := range p.Jobs {
		nodes[i] = written{Number: j.Number, ProposedJob: j}
	}
	for _, n := range p.Needs {
		nodes[n.Job].Needs = append(nodes[n.Job].Needs, writtenNeed{On: &p.Jobs[n.On].Number, Until: n.Until, Output: n.Output})
	}
	return struct {
		Nodes []written `json:"nodes"`
	}{nodes}
}
