package artifact

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tachobench/tacho/internal/filelock"
	"github.com/tachobench/tacho/rules/suite"
)

// A cache of the machine is an entry, too: jobs fill its root, and find it as the last one left it. A job holds the
// entry's exclusive lock while it uses it. A job that finds it locked gets a spare one, an entry without a manifest,
// which goes with the job. A crash frees both locks: the cache stays as it is, and the next Open removes the spare one.

const (
	// evictedName is the file with the names of caches that were removed, one a line, until Evicted tells them.
	evictedName = "evicted"
	// maxEvicted bounds the names in it.
	maxEvicted = 256
	// maxReadable bounds the part of a key that is for people.
	maxReadable = 64
)

// cacheKey names the entry of a cache. It begins with the name, so that people find the directory.
func cacheKey(name string) string {
	readable := strings.ReplaceAll(name, "/", ".")
	return "cache-" + readable[:min(len(readable), maxReadable)] + "-" + digest("cache", name)
}

// Cache returns the directory of a cache of the machine, empty at first. The caller alone uses it until release is
// called. If another one uses it, Cache returns an empty directory that release removes; own is then false. The error is
// a *RefusedError for a name that no cache can have.
func (s *Store) Cache(name string) (dir string, own bool, release func(), err error) {
	if err := suite.CheckCache(name); err != nil {
		return "", false, nil, &RefusedError{What: "job", Reason: err.Error()}
	}
	key := cacheKey(name)
	l, err := filelock.Try(s.lockFile(key), filelock.Exclusive)
	if err != nil {
		return "", false, nil, s.explain(err)
	}
	if l == nil {
		dir, release, err = s.Spare()
		return dir, false, release, s.explain(err)
	}
	if err := s.openCache(key, name); err != nil {
		l.Release()
		return "", false, nil, s.explain(errors.Join(err, s.sweepOne(key)))
	}
	l.Touch()
	return s.rootDir(key), true, func() { s.closeCache(key, name, l) }, nil
}

// Spare returns an empty directory that release removes.
func (s *Store) Spare() (dir string, release func(), err error) {
	key := "spare-" + rand.Text()
	l, err := filelock.Try(s.lockFile(key), filelock.Exclusive)
	if err == nil && l == nil {
		err = fmt.Errorf("%s is locked, and no other process knows its name", s.lockFile(key))
	}
	if err != nil {
		return "", nil, err
	}
	if err := (&room{store: s, key: key}).retry(func() error { return os.MkdirAll(s.rootDir(key), 0o755) }); err != nil {
		return "", nil, errors.Join(err, s.removeEntry(key, l))
	}
	return s.rootDir(key), func() {
		if err := s.removeEntry(key, l); err != nil {
			s.Progress(fmt.Sprintf("a directory of a job could not be removed; the next start tries again: %v", err))
		}
	}, nil
}

// openCache makes the root of a cache if there is none. The caller holds its lock.
func (s *Store) openCache(key, name string) error {
	was, err := s.readManifest(key)
	if err != nil {
		return err
	}
	// A job may have put a link in the place of the directory.
	if info, err := os.Lstat(s.rootDir(key)); was != nil && err == nil && info.IsDir() {
		return nil
	}
	if err := removeAll(s.entryDir(key)); err != nil {
		return err
	}
	return (&room{store: s, key: key}).retry(func() error {
		if err := os.MkdirAll(s.rootDir(key), 0o755); err != nil {
			return err
		}
		return s.writeManifest(key, cacheManifest(key, name, onDisk(0)))
	})
}

func cacheManifest(key, name string, disk int64) manifest {
	return manifest{Cache: name, Parts: []part{{From: name, Disk: disk, Origin: key}}}
}

// closeCache counts a cache, makes room for what it has grown by, and releases it. A cache that has no room is removed.
func (s *Store) closeCache(key, name string, l *filelock.Lock) {
	size, err := treeBytes(s.rootDir(key))
	if err == nil {
		err = s.fit(key, size)
	}
	if err == nil {
		err = (&room{store: s, key: key}).retry(func() error { return s.writeManifest(key, cacheManifest(key, name, size)) })
	}
	if err == nil {
		l.Touch()
		l.Release()
		return
	}
	s.Progress(fmt.Sprintf("the cache %s is removed, since it cannot be kept: %v", name, err))
	if err := s.evict(key, l); err != nil {
		s.Progress(fmt.Sprintf("the cache %s could not be removed; the next start tries again: %v", name, err))
	}
}

// fit makes room for an entry that has want bytes.
func (s *Store) fit(key string, want int64) error {
	if s.MaxBytes <= 0 {
		return nil
	}
	l, err := s.lockCache()
	if err != nil {
		return err
	}
	defer l.Release()
	return s.makeRoom(key, want)
}

// evict removes an entry that its caller has locked, and notes it if it is a cache.
func (s *Store) evict(key string, held *filelock.Lock) error {
	l, err := s.lockCache()
	if err != nil {
		held.Release()
		return err
	}
	defer l.Release()
	return s.removeNoted(key, held)
}

// removeNoted is removeEntry, and notes the names of caches. The caller holds the lock of the cache.
func (s *Store) removeNoted(key string, l *filelock.Lock) error {
	if m, err := s.readManifest(key); err == nil && m != nil && m.Cache != "" {
		s.noteEvicted(append(s.readEvicted(), m.Cache))
	}
	return s.removeEntry(key, l)
}

// Evicted returns the names of the caches that were removed since the last call, at most 256, without those that exist
// again. Of all processes that share the directory, one is told each name. A name is lost if that process ends before
// it has told it.
func (s *Store) Evicted() ([]string, error) {
	l, err := s.lockCache()
	if err != nil {
		return nil, fmt.Errorf("read which caches were removed: %w", err)
	}
	defer l.Release()
	noted := s.readEvicted()
	if len(noted) == 0 {
		return nil, nil
	}
	if err := os.Remove(filepath.Join(s.Dir, evictedName)); err != nil {
		return nil, fmt.Errorf("read which caches were removed: %w", err)
	}
	gone := slices.DeleteFunc(noted, func(name string) bool {
		m, err := s.readManifest(cacheKey(name))
		return suite.CheckCache(name) != nil || m != nil || err != nil
	})
	slices.Sort(gone)
	return slices.Compact(gone), nil
}

// readEvicted returns the noted names. What cannot be read counts as none: a name only saves a job a short wait.
func (s *Store) readEvicted() []string {
	text, err := os.ReadFile(filepath.Join(s.Dir, evictedName))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// noteEvicted writes the newest of the names down. If that fails, they are not told.
func (s *Store) noteEvicted(names []string) {
	newest := names[max(0, len(names)-maxEvicted):]
	err := os.WriteFile(filepath.Join(s.Dir, evictedName), []byte(strings.Join(newest, "\n")+"\n"), 0o644)
	if err != nil {
		s.Progress(fmt.Sprintf("the removed cache %s is not told: %v", names[len(names)-1], err))
	}
}
