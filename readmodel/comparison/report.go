package comparison

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
)

// Report returns everything that a report on b says. It fails with an *Error if there is nothing to compare.
func (t Tables) Report(ctx context.Context, q Query) (compare.Report, error) {
	r, _, err := t.report(ctx, q)
	return r, err
}

// report returns a comparison and the report on it.
func (t Tables) report(ctx context.Context, q Query) (compare.Report, Comparison, error) {
	m, err := t.compare(ctx, q)
	if err != nil {
		return compare.Report{}, Comparison{}, err
	}
	r := compare.Report{A: string(m.A.Tag), B: string(m.B.Tag), Comparison: &m.Comparison.Comparison}
	if m.B.RequestID != "" {
		found, err := t.Reader.Request(ctx, m.B.RequestID)
		if err != nil {
			return r, m.Comparison, err
		}
		t.addRequest(&r, found)
		if r.Diagnostics, err = t.diagnostics(ctx, found.ID); err != nil {
			return r, m.Comparison, err
		}
	}
	r.Incomplete, r.Forced, r.Notes = m.Incomplete, m.Forced, m.Notes()
	if r.Failure != "" {
		r.Incomplete = m.A.Note
	}
	r.ComparisonURL = t.comparisonPage(m.Suite, m.A.Tag, m.B.Tag)
	return r, m.Comparison, t.addFailures(ctx, &r, m)
}

// ReportOf returns everything that a report on a request says, even if it has no results, or nothing to compare them
// with. It fails with readmodel.ErrNotFound if there is no such request.
func (t Tables) ReportOf(ctx context.Context, id events.RequestID) (compare.Report, error) {
	found, err := t.Reader.Request(ctx, id)
	if err != nil {
		return compare.Report{}, err
	}
	if found.ParentTag != "" && found.Tag != "" {
		r, err := t.Report(ctx, Query{Suite: found.Suite, A: found.ParentTag, B: found.Tag})
		var nothing *Error
		if !errors.As(err, &nothing) {
			// There may be a newer request for the same artifact, but this report is about the given one.
			t.addRequest(&r, found)
			if err == nil {
				r.Diagnostics, err = t.diagnostics(ctx, id)
			}
			return r, err
		}
	}
	r := compare.Report{A: string(found.ParentTag), B: string(found.Tag)}
	if note := noteOn(found.Request); note != "" {
		r.Notes = []string{note}
	}
	t.addRequest(&r, found)
	if r.Diagnostics, err = t.diagnostics(ctx, id); err != nil {
		return r, err
	}
	results, err := t.Reader.Results(ctx, found.Suite, found.Tag)
	if err != nil {
		return r, err
	}
	if r.Forced, err = t.forced(ctx, found.Suite, found.Tag); err != nil {
		return r, err
	}
	results, _ = ofOneMachine(results, nil)
	r.Measured = len(results)
	return r, t.addFailures(ctx, &r, measured{Comparison: Comparison{Suite: found.Suite, B: Side{Tag: found.Tag}}, b: results})
}

// diagnostics says what the commands of a request's jobs had to say, for each of its graphs.
func (t Tables) diagnostics(ctx context.Context, id events.RequestID) (said []string, err error) {
	graphs, err := t.Reader.Diagnostics(ctx, id)
	for _, g := range graphs {
		words := g.Words()
		if g.Graph != nil && *g.Graph > 0 {
			words = fmt.Sprintf("graph %d: %s", *g.Graph, words)
		}
		said = append(said, words)
	}
	return said, err
}

// addRequest adds what became of the request for b.
func (t Tables) addRequest(r *compare.Report, q readmodel.RequestJobs) {
	r.Commit = q.Kind == events.Master || q.Kind == events.Try
	r.Ended = q.State == events.StateCompleted || q.State == events.StateFailed
	r.Failure, r.FailedJobs = "", nil
	if q.State == events.StateFailed {
		r.Failure = q.Reason
	}
	r.RequestURL = t.page("/requests/" + url.PathEscape(string(q.ID)))
	newest := map[string]int{} // round of each job
	for _, j := range q.JobList {
		newest[named(j)] = max(newest[named(j)], j.Round)
	}
	r.Again = again(q)
	for _, j := range q.JobList {
		if j.State != events.JobFailure || j.Round < newest[named(j)] {
			continue
		}
		name := fmt.Sprintf("%s %s %s %s", j.Kind, j.Part(), j.Backend, j.Profile)
		if j.Tag != q.Tag {
			name += " of " + string(j.Tag)
		}
		r.FailedJobs = append(r.FailedJobs, compare.FailedJob{
			Name: name, Reason: j.Reason, Optional: j.Optional, URL: t.page("/jobs/" + url.PathEscape(string(j.ID))),
		})
	}
}

// named returns what names a job in all its rounds.
func named(j readmodel.Job) string {
	return fmt.Sprintf("%s %s %s %s %s %q", j.Tag, j.Kind, j.Part(), j.Backend, j.Profile, j.Benchmarks)
}

// again counts the jobs that were made for a request after it had ended.
func again(q readmodel.RequestJobs) (a compare.Again) {
	for _, j := range q.JobList {
		if q.EndedSeq == nil || j.Round == 0 || j.CreatedSeq < *q.EndedSeq {
			continue
		}
		switch j.State {
		case events.JobSuccess:
			a.Succeeded++
		case events.JobFailure:
			a.Failed++
		case events.JobCancelled:
			a.Cancelled++
		case events.JobQueued, events.JobInProgress:
			a.Open++
		}
	}
	return a
}

// addFailures adds the test cases of b that could not be measured. Those that did not fail for a are marked as new.
func (t Tables) addFailures(ctx context.Context, r *compare.Report, m measured) error {
	failed, err := t.failures(ctx, m.Suite, m.B.Tag, m.b)
	if err != nil || len(failed) == 0 {
		return err
	}
	before := map[events.TestCase]string{}
	if r.Comparison != nil {
		if before, err = t.failures(ctx, m.Suite, m.A.Tag, m.a); err != nil {
			return err
		}
	}
	for c, message := range failed {
		_, known := before[c]
		r.FailedCases = append(r.FailedCases, compare.FailedCase{Case: c, Message: message, New: r.Comparison != nil && !known})
	}
	return nil
}

// failures returns the test cases of an artifact that failed and were not measured in another attempt, with the
// newest message about each.
func (t Tables) failures(ctx context.Context, name events.SuiteName, tag events.Tag, results []readmodel.Result) (map[events.TestCase]string, error) {
	failed := map[events.TestCase]string{}
	list, err := t.Reader.ErrorsOf(ctx, name, tag)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.Case != nil {
			failed[*e.Case] = e.Message
		}
	}
	for _, r := range results {
		delete(failed, r.TestCase)
	}
	return failed, nil
}

func (t Tables) comparisonPage(name events.SuiteName, a, b events.Tag) string {
	return t.page("/compare?" + url.Values{"suite": {string(name)}, "a": {string(a)}, "b": {string(b)}}.Encode())
}

// page returns the URL of a page, or nothing if the URL of the website is not known.
func (t Tables) page(path string) string {
	if t.Site == "" {
		return ""
	}
	return strings.TrimSuffix(t.Site, "/") + path
}
