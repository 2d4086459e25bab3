package comparison

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// results reads "b0@m1:3 b1@m2:4": the test case, the machine that measured it, and the event that said so.
func results(text string) (list []readmodel.Result) {
	for _, one := range strings.Fields(text) {
		var r readmodel.Result
		rest, machine, _ := strings.Cut(one, "@")
		machine, seq, _ := strings.Cut(machine, ":")
		fmt.Sscan(seq, &r.Seq)
		r.Benchmark, r.Environment, r.Machine = events.Benchmark(rest), events.Digest(machine), machine
		list = append(list, r)
	}
	return list
}

func written(list []readmodel.Result) string {
	var words []string
	for _, r := range list {
		words = append(words, fmt.Sprintf("%s@%s:%d", r.Benchmark, r.Environment, r.Seq))
	}
	return strings.Join(words, " ")
}

// TestOneMachineIsTakenOfEachTestCase: of the machines that measured both sides the one with most test cases, then the
// newest; without one the newest result of each side.
func TestOneMachineIsTakenOfEachTestCase(t *testing.T) {
	for _, c := range []struct{ why, a, b, keptA, keptB string }{
		{"one result each", "b0@m1:1 b1@m1:2", "b0@m2:3", "b0@m1:1 b1@m1:2", "b0@m2:3"},
		{"the common machine, though it is older", "b0@m1:1 b0@m2:2 b0@m3:9", "b0@m1:3", "b0@m1:1", "b0@m1:3"},
		{"most test cases in common", "b0@m1:1 b0@m2:2 b1@m1:3", "b0@m1:4 b0@m2:9 b1@m1:5", "b0@m1:1 b1@m1:3", "b0@m1:4 b1@m1:5"},
		{"then the newest", "b0@m1:1 b0@m2:2", "b0@m1:4 b0@m2:3", "b0@m1:1", "b0@m1:4"},
		{"then the name", "b0@m1:1 b0@m2:1", "b0@m1:4 b0@m2:4", "b0@m2:1", "b0@m2:4"},
		{"each test case by itself", "b0@m1:1 b1@m2:2 b1@m1:3", "b0@m1:4 b1@m2:5", "b0@m1:1 b1@m2:2", "b0@m1:4 b1@m2:5"},
		{"none in common", "b0@m1:1 b0@m2:2", "b0@m3:3 b0@m4:4", "b0@m2:2", "b0@m4:4"},
		{"one side alone", "b0@m1:1 b0@m2:2 b1@m1:5", "", "b0@m2:2 b1@m1:5", ""},
		{"one machine twice", "b0@m1:1 b0@m1:2", "b0@m1:3", "b0@m1:2", "b0@m1:3"},
	} {
		a, b := ofOneMachine(results(c.a), results(c.b))
		if diff := cmp.Diff([]string{c.keptA, c.keptB}, []string{written(a), written(b)}); diff != "" {
			t.Errorf("%s: %s", c.why, diff)
		}
	}
}
