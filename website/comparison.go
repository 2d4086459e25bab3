package website

import (
	"bytes"
	"net/http"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
)

// tables returns what makes comparisons. They read much, so they use the long reader.
func (s *Server) tables() comparison.Tables {
	return comparison.Tables{Reader: s.long, Site: s.Site}
}

// compare answers a comparison in the form that is asked for.
func (s *Server) compare(w http.ResponseWriter, r *http.Request, p *params) error {
	format := choice(p, "format", []string{"json", "text", "markdown", "csv", "samples"})
	all := p.flag("all")
	if p.err != nil {
		return p.err
	}
	wanted, err := s.comparisonOf(r, p)
	if err != nil {
		return err
	}
	if format == "text" || format == "markdown" {
		return s.report(w, r, wanted, format, all)
	}
	if format == "samples" {
		return s.samples(w, r, wanted)
	}
	c, err := s.tables().Compare(r.Context(), wanted)
	if err != nil {
		return err
	}
	if format != "csv" {
		s.write(w, r, http.StatusOK, c)
		return nil
	}
	var out bytes.Buffer
	if err := compare.CSV(&out, c.Comparison, compare.Options{}); err != nil {
		return err
	}
	s.deliver(w, r, http.StatusOK, "text/csv; charset=utf-8", out.Bytes())
	return nil
}

// samples answers the pairs of a comparison, from which its verdicts on what was measured in turns can be made again.
func (s *Server) samples(w http.ResponseWriter, r *http.Request, q comparison.Query) error {
	rows, err := s.tables().Samples(r.Context(), q)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := compare.SamplesCSV(&out, rows); err != nil {
		return err
	}
	s.deliver(w, r, http.StatusOK, "text/csv; charset=utf-8", out.Bytes())
	return nil
}

// report answers the report as text for a terminal, or as the Markdown that a pull request would get. With all it shows
// everything, at any length.
func (s *Server) report(w http.ResponseWriter, r *http.Request, q comparison.Query, format string, all bool) error {
	made, err := s.tables().Report(r.Context(), q)
	if err != nil {
		return err
	}
	render, o, contentType := compare.Text, compare.Options{Focus: true}, "text/plain; charset=utf-8"
	if format == "markdown" {
		render, o, contentType = compare.Markdown, compare.CommentOptions(), "text/markdown; charset=utf-8"
	}
	if all {
		o = compare.Options{}
	}
	var out bytes.Buffer
	if err := render(&out, made, o); err != nil {
		return err
	}
	s.deliver(w, r, http.StatusOK, contentType, out.Bytes())
	return nil
}

func wantedOf(p *params) comparison.Query {
	return comparison.Query{
		A: events.Tag(p.text("a")), B: events.Tag(p.text("b")),
		Suite: events.SuiteName(p.text("suite")), Metric: events.Metric(p.text("metric")),
	}
}
