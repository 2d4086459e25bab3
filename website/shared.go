package website

import (
	"context"
	"sync"
)

// shared gives all who ask for the same thing at about the same time the answer of one read. Each caller gets a read
// that began after it asked, so no answer is older than its question.
type shared[T any] struct {
	// turn holds a value while a caller reads.
	turn chan struct{}

	// mu guards the rest.
	mu sync.Mutex
	// begun counts the reads that began; done is the number of the read that gave value and err.
	begun, done uint64
	value       T
	err         error
}

func newShared[T any]() *shared[T] { return &shared[T]{turn: make(chan struct{}, 1)} }

// get returns the result of read, called by this caller or by another one after this call of get. If the caller of a
// read leaves, its result is given to no other.
func (s *shared[T]) get(ctx context.Context, read func() (T, error)) (T, error) {
	s.mu.Lock()
	fresh := s.begun + 1
	s.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	s.mu.Lock()
	if s.done >= fresh {
		defer s.mu.Unlock()
		return s.value, s.err
	}
	s.begun++
	number := s.begun
	s.mu.Unlock()
	value, err := read()
	if ctx.Err() != nil {
		return value, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.err, s.done = value, err, number
	return value, err
}
