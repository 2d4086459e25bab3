package website

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/tachobench/tacho/internal/phrase"
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
	Ran, Waited, Held, Left string
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
		v.Slices = append(v.Slices, sliceView{part, average(part.Running), average(part.Waiting), average(part.Blocked), average(part.Skipped)})
	}
	return &v, nil
}

// timedShown is how many jobs the table of a page of timings has, and namedShown how many it names in one cell.
const timedShown, namedShown = 1000, 10

// timingsPageView is what the jobs of a graph did over time, on a page of its own.
type timingsPageView struct {
	readmodel.Timings
	SVG template.HTML
	// Shown are the jobs of the table; More counts the others, and Undrawn those that are not in the drawing.
	Shown         []waits.Timing
	More, Undrawn int
	names         map[int]string
}

// LengthMS is how long the graph took, or takes so far.
func (v timingsPageView) LengthMS() int64 { return v.To.Sub(v.From).Milliseconds() }

// Named returns the names of jobs by number.
func (v timingsPageView) Named(numbers []int) string {
	var names []string
	for _, n := range numbers[:min(len(numbers), namedShown)] {
		names = append(names, v.names[n])
	}
	text := strings.Join(names, ", ")
	if more := len(numbers) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// timingsPage shows what the jobs of a graph did over time.
func (s *Server) timingsPage(r *http.Request) (view, error) {
	number, err := graphNumber(r)
	if err != nil {
		return view{}, err
	}
	id, err := s.Reader.FindRequestID(r.Context(), r.PathValue("request"))
	if err != nil {
		return view{}, err
	}
	found, err := s.long.Timings(r.Context(), id, number, s.Clock())
	if err != nil {
		return view{}, err
	}
	v := timingsPageView{Timings: found, Shown: found.Rounds[:min(len(found.Rounds), timedShown)], names: map[int]string{}}
	v.More, v.Undrawn = len(found.Rounds)-len(v.Shown), max(len(found.Rounds)-waits.MaxDrawn, 0)
	for _, t := range found.Rounds {
		v.names[t.Number] = t.Name
	}
	if len(v.Path) > stepsShown {
		v.Path = v.Path[len(v.Path)-stepsShown:]
	}
	drawing := found.SVG("What the jobs did over time", func(t waits.Timing) string { return "/jobs/" + string(t.Job) },
		func(ms int64) string { return phrase.Duration(time.Duration(ms) * time.Millisecond) })
	v.SVG = template.HTML(drawing) // the drawing escapes its texts
	return view{template: "timings", title: fmt.Sprintf("Graph %d over time", number), data: v}, nil
}
