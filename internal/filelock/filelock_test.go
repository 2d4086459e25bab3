package filelock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// take returns a lock that the test releases.
func take(t *testing.T, path string, how Mode) *Lock {
	t.Helper()
	l, err := Try(path, how)
	if l == nil || err != nil {
		t.Fatalf("not locked: %v", err)
	}
	return l
}

func refused(t *testing.T, path string, how Mode) {
	t.Helper()
	if l, err := Try(path, how); l != nil || err != nil {
		t.Fatalf("got %v, %v", l, err)
	}
}

func TestOneHoldsItOrManyShareIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l := take(t, path, Exclusive)
	refused(t, path, Exclusive)
	refused(t, path, Shared)
	if err := l.Share(); err != nil {
		t.Fatal(err)
	}
	other := take(t, path, Shared)
	refused(t, path, Exclusive)
	l.Release()
	refused(t, path, Exclusive)
	other.Release()
	take(t, path, Exclusive)
}

// A child that is being started has a copy of every file until it runs its program. It holds no lock with it.
func TestAReleaseDoesNotWaitForAFork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l := take(t, path, Exclusive)
	forked, err := unix.Dup(l.fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(forked)
	refused(t, path, Exclusive)
	l.Release()
	take(t, path, Exclusive).Release()
}

func TestWhoHoldsItIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, []byte("another one, with a long name\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := take(t, path, Exclusive).Sign(); err != nil {
		t.Fatal(err)
	}
	if got, want := Holder(path), strconv.Itoa(os.Getpid()); got != want {
		t.Errorf("%q holds it, want %s", got, want)
	}
	if got := Holder(path + "none"); got != "" {
		t.Errorf("%q holds no lock", got)
	}
}

func TestALockIsWaitedFor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	l := take(t, path, Exclusive)
	waits := 0
	got, err := Await(t.Context(), path, Exclusive, func() { waits++; l.Release() })
	if err != nil || waits != 1 {
		t.Fatalf("waited %d times, %v", waits, err)
	}
	defer got.Release()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := Await(ctx, path, Shared, func() { cancel(gone) }); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestARemovedFileIsNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	take(t, path, Exclusive).Remove()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	take(t, path, Exclusive)
	refused(t, path, Exclusive)
}

func TestNoLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	if err := os.Symlink(filepath.Join(dir, "other"), path); err != nil {
		t.Fatal(err)
	}
	if l, err := Try(path, Exclusive); l != nil || err == nil {
		t.Errorf("locked %v", l)
	}
}

// When a process is killed, its child still holds the lock, and continues alone with what the lock protects.
func TestAChildHoldsItToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	l := take(t, path, Exclusive)
	file, err := l.Copy()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), "cat")
	child.ExtraFiles = []*os.File{file}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	l.Release()
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, path, Exclusive)
	if err := errors.Join(in.Close(), child.Wait()); err != nil {
		t.Fatal(err)
	}
	take(t, path, Exclusive)
}
