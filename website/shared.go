package website

import (
	"context"
	"sync"
)

// shared answers all who ask for the same thing at about the same time with one read. Each answer was read after it was
// asked for, so nobody sees what was there before.
type shared[T any] struct {
	// turn holds a value while somebody reads.
	turn chan struct{}

	// mu guards the rest.
	mu sync.Mutex
	// begun counts the reads that began; done is the number of the one that value and err are of.
	begun, done uint64
	value       T
	err         error
}

func newShared[T any]() *shared[T] { return &shared[T]{turn: make(chan struct{}, 1)} }

// get returns what read returns, called by this caller or by another since get was called. A read that ended because
// its own caller left answers nobody else.
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
