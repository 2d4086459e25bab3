// The scheduler has one goroutine: the race detector finds nothing in so many previews.

//go:build !race

package scheduler

import (
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// What a preview shows is what the scheduler makes, at every moment of a request, also long after its jobs have left the
// memory: with its token as expectation the wish is carried out, and a wish that is refused was refused before.
func TestAPreviewIsWhatIsMade(t *testing.T) {
	wishes := []events.GraphWanted{
		{Kind: events.GraphRetrigger},
		{Kind: events.GraphRetrigger, Copies: 3, Where: []string{"kind=b"}, Downstream: events.DownstreamAll},
		{Kind: events.GraphRetrigger, Where: []string{"kind=c"}, Downstream: events.DownstreamNeeded},
		{Kind: events.GraphRetrigger, Where: []string{"kind=x"}},
		{Kind: events.GraphRetrigger, Benchmarks: []string{"nobody"}},
		{Kind: events.GraphRetrigger, Select: []events.JobID{"j00"}},
		{Kind: events.GraphNoise, Copies: 2},
		{Kind: events.GraphNoise, Where: []string{"kind=a,b"}},
		{Kind: events.GraphRepair},
		{Kind: events.GraphRepair, Where: []string{"kind=a"}},
		{Kind: events.GraphRerun},
		{Kind: events.GraphRerun, Where: []string{"state=success"}, Force: true, Reason: "it looks odd"},
		{Kind: events.GraphRetrigger, Iterations: 30},
		{Kind: events.GraphAdded, Where: []string{"name=*"}},
		{Kind: events.GraphAdded, Labels: []string{"x/here/0/b/p"}},
		{Kind: events.GraphAdded, Labels: []string{"y/here/0/b/p"}},
	}
	d := kinds("a b:a c:b n|a x:b! y:x!")
	for i := range d.Kinds {
		d.Kinds[i].Backfill = true
	}
	for i, wish := range wishes {
		made, refused := 0, 0
		for steps := 0; steps < 24; steps += previewEvery {
			f := newGraphFarm(t, d)
			f.ends["a"], f.dies = "+-+", steps%4 == 0
			f.ask("t1", "", events.Master)
			f.settle()
			id := f.ask("t2", "t1", events.Master)
			for n := steps; n > 0 && (f.decide() || f.work()); n-- {
			}
			if f.state.Requests[id].StartedAt.IsZero() {
				continue
			}
			wish := wish
			wish.RequestID, wish.Key = id, "k"
			checked, err := request.CheckWish(wish)
			if err != nil {
				t.Fatal(err)
			}
			shown := Preview(f.state.Ledger, id, checked, Policy{})
			if len(f.state.Requests[id].Wishes) > 0 {
				t.Fatal("a preview leaves a wish")
			}
			wish.Expect = shown.Token
			if why := f.wish(id, wish); why != "" {
				t.Fatal(why)
			}
			before := len(f.log)
			for f.refused() == "" && len(f.answers(before)) == 0 {
				f.step()
			}
			if got := f.refused(); got != shown.Refused {
				t.Errorf("wish %d after %d steps is refused with %q, and the preview said %q", i, steps, got, shown.Refused)
			}
			if got, want := len(f.answers(before)), len(shown.Jobs)*max(checked.Copies, 1); shown.Refused == "" && got != want {
				t.Errorf("wish %d after %d steps makes %d jobs, and the preview said %d", i, steps, got, want)
			}
			if shown.Refused == "" {
				made++
			} else {
				refused++
			}
		}
		t.Logf("wish %d: made %d times, refused %d times", i, made, refused)
		if made+refused == 0 {
			t.Errorf("wish %d was never asked for", i)
		}
	}
}
