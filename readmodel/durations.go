package readmodel

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tachobench/tacho/events"
)

const (
	// durationDepth is over how many artifacts the median duration of a test case is taken. They are looked for among the last
	// durationRequests requests that began.
	durationDepth    = 10
	durationRequests = 100
)

// timedCase is a test case of one target, and what its results tell.
type timedCase struct {
	CaseDuration
	results []timed
}

// timed is one result as far as it tells how long its test case takes.
type timed struct {
	machine string
	// seconds is how long all iterations took; it is 0 unless known.
	seconds float64
	known   bool
}

// newest is the machine that measured a benchmark last, and the event that tells so.
type newest struct {
	machine string
	seq     int64
}

// Durations returns how long each test case of a suite takes on a target: the wall time of all its iterations, as the
// median over the last artifacts that have results on it. A test case that none of them has is left out.
func (r *Reader) Durations(ctx context.Context, suite events.SuiteName, target events.Target) ([]CaseDuration, error) {
	rows, err := r.pool.Query(ctx, query("durations"), pgx.NamedArgs{"suite": suite, "target": target, "n": durationDepth, "requests": durationRequests})
	if err != nil {
		return nil, fmt.Errorf("query durations: %w", tooLong("durations", err))
	}
	defer rows.Close()
	cases, machines, err := timedCases(rows, target)
	if err != nil {
		return nil, fmt.Errorf("query durations: %w", tooLong("durations", err))
	}
	list := make([]CaseDuration, len(cases))
	for i, c := range cases {
		var seconds []float64
		for _, t := range c.results {
			if t.machine == machines[c.Benchmark].machine {
				c.Artifacts++
			}
			if t.known {
				seconds = append(seconds, t.seconds)
			}
		}
		c.Seconds = median(seconds)
		list[i] = c.CaseDuration
	}
	slices.SortFunc(list, func(a, b CaseDuration) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Backend, b.Backend))
	})
	return list, nil
}

// timedCases reads the rows of the query of durations, of which there are many: ten for each test case. So it makes nothing for a
// row that others have made before. The machine of a benchmark is the one that measured it last: what it measured is one series.
func timedCases(rows pgx.Rows, target events.Target) ([]*timedCase, map[events.Benchmark]newest, error) {
	var (
		list                                                          []*timedCase
		found                                                         = map[string]*timedCase{}
		machines                                                      = map[events.Benchmark]newest{}
		names                                                         = map[string]string{}
		key                                                           []byte
		benchmark, profile, scenario, backend, environment, wallTimes pgtype.DriverBytes
		seq                                                           int64
	)
	for rows.Next() {
		if err := rows.Scan(&benchmark, &profile, &scenario, &backend, &environment, &seq, &wallTimes); err != nil {
			return nil, nil, err
		}
		key = key[:0]
		for _, part := range [...][]byte{benchmark, profile, scenario, backend} {
			key = append(append(key, part...), 0) // which no text of Postgres has
		}
		c := found[string(key)]
		if c == nil {
			c = &timedCase{CaseDuration: CaseDuration{TestCase: events.TestCase{
				Benchmark: events.Benchmark(benchmark), Profile: events.Profile(profile), Scenario: events.Scenario(scenario),
				Backend: events.Backend(backend), Target: target,
			}}}
			c.results = make([]timed, 0, durationDepth)
			list, found[string(key)] = append(list, c), c
		}
		machine, known := names[string(environment)]
		if !known {
			machine = string(environment)
			names[machine] = machine
		}
		if m, known := machines[c.Benchmark]; !known || seq > m.seq {
			machines[c.Benchmark] = newest{machine, seq}
		}
		t := timed{machine: machine}
		var err error
		if t.seconds, t.known, err = sum(wallTimes); err != nil {
			return nil, nil, fmt.Errorf("wall-time of %s in event %d: %w", c.TestCase, seq, err)
		}
		c.results = append(c.results, t)
	}
	return list, machines, rows.Err()
}

// sum adds the values of a list in JSON, of numbers and nulls. It is false if there are none, or no list.
func sum(list []byte) (total float64, known bool, err error) {
	list = bytes.TrimSuffix(bytes.TrimPrefix(list, []byte("[")), []byte("]"))
	for len(list) > 0 {
		value, rest, _ := bytes.Cut(list, []byte(","))
		list = rest
		if value = bytes.TrimSpace(value); string(value) == "null" {
			continue
		}
		v, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return 0, false, err
		}
		total, known = total+v, true
	}
	return total, known, nil
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
