package queue

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// numbered is a job of some minutes with a number, which waits for others.
func numbered(number, minutes int, after ...int) Job {
	return Job{Expected: expected(minutes), Number: number, After: after}
}

func TestEstimateOfJobsThatWait(t *testing.T) {
	running, a := started(master("run", "", 0), 0), master("a", "", 1)
	set := func(l events.Lane, jobs ...Job) LaneWork { return LaneWork{Lane: l, Queued: jobs} }
	behind := busy(set0, 0, 20)
	behind.Running.Number = 1
	gone := set(set1, numbered(2, 30))
	gone.Unmanned = true
	for _, test := range []struct {
		name string
		plan Plan
		want []int
	}{
		{"a chain over two lanes", plan(set(set0, numbered(1, 10)), set(set1, numbered(2, 20, 1))), []int{30, 35}},
		{"another one goes first meanwhile", plan(set(set0, numbered(1, 10)), set(set1, numbered(2, 20, 1), numbered(3, 5))), []int{30, 35}},
		{"one that began before it is not stopped", plan(set(set0, numbered(1, 10)), set(set1, numbered(2, 20, 1), numbered(3, 25))), []int{45, 50}},
		{"it waits for a running one", plan(behind, set(set1, numbered(2, 20, 1))), []int{40, 45}},
		{"what it waited for has ended", plan(set(set0, numbered(1, 10, 7)), set(set1, numbered(2, 20))), []int{20, 25}},
		{"the first of two that wait for the same", plan(set(set0, numbered(1, 10)), set(set1, numbered(2, 20, 1), numbered(3, 5, 1, 2))), []int{35, 40}},
		{"an optional one is not waited for", plan(set(set0, numbered(1, 10)), set(set1, Job{Expected: expected(20), Optional: true, After: []int{1}})), []int{10, 35}},
		{"unknown lengths", plan(set(set0, numbered(1, -1)), set(set1, numbered(2, 20, 1))), []int{40, 45}},
		{"a lane without a collector", plan(set(set0, numbered(1, 10, 2)), gone), []int{-1, -1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			plans := map[events.RequestID]Plan{"run": test.plan, "a": plan(jobs(set1, 5))}
			var got []int
			for _, f := range Estimate(Order([]Entry{running, a}, nil), plans, Farm{Now: epoch, MaxInProgress: 1}) {
				if f.End == nil {
					got = append(got, -1)
					continue
				}
				got = append(got, int(f.End.Sub(epoch)/time.Minute))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("minutes until the ends (-want +got):\n%s", diff)
			}
		})
	}
}

// A plan whose jobs wait for none ends at the same time however it is played, and no need makes it end earlier than its
// longest chain.
func TestPlaysOfNeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var p Plan
		path, longest := map[int]int{}, 0
		lanes := []LaneWork{{Lane: set0}, {Lane: set1}}
		for number := 1; number <= 1+r.IntN(12); number++ {
			minutes := r.IntN(30)
			path[number] = minutes
			j := numbered(number, minutes)
			for range r.IntN(3) {
				if on := 1 + r.IntN(number); on < number {
					j.After = append(j.After, on)
					path[number] = max(path[number], path[on]+minutes)
				}
			}
			longest = max(longest, path[number])
			w := &lanes[r.IntN(2)]
			w.Queued = append(w.Queued, j)
		}
		p.Lanes = lanes
		play := func() (time.Time, map[events.Lane]point) {
			s := newSimulation(epoch)
			return s.workInTurn(p, time.Minute, sure(epoch)).at, s.free
		}
		end, _ := play()
		if least := epoch.Add(time.Duration(longest) * time.Minute); end.Before(least) {
			t.Fatalf("it ends at %v, and its longest chain not before %v", end, least)
		}
		for i := range p.Lanes {
			for k := range p.Lanes[i].Queued {
				p.Lanes[i].Queued[k].After = nil
			}
		}
		end, free := play()
		s := newSimulation(epoch)
		if want := s.work(p, time.Minute, sure(epoch)).at; !end.Equal(want) {
			t.Fatalf("without needs it ends at %v, want %v", end, want)
		}
		for lane, want := range s.free {
			if !free[lane].at.Equal(want.at) {
				t.Fatalf("%s is free at %v, want %v", lane, free[lane].at, want.at)
			}
		}
	})
}
