package website

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/website/client"
)

func (s *Server) graphs(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	id, err := s.Reader.FindRequestID(r.Context(), r.PathValue("request"))
	if err != nil {
		return nil, err
	}
	list, err := s.long.Graphs(r.Context(), id)
	if list == nil {
		list = []readmodel.Graph{}
	}
	if err == nil && slices.ContainsFunc(list, func(g readmodel.Graph) bool { return g.Copies > 0 }) {
		err = s.addMeasured(r, id, list)
	}
	if err == nil && len(list) > 0 {
		err = s.addDiagnostics(r, id, list)
	}
	return client.Graphs{RequestID: id, Graphs: list}, err
}

// addMeasured fills in what the samples of the graphs of a request have measured.
func (s *Server) addMeasured(r *http.Request, id events.RequestID, graphs []readmodel.Graph) error {
	found, err := s.Reader.Requests(r.Context(), readmodel.RequestFilter{ID: id})
	if err != nil || len(found) == 0 {
		return err
	}
	return s.tables().Measured(r.Context(), found[0].Suite, graphs)
}

// graphView is a graph as the page of its request shows it: a drawing, and the same as a table.
type graphView struct {
	readmodel.Graph
	// Title says which jobs it has.
	Title string
	// State is open, or how the graph ended.
	State string
	// Drawn says that the page has room for it. Otherwise Draw leads to a page that has.
	Drawn  bool
	Draw   template.URL
	Folded bool
	SVG    template.HTML
	Rows   []graphRow
	// Shown are the first lines of what its samples measured. More counts the others.
	Shown []measuredRow
	More  int
	// Timings is what its jobs did over time; nil if there is too much of it for a page.
	Timings *timingsView
	// Differs is how its jobs differ from those of the definitions; nil if they do not.
	Differs *customisedView
}

// Sampled reports whether the jobs of the graph are samples.
func (v graphView) Sampled() bool { return v.Kind.Sampled() }

// Noise reports whether the graph tells how noisy its machines are.
func (v graphView) Noise() bool { return v.Kind == events.GraphNoise }

// measuredShown is how many lines of what samples measured a page shows; the API has all.
const measuredShown = 100

// measuredRow is one metric of one test case on one machine, as samples measured it.
type measuredRow struct {
	readmodel.SampledMetric
	Key, Smallest, Largest, Spread string
	// Base is what the base series measured, Each what each sample did.
	Base string
	Each string
}

func newMeasuredRow(m readmodel.SampledMetric) measuredRow {
	format := compare.MetricInfo{Unit: m.Unit}.Format
	row := measuredRow{
		SampledMetric: m, Key: dotted(string(m.Tag), m.TestCase.String(), string(m.Metric), string(m.Environment)),
		Smallest: format(m.Smallest), Largest: format(m.Largest), Spread: "–", Base: "–",
	}
	if m.Spread != nil {
		row.Spread = compare.Percent(*m.Spread)
	}
	if m.Base != nil {
		row.Base = format(*m.Base)
	}
	each := make([]string, len(m.Minima))
	for i, one := range m.Minima {
		each[i] = format(one.Value)
	}
	row.Each = strings.Join(each, ", ")
	return row
}

// graphRow is a box of the drawing.
type graphRow struct {
	graph.Box
	Key string
	// Because says because of which job it is skipped, Forced why it runs whatever became of what it needs; empty if not.
	Because, Forced string
	// Words are the states of its jobs.
	Words string
	// Expected says how long it is expected to take; empty if that is not known, or it is over.
	Expected string
	Needs    []neededRow
}

// neededRow is what a box needs, or who needs it. Met is set if the need is met, Ended if any end of the job meets it.
type neededRow struct {
	Name, Link string
	State      string
	Met, Ended bool
	// Output is the output that meets it; empty for the end of the job.
	Output string
}

// graphViews returns the graphs of a request for its page.
func (s *Server) graphViews(r *http.Request, suite events.SuiteName, graphs []readmodel.GraphShown) ([]graphView, error) {
	var sampled []readmodel.Graph
	for _, g := range graphs {
		if g.Drawn {
			sampled = append(sampled, g.Graph)
		}
	}
	if err := s.tables().Measured(r.Context(), suite, sampled); err != nil {
		return nil, err
	}
	differs, err := s.customised(r.Context(), graphs)
	if err != nil {
		return nil, err
	}
	views := make([]graphView, len(graphs))
	for i, g := range graphs {
		if g.Drawn {
			g.Graph, sampled = sampled[0], sampled[1:]
		}
		views[i] = newGraphView(g, len(graphs))
		views[i].Differs = differs[g.Number]
	}
	return views, nil
}

