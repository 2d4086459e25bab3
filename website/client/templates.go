package client

import (
	"context"
	"net/url"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Templates are what suites leave requests to choose.
type Templates struct {
	Templates []BranchTemplates `json:"templates"`
	// Next is what to ask for after; empty if there is no more.
	Next string `json:"next,omitempty"`
}

// BranchTemplates is what a suite leaves the requests for a branch to choose.
type BranchTemplates struct {
	Suite events.SuiteName `json:"suite"`
	// Branch is one that has definitions of its own; empty for all that have none, and for requests without a branch.
	Branch string        `json:"branch"`
	Digest events.Digest `json:"digest"`
	// Graphs are the graphs; the first one is the usual one. Without any, all kinds of jobs are in the only graph.
	Graphs  []OfferedGraph  `json:"graphs"`
	Options []OfferedOption `json:"options"`
	// Branches are the rules for branches.
	Branches []suite.Branch `json:"branches"`
	// Sizes are how many jobs are made for each rule, graph and kind of request if no option is set; empty if they are too many
	// to count. Then Problem says why.
	Sizes   []suite.Size `json:"sizes"`
	Problem string       `json:"problem,omitempty"`
}

// OfferedGraph is a graph that requests may choose.
type OfferedGraph struct {
	Name string `json:"name"`
	// Kinds are the kinds of jobs in it; empty for all.
	Kinds     []events.JobKind `json:"kinds"`
	OnFailure string           `json:"on_failure"`
	Deadline  string           `json:"deadline,omitempty"`
}

// OfferedOption is an option. The first value is the usual one.
type OfferedOption struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
	// Who may set it: request, or branch.
	Who string `json:"who"`
}

// Plan is what a request would make.
type Plan struct {
	Suite   events.SuiteName   `json:"suite"`
	Digest  events.Digest      `json:"digest"`
	Request events.RequestKind `json:"request"`
	// Template is what the request is expanded with; nil if the suite leaves nothing to choose.
	Template *suite.PlannedTemplate `json:"template,omitempty"`
	// Jobs, Needs and SwitchedOff count all jobs, the needs between them, and the jobs that are switched off.
	Jobs        int `json:"jobs"`
	Needs       int `json:"needs"`
	SwitchedOff int `json:"switched_off"`
	// JobList is in an order in which the jobs could run.
	JobList []suite.PlannedJob `json:"job_list"`
	OffList []suite.PlannedOff `json:"off_list"`
	// Next is the offset of what follows; 0 if there is no more. The digest says whether it is of the same definitions.
	Next int `json:"next,omitempty"`
}

// PlanQuery says what a plan is of.
type PlanQuery struct {
	Suite   events.SuiteName
	Kind    events.RequestKind
	Branch  string
	Graph   string
	Options map[string]string
	// Offset is how many jobs are left out; Limit bounds their number, 0 means 500.
	Offset, Limit int
}

// Templates returns what suites leave requests to choose, behind the one named by after; at most limit, 0 means 100.
func (c *Client) Templates(ctx context.Context, after string, limit int) (Templates, error) {
	return get[Templates](ctx, c, "templates", page(after, limit))
}

// GraphPlan returns which jobs a request would make.
func (c *Client) GraphPlan(ctx context.Context, q PlanQuery) (Plan, error) {
	query := options(q.Options)
	set(query, "suite", q.Suite)
	set(query, "kind", q.Kind)
	set(query, "branch", q.Branch)
	set(query, "graph", q.Graph)
	set(query, "offset", q.Offset)
	set(query, "limit", q.Limit)
	return get[Plan](ctx, c, "graphs/plan", query)
}

// GraphDiff returns how the jobs differ that requests of a kind would make. a and b are SUITE[@BRANCH][:GRAPH][,NAME=VALUE]…, or
// begin with a digest in place of the suite. The first offset differences are left out, and the list has at most 200.
func (c *Client) GraphDiff(ctx context.Context, a, b string, kind events.RequestKind, both map[string]string, offset int) ([]suite.Difference, error) {
	query := options(both)
	set(query, "a", a)
	set(query, "b", b)
	set(query, "kind", kind)
	set(query, "offset", offset)
	return get[[]suite.Difference](ctx, c, "definitions/diff", query)
}

func options(chosen map[string]string) url.Values {
	query := url.Values{}
	for name, value := range chosen {
		query.Set("option."+name, value)
	}
	return query
}
