package node

import (
	"context"

	"github.com/tachobench/tacho/collector/measure"
)

// doctorCounting says how instructions are counted here, what that costs, and what it cannot see.
func (h *Host) doctorCounting(ctx context.Context) Finding {
	asked, err := measure.ParseCounting(h.Config.Collector.Instructions)
	if err != nil {
		return Finding{What: "instructions", Verdict: "bad", Detail: "collector.instructions: " + err.Error()}
	}
	way, why := measure.CountingOf(ctx, asked)
	auto, _ := measure.CountingOf(ctx, measure.CountAuto)
	return countingFinding(asked, way, auto, why)
}

// notSeen is what no count of instructions has in it.
const notSeen = "Not in the count: the kernel's work, waiting for disk or network, other machines"

// countingFinding says it for a machine that takes this way, and would take auto if it were asked to choose.
func countingFinding(asked, way, auto measure.Counting, why string) Finding {
	f := Finding{What: "instructions", Verdict: "good"}
	//exhaustive:ignore
	switch way {
	case measure.CountCounters:
		f.Detail = "counted by the processor in user mode, as instructions:u; that costs nothing. " + notSeen
	case measure.CountValgrind:
		f.Detail = "counted by valgrind (" + why + "), as instructions: one more iteration of each test case, which takes about thirty to fifty times as long as the command, " +
			"and a second or more for each program that it starts. " + notSeen + "; valgrind runs the threads of a process one at a time, and starts no programs that gain rights (setuid)"
	default:
		f.Detail = "not counted: " + why
		switch {
		case asked == measure.CountOff:
		case auto == measure.CountValgrind:
			f.Verdict, f.Next = "note", `set collector.instructions = "auto", and valgrind counts them: noise does not change such a count`
		default:
			f.Verdict, f.Next = "note", `apt-get install valgrind, and set collector.instructions = "auto"`
		}
	}
	return f
}
