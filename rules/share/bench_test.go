package share_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/ratio"
	"github.com/tachobench/tacho/rules/share"
)

// BenchmarkPick picks a job and charges it, with as many accounts as leaves. Each waits for one of the classes (one) or
// for all of them (all); the lane serves all. It reports the median ("p50-ns"), and how many times longer it takes than
// to pop from a plain heap of this size and push again ("x-heap").
func BenchmarkPick(b *testing.B) {
	for _, shape := range []string{"one", "all"} {
		for _, classes := range []int{1, 64} {
			for _, leaves := range []int{1000, 100_000} {
				if shape == "all" && (classes == 1 || leaves > 1000) {
					continue
				}
				b.Run(fmt.Sprintf("waits=%s/classes=%d/leaves=%d", shape, classes, leaves), func(b *testing.B) {
					each := 1
					if shape == "all" {
						each = classes
					}
					s, serves := crowd(leaves, classes, each, func(i int) events.QueueName { return events.QueueName(fmt.Sprint("q", i%20)) })
					turn := func() {
						c, _ := s.Pick(expectMinute, serves...)
						s.Serve(c.Leaf, minute, c.Waiting)
						s.End(c.Leaf)
					}
					for range leaves { // not all starts are equal any more
						turn()
					}
					took := make([]time.Duration, 0, 1<<20)
					for b.Loop() {
						begin := time.Now()
						turn()
						took = append(took, time.Since(begin))
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
					b.ReportMetric(float64(b.Elapsed())/float64(b.N)/plainHeap(leaves), "x-heap")
				})
			}
		}
	}
}

// BenchmarkClasses gives one account a job of each class and takes it away again, in any order: "x-few" says how many times longer a
// job of 100,000 classes takes than one of 100. The caches of the processor are a part of it.
func BenchmarkClasses(b *testing.B) {
	each := func(classes int) float64 {
		t, order := share.New(), rand.New(rand.NewPCG(1, 2)).Perm(classes)
		l, item, jobs := own("one"), share.Item{ID: "r"}, 0
		began := time.Now()
		for ; jobs < 400_000; jobs += classes {
			for i := range classes {
				t.Add(l, share.Class(i), item)
			}
			for _, c := range order {
				t.Remove(l, share.Class(c), item)
			}
		}
		return float64(time.Since(began)) / float64(jobs)
	}
	for b.Loop() {
		few, many := each(100), each(100_000)
		b.ReportMetric(many, "ns/job")
		ratio.AtMost(b, "x-few", many/few, 6)
	}
}

func expectMinute(share.Choice) int64 { return minute }

// crowd is a tree in which each of the accounts waits for so many of the classes.
func crowd(leaves, classes, each int, queue func(int) events.QueueName) (*share.Tree, []share.Class) {
	t := share.New()
	serves := make([]share.Class, classes)
	for i := range serves {
		serves[i] = share.Class(i)
	}
	for i := range leaves {
		l := in(queue(i), events.AccountName(fmt.Sprint("account-", i)))
		t.SetAccount(l.Account, share.Account{Weight: 1 + i%7})
		for k := range each {
			t.Add(l, serves[(i/20+k)%classes], share.Item{ID: events.RequestID(l.Account)})
		}
	}
	return t, serves
}

type numbers []int64

func (h numbers) Len() int           { return len(h) }
func (h numbers) Less(i, k int) bool { return h[i] < h[k] }
func (h numbers) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *numbers) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *numbers) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	*h = (*h)[:last]
	return n
}

// plainHeap returns how long a pop and a push take on a heap of this size, in nanoseconds.
func plainHeap(size int) float64 {
	h := make(numbers, size)
	for i := range h {
		h[i] = int64(i)
	}
	const rounds = 100_000
	begin := time.Now()
	for range rounds {
		heap.Push(&h, heap.Pop(&h).(int64)+int64(size))
	}
	return float64(time.Since(begin)) / rounds
}

// The tree adds little to what waits: to each leaf with one item, and to each further item of a leaf.
func TestMemoryOfWhatWaits(t *testing.T) {
	const count = 100_000
	leaves, items := make([]share.Leaf, count), make([]share.Item, count)
	for i := range count {
		leaves[i] = in("shared", events.AccountName(fmt.Sprint("account-", i)))
		items[i] = share.Item{Keys: [3]int64{int64(i)}, ID: events.RequestID(fmt.Sprint("request-", i))}
	}
	for _, c := range []struct {
		name string
		most uint64
		add  func(*share.Tree, int)
	}{
		{"leaf with an item", 320, func(t *share.Tree, i int) { t.Add(leaves[i], 0, items[i]) }},
		{"item", 100, func(t *share.Tree, i int) { t.Add(leaves[0], 0, items[i]) }},
		{"job", 2, func(t *share.Tree, _ int) { t.Add(leaves[0], 0, items[0]) }},
	} {
		before := heapInUse()
		tree := share.New()
		for i := range count {
			c.add(tree, i)
		}
		each := (heapInUse() - before) / count
		t.Logf("%s: %d B", c.name, each)
		if each > c.most {
			t.Errorf("a %s takes %d bytes, more than %d", c.name, each, c.most)
		}
		runtime.KeepAlive(tree)
	}
}

// A tree through which much has gone is as small as a new one.
func TestMemoryFollowsWhatIsAlive(t *testing.T) {
	s := newSite(1)
	s.wait(own("always"), 0, 1)
	serve := func(from, count int) {
		for i := range count {
			s.wait(own(events.AccountName(fmt.Sprint("account-", from+i))), 0, 1)
		}
		for range count + 10 {
			if s.next(t).Leaf.Account == "always" {
				s.wait(own("always"), 0, 1)
			}
		}
	}
	serve(0, 10)
	before := heapInUse()
	for i := range 20 {
		serve(i*1000, 1000)
	}
	if n := len(s.Nodes()); n > 10 {
		t.Errorf("%d nodes are left", n)
	}
	if after := heapInUse(); after > before+200<<10 {
		t.Errorf("%d bytes are left", int64(after-before))
	}
	runtime.KeepAlive(s)
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
