package comparison

import (
	"cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// ofOneMachine keeps one result of each test case for each artifact. If both artifacts have results of one machine, it
// keeps those: of several machines those of the one that measured most test cases of both, then the newest. Without such
// a machine it keeps the newest results, which are not judged. The order of the results stays.
func ofOneMachine(a, b []readmodel.Result) (of, against []readmodel.Result) {
	x, y := byCase(a), byCase(b)
	if len(x) == len(a) && len(y) == len(b) {
		return a, b // no test case has results of several machines
	}
	shared := map[events.Digest]int{}
	for c, results := range x {
		for env := range results {
			if _, both := y[c][env]; both {
				shared[env]++
			}
		}
	}
	kept := func(list []readmodel.Result, own, other map[events.TestCase]machines) (out []readmodel.Result) {
		for _, r := range list {
			if of := own[r.TestCase]; of.best(other[r.TestCase], shared) == r.Environment && of[r.Environment] == r.Seq {
				out = append(out, r)
			}
		}
		return out
	}
	return kept(a, x, y), kept(b, y, x)
}

// machines are when each machine measured a test case of an artifact, as the sequence of the event.
type machines map[events.Digest]events.Seq

func byCase(list []readmodel.Result) map[events.TestCase]machines {
	of := map[events.TestCase]machines{}
	for _, r := range list {
		if of[r.TestCase] == nil {
			of[r.TestCase] = machines{}
		}
		of[r.TestCase][r.Environment] = max(of[r.TestCase][r.Environment], r.Seq)
	}
	return of
}

// best returns the machine whose result is taken. Both sides of a comparison come to the same one if there is one.
func (m machines) best(other machines, shared map[events.Digest]int) (best events.Digest) {
	var most int
	var newest events.Seq
	found := false
	for env, seq := range m {
		n := 0
		if at, both := other[env]; both {
			n, seq = shared[env], max(seq, at)
		}
		if !found || cmp.Or(cmp.Compare(n, most), cmp.Compare(seq, newest), cmp.Compare(env, best)) > 0 {
			best, most, newest, found = env, n, seq, true
		}
	}
	return best
}
