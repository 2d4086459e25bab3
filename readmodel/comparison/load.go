package comparison

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/suite"
)

// Tables compares artifacts by what a Reader finds.
type Tables struct {
	Reader *readmodel.Reader
	// Site is the URL of the website, for the links of reports; empty leaves them out.
	Site string
}

// measured is a comparison with the results that it is based on.
type measured struct {
	Comparison
	a, b []readmodel.Result
	// series are what was judged.
	series []compare.Series
}

// Compare loads both artifacts and judges b against a. It fails with an *Error if there is nothing to compare.
func (t Tables) Compare(ctx context.Context, q Query) (Comparison, error) {
	r, c, err := t.report(ctx, q)
	if err != nil {
		return Comparison{}, err
	}
	c.Words, c.Failed = r.Words(), r.Failed()
	return c, nil
}

func (t Tables) compare(ctx context.Context, q Query) (measured, error) {
	var none measured
	if q.B == "" {
		return none, &Error{Wrong: true, Message: "which artifacts do you want to compare?", Next: "add a=… and b=…, or b alone to compare it with its parent"}
	}
	suites, err := t.Suites(ctx, q.Suite)
	if err != nil {
		return none, err
	}
	if q.A == "" {
		if q.A, err = t.parentOf(ctx, suites, q.B); err != nil {
			return none, err
		}
	}
	var missing events.Tag
	for _, name := range suites {
		a, err := t.Reader.Results(ctx, name, q.A)
		if err != nil {
			return none, err
		}
		b, err := t.Reader.Results(ctx, name, q.B)
		if err != nil {
			return none, err
		}
		if len(a) > 0 && len(b) > 0 {
			a, b = ofOneMachine(a, b)
			c, series, err := t.judged(ctx, name, q, a, b)
			return measured{c, a, b, series}, err
		}
		if missing = q.A; len(a) > 0 {
			missing = q.B
		}
	}
	return none, t.Unmeasured(ctx, suites, missing)
}

// Suites returns the suites in question: the named one, or all that have definitions, sorted. It fails with an
// *Error if there are none.
func (t Tables) Suites(ctx context.Context, named events.SuiteName) ([]events.SuiteName, error) {
	if named != "" {
		return []events.SuiteName{named}, nil
	}
	definitions, err := t.Reader.CurrentDefinitions(ctx)
	if err != nil {
		return nil, err
	}
	var names []events.SuiteName
	for _, d := range definitions {
		names = append(names, d.Suite)
	}
	if len(names) == 0 {
		return nil, refuse("publish some with `tacho suite publish`", "no definitions were published")
	}
	slices.Sort(names)
	return names, nil
}

// parentOf returns the parent of the newest request for a tag.
func (t Tables) parentOf(ctx context.Context, suites []events.SuiteName, tag events.Tag) (events.Tag, error) {
	for _, name := range suites {
		found, err := t.Reader.Requests(ctx, readmodel.RequestFilter{Suite: name, Tag: tag, Limit: 1})
		if err != nil {
			return "", err
		}
		if len(found) > 0 && found[0].ParentTag != "" {
			return found[0].ParentTag, nil
		}
	}
	return "", refuse("name the artifact to compare with: add a=…", "no parent of %s is known", tag)
}

// judged compares the results of two artifacts of one suite.
func (t Tables) judged(ctx context.Context, name events.SuiteName, q Query, a, b []readmodel.Result) (c Comparison, series []compare.Series, err error) {
	current, err := t.Reader.CurrentDefinition(ctx, name)
	if err != nil {
		return c, nil, err
	}
	d, err := suite.Parse(current.Content)
	if err != nil {
		return c, nil, err
	}
	history, err := t.Reader.History(ctx, name, q.A, readmodel.HistoryDepth, q.Metric)
	if err != nil {
		return c, nil, err
	}
	spreads, err := t.Reader.Spreads(ctx, name, newest(a, b), q.Metric)
	if err != nil {
		return c, nil, err
	}
	blocks, err := t.Reader.Blocks(ctx, name, q.B, q.A)
	if err != nil {
		return c, nil, err
	}
	series = inTurns(pair(d, q.Metric, a, b, history, spreads), blocks)
	c = Comparison{Suite: name, Definitions: current.Digest, Comparison: compare.Compare(series)}
	if q.Metric != "" && len(c.Changes)+len(c.New)+len(c.Missing) == 0 {
		return c, nil, refuse("metrics are "+strings.Join(metricNames(a, b), ", "), "metric %s was not measured", q.Metric)
	}
	if c.A, err = t.side(ctx, name, q.A, a); err != nil {
		return c, nil, err
	}
	if c.B, err = t.side(ctx, name, q.B, b); err != nil {
		return c, nil, err
	}
	if c.Forced, err = t.forced(ctx, name, q.B, q.A); err != nil {
		return c, nil, err
	}
	if q.A != q.B {
		c.Same = sameRuns(a, b)
	}
	c.Complete = c.A.Complete && c.B.Complete
	c.Incomplete = strings.TrimSpace(c.A.Note + " " + c.B.Note)
	return c, series, nil
}

// newest returns when the newest of some results was measured.
func newest(sides ...[]readmodel.Result) (at time.Time) {
	for _, r := range slices.Concat(sides...) {
		if r.MeasuredAt.After(at) {
			at = r.MeasuredAt
		}
	}
	return at
}

// side returns what is known about one artifact besides its results.
func (t Tables) side(ctx context.Context, name events.SuiteName, tag events.Tag, results []readmodel.Result) (Side, error) {
	s := Side{Tag: tag, Cases: len(results)}
	found, err := t.Reader.Requests(ctx, readmodel.RequestFilter{Suite: name, Tag: tag, Limit: 1})
	if err != nil {
		return s, err
	}
	if len(found) == 0 {
		s.Note = fmt.Sprintf("Only what its children needed was measured for %s.", tag)
		return s, nil
	}
	r := found[0]
	s.RequestID, s.State, s.DefinitionsNote = r.ID, r.State, noteOn(r)
	ended := r.Jobs.Success + r.Jobs.Failure + r.Jobs.Cancelled
	switch {
	case r.State == events.StateCompleted:
		s.Complete = true
	case r.State == events.StateFailed:
		s.Note = fmt.Sprintf("The request for %s failed: %d of %d jobs.", tag, r.Jobs.Failure, r.Jobs.Total)
	case r.State.Terminal():
		s.Note = fmt.Sprintf("The request for %s was %s.", tag, r.State)
	default:
		s.Note = fmt.Sprintf("The request for %s has not ended: %d of %d jobs are done.", tag, ended, r.Jobs.Total)
	}
	return s, nil
}

// noteOn says what is special about the definitions that a request is measured with; empty for nothing.
func noteOn(r readmodel.Request) string {
	switch {
	case r.Customised:
		return fmt.Sprintf("%s is measured with definitions %.12s, which its branch had never used: they may measure something else under the same names.", r.Tag, r.Named)
	case r.DefinitionsProblem != "":
		return fmt.Sprintf("the definitions in commit %s cannot be used, so it is measured with those of its branch: %s", r.Tag, r.DefinitionsProblem)
	}
	return ""
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