// newGraphView returns one of so many graphs of a request for its page.
func newGraphView(g readmodel.GraphShown, of int) graphView {
	v := graphView{Graph: g.Graph, Title: graphTitle(g.Graph, of), State: "open", Drawn: g.Drawn, Draw: template.URL(fmt.Sprintf("?graph=%d#graph-%d", g.Number, g.Number))}
	if g.Outcome != "" {
		v.State = string(g.Outcome)
	}
	if !g.Drawn {
		return v
	}
	var d graph.Drawing
	var names []string
	if v.Folded = g.Fold != nil; v.Folded {
		d = *g.Fold
		for i, b := range d.Boxes {
			d.Boxes[i].Link = foldLink(boxFold(b, d.Depth, g.Number))
		}
	} else {
		d, names = g.Drawing(jobLink), g.Names()
	}
	if g.Needs > 0 {
		v.SVG = template.HTML(d.SVG("What the jobs need: " + v.Title)) // the drawing escapes its texts
	}
	for at, b := range d.Boxes {
		row := graphRow{Box: b, Key: fmt.Sprintf("%d-%d", g.Number, at), Words: b.Words()}
		if !v.Folded {
			row.Because, row.Forced, row.Expected = g.Because(names, g.Nodes[at]), g.Nodes[at].Forced, g.Nodes[at].Expected()
		}
		v.Rows = append(v.Rows, row)
	}
	for _, m := range g.Measured[:min(len(g.Measured), measuredShown)] {
		v.Shown = append(v.Shown, newMeasuredRow(m))
	}
	v.More = len(g.Measured) - len(v.Shown)
	for _, l := range d.Lines {
		on := d.Boxes[l.On]
		n := neededRow{Name: on.Name, Link: on.Link, Ended: l.Until == events.UntilEnded}
		if !v.Folded {
			n.Met = met(g.Nodes[l.Job], g.Nodes[l.On].Number)
		}
		v.Rows[l.Job].Needs = append(v.Rows[l.Job].Needs, n)
	}
	if v.Folded {
		slices.SortStableFunc(v.Rows, func(a, b graphRow) int { return cmp.Compare(trouble(a.Box), trouble(b.Box)) })
	} else {
		places, rows := make([]int, len(v.Rows)), slices.Clone(v.Rows)
		for i := range places {
			places[i] = i
		}
		g.ByRank(places)
		for i, at := range places {
			v.Rows[i] = rows[at]
		}
	}
	return v
}

func jobLink(id events.JobID) string { return "/jobs/" + url.PathEscape(string(id)) }

// met reports whether the need of a job on another one is met.
func met(n readmodel.GraphJob, on int) bool {
	return slices.ContainsFunc(n.Needs, func(need readmodel.GraphNeed) bool { return need.On == on && need.Met })
}

// graphTitle names one of so many graphs of a request.
func graphTitle(g readmodel.Graph, of int) string {
	switch g.Kind {
	case events.GraphBackfill:
		return "Graph of the jobs for the parent"
	case events.GraphRepair:
		return "Graph of a repair"
	case events.GraphNoise:
		return fmt.Sprintf("Graph %d: noise, %s of the parent", g.Number, phrase.Count(g.Copies, "sample"))
	case events.GraphRetrigger:
		return fmt.Sprintf("Graph %d: retrigger, %s", g.Number, phrase.Count(g.Copies, "sample"))
	case events.GraphAdded:
		return fmt.Sprintf("Graph %d: jobs that were switched off", g.Number)
	case events.GraphExternal:
		return fmt.Sprintf("Graph %d: jobs that were submitted", g.Number)
	case events.GraphInitial, events.GraphRerun, events.GraphForce:
	}
	if of > 1 {
		return "Graph of its own jobs"
	}
	return "Graph"
}

// skippedBecause returns why jobs are skipped, or were when their graph ended, by their ids.
func skippedBecause(graphs []readmodel.GraphShown) map[events.JobID]string {
	why := map[events.JobID]string{}
	for _, g := range graphs {
		names := g.Names()
		for _, n := range g.Nodes {
			if n.State == string(graph.Skipped) {
				why[n.JobID] = g.Because(names, n)
			}
		}
	}
	return why
}

// inGraphs adds what the graphs say: a job that they skip is shown so, also when it ended with its graph.
func (v *jobView) inGraphs(skipped map[events.JobID]string) {
	because, known := skipped[v.Job.ID]
	if known && (v.Job.Held == graph.Skipped || v.Job.State == events.JobCancelled) {
		v.State, v.Because = string(graph.Skipped), because
	}
}

// neighboursShown is how many jobs the page of a job shows on each side.
const neighboursShown = 50

// jobGraphView is a graph as the page of one of its jobs shows it.
type jobGraphView struct {
	readmodel.Neighbours
	Needs, NeededBy []neededRow
}

// newJobGraphs returns what a job needs and who needs it, in each graph that has it.
func newJobGraphs(graphs []readmodel.Neighbours) []jobGraphView {
	views := make([]jobGraphView, len(graphs))
	for i, g := range graphs {
		views[i] = jobGraphView{g, neededRows(g.Needs), neededRows(g.NeededBy)}
	}
	return views
}

func neededRows(list []readmodel.Neighbour) []neededRow {
	rows := make([]neededRow, len(list))
	for i, n := range list {
		rows[i] = neededRow{Name: n.Name, Link: jobLink(n.JobID), State: n.State, Met: n.Met, Ended: n.Until == events.UntilEnded, Output: n.Output}
	}
	return rows
}
