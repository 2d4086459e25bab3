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
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/website/client"
)

// unfoldedShown is how many of many jobs a page shows, and troubledShown how many of those that failed or are skipped it shows
// before anybody unfolds them.
const (
	unfoldedShown = 50
	troubledShown = 20
)

// foldedParameters say which jobs of a request its page shows one by one.
func foldedParameters() []parameter {
	return []parameter{{name: "graph"}, {name: "kind"}, {name: "target"}, {name: "set"}, {name: "after"}}
}

// wantedFold reads which jobs are wanted. chosen is false if the query names none.
func wantedFold(r *http.Request) (f readmodel.JobFold, chosen bool, err error) {
	p := query(r, foldedParameters())
	f = readmodel.JobFold{
		Graph: -1, Kind: events.JobKind(p.text("kind")), Target: events.Target(p.text("target")), Set: -1, After: p.small("after"), Limit: unfoldedShown,
	}
	if p.text("graph") != "" {
		f.Graph = p.small("graph")
	}
	if p.text("set") != "" {
		f.Set = p.small("set")
	}
	return f, len(p.values) > 0, p.err
}

// foldLink returns the query that shows jobs one by one.
func foldLink(f readmodel.JobFold) string {
	q := url.Values{}
	if f.Graph >= 0 {
		q.Set("graph", fmt.Sprint(f.Graph))
	}
	if f.Kind != "" {
		q.Set("kind", string(f.Kind))
	}
	if f.Target != "" {
		q.Set("target", string(f.Target))
	}
	if f.Set >= 0 {
		q.Set("set", fmt.Sprint(f.Set))
	}
	if f.After > 0 || len(q) == 0 {
		q.Set("after", fmt.Sprint(f.After))
	}
	return "?" + q.Encode() + "#unfolded"
}

// boxFold returns which jobs are in a box of a folded drawing. graph is negative for those of a request.
func boxFold(b graph.Box, depth graph.Depth, number int) readmodel.JobFold {
	f := readmodel.JobFold{Graph: number, Kind: b.Label.Kind, Target: b.Label.Target, Set: -1}
	if depth == graph.ByLane {
		f.Set = int(b.Label.Set)
	}
	return f
}

// foldRow is jobs of a request that are shown as one line.
type foldRow struct {
	graph.Box
	Key, Words, Link string
}

// newFoldRows returns the lines of folded jobs: those first among which one failed, then those with skipped ones.
func newFoldRows(d graph.Drawing) []foldRow {
	rows := make([]foldRow, len(d.Boxes))
	for i, b := range d.Boxes {
		rows[i] = foldRow{b, fmt.Sprint("fold-", i), b.Words(), foldLink(boxFold(b, d.Depth, -1))}
	}
	slices.SortStableFunc(rows, func(a, b foldRow) int { return cmp.Compare(trouble(a.Box), trouble(b.Box)) })
	return rows
}

// trouble says how soon jobs are shown.
func trouble(b graph.Box) int {
	worst := 3
	for _, c := range b.Counts {
		worst = min(worst, troubleOf(c.State))
	}
	return worst
}

// troubleOf says how soon a job in a state is shown.
func troubleOf(state string) int {
	switch state {
	case string(graph.Failed):
		return 0
	case string(graph.Skipped):
		return 1
	case string(graph.Cancelled):
		return 2
	}
	return 3
}

// unfoldedView is jobs of a request, shown one by one.
type unfoldedView struct {
	// Graph is the number of their graph; negative for the jobs of the request.
	Graph int
	// Title names them. First and Last are their places among Total; Total is 0 if that is unknown.
	Title       string
	First, Last int
	Rows        []jobView
	// Before and After lead to more of them, and All back to where they are folded. Before and After are empty if there are none.
	Before, After, All template.URL
}

// unfolded reads the jobs that the query names.
func (s *Server) unfolded(r *http.Request, id events.RequestID, f readmodel.JobFold, machines []client.Collector) (*unfoldedView, error) {
	f.Limit++
	jobs, err := s.Reader.FoldedJobs(r.Context(), id, f)
	if err != nil {
		return nil, err
	}
	v := &unfoldedView{Graph: f.Graph, Title: foldTitle(f), All: template.URL("/requests/" + url.PathEscape(string(id)))}
	if len(jobs) > unfoldedShown {
		jobs = jobs[:unfoldedShown]
		next := f
		next.After += unfoldedShown
		v.After = template.URL(foldLink(next))
	}
	if f.After > 0 {
		before := f
		before.After = max(f.After-unfoldedShown, 0)
		v.Before = template.URL(foldLink(before))
	}
	v.First, v.Last = f.After+1, f.After+len(jobs)
	v.Rows, err = s.jobRows(r, id, jobs, machines)
	return v, err
}

// foldTitle names jobs by what they have in common.
func foldTitle(f readmodel.JobFold) string {
	parts := []string{string(f.Kind), string(f.Target)}
	if f.Set >= 0 {
		parts = append(parts, fmt.Sprint(f.Set))
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, "/")
}

// jobRows returns jobs as the page of their request shows them.
func (s *Server) jobRows(r *http.Request, id events.RequestID, jobs []readmodel.Job, machines []client.Collector) ([]jobView, error) {
	ids := make([]events.JobID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	skipped, err := s.Reader.SkippedBecause(r.Context(), id, ids)
	if err != nil {
		return nil, err
	}
	rows := make([]jobView, len(jobs))
	for i, j := range jobs {
		rows[i] = newJobView(j, machines)
		rows[i].inGraphs(skipped)
	}
	return rows, nil
}

// troubled returns the jobs among those of a request that failed or are skipped, as many as are shown first.
func (s *Server) troubled(r *http.Request, id events.RequestID, machines []client.Collector) ([]jobView, error) {
	jobs, err := s.Reader.FoldedJobs(r.Context(), id, readmodel.JobFold{Graph: -1, Set: -1, Limit: troubledShown})
	if err != nil {
		return nil, err
	}
	rows, err := s.jobRows(r, id, jobs, machines)
	return slices.DeleteFunc(rows, func(v jobView) bool { return troubleOf(v.State) > 1 }), err
}
