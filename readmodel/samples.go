package readmodel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// Sample is the name of a sample in parts.
type Sample struct {
	Request events.RequestID
	Graph   int
	// Copy counts the samples of the graph from 1.
	Copy int
}

// ParseSample takes the name of a sample apart (see events.NewSample). ok is false for the base series, and for a name that
// no scheduler gives.
func ParseSample(name string) (s Sample, ok bool) {
	rest, last, cut := cutLast(name)
	request, middle, cutAgain := cutLast(rest)
	graph, err := strconv.Atoi(middle)
	copies, err2 := strconv.Atoi(last)
	s = Sample{events.RequestID(request), graph, copies}
	return s, cut && cutAgain && err == nil && err2 == nil && graph >= 0 && copies > 0 && events.NewSample(s.Request, graph, copies) == name
}

func cutLast(s string) (before, after string, found bool) {
	at := strings.LastIndexByte(s, '-')
	if at < 0 {
		return "", "", false
	}
	return s[:at], s[at+1:], true
}

// Samples returns the names of the samples of a graph.
func (g Graph) Samples() []string {
	names := make([]string, g.Copies)
	for i := range names {
		names[i] = events.NewSample(g.RequestID, g.Number, i+1)
	}
	return names
}

// SampleWords says which sample of the graph a name is, such as "sample 2 of 5 of graph 1 (noise)"; empty for the base
// series and for the samples of other graphs.
func (g Graph) SampleWords(name string) string {
	s, ok := ParseSample(name)
	if !ok || s.Request != g.RequestID || s.Graph != g.Number {
		return ""
	}
	customised := ""
	if g.Customised {
		customised = ", customised"
	}
	return fmt.Sprintf("sample %d of %d of graph %d (%s%s)", s.Copy, g.Copies, g.Number, g.Kind, customised)
}

// NoiseRow is one row of noise: what one noise graph found for one metric of one test case on one machine.
type NoiseRow struct {
	Suite       events.SuiteName `db:"suite"`
	Environment events.Digest    `db:"environment"`
	Benchmark   events.Benchmark `db:"benchmark"`
	Profile     events.Profile   `db:"profile"`
	Scenario    events.Scenario  `db:"scenario"`
	Backend     events.Backend   `db:"backend"`
	Target      events.Target    `db:"target"`
	Metric      events.Metric    `db:"metric"`
	// Tag is the artifact that was measured.
	Tag       events.Tag       `db:"tag"`
	RequestID events.RequestID `db:"request_id"`
	Graph     int              `db:"graph"`
	// Samples counts the samples that have a minimum, Smallest and Largest are the extremes of these minima.
	Samples  int     `db:"samples"`
	Smallest float64 `db:"smallest,double precision"`
	Largest  float64 `db:"largest,double precision"`
	// Spread is (Largest − Smallest) / Smallest.
	Spread  float64   `db:"spread,double precision"`
	EndedAt time.Time `db:"ended_at"`
}

// SampledMetric is one metric of one test case on one machine, as the samples of a graph measured it.
type SampledMetric struct {
	// Tag is the artifact that was measured.
	Tag events.Tag `json:"tag"`
	events.TestCase
	Metric events.Metric `json:"metric"`
	// Unit is that of the metric (see compare.MetricInfo).
	Unit        string        `json:"unit,omitempty"`
	Environment events.Digest `json:"environment"`
	Machine     string        `json:"machine,omitempty"`
	// Minima are the smallest values over the iterations of each sample, by copy. Smallest and Largest are their extremes.
	Minima   []SampleMinimum `json:"minima"`
	Smallest float64         `json:"smallest"`
	Largest  float64         `json:"largest"`
	// Spread is (Largest − Smallest) / Smallest: the largest relative distance of two samples. It is nil with fewer than two
	// samples, and where Smallest is not above zero.
	Spread *float64 `json:"spread"`
	// Base is the smallest value of the base series on the same machine; nil if that has none.
	Base *float64 `json:"base,omitempty"`
}

// SampleMinimum is the smallest value that one sample measured.
type SampleMinimum struct {
	// Copy counts the samples of the graph from 1.
	Copy  int     `json:"copy"`
	Value float64 `json:"value"`
}

// sampledRow is a row of the query for the samples of a graph.
type sampledRow struct {
	Tag events.Tag `db:"tag"`
	events.TestCase
	Metric      events.Metric `db:"metric"`
	Environment events.Digest `db:"environment"`
	Machine     string        `db:"machine"`
	Names       []string      `db:"names"`
	Minima      []float64     `db:"minima"`
	Base        *float64      `db:"base"`
}

