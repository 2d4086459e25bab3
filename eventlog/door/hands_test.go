package door

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/internal/ratio"
)

// Work that waits for other work does not keep it from being begun, and all of it is done in the end.
func TestHandsWaitForNobody(t *testing.T) {
	h := newHands()
	var done atomic.Int64
	const rounds, together = 20, 3 * stayers
	for range rounds {
		var met, gone sync.WaitGroup
		met.Add(together)
		for range together {
			gone.Add(1)
			h.do(func() {
				defer gone.Done()
				met.Done()
				met.Wait()
				done.Add(1)
			})
		}
		gone.Wait()
	}
	for range together {
		h.do(func() { done.Add(1) })
	}
	h.end()
	if n := done.Load(); n != (rounds+1)*together {
		t.Errorf("%d are done, want %d", n, (rounds+1)*together)
	}
}

// Work that is offered while all ends is either done before the end, or not begun.
func TestHandsEndAmidWork(t *testing.T) {
	for range 200 {
		h := newHands()
		var begun, done atomic.Int64
		var offering sync.WaitGroup
		for range 4 {
			offering.Go(func() {
				for h.do(func() { done.Add(1) }) {
					begun.Add(1)
				}
			})
		}
		h.end()
		n := done.Load()
		offering.Wait()
		if done.Load() != n || begun.Load() != n {
			t.Fatalf("%d were done at the end, %d later; %d were begun", n, done.Load(), begun.Load())
		}
	}
}

// deep uses some 16 KB of stack, as reading a request does.
func deep(n int) (sum byte) {
	var frame [512]byte
	if n > 0 {
		frame[n] = deep(n - 1)
	}
	for _, b := range frame {
		sum += b
	}
	return sum + 1
}

// BenchmarkHands does work that needs some stack, and again in goroutines of its own: "of-new" is what part of their time it takes.
func BenchmarkHands(b *testing.B) {
	each := func(begin func(func())) time.Duration {
		began, done := time.Now(), make(chan struct{})
		for range 20_000 {
			begin(func() { deep(24); done <- struct{}{} })
			<-done
		}
		return time.Since(began)
	}
	for b.Loop() {
		h := newHands()
		stay := each(func(work func()) { h.do(work) })
		h.end()
		ratio.AtMost(b, "of-new", float64(stay)/float64(each(func(work func()) { go work() })), 0.8)
	}
}
