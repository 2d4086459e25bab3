package graph

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

func TestTheFirstFailureStopsAFailFastGraph(t *testing.T) {
	for _, tt := range []struct{ name, needs, does, want, causes string }{
		{"nothing failed", "b:a", "a+", "srrr", ""},
		{"what has not begun is skipped", "b:a", "a-", "fxxx", " aaa"},
		{"what runs, ends", "b:a", "c> a- c+", "fxsx", " a a"},
		{"what runs and fails is no other cause", "b:a", "c> a- c-", "fxfx", " a a"},
		{"a failure by a smaller number is the cause from then on", "", "a> c- a-", "fxfx", " a a"},
		{"an optional job stops nothing", "b:d", "d-", "rxrf", " d"},
		{"a cancelled job stops nothing", "b:a", "a0", "cxrr", " a"},
		{"a rerun of the cause lets them go", "b:a", "a- a!", "rbrr", ""},
		{"a rerun while another one failed is made all the same", "", "a> c- a- a!", "rxfx", " c c"},
		{"a hook waits again for what was skipped", "b|a d|c", "a- a!", "rrrb", ""},
		{"a hook of what stays skipped does not", "c:d b|c", "d- a- a!", "rrxf", "  d"},
		{"a dispatch at the same moment counts", "b:a", "a- c>", "fxrx", " a a"},
		{"a forced job runs", "b:a", "a- c^ b^", "frrx", "   a"},
		{"a forced job stays so", "b:a", "b^ a-", "frxx", "  aa"},
		{"the next round has to begin anew", "", "c> c+ c! a-", "fxxx", " aaa"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := New(4, len(strings.Fields(tt.needs)))
			g.FailFast()
			for i := range 4 {
				g.Add(i, i == 3, "") // d is optional
			}
			for _, w := range strings.Fields(tt.needs) {
				n := Need{Job: int(w[0] - 'a'), On: int(w[2] - 'a')}
				if w[1] == '|' {
					n.Until = events.UntilEnded
				}
				g.Need(n)
			}
			g.Settle()
			do(g, tt.does)
			if got := states(g); got != tt.want {
				t.Errorf("states %s, want %s", got, tt.want)
			}
			causes := ""
			for i := range 4 {
				if cause, ok := g.Cause(i); ok {
					causes += string(rune('a' + cause))
				} else {
					causes += " "
				}
			}
			if got := strings.TrimRight(causes, " "); got != tt.causes {
				t.Errorf("causes %q, want %q", got, tt.causes)
			}
		})
	}
}

func TestAGraphCanBeStoppedFromTheStart(t *testing.T) {
	g := New(3, 0)
	g.FailFast()
	g.Add(0, false, "")
	g.Add(1, false, events.Failure)
	g.Begin(2) // it runs for another graph
	g.Add(2, false, "")
	if got := len(g.Settle()); got != 3 || states(g) != "xfr" {
		t.Errorf("states %s, %d changed", states(g), got)
	}
}
