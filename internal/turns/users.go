package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/internal/filelock"
)

// usersDir has a file for each collector, which its process locks. The file beside it says what it does.
const (
	usersDir   = "users"
	lockSuffix = ".lock"
)

// joinWait is how long to wait for the lock of a process that was killed: the kernel finishes its last write first.
const joinWait = 3 * time.Second

// User is a process that shares the machine.
type User struct {
	// Name is the collector's.
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// Measures says how it measures: alone, or beside others.
	Measures Kind `json:"measures"`
}

// Join says that this process shares the machine, until leave is called or the process ends. A name with a slash is
// refused.
func (m *Machine) Join(u User) (leave func(), err error) {
	if u.Name == "" || strings.ContainsAny(u.Name, "/\x00") {
		return nil, fmt.Errorf("%q is no name of a collector", u.Name)
	}
	file := filepath.Join(m.dir, usersDir, u.Name)
	ctx, cancel := context.WithTimeout(context.Background(), joinWait)
	defer cancel()
	lock, err := filelock.Await(ctx, file+lockSuffix, filelock.Exclusive, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("another process runs as collector %s on this machine: stop it", u.Name)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(u)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		lock.Release()
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name = u.Name
	return func() {
		_ = os.Remove(file) // if it stays, it is not locked, and counts for nothing
		lock.Release()
	}, nil
}

// Users returns the processes that share the machine now, by their names. Those of which it may not know more than that
// they are there have only a name.
func Users(dir string) (users []User) {
	files, err := filepath.Glob(filepath.Join(dir, usersDir, "*"+lockSuffix))
	if err != nil {
		return nil
	}
	for _, file := range files {
		if !locked(file) {
			continue
		}
		name := strings.TrimSuffix(file, lockSuffix)
		u := User{Name: filepath.Base(name)}
		if text, err := os.ReadFile(name); err == nil {
			_ = json.Unmarshal(text, &u) // it is being written: then its name must do
		}
		users = append(users, u)
	}
	slices.SortFunc(users, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
	return users
}

// locked reports whether a process holds a lock exclusively, or may do so.
func locked(file string) bool {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) != nil
}
