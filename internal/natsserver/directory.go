package natsserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tachobench/tacho/internal/filelock"
)

// kind says what a directory was first used for. It is written into the directory and never changes.
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

// takeDirectory makes and locks the directory and checks its kind. While the lock is held, only this process uses it.
func takeDirectory(path string, k kind) (*filelock.Lock, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the NATS directory: %w", err)
	}
	lock, err := filelock.Try(filepath.Join(path, lockName), filelock.Exclusive)
	if err != nil {
		return nil, fmt.Errorf("lock the NATS directory: %w", err)
	}
	if lock == nil {
		return nil, fmt.Errorf("the NATS directory %s is in use by process %s: stop it, or use another directory", path, filelock.Holder(filepath.Join(path, lockName)))
	}
	if err := errors.Join(lock.Sign(), checkKind(path, k)); err != nil {
		lock.Release()
		return nil, err
	}
	return lock, nil
}

// checkKind fails for a directory of the other kind. A directory with a store and without the mark was written by
// another program. It is taken as stand-alone, the kind that a cluster would destroy.
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
