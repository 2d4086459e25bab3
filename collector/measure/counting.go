package measure

import (
	"context"
	"fmt"
	"os/exec"
)

// Counting says how instructions are counted. The empty value is CountCounters.
type Counting string

// The ways of counting. Counts of valgrind are the metric Instructions, those of hardware counters are InstructionsU: a
// processor and valgrind do not count alike, so the two never meet.
const (
	// CountAuto: hardware counters where the machine has them, else valgrind where it is installed, else not at all.
	CountAuto Counting = "auto"
	// CountCounters: hardware counters where the machine has them, else not at all. They cost nothing.
	CountCounters Counting = "counters"
	// CountValgrind: valgrind, in a pass of its own, also where there are hardware counters.
	CountValgrind Counting = "valgrind"
	// CountOff: not at all.
	CountOff Counting = "off"
)

// ParseCounting reads a way of counting as people write it.
func ParseCounting(text string) (Counting, error) {
	switch c := Counting(text); c {
	case CountAuto, CountCounters, CountValgrind, CountOff:
		return c, nil
	}
	return "", fmt.Errorf("%q is no way to count instructions: use %q, %q, %q or %q", text, CountAuto, CountCounters, CountValgrind, CountOff)
}

// CountingOf returns which way this machine takes for c: CountCounters, CountValgrind, or CountOff if nothing is counted.
// why says it in words.
func CountingOf(ctx context.Context, c Counting) (way Counting, why string) {
	_, missing := Probe(ctx)
	_, err := exec.LookPath(valgrindName)
	return c.on(missing[InstructionsU], err == nil)
}

// on decides for a machine: noCounters says why it has no hardware counter of instructions, empty if it has one.
func (c Counting) on(noCounters string, valgrind bool) (way Counting, why string) {
	const byCounters = "the processor counts instructions in user mode"
	switch {
	case c == CountOff:
		return CountOff, "it is switched off"
	case c == CountValgrind && !valgrind:
		return CountOff, ErrNoValgrind.Error()
	case c == CountValgrind:
		return CountValgrind, "valgrind was asked for"
	case noCounters == "":
		return CountCounters, byCounters
	case c == CountAuto && valgrind:
		return CountValgrind, "no hardware counter (" + noCounters + "), so valgrind counts"
	case c == CountAuto:
		return CountOff, "no hardware counter (" + noCounters + "), and " + ErrNoValgrind.Error()
	}
	return CountOff, "no hardware counter (" + noCounters + ")"
}
