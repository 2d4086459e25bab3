package door

import "sync"

// stayers is how many goroutines wait for work at most when there is none.
const stayers = 256

// hands are goroutines that stay for the next work: the stack of a new one would grow several times in each request, which took a
// twentieth of the time of all. There are as many as there is work under way, so no work waits for another one's end.
type hands struct {
	all  sync.WaitGroup
	next chan func()
	// mu guards ended: no work begins any more.
	mu    sync.RWMutex
	ended bool
	// waiting has a token for each goroutine that waits, and over is closed when they should end.
	waiting, over chan struct{}
}

func newHands() *hands {
	return &hands{next: make(chan func()), waiting: make(chan struct{}, stayers), over: make(chan struct{})}
}

// do begins work and returns at once; false means that it does not begin, since all is at an end.
func (h *hands) do(work func()) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.ended {
		return false
	}
	select {
	case h.next <- work:
	default:
		h.all.Go(func() {
			for work != nil {
				work()
				work = h.wait()
			}
		})
	}
	return true
}

// wait returns the next work; nil if enough others wait already, or in the end.
func (h *hands) wait() func() {
	select {
	case h.waiting <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-h.waiting }()
	select {
	case work := <-h.next:
		return work
	case <-h.over:
		return nil
	}
}

// end waits until all work is done. Call it once.
func (h *hands) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	close(h.over)
	h.all.Wait()
}
