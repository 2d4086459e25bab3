package eventlogtest

import (
	"bytes"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// Mortal is a dialer of NATS for processes that tests kill: its connections kill their own process before it says something
// for the nth time, counted down in Left.
type Mortal struct{ Left *atomic.Int64 }

// Dial implements nats.CustomDialer.
func (m Mortal) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return mortal{c, m.Left}, err
}

type mortal struct {
	net.Conn
	left *atomic.Int64
}

// Write implements net.Conn.
func (m mortal) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("PUB ")) && m.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // of itself, which cannot fail
		select {}
	}
	return m.Conn.Write(p)
}
