package website

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tachobench/tacho/client"
	"github.com/tachobench/tacho/compare"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/suite"
)

// compare answers a comparison in the form that is asked for.
func (s *Server) compare(w http.ResponseWriter, r *http.Request, p *params) error {
	format := choice(p, "format", []string{"json", "text", "markdown", "csv"})
	focus := !p.flag("all")
	if p.err != nil {
		return p.err
	}
	c, err := s.compared(r.Context(), wantedOf(p))
	if err != nil {
		return err
	}
	if format == "" || format == "json" {
		s.write(w, r, http.StatusOK, c)
		return nil
	}
	var out bytes.Buffer
	contentType, err := render(&out, format, focus, c)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = out.WriteTo(w) // whoever asked may have left
	return nil
}

func wantedOf(p *params) client.CompareQuery {
	return client.CompareQuery{
		A: events.Tag(p.text("a")), B: events.Tag(p.text("b")),
		Suite: events.SuiteName(p.text("suite")), Metric: events.Metric(p.text("metric")),
	}
}

// render writes a comparison for people. What may be missing is said first; CSV has no place for it.
func render(w io.Writer, format string, focus bool, c client.Comparison) (contentType string, err error) {
	o := compare.Options{A: string(c.A.Tag), B: string(c.B.Tag)}
	switch format {
	case "markdown":
		if !c.Complete {
			fmt.Fprintf(w, "> **Incomplete:** %s\n\n", c.Incomplete)
		}
		return "text/markdown; charset=utf-8", compare.Markdown(w, c.Comparison, o)
	case "csv":
		return "text/csv; charset=utf-8", compare.CSV(w, c.Comparison, o)
	default:
		if !c.Complete {
			fmt.Fprintf(w, "Incomplete: %s\n", c.Incomplete)
		}
		o.Focus = focus
		return "text/plain; charset=utf-8", compare.Text(w, c.Comparison, o)
	}
}

// compared loads both artifacts and judges b against a.
func (s *Server) compared(ctx context.Context, q client.CompareQuery) (client.Comparison, error) {
	var none client.Comparison
	if q.B == "" {
		return none, wrong(http.StatusBadRequest, "add a=… and b=…, or b alone to compare it with its parent", "which artifacts are to be compared?")
	}
	suites, err := s.suites(ctx, q.Suite)
	if err != nil {
		return none, err
	}
	if q.A == "" {
		if q.A, err = s.parentOf(ctx, suites, q.B); err != nil {
			return none, err
		}
	}
	var missing events.Tag
	for _, name := range suites {
		a, err := s.Reader.Results(ctx, name, q.A)
		if err != nil {
			return none, err
		}
		b, err := s.Reader.Results(ctx, name, q.B)
		if err != nil {
			return none, err
		}
		if len(a) > 0 && len(b) > 0 {
			return s.judged(ctx, name, q, a, b)
		}
		if missing = q.A; len(a) > 0 {
			missing = q.B
		}
	}
	return none, s.unmeasured(ctx, suites, missing)
}

// suites returns the suites in question: the named one, or all that have definitions.
func (s *Server) suites(ctx context.Context, named events.SuiteName) ([]events.SuiteName, error) {
	if named != "" {
		return []events.SuiteName{named}, nil
	}
	definitions, err := s.Reader.Definitions(ctx)
	if err != nil {
		return nil, err
	}
	var names []events.SuiteName
	for _, d := range definitions {
		if d.Current {
			names = append(names, d.Suite)
		}
	}
	if len(names) == 0 {
		return nil, wrong(http.StatusNotFound, "publish some with `tacho suite publish`", "no definitions were published")
	}
	slices.Sort(names)
	return names, nil
}

