package website

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
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
		{name: "state"}, {name: "kind"}, {name: "suite"}, {name: "tag"}, {name: "pr"}, {name: "account"}, {name: "queue"}, {name: "priority"}, {name: "before"}, {name: "limit"},
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

// requestView is a request as its page shows it.
type requestView struct {
	readmodel.RequestJobs
	// Place is nil if the request is not in the queue.
	Place     *readmodel.QueueEntry
	Progress  progress
	Rows      []jobView
	ErrorList []readmodel.JobError
	// Graphs are the graphs of the request; none if its jobs need no others and it has no samples.
	Graphs []graphView
	// Comments are the comments about the request, newest first.
	Comments []readmodel.Comment
	// Session is who looks at the page; nil if that is unknown. Shared says that the farm is shared.
	Session *session
	Shared  bool
	// At is the last event that the page knows.
	At events.Seq
}

// MayAskAgain reports whether who looks at the request may have its jobs measured again.
func (v requestView) MayAskAgain() bool {
	return v.StartedAt != nil && v.Session.mayChange(v.RequestJobs.Request.Account)
}

// MayChange reports whether who looks at the request may change it.
func (v requestView) MayChange() bool {
	return v.EndedAt == nil && v.Session.mayChange(v.RequestJobs.Request.Account)
}

// Tells reports whether the page tells the commands that change the request: it cannot know who looks at it.
func (v requestView) Tells() bool { return v.EndedAt == nil && v.Shared && v.Session == nil }

// Choices returns the priorities that the request may get, and the one that it has.
func (v requestView) Choices() (out []priorityChoice) {
	now := v.RequestJobs.Request.Priority.Level()
	for i, p := range events.Priorities {
		if i == now || i >= v.Session.MaxPriority.Level() {
			out = append(out, priorityChoice{p, i == now})
		}
	}
	return out
}

// priorityChoice is a priority to choose; Now marks the present one.
type priorityChoice struct {
	Priority events.Priority
	Now      bool
}

// Repairable reports whether the newest round of some job of the request failed or was cancelled.
func (v requestView) Repairable() bool {
	newest := map[string]readmodel.Job{}
	for _, j := range v.JobList {
		same := fmt.Sprint(j.Tag, j.Kind, j.Part(), j.Backend, j.Profile, j.Benchmarks, j.Measures, j.Requires, j.Against)
		if known, ok := newest[same]; !ok || j.Round > known.Round {
			newest[same] = j
		}
	}
	for _, j := range newest {
		if j.State == events.JobFailure || j.State == events.JobCancelled {
			return true
		}
	}
	return false
}

func (s *Server) requestPage(r *http.Request) (view, error) {
	found, err := s.requestShown(r)
	if err != nil {
		return view{}, err
	}
	v := requestView{RequestJobs: found, Progress: progressOf(found.Request), Shared: s.sharing(r.Context())}
	if v.Session, _ = sessionOf(r.Context()); v.MayAskAgain() {
		if v.At, err = s.now(r); err != nil {
			return view{}, err
		}
	}
	if v.ErrorList, err = s.Reader.Errors(r.Context(), found.ID); err != nil {
		return view{}, err
	}
	if v.Comments, err = s.Reader.Comments(r.Context(), readmodel.CommentFilter{Request: found.ID}); err != nil {
		return view{}, err
	}
	queue, err := s.Reader.Queue(r.Context())
	if err != nil {
		return view{}, err
	}
	if i := slices.IndexFunc(queue, func(q readmodel.QueueEntry) bool { return q.RequestID == found.ID }); i >= 0 {
		v.Place = &readmodel.Seen(queue, s.Clock())[i]
	}
	machines, err := s.machines(r)
	if err != nil {
		return view{}, err
	}
	graphs, err := s.Reader.Graphs(r.Context(), found.ID)
	if err != nil {
		return view{}, err
	}
	if err = s.tables().Measured(r.Context(), found.Suite, graphs); err != nil {
		return view{}, err
	}
	v.Graphs = newGraphViews(graphs)
	for i := range min(len(graphs), timingsShown) {
		v.Graphs[i].Timings, err = s.timingsOf(r.Context(), graphs[i])
		if err != nil {
			return view{}, err
		}
	}
	skipped := skippedBecause(graphs)
	for _, j := range found.JobList {
		row := newJobView(j, machines)
		row.inGraphs(skipped)
		v.Rows = append(v.Rows, row)
	}
	return view{template: "request", title: strings.TrimSpace(string(found.Kind) + " " + short(string(found.Tag))), data: v}, nil
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
	// Alike is what the last matched jobs like it used, newest first.
	Alike []readmodel.JobUse
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
	v := jobPageView{jobView: newJobView(found.Job, machines), AttemptList: found.AttemptList, ErrorList: found.ErrorList, Alike: found.Alike, SampleOf: found.SampleOf}
	graphs, err := s.Reader.GraphsWith(r.Context(), found.ID)
	if err != nil {
		return view{}, err
	}
	v.inGraphs(skippedBecause(graphs))
	v.Graphs = newJobGraphs(graphs, found.ID)
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
