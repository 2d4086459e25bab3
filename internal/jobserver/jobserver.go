// Package jobserver is a jobserver of GNU make: it bounds how many programs the children of one command run at once.
//
// A jobserver for k tokens is a pipe with k-1 bytes: the command itself has one token without taking it. A child that wants to
// run one more program reads a byte, and writes it back when the program has ended. make and cargo do so, and so do
// compilers and linkers that know the protocol.
//
// Each command gets a pipe of its own. A command that is killed takes what it had with it, and the next one begins with all
// tokens. The other form of the protocol, a named pipe (fifo:PATH), is never used: make 4.3 and older do not know it, and
// it has no advantage over a pipe where all children inherit their files.
package jobserver

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mostTokens is what fits into a pipe on every system.
const mostTokens = 4096

// Server is the jobserver of one command.
type Server struct {
	tokens      int
	read, write *os.File
}

// New returns a jobserver with so many tokens, at least 1.
func New(tokens int) (*Server, error) {
	if tokens < 1 || tokens > mostTokens {
		return nil, fmt.Errorf("a jobserver with %d tokens: use 1 to %d", tokens, mostTokens)
	}
	var fds [2]int
	// Children share the flags of the pipe. Some of them read as if it were blocking, so it must be.
	if err := unix.Pipe(fds[:]); err != nil {
		return nil, fmt.Errorf("make the pipe of a jobserver: %w", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	s := &Server{tokens: tokens, read: os.NewFile(uintptr(fds[0]), "jobserver"), write: os.NewFile(uintptr(fds[1]), "jobserver")}
	if _, err := s.write.Write([]byte(strings.Repeat("+", tokens-1))); err != nil {
		return nil, errors.Join(fmt.Errorf("fill the pipe of a jobserver: %w", err), s.close())
	}
	return s, nil
}

// Files returns what a child must inherit, in this order.
func (s *Server) Files() []*os.File { return []*os.File{s.read, s.write} }

// Env returns the variables that tell a child about the jobserver, if the first of the files is its descriptor first.
func (s *Server) Env(first int) []string {
	auth := fmt.Sprintf("--jobserver-auth=%d,%d", first, first+1)
	return []string{
		fmt.Sprintf("MAKEFLAGS= -j%d %s", s.tokens, auth),
		// Old versions of cargo know only the old name.
		fmt.Sprintf("CARGO_MAKEFLAGS=-j%d --jobserver-fds=%d,%d %s", s.tokens, first, first+1, auth),
	}
}

// Close ends the jobserver, when no process is left that could use it. It returns how many tokens were not given back, and
// how many were written that no child had taken.
func (s *Server) Close() (missing, surplus int, err error) {
	found, err := s.count()
	if err := errors.Join(err, s.close()); err != nil {
		return 0, 0, err
	}
	return max(s.tokens-1-found, 0), max(found-(s.tokens-1), 0), nil
}

func (s *Server) close() error { return errors.Join(s.read.Close(), s.write.Close()) }

// count takes all bytes out of the pipe.
func (s *Server) count() (int, error) {
	fd := int(s.read.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		return 0, fmt.Errorf("count the tokens of a jobserver: %w", err)
	}
	found := 0
	for buffer := make([]byte, 4096); ; {
		n, err := unix.Read(fd, buffer)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return found, nil
		case err != nil:
			return 0, fmt.Errorf("count the tokens of a jobserver: %w", err)
		default:
			found += n
		}
	}
}

// Variables are those by which a process learns of a jobserver, or of other arguments for make. A service passes none of
// them on: the jobserver of the one that started it may be gone, or bound something else.
func Variables() []string {
	return []string{"MAKEFLAGS", "CARGO_MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKELEVEL"}
}

// Inherited returns which of them an environment has.
func Inherited(environ []string) []string {
	var found []string
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(Variables(), name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
