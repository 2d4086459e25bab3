package artifact

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/internal/filelock"
)

// reservationName is the file in an unfinished entry that says how many bytes it may grow to.
const reservationName = "reserved"

// room counts what one fetch writes, and makes room for it.
type room struct {
	store *Store
	key   string
	// used is how many bytes were written, reserved how many the bound allows so far.
	used, reserved int64
}

// take makes room for n more bytes within the bound of the cache.
func (r *room) take(n int64) error {
	if n < 0 || r.used+n < 0 {
		return noSpace(r.store.Dir, n)
	}
	r.used += n
	if r.store.MaxBytes <= 0 || r.used <= r.reserved {
		return nil
	}
	// Reserve in steps, since every step reads all manifests.
	want := r.used + min(64<<20, r.store.MaxBytes/32)
	if want > r.store.MaxBytes {
		want = r.used
	}
	if err := r.store.reserve(r.key, want); err != nil {
		return err
	}
	r.reserved = want
	return nil
}

// retry calls do. While do finds the disk full, retry removes an unused entry and calls do again.
func (r *room) retry(do func() error) error {
	for {
		err := do()
		if !isFull(err) {
			return err
		}
		removed, rerr := r.store.freeOne()
		if rerr != nil {
			return rerr
		}
		if !removed {
			return noSpace(r.store.Dir, r.used)
		}
	}
}

// reserve lets an unfinished entry grow to want bytes. It removes unused entries for that.
func (s *Store) reserve(key string, want int64) error {
	l, err := s.lockCache()
	if err != nil {
		return err
	}
	defer l.Release()
	if err := s.makeRoom(key, want); err != nil {
		return err
	}
	// The reservation only makes the counts of other processes more exact. On a full disk it may be missing.
	err = os.WriteFile(filepath.Join(s.entryDir(key), reservationName), []byte(strconv.FormatInt(want, 10)), 0o644)
	if isFull(err) {
		return nil
	}
	return err
}

// makeRoom removes unused entries until an entry of want bytes fits. The caller holds the lock of the cache.
func (s *Store) makeRoom(key string, want int64) error {
	full := &NoSpaceError{Dir: s.Dir, Needed: want, Free: freeBytes(s.Dir), Limit: s.MaxBytes}
	if want > s.MaxBytes {
		// Removing others would not help.
		return full
	}
	for {
		others, err := s.usage(key)
		if err != nil {
			return err
		}
		if others+want <= s.MaxBytes {
			return nil
		}
		removed, err := s.removeOldest()
		if err != nil {
			return err
		}
		if !removed {
			return full
		}
	}
}

// freeOne removes one unused entry, because the disk is full.
func (s *Store) freeOne() (bool, error) {
	l, err := s.lockCache()
	if err != nil {
		return false, err
	}
	defer l.Release()
	return s.removeOldest()
}

// lockCache takes the lock under which space is counted and made. That does not take long, hence no context.
func (s *Store) lockCache() (*filelock.Lock, error) {
	return filelock.Await(context.Background(), s.lockFile("cache"), filelock.Exclusive, nil)
}

// usage returns the bytes of all entries but one. It counts shared files once.
func (s *Store) usage(but string) (int64, error) {
	keys, err := s.keys("")
	if err != nil {
		return 0, err
	}
	type piece struct{ origin, from string }
	seen := map[piece]bool{}
	var total int64
	for _, key := range keys {
		if key == but {
			continue
		}
		m, err := s.readManifest(key)
		if err != nil {
			return 0, err
		}
		if m == nil {
			total += s.reservation(key)
			continue
		}
		for _, p := range m.Parts {
			if id := (piece{p.Origin, p.From}); !seen[id] {
				seen[id] = true
				total += p.Disk
			}
		}
	}
	return total, nil
}

func (s *Store) reservation(key string) int64 {
	b, err := os.ReadFile(filepath.Join(s.entryDir(key), reservationName))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// removeOldest removes the entry that was unused for longest, or the rest of one after a crash. It returns false if
// all are in use. The caller holds the lock of the cache.
func (s *Store) removeOldest() (bool, error) {
	keys, err := s.keys("")
	if err != nil {
		return false, err
	}
	used := map[string]time.Time{}
	for _, key := range keys {
		if info, err := os.Stat(s.lockFile(key)); err == nil {
			used[key] = info.ModTime()
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return used[a].Compare(used[b]) })
	for _, key := range keys {
		l, err := filelock.Try(s.lockFile(key), filelock.Exclusive)
		if isFull(err) {
			continue
		}
		if err != nil {
			return false, err
		}
		if l != nil {
			return true, s.removeNoted(key, l)
		}
	}
	return false, nil
}

// sweep removes what crashes left unfinished, unless another process works on it.
func (s *Store) sweep() error {
	keys, err := s.keys("")
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range keys {
		errs = append(errs, s.sweepOne(key))
	}
	return errors.Join(errs...)
}

func (s *Store) sweepOne(key string) error {
	if m, err := s.readManifest(key); m != nil || err != nil {
		return err
	}
	l, err := filelock.Try(s.lockFile(key), filelock.Exclusive)
	if l == nil || err != nil {
		return err
	}
	// Another process may have finished it between the two reads.
	if m, err := s.readManifest(key); m != nil || err != nil {
		l.Release()
		return err
	}
	return s.removeEntry(key, l)
}

// onDisk returns the size that a file, a directory or a link counts as: whole blocks, and at least one.
func onDisk(size int64) int64 {
	const block = 4096
	if size > 1<<62 {
		return size
	}
	return max(block, (size+block-1)/block*block)
}

// treeBytes returns the size of a tree on disk.
func treeBytes(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := int64(0)
		if info.Mode().IsRegular() {
			size = info.Size()
		}
		total += onDisk(size)
		return nil
	})
	return total, err
}
