package fakegithub

import (
	"context"
	"net"
	"sync"
)

// pipes is a listener whose connections are pipes in memory.
type pipes struct {
	arriving chan net.Conn
	closed   chan struct{}
	close    func()
}

func newPipes() *pipes {
	p := &pipes{arriving: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// dial connects to the accepting side.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.arriving <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept waits for a dial.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.arriving:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the waiting of both sides.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr returns a fixed address: pipes have no real one.
func (p *pipes) Addr() net.Addr { return place{} }

type place struct{}

func (place) Network() string { return "pipe" }
func (place) String() string  { return "github.test:80" }
