package suite

import (
	"cmp"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// MaxChunks bounds the chunks of a job.
const MaxChunks = 256

// Unit is a benchmark of a job, with how often it measures: that stands for what it costs.
type Unit struct {
	Benchmark events.Benchmark
	Cost      int64
}

// Units returns the benchmarks that a job, or all chunks of it together, measures, the most costly first. Equal ones are in
// the order of the definitions. It is empty for a job of which the definitions know nothing.
func (d Definitions) Units(job events.JobSpec) []Unit {
	job.Chunk = nil
	plans, err := d.Plan(job)
	if err != nil {
		return nil
	}
	units := make([]Unit, len(plans))
	for i, p := range plans {
		units[i] = Unit{p.Benchmark.Name, int64(len(p.Cases)) * int64(max(p.Iterations, 1))}
	}
	slices.SortStableFunc(units, func(a, b Unit) int { return cmp.Compare(b.Cost, a.Cost) })
	return units
}

// Division is what decides how large a chunk is.
type Division struct {
	// Units are those of the whole job, Taken those that other chunks have.
	Units []Unit
	Taken map[events.Benchmark]bool
	// Lanes counts the lanes that are free for the job now, Slots the chunks that have no units yet, with this one.
	Lanes, Slots int
	// Whole is how long the whole job is expected to take.
	Whole time.Duration
}

// Take returns the units of the next chunk, and their part of the whole in 1/1024; none if nothing is left. It takes the most
// costly ones that are left, up to what each free lane would get, or Least if that is more, and never more than a chunk of
// Min has. The last chunk takes all that is left.
func (c Chunks) Take(d Division) (units []events.Benchmark, part int) {
	var left []Unit
	var total, open int64
	for _, u := range d.Units {
		total += u.Cost
		if !d.Taken[u.Benchmark] {
			left, open = append(left, u), open+u.Cost
		}
	}
	if len(left) == 0 {
		return nil, 0
	}
	target := ceil(open, int64(max(1, min(d.Lanes, d.Slots))))
	if least, err := time.ParseDuration(c.Least); err == nil && d.Whole > 0 {
		target = max(target, int64(float64(total)*float64(least)/float64(d.Whole)))
	}
	target = min(target, max(1, total/int64(max(1, c.Min))))
	var sum int64
	for _, u := range left {
		if d.Slots > 1 && len(units) > 0 && sum+u.Cost > target {
			continue
		}
		units, sum = append(units, u.Benchmark), sum+u.Cost
	}
	return units, int(max(1, sum*events.WholeJob/max(total, 1)))
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// chunksOf divides the jobs of a kind. A job of one benchmark, or of none, stays one.
func (e expansion) chunksOf(k Kind, jobs []events.JobSpec) []events.JobSpec {
	if k.Chunks == nil {
		return jobs
	}
	var out []events.JobSpec
	for _, j := range jobs {
		n := min(k.Chunks.Max, len(e.definitions.Units(j)))
		if n < 2 {
			out = append(out, j)
			continue
		}
		for i := range n {
			j.Chunk = &events.Chunk{Number: i + 1, Of: n}
			out = append(out, j)
		}
	}
	return out
}

// chunks checks how the jobs of a kind are divided.
func (c *checker) chunks(path string, d Definitions, k Kind) {
	if k.Chunks == nil {
		return
	}
	path = join(path, "chunks")
	switch {
	case d.Version < 2:
		c.report(path, "kind %q has chunks: write version = 2 at the head of the file, so that programs that do not know them refuse it", k.Name)
	case !k.Matched() || k.Does != "":
		c.report(path, "kind %q has chunks: only jobs that measure and that any machine can take (lanes = %q) are divided; the others are comparable because one machine measures them",
			k.Name, LanesAny)
	}
	switch {
	case k.Chunks.Min < 1:
		c.report(join(path, "min"), "min is %d: use 1 or more", k.Chunks.Min)
	case k.Chunks.Max < k.Chunks.Min:
		c.report(join(path, "max"), "max is %d, below min: use %d or more", k.Chunks.Max, k.Chunks.Min)
	case k.Chunks.Max > MaxChunks:
		c.report(join(path, "max"), "max is %d: use at most %d", k.Chunks.Max, MaxChunks)
	}
	if k.Chunks.Least != "" {
		if least, err := time.ParseDuration(k.Chunks.Least); err != nil || least <= 0 {
			c.report(join(path, "least"), "least is %q: use a duration above 0, such as \"5m\"", k.Chunks.Least)
		}
	}
}
