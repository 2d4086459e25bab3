package projector

import (
	"math"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/queue"
)

// divide notes which chunk a job is, and what it measures once that is decided.
func (j *jobRow) divide(c *events.Chunk) {
	if c == nil || c.Of < 1 || c.Number < 1 || c.Number > c.Of {
		return
	}
	j.Chunk, j.Chunks = c.Number, c.Of
	if len(c.Units) > 0 && len(j.Units) == 0 {
		j.ChunkPart = min(max(c.Part, 1), events.WholeJob)
		for _, u := range c.Units {
			j.Units = append(j.Units, events.Benchmark(cleanText(string(u))))
		}
	}
}

// wholly returns how long the job would have taken if it had measured all that the chunks of it measure.
func (j *jobRow) wholly(took time.Duration) time.Duration {
	if j.ChunkPart == 0 {
		return took
	}
	return min(took, math.MaxInt64/events.WholeJob) * events.WholeJob / time.Duration(j.ChunkPart)
}

// partOf returns what is expected of a job that is a chunk of one of which the whole is expected.
func (j *jobRow) partOf(whole queue.Expected) queue.Expected {
	part := float64(1)
	switch {
	case j.ChunkPart > 0:
		part = float64(j.ChunkPart) / events.WholeJob
	case j.Chunks > 0:
		part = 1 / float64(j.Chunks)
	default:
		return whole
	}
	for _, d := range []*time.Duration{&whole.Length, &whole.Spread, &whole.Doubt} {
		*d = time.Duration(float64(*d) * part)
	}
	return whole
}
