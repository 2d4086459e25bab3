package scheduler

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

func TestSamplesWaitWithWhatTheyNeed(t *testing.T) {
	f := newGraphFarm(t, kinds("a b:a c:b"))
	f.ends["a"] = "-"
	id := f.ask("t1", "", events.Master)
	for len(f.state.Graphs) == 0 || f.state.Owed > 0 {
		f.step()
	}
	if why := f.wish(id, events.GraphWanted{Kind: events.GraphRetrigger, Where: []string{"kind=c"}, Downstream: events.DownstreamNeeded}); why != "" {
		t.Fatal(why)
	}
	f.settle()
	f.agree()
	if got := strings.Join(f.ran, " "); got != "a" {
		t.Errorf("ran %s, want a alone: b and both c need it", got)
	}
}
