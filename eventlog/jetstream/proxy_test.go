package jetstream_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy is between a client and a server. Once armed, it forwards the client's next bytes with the trigger, drops the
// server's bytes after that, and cuts the connection: the request arrives, but its answer is lost. It does so a number
// of times.
type proxy struct {
	listener net.Listener
	server   string
	wg       sync.WaitGroup

	mu      sync.Mutex
	trigger []byte
	times   int
	conns   map[net.Conn]bool
	cuts    int
	// old hides from the server what it is told of batches, as if it did not know them.
	old bool
}

func newProxy(t *testing.T, serverURL string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: strings.TrimPrefix(serverURL, "nats://"), conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

// arm makes the proxy lose the answers to the next messages with the trigger.
func (p *proxy) arm(trigger string, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger, p.times = []byte(trigger), times
}

// age makes the server one that knows no batches.
func (p *proxy) age() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.old = true
}

func (p *proxy) cutsSoFar() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		lost := make(chan struct{}) // closed when answers must be lost
		p.wg.Go(func() { p.forward(client, server, lost) })
		p.wg.Go(func() { p.back(server, client, lost) })
	}
}

// forward passes the client's bytes and looks for the trigger.
func (p *proxy) forward(client, server net.Conn, lost chan struct{}) {
	defer func() { _ = server.Close() }()
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.times > 0 && bytes.Contains(buf[:n], p.trigger) {
			p.times--
			p.cuts++
			select {
			case <-lost:
			default:
				close(lost)
			}
		}
		sent := buf[:n]
		if p.old {
			sent = bytes.ReplaceAll(sent, []byte("Nats-Batch-"), []byte("What-Batch-"))
		}
		p.mu.Unlock()
		if _, err := server.Write(sent); err != nil {
			return
		}
	}
}

// back passes the server's bytes. The first bytes that must be lost end the connection.
func (p *proxy) back(server, client net.Conn, lost chan struct{}) {
	defer func() { _ = client.Close() }()
	buf := make([]byte, 1<<20)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-lost:
			_ = server.Close()
			_, _ = io.Copy(io.Discard, server)
			return
		default:
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
