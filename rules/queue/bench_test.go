package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

const crowd = 50_000

// BenchmarkOrder50k orders 50,000 pending requests, and reports how many times longer that takes than a
// plain sort of the same requests by creation time ("x-sort").
func BenchmarkOrder50k(b *testing.B) {
	for _, shape := range []struct {
		name    string
		entries []Entry
	}{
		{"flat", crowdOf(func(int) events.Tag { return "" })},
		{"chain", crowdOf(func(i int) events.Tag { return crowdTag(i - 1) })},
		{"mixed", mixedCrowd()},
	} {
		b.Run(shape.name, func(b *testing.B) {
			for b.Loop() {
				if got := len(Order(shape.entries, nil)); got != crowd {
					b.Fatalf("%d places, want %d", got, crowd)
				}
			}
			order := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(order)/float64(plainSort(shape.entries)), "x-sort")
		})
	}
}

// BenchmarkEstimate50k estimates 50,000 places of which each has 12 jobs on two lanes, and reports how many
// times longer that takes than a plain sort of the same requests ("x-sort").
func BenchmarkEstimate50k(b *testing.B) {
	entries := crowdOf(func(i int) events.Tag { return crowdTag(i - 1) })
	p := plan(work(set0), work(set1))
	for i := range 12 {
		e := doubtful(10, 1, i+1)
		e.Spread = time.Minute
		p.Lanes[i%2].Queued = append(p.Lanes[i%2].Queued, Job{Expected: e})
	}
	plans := make(map[events.RequestID]Plan, crowd)
	for _, e := range entries {
		plans[e.ID] = p
	}
	places := Order(entries, nil)
	for _, limit := range []int{1, 4} {
		b.Run(fmt.Sprintf("limit-%d", limit), func(b *testing.B) {
			for b.Loop() {
				if f := Estimate(places, plans, Farm{Now: epoch, MaxInProgress: limit}); f[crowd-1].EndLatest == nil {
					b.Fatal("the last place has no range")
				}
			}
			estimate := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(estimate)/float64(plainSort(entries)), "x-sort")
		})
	}
}

// plainSort returns the median of the times that sorting the entries alone takes.
func plainSort(entries []Entry) time.Duration {
	var times [5]time.Duration
	for i := range times {
		list := slices.Clone(entries)
		start := time.Now()
		sort.Slice(list, func(i, j int) bool { return list[i].CreatedAt.Before(list[j].CreatedAt) })
		times[i] = time.Since(start)
	}
	slices.Sort(times[:])
	return times[len(times)/2]
}

// crowdOf returns shuffled master requests, number i with the given parent.
func crowdOf(parent func(i int) events.Tag) []Entry {
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]Entry, crowd)
	for i := range list {
		e := made(master(crowdTag(i), parent(i), random.IntN(crowd)), random.IntN(crowd))
		e.ID = events.NewRequestID(e.Suite, e.Kind, string(e.Tag))
		list[i] = e
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func crowdTag(i int) events.Tag { return events.Tag(fmt.Sprintf("%040x", i+1)) }

// mixedCrowd holds every kind and state, chains of a hundred, chains below unknown parents, a cycle of a thousand, and
// requests below it.
func mixedCrowd() []Entry {
	list := crowdOf(func(i int) events.Tag {
		switch {
		case i < 1000:
			return crowdTag((i + 1) % 1000)
		case i < 2000:
			return crowdTag(i - 1000)
		case i%100 > 0:
			return crowdTag(i - 1)
		case i%200 == 0:
			return crowdTag(-2 - i)
		}
		return ""
	})
	for i := range list {
		switch e := &list[i]; {
		case i%50 == 0:
			e.Kind, e.Tag = events.Release, events.Tag(fmt.Sprintf("1.%d.%d", i/500, i%500))
			e.ReleasedOn = epoch.AddDate(0, 0, i%97)
		case i%50 == 1:
			e.Kind, e.State = events.Try, events.StateWaitingForArtifacts
		case i%5000 == 2:
			*e = started(*e, i)
		case i%3 == 0:
			e.Kind = events.Try
		}
	}
	return list
}
