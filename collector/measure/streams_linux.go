package measure

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// streams are the standard files of one command: pipes, of which the shim gets the far ends.
type streams struct {
	stdout, stderr *output
	// theirs are the far ends, in the order in which the shim expects them: stdout, stderr, and stdin if there is one. ours
	// are the near ends.
	theirs, ours []*os.File
	stdin        []byte
	copying      sync.WaitGroup
}

// outputRoom is how much a command may print before anybody reads it, in bytes: what the kernel gives to every user.
const outputRoom = 1 << 20

func openStreams(c Cmd) (*streams, error) {
	s := &streams{stdin: c.Stdin}
	s.stdout, s.stderr = newOutputs(c)
	pipes := 2
	if len(c.Stdin) > 0 {
		pipes = 3
	}
	for i := range pipes {
		near, far, err := os.Pipe()
		if err != nil {
			s.close()
			return nil, fmt.Errorf("make the pipes of the command: %w", err)
		}
		if i == 2 {
			near, far = far, near
		} else {
			// Who reads it is on a CPU only now and then. With less room, which the kernel has for users with many pipes, the
			// command may have to wait for that.
			_, _ = unix.FcntlInt(far.Fd(), unix.F_SETPIPE_SZ, outputRoom)
		}
		_ = unix.SetNonblock(int(far.Fd()), false) // commands expect files that block
		s.ours, s.theirs = append(s.ours, near), append(s.theirs, far)
	}
	return s, nil
}

// begin reads and writes, once the shim has its ends.
func (s *streams) begin() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
	s.theirs = nil
	s.copying.Go(func() { _, _ = s.stdout.ReadFrom(s.ours[0]) }) // after an error there is no more to read
	s.copying.Go(func() { _, _ = s.stderr.ReadFrom(s.ours[1]) })
	if len(s.ours) > 2 {
		s.copying.Go(func() {
			_, _ = s.ours[2].Write(s.stdin) // a command need not read all of it
			_ = s.ours[2].Close()
		})
	}
}

// wait waits until all output is read. Processes that still hold the pipes are not waited for longer than the delay after the
// last output. Who takes the lines may be slow.
func (s *streams) wait(delay time.Duration) {
	read := make(chan struct{})
	go func() {
		s.copying.Wait()
		close(read)
	}()
	for before := int64(-1); before != s.taken(); {
		before = s.taken()
		select {
		case <-read:
		case <-time.After(delay):
			continue
		}
		break
	}
	for _, f := range s.ours {
		_ = f.Close() // that of stdin may be closed
	}
	<-read
	s.stdout.end()
	s.stderr.end()
}

// taken returns how many bytes of output were read.
func (s *streams) taken() int64 { return s.stdout.taken.Load() + s.stderr.taken.Load() }

func (s *streams) close() {
	for _, f := range append(s.ours, s.theirs...) {
		_ = f.Close() // some are closed
	}
}
