package website

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// turns lets a bounded number of requests do something at once. The others wait, each address in a line of its own.
// The lines are served in turn: a single request waits for one request of each other address, however many those have.
type turns struct {
	// mu guards the rest.
	mu   sync.Mutex
	free int
	// lines are the waiting requests, oldest first. order has the address of each line, the one to serve next first.
	lines map[netip.Addr][]chan struct{}
	order []netip.Addr
	// waiting is the number of requests in all lines.
	waiting int

	// yieldTo are turns that go first: while a request waits there, each turn here is followed by a pause as long as the
	// turn was, at most longestPause. It is set before the first turn; nil means none.
	yieldTo *turns
}

// longestPause bounds the pause after a turn.
const longestPause = 100 * time.Millisecond

func newTurns(atOnce int) *turns {
	return &turns{free: atOnce, lines: map[netip.Addr][]chan struct{}{}}
}

// take waits for a turn, or returns the cause of the end of ctx. The caller ends its turn by calling done, once.
func (t *turns) take(ctx context.Context, who netip.Addr) (done func(), err error) {
	if err := t.wait(ctx, who); err != nil {
		return nil, err
	}
	began := time.Now()
	return func() {
		if t.yieldTo == nil || t.yieldTo.length() == 0 {
			t.give()
			return
		}
		time.AfterFunc(min(time.Since(began), longestPause), t.give)
	}, nil
}

func (t *turns) wait(ctx context.Context, who netip.Addr) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	called := make(chan struct{})
	if t.lines[who] == nil {
		t.order = append(t.order, who)
	}
	t.lines[who] = append(t.lines[who], called)
	t.waiting++
	t.mu.Unlock()
	select {
	case <-called:
		return nil
	case <-ctx.Done():
	}
	if !t.leave(who, called) {
		t.give() // it was called at this very moment
	}
	return context.Cause(ctx)
}

// leave takes a request out of its line. It returns false if its turn has come.
func (t *turns) leave(who netip.Addr, called chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.lines[who], called)
	if i < 0 {
		return false
	}
	t.waiting--
	if t.lines[who] = slices.Delete(t.lines[who], i, i+1); len(t.lines[who]) == 0 {
		delete(t.lines, who)
		t.order = slices.DeleteFunc(t.order, func(a netip.Addr) bool { return a == who })
	}
	return true
}

// give ends a turn: the first request of the next line gets it.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	who := t.order[0]
	t.order = t.order[1:]
	line := t.lines[who]
	close(line[0])
	t.waiting--
	if len(line) == 1 {
		delete(t.lines, who)
		return
	}
	t.lines[who] = line[1:]
	t.order = append(t.order, who)
}

// length returns how many requests wait.
func (t *turns) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting
}
