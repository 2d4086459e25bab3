package readmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/tachobench/tacho/events"
)

// BlockRow is one row of table block: a test case that was measured in turns with that of another artifact.
type BlockRow struct {
	Suite events.SuiteName `db:"suite"`
	Tag   events.Tag       `db:"tag"`
	// Beside is the other artifact.
	Beside      events.Tag       `db:"beside"`
	Benchmark   events.Benchmark `db:"benchmark"`
	Profile     events.Profile   `db:"profile"`
	Scenario    events.Scenario  `db:"scenario"`
	Backend     events.Backend   `db:"backend"`
	Target      events.Target    `db:"target"`
	Environment events.Digest    `db:"environment"`
	// Statistics, Iterations and Interference are those of Tag, as in ResultRow; the next three are those of Beside.
	Statistics         string               `db:"statistics,json"`
	Iterations         int                  `db:"iterations"`
	Interference       *string              `db:"interference,json"`
	BesideStatistics   string               `db:"beside_statistics,json"`
	BesideIterations   int                  `db:"beside_iterations"`
	BesideInterference *string              `db:"beside_interference,json"`
	Collector          events.CollectorName `db:"collector"`
	JobID              events.JobID         `db:"job_id"`
	Definitions        events.Digest        `db:"definitions"`
	MeasuredAt         time.Time            `db:"measured_at"`
	Seq                events.Seq           `db:"seq"`
	// Machine is the name of the machine.
	Machine string `db:"machine,query"`
}

// TestCase returns what was measured.
func (r BlockRow) TestCase() events.TestCase {
	return events.TestCase{Benchmark: r.Benchmark, Profile: r.Profile, Scenario: r.Scenario, Backend: r.Backend, Target: r.Target}
}

// Block is a test case of two artifacts that were measured in turns on one machine.
type Block struct {
	events.TestCase
	// Environment is the fingerprint of the machine, Machine its name.
	Environment events.Digest
	Machine     string
	// Iterations are those of the artifact, Beside those of the other one. Iteration i of both is pair i; the other one comes
	// first in pair 0.
	Iterations, Beside []events.Iteration
}

func (r BlockRow) block() (b Block, err error) {
	b = Block{TestCase: r.TestCase(), Environment: r.Environment, Machine: r.Machine}
	if b.Iterations, err = iterations(r.Statistics, r.Interference, r.Iterations); err == nil {
		b.Beside, err = iterations(r.BesideStatistics, r.BesideInterference, r.BesideIterations)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", b.TestCase, err)
	}
	return b, err
}

// Blocks returns what was measured of one artifact in turns with another one, ordered by test case. A test case has a block
// for each machine that measured it so.
func (r *Reader) Blocks(ctx context.Context, suite events.SuiteName, tag, beside events.Tag) ([]Block, error) {
	rows, err := all[BlockRow](ctx, r.pool, "blocks", suite, tag, beside)
	if err != nil {
		return nil, err
	}
	list := make([]Block, len(rows))
	for i, row := range rows {
		if list[i], err = row.block(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// iterations returns n iterations, as they were measured, of the values by metric and of what disturbed them.
func iterations(values string, disturbed *string, n int) ([]events.Iteration, error) {
	var statistics map[events.Metric][]*float64
	if err := json.Unmarshal([]byte(values), &statistics); err != nil {
		return nil, fmt.Errorf("statistics: %w", err)
	}
	var interference map[string]string
	if disturbed != nil {
		if err := json.Unmarshal([]byte(*disturbed), &interference); err != nil {
			return nil, fmt.Errorf("interference: %w", err)
		}
	}
	list := make([]events.Iteration, n)
	for i := range list {
		list[i].Metrics = make(map[events.Metric]float64, len(statistics))
		list[i].Interference = interference[strconv.Itoa(i)]
		for metric, values := range statistics {
			if i < len(values) && values[i] != nil {
				list[i].Metrics[metric] = *values[i]
			}
		}
	}
	return list, nil
}
