package website

import (
	recency "container/list"
	"sync"
)

// kept holds what was made lately, within bounds: so many entries, and so many bytes. What was used longest ago leaves first.
type kept[T any] struct {
	entries, bytes int

	// mu guards the rest.
	mu    sync.Mutex
	by    map[string]*recency.Element
	order recency.List // of *keptEntry[T], the last used first
	size  int
}

type keptEntry[T any] struct {
	key   string
	value T
	size  int
}

func newKept[T any](entries, bytes int) *kept[T] {
	return &kept[T]{entries: entries, bytes: bytes, by: map[string]*recency.Element{}}
}

// get returns the value of a key if it is there.
func (k *kept[T]) get(key string) (value T, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.by[key]
	if !ok {
		return value, false
	}
	k.order.MoveToFront(e)
	return e.Value.(*keptEntry[T]).value, true
}

// put keeps a value of about so many bytes. One that takes more than half of all room is not kept, nor is a second one of a key.
func (k *kept[T]) put(key string, value T, size int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, twice := k.by[key]; twice || size > k.bytes/2 {
		return
	}
	k.by[key] = k.order.PushFront(&keptEntry[T]{key, value, size})
	for k.size += size; k.size > k.bytes || len(k.by) > k.entries; {
		last := k.order.Remove(k.order.Back()).(*keptEntry[T])
		delete(k.by, last.key)
		k.size -= last.size
	}
}
