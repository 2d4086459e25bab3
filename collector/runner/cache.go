package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/filelock"
)

// keepEntries is how many entries per driver the cache keeps, the last used ones. An entry of Go is some 100 MB.
const keepEntries = 6

// lockSuffix marks the lock file of an entry.
const lockSuffix = ".lock"

// cacheKey names an entry of the cache: a tag for people to read, and a hash that tells entries with the same tag
// apart.
func cacheKey(tag events.Tag, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return string(tag) + "-" + hex.EncodeToString(sum[:6])
}

// lockCache makes the directory cache/driver/key and locks it against all other processes until unlock is called. It
// also deletes the entries that were not used for longest, unless another process holds them.
func lockCache(ctx context.Context, cache, driver, key string) (unlock func(), err error) {
	dir := filepath.Join(cache, driver)
	if err := os.MkdirAll(filepath.Join(dir, key), 0o755); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	lock, err := await(ctx, filepath.Join(dir, key+lockSuffix))
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	lock.Touch()
	// The process that held it before may have deleted the entry.
	err = os.MkdirAll(filepath.Join(dir, key), 0o755)
	if err == nil {
		err = prune(dir, key)
	}
	if err != nil {
		lock.Release()
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	return lock.Release, nil
}

// lockSlot locks a slot against all other processes until unlock is called. A process that was taken for dead may
// still run for a moment; it must not empty the slot of its successor.
func lockSlot(ctx context.Context, slot string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(slot), 0o755); err != nil {
		return nil, fmt.Errorf("make the slot: %w", err)
	}
	lock, err := await(ctx, slot+lockSuffix)
	if err != nil {
		return nil, fmt.Errorf("lock the slot: %w", err)
	}
	return lock.Release, nil
}

func await(ctx context.Context, name string) (*filelock.Lock, error) {
	lock, err := filelock.Await(ctx, name, filelock.Exclusive, nil)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("wait for another process: %w", err)
	}
	return lock, err
}

// prune deletes the entries of dir beyond keepEntries, but never key. Lock files stay: deleting one that
// another process is about to lock would give two processes a lock each.
func prune(dir, key string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	type use struct {
		name string
		at   time.Time
	}
	var uses []use
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()+lockSuffix))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// Another process is about to lock it for the first time.
		case err != nil:
			return err
		default:
			uses = append(uses, use{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(uses, func(a, b use) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.name, b.name))
	})
	for _, old := range uses[min(keepEntries, len(uses)):] {
		if old.name == key {
			continue
		}
		lock, err := filelock.Try(filepath.Join(dir, old.name+lockSuffix), filelock.Exclusive)
		if err != nil {
			return err
		}
		if lock == nil {
			continue
		}
		err = os.RemoveAll(filepath.Join(dir, old.name))
		lock.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
