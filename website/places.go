package website

import (
	"net/netip"
	"sync"
)

// bound says which bound is reached.
type bound string

const (
	// ofAddress bounds what one address may have; ofAll, what all may have together.
	ofAddress bound = "address"
	ofAll     bound = "all"
	// ofTurn bounds how long a read waits for its turn; ofMemory, how much is kept for slow readers.
	ofTurn   bound = "turn"
	ofMemory bound = "memory"
)

// places counts how much each address, and all together, have of something that is bounded.
type places struct {
	all, each int
	// few is how much an address may have while more than three quarters are taken. It keeps a few greedy addresses from
	// keeping out all others.
	few int

	// mu guards the rest.
	mu    sync.Mutex
	taken int
	by    map[netip.Addr]int
}

func newPlaces(all, each, few int) *places {
	return &places{all: all, each: each, few: few, by: map[netip.Addr]int{}}
}

// take takes n places. If it cannot, it returns the bound that is reached. The caller gives its places back.
func (p *places) take(who netip.Addr, n int) (reached bound, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	has := p.by[who]
	if has > 0 && has+n > p.each {
		return ofAddress, false
	}
	if p.taken > 0 && p.taken+n > p.all || p.taken >= p.all-p.all/4 && has >= p.few {
		return ofAll, false
	}
	p.taken += n
	p.by[who] = has + n
	return "", true
}

// give gives n places back.
func (p *places) give(who netip.Addr, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= n
	if p.by[who] -= n; p.by[who] == 0 {
		delete(p.by, who)
	}
}
