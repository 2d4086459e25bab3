package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/internal/filelock"
)

// A lock that a run holds lasts until its command has ended, also if this process has let go of it. The command itself does
// not have it.
func TestACommandHoldsWhatItIsGiven(t *testing.T) {
	dir := t.TempDir()
	lock, fifo := filepath.Join(dir, "lock"), filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := filelock.Try(lock, filelock.Exclusive)
	if l == nil || err != nil {
		t.Fatal(err)
	}
	held, err := l.Copy()
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		out Outcome
		err error
	}
	ended, copied := make(chan end, 1), int(held.Fd())
	go func() {
		r := Runner{Held: []*os.File{held}}
		out, err := r.Run(t.Context(), Cmd{Path: "/bin/sh", Args: []string{"-c", "ls -l /proc/self/fd; read x < " + fifo}, Env: []string{"PATH=/usr/bin:/bin"}})
		ended <- end{out, err}
	}()
	in, err := os.OpenFile(fifo, os.O_WRONLY, 0) // the command has begun when it reads
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := unix.Dup3(int(null.Fd()), copied, unix.O_CLOEXEC); err != nil { // this process has let go of the copy, too
		t.Fatal(err)
	}
	if other, err := filelock.Try(lock, filelock.Exclusive); other != nil || err != nil {
		t.Errorf("the lock was free while the command ran, %v", err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	got := <-ended
	if got.err != nil {
		t.Fatal(got.err)
	}
	if text := string(got.out.Stdout); text == "" || strings.Contains(text, lock) {
		t.Errorf("the command has the files\n%s", text)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if other, err := filelock.Try(lock, filelock.Exclusive); other == nil || err != nil {
		t.Errorf("the lock is held after the end, %v", err)
	}
}
