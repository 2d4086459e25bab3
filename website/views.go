package website

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/website/client"
)

func (s *Server) noPage(r *http.Request) (view, error) {
	return view{}, wrong(http.StatusNotFound, "", "there is no page %s", r.URL.Path)
}

func (s *Server) statusPage(r *http.Request) (view, error) {
	status, err := s.seen(r)
	if err != nil {
		return view{}, err
	}
	return view{template: "status", title: "Status", data: newStatusView(status)}, nil
}

func (s *Server) requestsPage(r *http.Request) (view, error) {
	p := query(r, []parameter{
		{name: "state"}, {name: "kind"}, {name: "suite"}, {name: "tag"}, {name: "pr"}, {name: "account"}, {name: "queue"}, {name: "priority"}, {name: "set"}, {name: "before"}, {name: "limit"},
	})
	f, err := s.requestFilter(r, p)
	if err != nil {
		return view{}, err
	}
	shown := requestsShown
	if f.Limit > 0 {
		shown = f.Limit
	}
	f.Limit = shown + 1
	list, err := s.Reader.Requests(r.Context(), f)
	v := requestsView{List: list}
	if len(list) > shown {
		v.List = list[:shown]
		p.values.Set("before", fmt.Sprint(v.List[shown-1].CreatedSeq))
		v.Older = template.URL(p.values.Encode())
	}
	return view{template: "requests", title: "Requests", data: v}, err
}

// requestsShown is how many requests a page shows by default.
const requestsShown = 100

// requestsView is a page of requests.
type requestsView struct {
	List []readmodel.Request
	// Older is the query of the next page; empty if there is none.
	Older template.URL
}

func (s *Server) machines(r *http.Request) ([]client.Collector, error) {
	rows, err := s.Reader.Collectors(r.Context())
	return s.beats.join(rows), err
}

// jobPageView is a job as its page shows it.
type jobPageView struct {
	jobView
	AttemptList []readmodel.Attempt
	ErrorList   []readmodel.JobError
	// Why says why the job waits; nil if it does not.
	Why *readmodel.Why
	// Graphs are the graphs that have the job; none if it needs no others, and no others need it.
	Graphs []jobGraphView
	// SampleOf says what it is a sample of; nil for a job of the base series.
	SampleOf *readmodel.SampleOf
	// OutputList is what it stored, StaleInput says that it uses what a job yielded that has failed since.
	OutputList []readmodel.JobOutput
	StaleInput bool
	// Alike is what the last matched jobs like it used, newest first.
	Alike []readmodel.JobUse
	// Diagnostics are what its commands had to say; nil for nothing.
	Diagnostics *diagnosticsView
	// Reports is the subject of what the job has reported, or reports now; empty if it never had a lane.
	Reports string
}

func (s *Server) jobPage(r *http.Request) (view, error) {
	found, err := s.Reader.FindJob(r.Context(), r.PathValue("job"))
	if err != nil {
		return view{}, err
	}
	machines, err := s.machines(r)
	if err != nil {
		return view{}, err
	}
	v := jobPageView{jobView: newJobView(found.Job, machines), AttemptList: found.AttemptList, ErrorList: found.ErrorList, Alike: found.Alike, SampleOf: found.SampleOf, OutputList: found.OutputList, StaleInput: found.StaleInput}
	v.Diagnostics = newDiagnosticsView(found.Diagnostics)
	graphs, err := s.Reader.Neighbours(r.Context(), found.ID, neighboursShown)
	if err != nil {
		return view{}, err
	}
	skipped := map[events.JobID]string{}
	for _, g := range graphs {
		if g.Skipped {
			skipped[found.ID] = g.Because
		}
	}
	v.inGraphs(skipped)
	v.Graphs = newJobGraphs(graphs)
	if lane := lastLane(found); lane != (events.Lane{}) {
		v.Reports = fmt.Sprintf("result.%s.%d.%s", lane.Target, lane.Set, found.ID)
	}
	if found.State == events.JobQueued {
		why, err := s.Reader.WhyJob(r.Context(), found.ID, s.waits())
		if err != nil {
			return view{}, err
		}
		if why.Waits {
			v.Why = &why
		}
	}
	return view{template: "job", title: "Job " + string(found.ID), data: v}, nil
}

// collectorsView holds the collectors; Removed counts those that were removed and are not shown.
type collectorsView struct {
	Machines []machineView
	Removed  int
}

func (s *Server) collectorsPage(r *http.Request) (view, error) {
	p := query(r, []parameter{text("all", "1: with those that were removed")})
	all := p.flag("all")
	if p.err != nil {
		return view{}, p.err
	}
	rows, err := s.Reader.Collectors(r.Context())
	if err != nil {
		return view{}, err
	}
	removed := 0
	if !all {
		rows, removed = present(rows)
	}
	v := collectorsView{Machines: newMachines(s.beats.join(rows)), Removed: removed}
	return view{template: "collectors", title: "Collectors", data: v}, nil
}

// compareView is the form and, once it is filled in, the comparison.
type compareView struct {
	Query   comparison.Query
	Suites  []events.SuiteName
	Tags    []events.Tag
	Metrics []events.Metric
	// Error says why there is no Result.
	Error  *client.Error
	Result *comparison.Comparison
	Tables []changeTable
	// Link is the query of the same comparison in the API.
	Link template.URL
}

// InTurns reports whether something was measured in turns.
func (v compareView) InTurns() bool {
	return v.Result != nil && slices.ContainsFunc(v.Result.Changes, func(c compare.Change) bool { return c.Turns != nil })
}

func (s *Server) comparePage(r *http.Request) (view, error) {
	p := query(r, []parameter{{name: "a"}, {name: "b"}, {name: "suite"}, {name: "metric"}})
	v := compareView{Query: wantedOf(p)}
	answer := view{template: "compare", title: "Compare"}
	suites, err := s.tables().Suites(r.Context(), "")
	var none *comparison.Error
	if err != nil && !errors.As(err, &none) { // without definitions the form is empty
		return answer, err
	}
	v.Suites = suites
	for _, name := range suites {
		tags, err := s.long.Measured(r.Context(), name, 30)
		if err != nil {
			return answer, err
		}
		v.Tags = append(v.Tags, tags...)
	}
	err = p.err
	if err == nil && v.Query.B != "" {
		v.Query, err = s.comparisonOf(r, p)
	}
	if err == nil && v.Query.B != "" {
		err = s.fill(r, &v)
	}
	if err != nil {
		e, known := explain(err)
		if !known {
			return answer, err
		}
		v.Error, answer.status = e, e.Status
	}
	answer.data = v
	return answer, nil
}

// fill adds the comparison to its page.
func (s *Server) fill(r *http.Request, v *compareView) error {
	c, err := s.tables().Compare(r.Context(), v.Query)
	if err != nil {
		return err
	}
	v.Result, v.Tables = &c, changeTables(c)
	v.Query.A = c.A.Tag
	link := url.Values{"suite": {string(c.Suite)}, "a": {string(c.A.Tag)}, "b": {string(c.B.Tag)}}
	if v.Query.Metric != "" {
		link.Set("metric", string(v.Query.Metric))
	}
	v.Link = template.URL(link.Encode())
	for _, t := range v.Tables {
		v.Metrics = append(v.Metrics, t.Metric.Name)
	}
	return nil
}
