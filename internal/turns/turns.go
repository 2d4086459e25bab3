// Package turns lets the collectors of a machine take turns: a machine measures or builds, never both.
//
// Builds run beside one another, and hold their turn from their first command to their last. What measures waits until
// nothing builds. From then on it holds its turn alone, or together with others that measure and may share the machine.
//
// # Who comes first
//
// What wants to measure goes first: while it waits, no new build begins, so it waits at most for the builds that ran. Builds
// that came while something measured get their turn before the next one that wants to measure, so none waits for ever.
//
// # How
//
// Three files are locked, with locks of the kernel: they end with the processes that hold them, also if these are killed.
//
//	gate       held by what waits in the first place: shared by builds, exclusive by what wants to measure
//	builds     shared by all that builds
//	measures   held by what measures, exclusive if it measures alone
//
// Only a holder of the gate looks at the others. What wants to measure finds nothing that builds if it gets builds
// exclusively for a moment. A build finds nothing that measures if it gets measures exclusively for a moment.
//
// The lock of a turn can be passed on to a child (Copy), so that a command whose collector was killed keeps the machine until
// it has ended.
package turns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/internal/filelock"
	"github.com/tachobench/tacho/internal/retry"
)

// Kind is what a turn is for.
type Kind string

// The kinds of turns.
const (
	// Build is for what is not measured. Any number of them are held at once.
	Build Kind = "build"
	// Measure is for what bears others that measure.
	Measure Kind = "measure"
	// MeasureAlone is for what bears nothing else.
	MeasureAlone Kind = "measure alone"
)

const (
	gateFile     = "gate"
	buildsFile   = "builds"
	measuresFile = "measures"
)

// away is how long a process that has measured leaves the machine to others before it asks again: longer than others wait
// between two looks. Else it could always be the first.
const away = 300 * time.Millisecond

// Machine is the machine as one process shares it with others.
type Machine struct {
	dir string
	mu  sync.Mutex
	// left is when this process last let go of a turn to measure, name is that of its collector; guarded by mu.
	left time.Time
	name string
}

// Open returns the machine whose collectors share a directory. It makes the directory. Who may write the directory may take
// turns.
func Open(dir string) (*Machine, error) {
	err := errors.Join(os.MkdirAll(filepath.Join(dir, usersDir), 0o700), os.MkdirAll(filepath.Join(dir, holdersDir), 0o700))
	for _, name := range []string{gateFile, buildsFile, measuresFile} {
		if err == nil {
			err = share(dir, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("share the machine with its other collectors: %w; collector.turns names the directory for it", err)
	}
	return &Machine{dir: dir}, nil
}

// share makes a file that all may lock that may write the directory.
func share(dir, name string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(info.Mode().Perm()&0o666), f.Close())
}

// Turn is a turn that is held. It ends with Release, and at the latest with the process.
type Turn struct {
	m    *Machine
	kind Kind
	lock *filelock.Lock
	// note is the file that says who has it; empty for none.
	note string
}

// Take waits for a turn. If it has to wait, it calls waiting once. If ctx ends before, it returns the cause.
func (m *Machine) Take(ctx context.Context, kind Kind, waiting func()) (*Turn, error) {
	waits := sync.OnceFunc(func() {
		if waiting != nil {
			waiting()
		}
	})
	how := filelock.Shared
	if kind != Build {
		how = filelock.Exclusive
		m.stayAway(ctx)
	}
	gate, err := filelock.Await(ctx, m.file(gateFile), how, waits)
	if err != nil {
		return nil, err
	}
	defer gate.Release()
	pauses := retry.Pauses(time.Millisecond, 200*time.Millisecond)
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		lock, err := m.enter(kind)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return &Turn{m: m, kind: kind, lock: lock}, nil
		}
		waits()
		retry.Sleep(ctx, pauses.NextBackOff())
	}
}

// enter takes the lock of a turn if nothing is in its way. The caller holds the gate.
func (m *Machine) enter(kind Kind) (*filelock.Lock, error) {
	other, own, how := buildsFile, measuresFile, filelock.Exclusive
	switch kind {
	case Build:
		other, own, how = measuresFile, buildsFile, filelock.Shared
	case Measure:
		how = filelock.Shared
	case MeasureAlone:
	}
	none, err := filelock.Try(m.file(other), filelock.Exclusive)
	if none == nil {
		return nil, err
	}
	defer none.Release()
	return filelock.Try(m.file(own), how)
}

// stayAway lets others that wait look at the machine first, if this process measured a moment ago.
func (m *Machine) stayAway(ctx context.Context) {
	m.mu.Lock()
	rest := away - time.Since(m.left)
	m.mu.Unlock()
	if rest > 0 && len(Users(m.dir)) > 1 {
		retry.Sleep(ctx, rest)
	}
}

func (m *Machine) file(name string) string { return filepath.Join(m.dir, name) }

// Copy returns a file for a child process to hold: the turn lasts until the child has ended, too.
func (t *Turn) Copy() (*os.File, error) { return t.lock.Copy() }

// Release ends the turn in this process.
func (t *Turn) Release() {
	if t.note != "" {
		_ = os.Remove(t.note) // if it stays, its process or its next turn shows that it is over
	}
	t.lock.Release()
	if t.kind != Build {
		t.m.mu.Lock()
		defer t.m.mu.Unlock()
		t.m.left = time.Now()
	}
}
