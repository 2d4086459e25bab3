package comparison

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/suite"
)

// Measured fills in what the samples of graphs of one suite have measured: the metric that is the headline of comparisons
// first, then by test case.
func (t Tables) Measured(ctx context.Context, name events.SuiteName, graphs []readmodel.Graph) error {
	var d suite.Definitions
	for i, g := range graphs {
		list, err := t.Reader.Sampled(ctx, g)
		if err != nil {
			return err
		}
		if len(list) > 0 && len(d.Metrics) == 0 {
			if d, err = t.definitions(ctx, name); err != nil {
				return err
			}
		}
		inOrder(d, list)
		graphs[i].Measured = list
	}
	return nil
}

// definitions returns the current ones of a suite; empty ones if there are none.
func (t Tables) definitions(ctx context.Context, name events.SuiteName) (suite.Definitions, error) {
	current, err := t.Reader.CurrentDefinition(ctx, name)
	if errors.Is(err, readmodel.ErrNotFound) {
		return suite.Definitions{}, nil
	}
	if err != nil {
		return suite.Definitions{}, err
	}
	return suite.Parse(current.Content)
}

// inOrder sorts what samples measured, and adds the units.
func inOrder(d suite.Definitions, list []readmodel.SampledMetric) {
	infos := map[events.Metric]compare.MetricInfo{}
	for i, m := range list {
		info, known := infos[m.Metric]
		if !known {
			info = MetricOf(d, m.Metric)
			infos[m.Metric] = info
		}
		list[i].Unit = info.Unit
	}
	slices.SortStableFunc(list, func(a, b readmodel.SampledMetric) int {
		return cmp.Or(compare.Before(infos[a.Metric], infos[b.Metric]), cmp.Compare(a.TestCase.String(), b.TestCase.String()),
			cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Environment, b.Environment))
	})
}
