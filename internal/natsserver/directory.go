package natsserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// kind says what a directory was first used for. It is written into it and never changes.
type kind string

const (
	standAlone kind = "stand-alone"
	member     kind = "cluster member"
)

func kindOf(cfg Config) kind {
	if cfg.Cluster != nil {
		return member
	}
	return standAlone
}

const (
	lockName = "lock"
	kindName = "kind"
)

// directory is a store directory that this process alone uses while it is open.
type directory struct {
	lock *os.File
}

// openDirectory makes and locks the directory and checks its kind. The lock is the kernel's, so that it
// goes with the process however that ends.
func openDirectory(path string, k kind) (*directory, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the NATS directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the NATS directory: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(filepath.Join(path, lockName))
		err = fmt.Errorf("the NATS directory %s is in use by process %s: stop it, or use another directory", path, strings.TrimSpace(string(holder)))
		return nil, errors.Join(err, lock.Close())
	}
	d := &directory{lock: lock}
	if err := errors.Join(d.sign(), checkKind(path, k)); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// sign writes our process id into the lock, for the message that the next one gets.
func (d *directory) sign() error {
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("sign the lock: %w", err)
	}
	if _, err := d.lock.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0); err != nil {
		return fmt.Errorf("sign the lock: %w", err)
	}
	return nil
}

// checkKind refuses a directory of the other kind. One with a store and without the mark was written by
// some other program: it is taken as stand-alone, the kind that a cluster would destroy.
func checkKind(path string, want kind) error {
	file := filepath.Join(path, kindName)
	data, err := os.ReadFile(file)
	found := kind(strings.TrimSpace(string(data)))
	if errors.Is(err, fs.ErrNotExist) {
		found, err = want, nil
		if _, statErr := os.Stat(filepath.Join(path, "jetstream")); statErr == nil {
			found = standAlone
		}
		if found == want {
			err = os.WriteFile(file, []byte(want+"\n"), 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("check the kind of the NATS directory: %w", err)
	}
	if found != want {
		return fmt.Errorf("the NATS directory %s belongs to a %s server and cannot be used by a %s one, which would delete its streams: "+
			"use an empty directory and mirror the log into it", path, found, want)
	}
	return nil
}

// Close frees the directory.
func (d *directory) Close() error { return d.lock.Close() }
