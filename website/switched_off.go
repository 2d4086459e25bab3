package website

import (
	"net/http"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
)

// offShown is how many jobs that are switched off a page shows; the API has all.
const offShown = 200

// offView is the jobs that are switched off.
type offView struct {
	// Off counts them, OffRows are the first ones, and OffMore counts the others.
	Off     int
	OffRows []offRow
	OffMore int
}

// offRow is a job that is switched off. Add is the command that adds it; empty if there is no request yet.
type offRow struct{ Label, Reason, Add string }

// Adds reports whether there is a request to which they can be added.
func (v offView) Adds() bool { return len(v.OffRows) > 0 && v.OffRows[0].Add != "" }

// newOffView returns the jobs that are switched off, for a request or for none.
func newOffView(off []suite.PlannedOff, request events.RequestID) offView {
	v := offView{Off: len(off)}
	for _, o := range off[:min(len(off), offShown)] {
		row := offRow{Label: o.Label.String(), Reason: o.Reason}
		if request != "" {
			row.Add = commandLine("tacho", "graph", "add", string(request), "--job", row.Label)
		}
		v.OffRows = append(v.OffRows, row)
	}
	v.OffMore = len(off) - len(v.OffRows)
	return v
}

// offOf returns the jobs that are switched off for a request, without those that were added to it; nil if there are none.
// Definitions that cannot be read, or no longer have what the request took, say nothing.
func (s *Server) offOf(r *http.Request, q readmodel.Request) (*offView, error) {
	if q.Template == nil || q.Definitions == "" {
		return nil, nil
	}
	d, err := s.definitionsOf(r.Context(), q.Definitions)
	if err != nil {
		return nil, unlessSaid(err)
	}
	takes := q.Takes()
	t, err := d.Template(q.Kind, suite.Choice{Branch: takes.Branch, Graph: takes.Graph, Options: takes.Options})
	if err != nil {
		return nil, nil
	}
	made, err := s.planOf(d, q.Definitions, q.Kind, t, q.Parameters)
	if err != nil {
		return nil, unlessSaid(err)
	}
	off := made.off
	if len(off) == 0 {
		return nil, nil
	}
	added, err := s.Reader.AddedJobs(r.Context(), q.ID)
	if err != nil {
		return nil, err
	}
	v := newOffView(without(off, added), q.ID)
	return &v, nil
}

// unlessSaid returns an error that is a fault, and nil for one that would be said to a caller.
func unlessSaid(err error) error {
	if _, said := explain(err); said {
		return nil
	}
	return err
}

// without returns the jobs whose labels are not among others.
func without(off []suite.PlannedOff, labels []graph.Label) []suite.PlannedOff {
	if len(labels) == 0 {
		return off
	}
	have := make(map[graph.Label]bool, len(labels))
	for _, l := range labels {
		have[l] = true
	}
	return slices.DeleteFunc(slices.Clone(off), func(o suite.PlannedOff) bool { return have[o.Label] })
}
