package blob

import (
	"context"
	"io"
	"sync"

	"github.com/tachobench/tacho/events"
)

// Memory is a Store in memory, for tests of what uses one.
type Memory struct {
	mu sync.Mutex
	// content is guarded by mu.
	content map[key][]byte
}

type key struct {
	lane   events.Lane
	digest events.Digest
}

// Put implements Store.
func (m *Memory) Put(_ context.Context, lane events.Lane, _ events.JobID, o events.Output, content io.Reader) error {
	data, err := io.ReadAll(Checked(o, content))
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.content == nil {
		m.content = map[key][]byte{}
	}
	m.content[key{lane, o.Digest}] = data
	return nil
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, lane events.Lane, o events.Output, to io.Writer) error {
	m.mu.Lock()
	data, ok := m.content[key{lane, o.Digest}]
	m.mu.Unlock()
	if !ok {
		return ErrMissing
	}
	_, err := to.Write(data)
	return err
}

// Drop removes an output, as a store does that needs the room.
func (m *Memory) Drop(lane events.Lane, digest events.Digest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.content, key{lane, digest})
}
