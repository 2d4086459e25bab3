package measure

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Shims are shims that stay from one command to the next, so that their start is paid once. The zero value is ready. Several
// goroutines may use it: each command has a shim of its own. Close ends them.
type Shims struct {
	mu     sync.Mutex
	idle   []*shim
	closed bool
}

// take returns an idle shim, nil if there is none of that kind. A nil receiver has none.
func (k *Shims) take(noNet bool) *shim {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.idle, func(s *shim) bool { return s.noNet == noNet })
	if i < 0 {
		return nil
	}
	s := k.idle[i]
	k.idle = slices.Delete(k.idle, i, i+1)
	return s
}

// keep keeps a shim that has nothing to do, or ends it. A nil receiver keeps none.
func (k *Shims) keep(s *shim) {
	if k != nil && !s.spent.Load() && k.add(s) {
		return
	}
	_ = s.end() // it was killed
}

func (k *Shims) add(s *shim) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.idle = append(k.idle, s)
	}
	return !k.closed
}

// Close ends the shims that have nothing to do, and lets none of the others stay.
func (k *Shims) Close() {
	k.mu.Lock()
	idle := k.idle
	k.idle, k.closed = nil, true
	k.mu.Unlock()
	for _, s := range idle {
		_ = s.end()
	}
}

// shim is a started shim, as the collector sees it.
type shim struct {
	cmd *exec.Cmd
	// conn is the socket, on which orders go one way, each after a byte that has its files, and reports the other.
	conn    *net.UnixConn
	orders  *gob.Encoder
	reports *gob.Decoder
	// said is what it prints itself.
	said *output
	// noNet says that it was made for commands without a network. loopback: it has a network namespace of its own. noNetwork
	// says why it has none although it should; empty when all is well.
	noNet, loopback bool
	noNetwork       string
	// spent says that it can have no more orders: it was told to stop, or killed.
	spent atomic.Bool
}

// startShim starts a shim. If its commands must have no network and the machine allows it, the shim gets a network namespace
// of its own.
func (r *Runner) startShim(noNet bool) (*shim, error) {
	var refusals []error
	if noNet {
		for _, attr := range isolated() {
			s, err := r.tryShim(attr)
			if err == nil {
				s.noNet, s.loopback = true, true
				return s, nil
			}
			refusals = append(refusals, err)
		}
	}
	s, err := r.tryShim(&syscall.SysProcAttr{})
	if err != nil {
		return nil, fmt.Errorf("start the measuring process: %w", err)
	}
	s.noNet = noNet
	if len(refusals) > 0 {
		s.noNetwork = "refused: start the measuring process: " + refusals[len(refusals)-1].Error()
	}
	return s, nil
}

// isolated returns the ways to get a network namespace, best first. Root just makes one. Any other user, and a root
// without that right, needs a user namespace around it, in which the user keeps his id.
func isolated() []*syscall.SysProcAttr {
	var ways []*syscall.SysProcAttr
	if os.Geteuid() == 0 {
		ways = append(ways, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET})
	}
	return append(ways, &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWNET | unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		// The shim needs this right to switch on the loopback, and drops it before it forks the command.
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
	})
}

func (r *Runner) tryShim(attr *syscall.SysProcAttr) (*shim, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "shim"), os.NewFile(uintptr(pair[1]), "collector")
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	connection, err := net.FileConn(ours) // a copy
	if err != nil {
		return nil, err
	}
	conn, ok := connection.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a socket of type %T", connection), connection.Close())
	}
	s := &shim{conn: conn, orders: gob.NewEncoder(conn), reports: gob.NewDecoder(conn)}
	_, s.said = newOutputs(Cmd{})
	// A group of its own, so that an interrupt typed at the terminal reaches only the collector.
	attr.Setpgid = true
	s.cmd = &exec.Cmd{
		// Not the path: if the program is replaced on disk while it runs, it must not talk to its successor.
		Path:        "/proc/self/exe",
		Args:        []string{os.Args[0], shimArgument},
		Env:         []string{},
		Stderr:      s.said,
		ExtraFiles:  []*os.File{orderFD - 3: theirs},
		SysProcAttr: attr,
		WaitDelay:   r.stopDelay(),
	}
	if err := s.cmd.Start(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// send gives the order, with these files. An error means that the command has not begun.
func (s *shim) send(o order, files []*os.File) error {
	if len(files) > maxFiles {
		return fmt.Errorf("%d files for one command, at most %d can be given", len(files), maxFiles)
	}
	numbers := make([]int, len(files))
	for i, f := range files {
		numbers[i] = int(f.Fd())
	}
	if _, _, err := s.conn.WriteMsgUnix([]byte{0}, unix.UnixRights(numbers...), nil); err != nil {
		return err
	}
	return s.orders.Encode(o)
}

// maxFiles is the most files that the kernel passes at once.
const maxFiles = 253

// stop tells the shim to stop: the end of the orders means that.
func (s *shim) stop() {
	s.spent.Store(true)
	_ = s.conn.CloseWrite()
}

// kill kills the shim, and with it its command.
func (s *shim) kill() {
	s.spent.Store(true)
	_ = s.cmd.Process.Kill() // an error means that it has just ended
}

// end ends a shim that has nothing to do, and returns how it ended.
func (s *shim) end() error {
	s.kill()
	_ = s.conn.Close()
	return s.cmd.Wait()
}

// watch makes sure that a run ends. It tells the shim to stop when ctx ends. It kills a shim that does not stop then,
// or that is well over the time limit, which the shim itself should keep.
func (r *Runner) watch(ctx context.Context, ended <-chan struct{}, s *shim, o order) {
	var overdue <-chan time.Time
	if o.Cmd.Timeout > 0 {
		timer := time.NewTimer(o.Cmd.Timeout + r.stopDelay())
		defer timer.Stop()
		overdue = timer.C
	}
	select {
	case <-ended:
		return
	case <-ctx.Done():
		s.stop()
		timer := time.NewTimer(r.stopDelay())
		defer timer.Stop()
		select {
		case <-ended:
			return
		case <-timer.C:
		}
	case <-overdue:
	}
	s.kill()
	if o.Cgroup != "" {
		_ = cgroup(o.Cgroup).kill() // fails on old kernels; the command itself dies with the shim
	}
}
