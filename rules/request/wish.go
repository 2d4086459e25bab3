package request

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// maxWish bounds the words of a wish in bytes, maxSelected the number of jobs or properties that it names, maxCopies the
// copies that it asks for.
const (
	maxWish     = 256
	maxSelected = 1000
	maxCopies   = 20
)

// maxWaiting is how many wishes of a request may wait for their answers. A wish for samples can wait long: while many jobs wait,
// no samples are made.
const maxWaiting = 20

// The samples of a noise graph if nobody says how many, and the least that show a spread.
const (
	usualSamples = 5
	leastSamples = 2
)

// CheckWish returns a wish with what it leaves out filled in, or a *Refusal of what could be carried out for no request.
func CheckWish(w events.GraphWanted) (events.GraphWanted, error) {
	if w.Key == "" || len(w.Key) > maxWish || len(w.Reason) > 4*maxWish || len(w.Select)+len(w.Where)+len(w.Benchmarks)+len(w.Labels) > maxSelected {
		return w, refuse("a wish needs a key of at most %d bytes, a reason of at most %d, and names at most %d jobs, properties and benchmarks", maxWish, 4*maxWish, maxSelected)
	}
	for _, id := range w.Select {
		if events.CheckToken("job", string(id)) != nil {
			return w, refuse("%q is no id of a job: `tacho request show %s` lists them", id, w.RequestID)
		}
	}
	if _, err := graph.ParseSelector(w.Where); err != nil {
		return w, refuse("%s", err)
	}
	if w.Kind == events.GraphExternal {
		return w, checkExternal(w)
	}
	return w, checkClones(&w)
}

func decideWant(r Request, want Want) ([]events.Fact, error) {
	w := want.GraphWanted
	w.RequestID = r.ID
	w, err := CheckWish(w)
	switch {
	case err != nil:
		return nil, err
	case r.StartedAt.IsZero():
		return nil, notStarted(r)
	}
	if i := r.asked(w.Key); i >= 0 {
		if r.Asked[i] != asked(w) {
			return nil, refuse("the key %q was used before for another wish: choose another key", w.Key)
		}
		return nil, nil
	}
	if len(r.Wishes) >= maxWaiting {
		return nil, &Refusal{TooMany: true, Reason: fmt.Sprintf(
			"request %s has %d wishes for more jobs that wait for an answer, and may not have more: ask again when some are answered, as `tacho trace %s` shows", r.ID, len(r.Wishes), r.ID)}
	}
	if err := r.proposes(want); err != nil {
		return nil, err
	}
	return append(want.proposed(r.ID), w), nil
}

// notStarted refuses a wish for jobs of a request that has none.
func notStarted(r Request) error {
	if r.State.Terminal() {
		return refuse("request %s has no jobs: it is %s, and was never started; ask for its artifact as a try with a key of its own (`tacho request try TAG --key TEXT`)", r.ID, r.State)
	}
	return refuse("request %s has no jobs yet: it is %s; ask again when it has started (`tacho request show %s`)", r.ID, r.State, r.ID)
}

// asked returns the place of a wish among those that the request had; negative for none.
func (r Request) asked(key string) int {
	return slices.IndexFunc(r.Asked, func(a Asked) bool { return a.Key == key })
}

// asked returns what tells a wish from others.
func asked(w events.GraphWanted) Asked {
	w.Reason = ""
	text, err := json.Marshal(w)
	if err != nil {
		panic("a wish cannot be written: " + err.Error()) // it has only texts and numbers
	}
	sum := sha256.Sum256(text)
	return Asked{w.Key, hex.EncodeToString(sum[:8])}
}

// checkClones checks what a wish says of clones, and fills in what it leaves out.
func checkClones(w *events.GraphWanted) error {
	if err := checkChanges(*w); err != nil {
		return err
	}
	switch w.Kind {
	case events.GraphRerun, events.GraphRepair, events.GraphAdded:
		if w.Copies != 0 || w.Downstream != "" || len(w.Benchmarks) > 0 || w.Priority != "" {
			if w.Kind == events.GraphAdded {
				return refuse("jobs that were switched off are added as the definitions have them: leave out copies, downstream, benchmarks and priority")
			}
			return refuse("a %s makes no copies: ask for a retrigger", w.Kind)
		}
		return nil
	case events.GraphForce:
		switch {
		case w.Copies != 0 || w.Downstream != "" || len(w.Benchmarks)+len(w.Where) > 0 || w.Priority != "" || w.Expect != "" || len(w.Select) != 1:
			return refuse("force names one job, and nothing else: `tacho job force JOB --reason TEXT`")
		case strings.TrimSpace(w.Reason) == "":
			return refuse("say why the job is to run without what it needs: `tacho job force %s --reason TEXT`", w.Select[0])
		}
		return nil
	case events.GraphRetrigger:
		w.Copies = cmp.Or(w.Copies, 1)
		if w.Copies < 1 || w.Copies > maxCopies {
			return refuse("%d copies: use 1 to %d", w.Copies, maxCopies)
		}
	case events.GraphNoise:
		w.Copies = cmp.Or(w.Copies, usualSamples)
		if w.Copies < leastSamples || w.Copies > maxCopies {
			return refuse("%d samples: use %d to %d", w.Copies, leastSamples, maxCopies)
		}
		if w.Downstream != "" {
			return refuse("noise is measured with the parent's artifact, where nothing depends on the samples: leave downstream out")
		}
	case events.GraphInitial, events.GraphBackfill, events.GraphExternal:
		return refuse("nobody can ask for a graph of kind %s", w.Kind)
	default:
		return refuse("unknown kind of graph %q: use rerun, repair, retrigger, noise or added", w.Kind)
	}
	for _, glob := range w.Benchmarks {
		// No commas: a comma separates values in the identity of a job.
		if _, err := path.Match(glob, ""); err != nil || glob == "" || strings.Contains(glob, ",") {
			return refuse("benchmarks %q is not a pattern: use names with *, ? and [a-z]", glob)
		}
	}
	switch w.Downstream {
	case events.DownstreamNone, events.DownstreamNeeded, events.DownstreamAll:
	default:
		return refuse("unknown downstream %q: use none, needed or all", w.Downstream)
	}
	if _, err := events.ParsePriority(string(w.Priority)); err != nil {
		return refuse("%s", err)
	}
	return nil
}

func decideCancelGraph(r Request, c CancelGraph) ([]events.Fact, error) {
	i := slices.IndexFunc(r.Graphs, func(g OpenGraph) bool { return g.Number == c.Graph })
	switch {
	case len(c.Reason) > 4*maxWish:
		return nil, refuse("the reason has more than %d bytes", 4*maxWish)
	case i < 0:
		return nil, refuse("request %s has no open graph %d: `tacho graph list %s` lists its graphs", r.ID, c.Graph, r.ID)
	case r.Graphs[i].Kind == events.GraphInitial || r.Graphs[i].Kind == events.GraphBackfill:
		return nil, refuse("graph %d has jobs that request %s cannot end without: `tacho request cancel %s` cancels all of it", c.Graph, r.ID, r.ID)
	case r.Graphs[i].Cancelled:
		return nil, nil
	}
	return []events.Fact{events.GraphCancelled{RequestID: r.ID, Graph: c.Graph, Reason: c.Reason}}, nil
}