// Sampled returns what the samples of a graph have measured so far; none for a graph of the base series.
func (r *Reader) Sampled(ctx context.Context, g Graph) ([]SampledMetric, error) {
	if g.Copies == 0 {
		return nil, nil
	}
	rows, err := all[sampledRow](ctx, r.pool, "sampled", g.Samples())
	list := make([]SampledMetric, len(rows))
	for i, row := range rows {
		list[i] = row.sampled()
	}
	return list, err
}

func (r sampledRow) sampled() SampledMetric {
	m := SampledMetric{
		Tag: r.Tag, TestCase: r.TestCase, Metric: r.Metric, Environment: r.Environment, Machine: r.Machine, Base: r.Base,
		Smallest: slices.Min(r.Minima), Largest: slices.Max(r.Minima),
	}
	for i, name := range r.Names {
		s, _ := ParseSample(name) // it was asked for by that name
		m.Minima = append(m.Minima, SampleMinimum{s.Copy, r.Minima[i]})
	}
	slices.SortFunc(m.Minima, func(a, b SampleMinimum) int { return cmp.Compare(a.Copy, b.Copy) })
	if spread := (m.Largest - m.Smallest) / m.Smallest; len(m.Minima) > 1 && m.Smallest > 0 && !math.IsInf(spread, 0) {
		m.Spread = &spread
	}
	return m
}

// noiseAge is how long before and after a measurement noise graphs tell how noisy its machine was.
const noiseAge = 90 * 24 * time.Hour

// Spread is how far apart equal artifacts were measured on one machine: one metric of one test case.
type Spread struct {
	events.TestCase
	Metric      events.Metric `db:"metric"`
	Environment events.Digest `db:"environment"`
	Spread      float64       `db:"spread,double precision"`
}

// Spreads returns the spreads that noise graphs of a suite found: of each metric of each test case on each machine the
// largest one of the graphs that ended within 90 days of the given time. The spread that one graph finds is the largest
// relative distance of two samples' minima, (largest − smallest) / smallest, over its samples on that machine, if there are
// at least two. If metric is not empty, only that one is read.
func (r *Reader) Spreads(ctx context.Context, suite events.SuiteName, at time.Time, metric events.Metric) ([]Spread, error) {
	list, err := all[Spread](ctx, r.pool, "spreads", pgx.NamedArgs{"suite": suite, "from": at.Add(-noiseAge), "to": at.Add(noiseAge), "metric": metric})
	return list, wrapNoise(suite, err)
}

func wrapNoise(suite events.SuiteName, err error) error {
	if err != nil {
		return fmt.Errorf("noise of %s: %w", suite, err)
	}
	return nil
}

// SampleOf says what a job is a sample of.
type SampleOf struct {
	Graph  int              `json:"graph"`
	Kind   events.GraphKind `json:"kind"`
	Copy   int              `json:"copy"`
	Copies int              `json:"copies"`
	// JobID is the job of the base series that measures the same, in its newest round; empty if it has left the tables.
	JobID events.JobID `json:"job_id,omitempty"`
	// Customised says that the jobs of the graph are not those that the definitions make.
	Customised bool `json:"customised,omitempty"`
	// Words say it, such as "sample 2 of 5 of graph 1 (noise)". They leave out the job.
	Words string `json:"words"`
}

// sampleOf returns what a job is a sample of; nil for the base series.
func sampleOf(ctx context.Context, q querier, j Job) (*SampleOf, error) {
	name, ok := ParseSample(j.Sample)
	if !ok {
		return nil, nil
	}
	graphs, err := all[Graph](ctx, q, "graphs", name.Request)
	if err != nil {
		return nil, err
	}
	of := SampleOf{Graph: name.Graph, Copy: name.Copy, Words: fmt.Sprintf("sample %d of graph %d", name.Copy, name.Graph)}
	for _, g := range graphs {
		if g.Number == name.Graph {
			of.Kind, of.Copies, of.Customised, of.Words = g.Kind, g.Copies, g.Customised, g.SampleWords(j.Sample)
		}
	}
	base, err := values[events.JobID](ctx, q, "sample_base", j.ID)
	for _, id := range base {
		of.JobID = id
	}
	return &of, err
}
