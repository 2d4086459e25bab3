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

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/events"
)

// keepEntries is how many entries of a driver the cache keeps, those that were used last. An entry of Go is
// some 100 MB.
const keepEntries = 6

// lockSuffix marks the lock file of an entry.
const lockSuffix = ".lock"

// cacheKey names an entry of the cache: a tag for people to read, and a hash of what tells apart what has the
// same tag.
func cacheKey(tag events.Tag, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return string(tag) + "-" + hex.EncodeToString(sum[:6])
}

// lockCache makes the entry cache/driver/key, a directory, and holds it against all other processes until
// unlock is called. On the way it deletes entries that were not used for longest, unless they are held.
func lockCache(ctx context.Context, cache, driver, key string) (unlock func(), err error) {
	dir := filepath.Join(cache, driver)
	if err := os.MkdirAll(filepath.Join(dir, key), 0o755); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	file, err := awaitLock(ctx, filepath.Join(dir, key+lockSuffix))
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	// Whoever held it before may have deleted the entry.
	now := time.Now()
	err = errors.Join(os.MkdirAll(filepath.Join(dir, key), 0o755), os.Chtimes(file.Name(), now, now))
	if err == nil {
		err = prune(dir, key)
	}
	if err != nil {
		_ = file.Close() // which unlocks it
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

// lockSlot holds a slot against all other processes until unlock is called: one that was taken for dead, and
// goes on for a moment, must not empty the slot of its successor.
func lockSlot(ctx context.Context, slot string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(slot), 0o755); err != nil {
		return nil, fmt.Errorf("make the slot: %w", err)
	}
	file, err := awaitLock(ctx, slot+lockSuffix)
	if err != nil {
		return nil, fmt.Errorf("lock the slot: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

// awaitLock returns the locked file. While another process holds it, it looks again every now and then, until ctx
// ends.
func awaitLock(ctx context.Context, name string) (*os.File, error) {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if file, err := tryLock(name); file != nil || err != nil {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process: %w", context.Cause(ctx))
		case <-again.C:
		}
	}
}

// tryLock returns the locked file, or nil when another process holds it.
func tryLock(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return file, nil
	}
	_ = file.Close() // nothing was written
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	return nil, err
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
			// It is about to be locked for the first time.
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
		file, err := tryLock(filepath.Join(dir, old.name+lockSuffix))
		if err != nil {
			return err
		}
		if file == nil {
			continue
		}
		err = os.RemoveAll(filepath.Join(dir, old.name))
		_ = file.Close() // which unlocks it
		if err != nil {
			return err
		}
	}
	return nil
}
