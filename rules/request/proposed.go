package request

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// maxParts bounds the parts of a graph that somebody wrote, so that a log which no program of ours wrote fills no memory.
const maxParts = 1000

// checkExternal checks a wish for a graph that somebody wrote, and fills in what it leaves out.
func checkExternal(w events.GraphWanted) error {
	switch {
	case w.Parts < 1 || w.Parts > maxParts || w.Content == "":
		return refuse("a graph of kind %s is submitted: `tacho graph submit FILE --request %s`, or POST /api/v1/requests/%s/graphs/external", w.Kind, w.RequestID, w.RequestID)
	case w.Copies != 0 || w.Downstream != "" || w.Iterations != 0 || w.Force || w.Expect != "" || len(w.Select)+len(w.Where)+len(w.Benchmarks)+len(w.Labels) > 0:
		return refuse("a graph that is submitted says itself which jobs it has: leave out copies, downstream, select, jobs, benchmarks, iterations and expect of the wish, and write them into the graph")
	}
	if _, err := events.ParsePriority(string(w.Priority)); err != nil {
		return refuse("%s", err)
	}
	return nil
}

// proposes checks that a request may have a further graph that somebody wrote.
func (r Request) proposes(w Want) error {
	if i := slices.IndexFunc(r.Wishes, func(o events.GraphWanted) bool { return o.Kind == events.GraphExternal }); i >= 0 && w.Kind == events.GraphExternal {
		return &Refusal{TooMany: true, Reason: "another graph that was submitted for request " + string(r.ID) + " waits for its answer: submit this one when `tacho trace " + string(r.ID) + "` shows the answer"}
	}
	return nil
}

// propose keeps a part of a graph until the wish for it is answered. Parts that no wish followed make room for those of
// another one.
func (r *Request) propose(f events.GraphProposed) {
	waits := slices.ContainsFunc(r.Wishes, func(w events.GraphWanted) bool { return w.Kind == events.GraphExternal })
	if waits || r.asked(f.Key) >= 0 || len(r.Proposed) >= maxParts {
		return
	}
	if len(r.Proposed) > 0 && r.Proposed[0].Key != f.Key {
		r.Proposed = nil
	}
	r.Proposed = append(slices.Clip(r.Proposed), f)
}

// proposed returns the parts of a wish as facts.
func (w Want) proposed(id events.RequestID) (facts []events.Fact) {
	for _, part := range w.Proposed {
		part.RequestID, part.Key = id, w.Key
		facts = append(facts, part)
	}
	return facts
}