// parentOf returns the parent of the newest request for a tag.
func (s *Server) parentOf(ctx context.Context, suites []events.SuiteName, tag events.Tag) (events.Tag, error) {
	for _, name := range suites {
		found, err := s.Reader.Requests(ctx, readmodel.RequestFilter{Suite: name, Tag: tag, Limit: 1})
		if err != nil {
			return "", err
		}
		if len(found) > 0 && found[0].ParentTag != "" {
			return found[0].ParentTag, nil
		}
	}
	return "", wrong(http.StatusNotFound, "name the artifact to compare with: add a=…", "no parent of %s is known", tag)
}

// unmeasured says that a tag has no results, and which have some.
func (s *Server) unmeasured(ctx context.Context, suites []events.SuiteName, tag events.Tag) error {
	var known []string
	for _, name := range suites {
		tags, err := s.Reader.Measured(ctx, name, 10)
		if err != nil {
			return err
		}
		for _, t := range tags {
			known = append(known, string(t))
		}
	}
	next := "ask for it with `tacho request master " + string(tag) + "`"
	if len(known) > 0 {
		next = "tags with results are " + strings.Join(known, ", ")
	}
	in := ""
	if len(suites) == 1 {
		in = fmt.Sprintf(" in suite %s", suites[0])
	}
	return wrong(http.StatusNotFound, next, "%s has no results%s", tag, in)
}

// judged compares the results of two artifacts of one suite.
func (s *Server) judged(ctx context.Context, name events.SuiteName, q client.CompareQuery, a, b []readmodel.Result) (client.Comparison, error) {
	var c client.Comparison
	current, err := s.Reader.CurrentDefinition(ctx, name)
	if err != nil {
		return c, err
	}
	d, err := suite.Parse(current.Content)
	if err != nil {
		return c, err
	}
	history, err := s.Reader.History(ctx, name, q.A, readmodel.HistoryDepth, q.Metric)
	if err != nil {
		return c, err
	}
	c = client.Comparison{
		Suite: name, Definitions: current.Digest, Comparison: compare.Compare(pair(d, q.Metric, a, b, history)),
	}
	if q.Metric != "" && len(c.Changes)+len(c.New)+len(c.Missing) == 0 {
		return c, wrong(http.StatusNotFound, "metrics are "+strings.Join(metricNames(a, b), ", "), "metric %s was not measured", q.Metric)
	}
	if c.A, err = s.side(ctx, name, q.A, a); err != nil {
		return c, err
	}
	if c.B, err = s.side(ctx, name, q.B, b); err != nil {
		return c, err
	}
	c.Complete = c.A.Complete && c.B.Complete
	c.Incomplete = strings.TrimSpace(c.A.Note + " " + c.B.Note)
	return c, nil
}

// side says what is known of one artifact besides its results.
func (s *Server) side(ctx context.Context, name events.SuiteName, tag events.Tag, results []readmodel.Result) (client.Compared, error) {
	c := client.Compared{Tag: tag, Cases: len(results)}
	found, err := s.Reader.Requests(ctx, readmodel.RequestFilter{Suite: name, Tag: tag, Limit: 1})
	if err != nil {
		return c, err
	}
	if len(found) == 0 {
		c.Note = fmt.Sprintf("%s was measured only as far as its children asked.", tag)
		return c, nil
	}
	r := found[0]
	c.RequestID, c.State = r.ID, r.State
	ended := r.Jobs.Success + r.Jobs.Failure + r.Jobs.Cancelled
	switch {
	case r.State == events.RequestDone:
		c.Complete = true
	case r.State == events.RequestFailure:
		c.Note = fmt.Sprintf("The request for %s failed: %d of %d jobs.", tag, r.Jobs.Failure, r.Jobs.Total)
	case r.State.Terminal():
		c.Note = fmt.Sprintf("The request for %s was %s.", tag, r.State)
	default:
		c.Note = fmt.Sprintf("The request for %s has not ended: %d of %d jobs are done.", tag, ended, r.Jobs.Total)
	}
	return c, nil
}

func metricNames(sides ...[]readmodel.Result) []string {
	names := map[string]bool{}
	for _, m := range slices.Concat(sides...) {
		for metric := range metricsOf(m) {
			names[string(metric)] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
