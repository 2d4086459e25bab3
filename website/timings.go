package website

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/waits"
)

func (s *Server) timings(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	number, err := graphNumber(r)
	if err != nil {
		return nil, err
	}
	id, err := s.Reader.FindRequestID(r.Context(), r.PathValue("request"))
	if err != nil {
		return nil, err
	}
	return s.long.Timings(r.Context(), id, number, s.Clock())
}

// timingsView is what the jobs of a graph did over time, as the page of its request shows it.
type timingsView struct {
	readmodel.Timings
	Slices []sliceView
	// More counts the steps of the path that are not listed: those before.
	More int
}

// sliceView is a part of the time, with how many jobs did what on average.
type sliceView struct {
	waits.Slice
	Ran, Waited, Held string
}

const (
	// slicesShown is in how many parts a page cuts the time of a graph, stepsShown how many steps of its path it lists.
	slicesShown = 12
	stepsShown  = 50
	// timingsShown is of how many graphs a page shows the timings.
	timingsShown = 20
)

// timingsOf returns the timings of a graph for the page of its request; nil for a graph that is too large for a page.
func (s *Server) timingsOf(ctx context.Context, g readmodel.Graph) (*timingsView, error) {
	if len(g.Nodes) > graph.MaxDrawn {
		return nil, nil
	}
	found, err := s.Reader.TimingsOf(ctx, g, s.Clock())
	if err != nil {
		return nil, err
	}
	v := timingsView{Timings: found}
	if v.More = max(len(v.Path)-stepsShown, 0); v.More > 0 {
		v.Path = v.Path[v.More:]
	}
	average := func(n float64) string { return fmt.Sprintf("%.1f", n) }
	for _, part := range found.Slices(slicesShown) {
		v.Slices = append(v.Slices, sliceView{part, average(part.Running), average(part.Waiting), average(part.Blocked)})
	}
	return &v, nil
}
