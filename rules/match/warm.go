package match

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// maxWarm bounds the caches that a machine is remembered to have.
const maxWarm = 256

// Warm is the caches that a machine has, with the event of the last job that used each.
type Warm map[string]events.Seq

// Leaves returns the names of what a job leaves on its machine. Results of artifacts are among them: a job that measures
// against one of these need not measure it again.
func Leaves(spec events.JobSpec) []string {
	if spec.Against == nil {
		return spec.Caches
	}
	return append(slices.Clone(spec.Caches), Results(spec.Artifact), Results(*spec.Against))
}

// Wishes returns the names of what a job would like to find on its machine.
func Wishes(spec events.JobSpec) []string {
	if spec.Against == nil {
		return spec.Caches
	}
	return append(slices.Clone(spec.Caches), Results(*spec.Against))
}

// Results names the results of an artifact. No cache has such a name.
func Results(a events.Artifact) string { return "=" + string(a.Suite) + "/" + string(a.Tag) }

// Near returns those of the wishes of a job that some machine has, sorted. has says this of a name.
func Near(spec events.JobSpec, has func(name string) bool) (near []string) {
	for _, name := range Wishes(spec) {
		if has(name) {
			near = append(near, name)
		}
	}
	slices.Sort(near)
	return near
}

// Fill notes the names of what a machine has after a job that ended with the event seq. The caches that were used longest
// ago are forgotten when there are too many: Fill returns them.
func (w Warm) Fill(names []string, seq events.Seq, evicted []string) (forgotten []string) {
	for _, name := range names {
		w[name] = seq
	}
	w.Cool(evicted) // a cache that is too large goes at the end of its own job
	for len(w) > maxWarm {
		var oldest string
		for name, seq := range w {
			if oldest == "" || seq < w[oldest] || seq == w[oldest] && name < oldest {
				oldest = name
			}
		}
		delete(w, oldest)
		forgotten = append(forgotten, oldest)
	}
	return forgotten
}

// Cool notes caches that the machine has no more.
func (w Warm) Cool(names []string) {
	for _, name := range names {
		delete(w, name)
	}
}

// Count counts the names that the machine has.
func (w Warm) Count(names []string) (n int) {
	for _, name := range names {
		if _, warm := w[name]; warm {
			n++
		}
	}
	return n
}
