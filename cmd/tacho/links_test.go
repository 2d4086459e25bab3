package main

import (
	"net"
	"os/exec"
	"sync"
	"testing"
)

// links are the paths between the nodes of a cluster, and between a node and everything else.
type links interface {
	// listens returns where node i listens, for clients and for the other nodes.
	listens(i int) (client, route string)
	// client returns where clients reach node i.
	client(i int) string
	// route returns where node i reaches node j.
	route(i, j int) string
	// command returns a command that runs where node i is.
	command(i int, name string, args ...string) *exec.Cmd
	// cut cuts node i off from everything else, both ways, or joins it again. Connections stay open on both sides.
	cut(i int, off bool)
}

// wires are links in this process, which any machine allows: everything that reaches a node passes a relay.
type wires struct {
	direct [3][2]string
	gates  [3]gate
	to     [3]*relay
	routes [3][3]*relay
}

func newWires(t *testing.T) *wires {
	t.Helper()
	w := &wires{}
	for i := range w.direct {
		w.direct[i] = [2]string{freePort(t), freePort(t)}
	}
	for i := range w.direct {
		w.to[i] = newRelay(t, w.direct[i][0], &w.gates[i])
		for j := range w.direct {
			if i != j {
				w.routes[i][j] = newRelay(t, w.direct[j][1], &w.gates[i], &w.gates[j])
			}
		}
	}
	t.Cleanup(func() { // before the relays end: those that wait at a gate must go on
		for i := range w.gates {
			w.gates[i].set(false)
		}
	})
	return w
}

func (w *wires) listens(i int) (client, route string) { return w.direct[i][0], w.direct[i][1] }
func (w *wires) client(i int) string                  { return w.to[i].address() }
func (w *wires) route(i, j int) string                { return w.routes[i][j].address() }
func (w *wires) cut(i int, off bool)                  { w.gates[i].set(off) }

func (w *wires) command(_ int, name string, args ...string) *exec.Cmd {
	return exec.Command(name, args...)
}

// gate lets everything through until it is shut. The zero value is open.
type gate struct {
	mu sync.Mutex
	// shut is closed when the gate opens; nil while it is open.
	shut chan struct{}
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut && g.shut == nil:
		g.shut = make(chan struct{})
	case !shut && g.shut != nil:
		close(g.shut)
		g.shut = nil
	}
}

// pass waits until the gate is open.
func (g *gate) pass() {
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return
		}
		<-shut
	}
}

// relay passes bytes between those who connect to it and an address, while all its gates are open.
type relay struct {
	listener net.Listener
	to       string
	gates    []*gate
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	ended bool
}

func newRelay(t *testing.T, to string, gates ...*gate) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, to: to, gates: gates, conns: map[net.Conn]bool{}}
	r.wg.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

func (r *relay) address() string { return r.listener.Addr().String() }

func (r *relay) close() {
	_ = r.listener.Close() // it may be closed
	r.mu.Lock()
	r.ended = true
	for c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// keep notes a connection, which the end of the relay closes. It returns false after that end.
func (r *relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		_ = c.Close()
		return false
	}
	r.conns[c] = true
	return true
}

func (r *relay) drop(c net.Conn) {
	_ = c.Close() // the other direction may have closed it
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

func (r *relay) pass() {
	for _, g := range r.gates {
		g.pass()
	}
}

func (r *relay) accept() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return
		}
		if r.keep(from) {
			r.wg.Go(func() { r.join(from) })
		}
	}
}

func (r *relay) join(from net.Conn) {
	r.pass()
	to, err := net.Dial("tcp", r.to)
	if err != nil {
		r.drop(from)
		return
	}
	if !r.keep(to) {
		r.drop(from)
		return
	}
	r.wg.Go(func() { r.copy(from, to) })
	r.copy(to, from)
}

// copy passes what comes from one side to the other, and ends both with either.
func (r *relay) copy(to, from net.Conn) {
	defer r.drop(to)
	defer r.drop(from)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			r.pass()
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			r.pass() // the end of a connection needs the path, too
			return
		}
	}
}
