package readmodel

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/suite"
)

// MemoryHint says that the jobs of a kind reserve less memory than the last of them had, or more than twice as much.
type MemoryHint struct {
	Suite events.SuiteName `json:"suite"`
	Kind  events.JobKind   `json:"kind"`
	// Jobs is how many jobs it is about. PeakMemoryBytes is the most that one of them had, in bytes: the job JobID.
	Jobs            int          `json:"jobs"`
	PeakMemoryBytes int64        `json:"peak_memory_bytes"`
	JobID           events.JobID `json:"job_id"`
	// ReservedMiB is the memory that the kind requires, 0 for none. ProposedMiB is what to write instead.
	ReservedMiB int64 `json:"reserved_mib"`
	ProposedMiB int64 `json:"proposed_mib"`
	// Words say all of it in one sentence.
	Words string `json:"words"`
}

// enough is how many jobs there must be before anything is said of their kind.
const enough = 3

// MemoryHints returns the hints for the kinds of definitions, in their order. Only kinds of matched jobs reserve memory.
func MemoryHints(d suite.Definitions, uses []UseRow) []MemoryHint {
	var hints []MemoryHint
	for _, k := range d.Kinds {
		hint, wrong := memoryHint(d.Name, k, uses)
		if wrong {
			hints = append(hints, hint)
		}
	}
	return hints
}

func memoryHint(name events.SuiteName, k suite.Kind, uses []UseRow) (hint MemoryHint, wrong bool) {
	needs, err := match.Parse(k.Requires)
	if err != nil || !k.Matched() {
		return hint, false
	}
	h := MemoryHint{Suite: name, Kind: k.Name, ReservedMiB: needs.MemoryMiB()}
	limit := int64(0) // the largest reservation at which a job failed
	for _, row := range uses {
		if row.Suite != name || row.Kind != k.Name {
			continue
		}
		for _, u := range row.Uses {
			if u.PeakMemoryBytes == 0 {
				continue
			}
			if h.Jobs++; u.PeakMemoryBytes > h.PeakMemoryBytes {
				h.PeakMemoryBytes, h.JobID = u.PeakMemoryBytes, u.JobID
			}
			if u.atLimit() {
				limit = max(limit, u.MemoryMiB)
			}
		}
	}
	peak := Mebibytes(h.PeakMemoryBytes)
	h.ProposedMiB = max(proposed(peak), 2*limit)
	alone := needs.Exclusive() || !k.Shared
	switch {
	case h.Jobs < enough:
		return h, false
	case limit > 0 && limit >= h.ReservedMiB:
		h.say("one of its last %s failed with all of the %s that it had reserved", h.jobs(), match.FormatMemory(limit))
	case h.ReservedMiB == 0 && alone: // it has all of its machine
		return h, false
	case h.ReservedMiB < peak:
		h.say("one of its last %s had %d MiB", h.jobs(), peak)
	case limit == 0 && h.ReservedMiB > max(2*peak, h.ProposedMiB):
		h.say("its last %s had at most %d MiB, less than half of that", h.jobs(), peak)
	default:
		return h, false
	}
	return h, true
}

// say puts the hint into words.
func (h *MemoryHint) say(finding string, about ...any) {
	reserves := "no memory"
	if h.ReservedMiB > 0 {
		reserves = "memory=" + match.FormatMemory(h.ReservedMiB)
	}
	h.Words = fmt.Sprintf("kind %s of suite %s requires %s; %s: write memory=%s", h.Kind, h.Suite, reserves,
		fmt.Sprintf(finding, about...), match.FormatMemory(h.ProposedMiB))
}

func (h *MemoryHint) jobs() string { return phrase.Count(h.Jobs, "job") }

// atLimit reports whether the job failed with all the memory that it had reserved: it may have wanted more.
func (u JobUse) atLimit() bool {
	return u.State == events.JobFailure && u.MemoryMiB > 0 && u.PeakMemoryBytes >= (u.MemoryMiB<<20)/100*99
}

// Mebibytes returns bytes in MiB, rounded up.
func Mebibytes(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// proposed returns what to reserve for jobs with this peak, both in MiB: a quarter more, rounded up to a multiple of 64 MiB,
// from 1 GiB on of 256 MiB, and from 8 GiB on of 1 GiB.
func proposed(peak int64) int64 {
	want, step := peak+peak/4, int64(64)
	switch {
	case want > 8<<10:
		step = 1 << 10
	case want > 1<<10:
		step = 256
	}
	return max((want+step-1)/step, 1) * step
}
