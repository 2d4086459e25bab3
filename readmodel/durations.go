package readmodel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

const (
	// durationDepth is over how many artifacts the median duration of a test case is taken. They are looked for among the last
	// durationRequests requests that began.
	durationDepth    = 10
	durationRequests = 100
)

// timed is one result as far as it tells how long its test case takes.
type timed struct {
	events.TestCase
	Environment events.Digest `db:"environment"`
	Tag         events.Tag    `db:"tag"`
	// WallTimes is a JSON list with one value for each iteration; nil if none was recorded.
	WallTimes *string `db:"wall_times"`
}

// seconds returns how long all iterations took; nil if that was not recorded.
func (t timed) seconds() (*float64, error) {
	if t.WallTimes == nil {
		return nil, nil
	}
	var values []*float64
	if err := json.Unmarshal([]byte(*t.WallTimes), &values); err != nil {
		return nil, fmt.Errorf("wall-time of %s in %s: %w", t.TestCase, t.Tag, err)
	}
	var sum *float64
	for _, v := range values {
		if v != nil && sum == nil {
			sum = new(float64)
		}
		if v != nil {
			*sum += *v
		}
	}
	return sum, nil
}

// Durations returns how long each test case of a suite takes on a target: the wall time of all its iterations, as the
// median over the last artifacts that have results on it. A test case that none of them has is left out.
func (r *Reader) Durations(ctx context.Context, suite events.SuiteName, target events.Target) ([]CaseDuration, error) {
	rows, err := all[timed](ctx, r.pool, "durations", pgx.NamedArgs{"suite": suite, "target": target, "n": durationDepth, "requests": durationRequests})
	if err != nil {
		return nil, err
	}
	// The machine of a benchmark is the one that measured it last: what it measured is one series.
	machine := map[events.Benchmark]events.Digest{}
	found, seconds := map[events.TestCase]*CaseDuration{}, map[events.TestCase][]float64{}
	list := []CaseDuration{}
	for _, row := range rows { // the newest first
		if machine[row.Benchmark] == "" {
			machine[row.Benchmark] = row.Environment
		}
		d := found[row.TestCase]
		if d == nil {
			d = &CaseDuration{TestCase: row.TestCase}
			found[row.TestCase] = d
		}
		if row.Environment == machine[row.Benchmark] {
			d.Artifacts++
		}
		took, err := row.seconds()
		if err != nil {
			return nil, err
		}
		if took != nil {
			seconds[row.TestCase] = append(seconds[row.TestCase], *took)
		}
	}
	for of, d := range found {
		d.Seconds = median(seconds[of])
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b CaseDuration) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Backend, b.Backend))
	})
	return list, nil
}

// median returns the middle of some values, or the mean of the two in the middle; nil if there are none.
func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	m := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	return &m
}
