package comparison

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// forced returns the jobs that measured artifacts although not all that they need had succeeded. Those of another artifact than
// own are named with it.
func (t Tables) forced(ctx context.Context, name events.SuiteName, own events.Tag, others ...events.Tag) (all []compare.ForcedJob, err error) {
	list, err := t.Reader.Forced(ctx, name, append(others, own)...)
	for _, j := range list {
		words := fmt.Sprintf("%s %s/%d %s %s", j.Kind, j.Target, j.Set, j.Backend, j.Profile)
		if j.Tag != own {
			words += " of " + string(j.Tag)
		}
		all = append(all, compare.ForcedJob{Name: words, Reason: j.Forced})
	}
	return all, err
}
