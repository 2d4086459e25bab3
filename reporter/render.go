package reporter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/request"
)

// patience is how long a report waits until the tables hold its request. After that the reporter tries again later.
const patience = 30 * time.Second

var errTablesLate = errors.New("the tables did not catch up with the log in time")

// Labels are the labels that a report adds and removes. An empty one is not used.
type Labels struct {
	// Waiting is on a pull request until its report is posted.
	Waiting string
	// Regression is on a pull request that makes something slower and deserves attention. A report that judged
	// everything and found no regression removes it. A report that could not judge everything leaves it as it is.
	Regression string
}

// Tables makes reports from the tables. Its method Report is for the field Report of a Config.
type Tables struct {
	Reader *readmodel.Reader
	// Site is the URL of the website, for links; empty leaves them out.
	Site   string
	Labels Labels
}

// Report returns the report on a request that ended. It waits until the tables hold everything up to at.
func (t Tables) Report(ctx context.Context, r request.Request, at events.Seq) (Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errTablesLate)
	defer cancel()
	if err := t.Reader.WaitFor(ctx, at); err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errTablesLate) {
			err = cause
		}
		return Report{}, fmt.Errorf("report on request %s: %w", r.ID, err)
	}
	found, err := comparison.Tables{Reader: t.Reader, Site: t.Site}.ReportOf(ctx, r.ID)
	if err != nil {
		return Report{}, fmt.Errorf("report on request %s: %w", r.ID, err)
	}
	var body strings.Builder
	if err := compare.Markdown(&body, found, compare.CommentOptions()); err != nil {
		return Report{}, fmt.Errorf("write the report on request %s: %w", r.ID, err)
	}
	made := Report{Body: body.String()}
	made.AddLabels, made.RemoveLabels = t.Labels.of(found)
	return made, nil
}

// of returns the labels that a report adds and removes.
func (l Labels) of(r compare.Report) (add, remove []string) {
	if l.Waiting != "" {
		remove = append(remove, l.Waiting)
	}
	if l.Regression == "" {
		return nil, remove
	}
	switch r.Words().Label {
	case compare.LabelSet:
		add = append(add, l.Regression)
	case compare.LabelRemove:
		remove = append(remove, l.Regression)
	case compare.LabelLeave:
	}
	return add, remove
}
