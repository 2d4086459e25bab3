// Package freeport gives tests ports that nobody else takes before their servers listen there.
//
// A port that the kernel chose and that was given back may be anybody's next: the kernel gives it to the next connection that
// goes out. So these ports are none that the kernel chooses. Each is marked for the life of the process by a socket for
// datagrams, which keeps nobody from listening for connections. Every process that asks here sees the mark.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
)

// first and last bound the ports. Those below first belong to known services.
const first, last = 10_000, 65_535

// Addresses returns n addresses of this machine on which nothing listens. No later call returns one of them, in this process
// or another one, while this process lives.
func Addresses(n int) (addrs []string, err error) {
	low, high := chosen()
	for _, i := range rand.Perm(last - first + 1) {
		if len(addrs) == n {
			break
		}
		port := first + i
		if low <= port && port <= high {
			continue
		}
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		l, listenErr := net.Listen("tcp", addr)
		if listenErr != nil {
			err = listenErr // somebody has it
			continue
		}
		// It is marked while nobody else can listen there.
		markErr := mark(port)
		if err = errors.Join(markErr, l.Close()); err == nil {
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) < n {
		return nil, fmt.Errorf("find free ports outside of %d to %d: %w", low, high, err)
	}
	return addrs, nil
}

// chosen returns the bounds of the ports that the kernel chooses.
func chosen() (low, high int) {
	low, high = 32_768, last // of Linux, and what others choose
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(text), &low, &high)
	}
	if err != nil {
		return 32_768, last
	}
	return low, high
}

// mark marks a port as taken until the process ends. The socket is not a net.Conn, which the garbage collector closes.
func mark(port int) error {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return errors.Join(err, syscall.Close(fd))
	}
	return nil
}
