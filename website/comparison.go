package website

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/tachobench/tacho/compare"
	"github.com/tachobench/tacho/comparison"
	"github.com/tachobench/tacho/events"
)

// tables is where comparisons come from. They read much.
func (s *Server) tables() comparison.Tables {
	return comparison.Tables{Reader: s.long, Site: s.Site}
}

// compare answers a comparison in the form that is asked for.
func (s *Server) compare(w http.ResponseWriter, r *http.Request, p *params) error {
	format := choice(p, "format", []string{"json", "text", "markdown", "csv"})
	all := p.flag("all")
	if p.err != nil {
		return p.err
	}
	wanted, err := s.comparisonOf(r, p)
	if err != nil {
		return err
	}
	if format == "markdown" {
		return s.report(w, r, wanted, all)
	}
	c, err := s.tables().Compare(r.Context(), wanted)
	if err != nil {
		return err
	}
	if format == "" || format == "json" {
		s.write(w, r, http.StatusOK, c)
		return nil
	}
	var out bytes.Buffer
	contentType, err := render(&out, format, !all, c)
	if err != nil {
		return err
	}
	s.deliver(w, r, http.StatusOK, contentType, out.Bytes())
	return nil
}

// report answers the text that a pull request would get; all has it show what is unchanged, at any length.
func (s *Server) report(w http.ResponseWriter, r *http.Request, q comparison.Query, all bool) error {
	made, err := s.tables().Report(r.Context(), q)
	if err != nil {
		return err
	}
	o := compare.CommentOptions()
	if all {
		o = compare.Options{}
	}
	var out bytes.Buffer
	if err := compare.Markdown(&out, made, o); err != nil {
		return err
	}
	s.deliver(w, r, http.StatusOK, "text/markdown; charset=utf-8", out.Bytes())
	return nil
}

func wantedOf(p *params) comparison.Query {
	return comparison.Query{
		A: events.Tag(p.text("a")), B: events.Tag(p.text("b")),
		Suite: events.SuiteName(p.text("suite")), Metric: events.Metric(p.text("metric")),
	}
}

// render writes a comparison for a terminal or a spreadsheet. What may be missing is said first; CSV has no place
// for it.
func render(w io.Writer, format string, focus bool, c comparison.Comparison) (contentType string, err error) {
	o := compare.Options{A: string(c.A.Tag), B: string(c.B.Tag)}
	if format == "csv" {
		return "text/csv; charset=utf-8", compare.CSV(w, c.Comparison, o)
	}
	if !c.Complete {
		fmt.Fprintf(w, "Incomplete: %s\n", c.Incomplete)
	}
	o.Focus = focus
	return "text/plain; charset=utf-8", compare.Text(w, c.Comparison, o)
}
