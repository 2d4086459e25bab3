package artifact

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/filelock"
)

const (
	manifestName = "manifest.json"
	rootName     = "root"
)

// manifest says what an entry is. A fetch writes it last.
type manifest struct {
	Suite      events.SuiteName `json:"suite"`
	Tag        events.Tag       `json:"tag"`
	Target     events.Target    `json:"target"`
	Components []string         `json:"components,omitempty"`
	// Version is the version that the artifact says it has.
	Version string `json:"version"`
	// Cache is the name of a cache of the machine; empty for an artifact.
	Cache string `json:"cache,omitempty"`
	Parts []part `json:"parts"`
}

// part is something that came in one piece: an archive, a checkout with its build output, or a mirror.
type part struct {
	// From is the URL, or the repository and the commit.
	From string `json:"from"`
	// SHA256 is the checksum of the transferred bytes. Verified says that the server published the same one.
	SHA256   events.Digest `json:"sha256,omitempty"`
	Verified bool          `json:"verified,omitempty"`
	// Bytes is how many bytes were transferred, Disk how many the part takes on disk.
	Bytes int64 `json:"bytes,omitempty"`
	Disk  int64 `json:"disk"`
	// Origin is the key of the entry that the part was fetched for. Parts of the same origin are the same files.
	Origin string `json:"origin"`
}

func (s *Store) entriesDir() string           { return filepath.Join(s.Dir, "entries") }
func (s *Store) locksDir() string             { return filepath.Join(s.Dir, "locks") }
func (s *Store) entryDir(key string) string   { return filepath.Join(s.entriesDir(), key) }
func (s *Store) rootDir(key string) string    { return filepath.Join(s.entryDir(key), rootName) }
func (s *Store) lockFile(name string) string  { return filepath.Join(s.locksDir(), name) }
func (s *Store) fetchLock(name string) string { return s.lockFile(name + ".fetch") }

// family names an artifact, whatever its components.
func family(ref Ref) string {
	a := ref.Source
	a.Driver, a.Components, a.Path = "", nil, nil
	return digest(a, ref.Tag, ref.Target)
}

// entryKey names the entry of a family with these components, whatever their order.
func entryKey(family string, components []string) string {
	return family + "-" + digest(slices.Sorted(slices.Values(components)))
}

// digest names values by the first half of the SHA-256 of their JSON.
func digest(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		// Encoding strings and structs of strings cannot fail, nor can writing to a hash.
		_ = json.NewEncoder(h).Encode(v)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// readManifest returns nil if there is no such entry. A manifest that cannot be parsed counts as none.
func (s *Store) readManifest(key string) (*manifest, error) {
	b, err := os.ReadFile(filepath.Join(s.entryDir(key), manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m manifest
	if json.Unmarshal(b, &m) != nil {
		return nil, nil
	}
	return &m, nil
}

// writeManifest turns the directory into an entry. Everything in it is on disk before the manifest is in its place.
func (s *Store) writeManifest(key string, m manifest) error {
	dir := s.entryDir(key)
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, manifestName+".new"))
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	// Sync the whole file system, not each of ten thousand files.
	err = errors.Join(err, syncAll(f), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, manifestName)); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// removeEntry removes an entry, or the rest of one after a crash, and ends the exclusive lock on it.
func (s *Store) removeEntry(key string, l *filelock.Lock) error {
	err := os.Remove(filepath.Join(s.entryDir(key), manifestName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Release()
		return err
	}
	err = removeAll(s.entryDir(key))
	l.Remove()
	return err
}

// removeAll removes a directory, even if a build has left read-only directories in it.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// keys returns the keys of all directories of entries, complete or not, whose key begins with prefix.
func (s *Store) keys(prefix string) ([]string, error) {
	list, err := os.ReadDir(s.entriesDir())
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, e := range list {
		if strings.HasPrefix(e.Name(), prefix) {
			keys = append(keys, e.Name())
		}
	}
	return keys, nil
}

// held is an entry in use.
type held struct {
	manifest
	key  string
	lock *filelock.Lock
}

// find returns an entry of the family that fits, with a shared lock; nil if there is none. It prefers the entry with
// the fewest components.
func (s *Store) find(family string, fits func(manifest) bool) (*held, error) {
	keys, err := s.keys(family + "-")
	if err != nil {
		return nil, err
	}
	var found []held
	for _, key := range keys {
		m, err := s.readManifest(key)
		if err != nil {
			return nil, err
		}
		if m != nil && fits(*m) {
			found = append(found, held{manifest: *m, key: key})
		}
	}
	slices.SortFunc(found, func(a, b held) int {
		return cmp.Or(cmp.Compare(len(a.Components), len(b.Components)), strings.Compare(a.key, b.key))
	})
	for _, h := range found {
		if ok, err := s.hold(&h); ok || err != nil {
			return &h, err
		}
	}
	return nil, nil
}

// hold takes the shared lock of an entry. It returns false if the entry was removed or is being removed.
func (s *Store) hold(h *held) (bool, error) {
	l, err := filelock.Try(s.lockFile(h.key), filelock.Shared)
	if l == nil || err != nil {
		return false, err
	}
	m, err := s.readManifest(h.key)
	if m == nil || err != nil {
		l.Release()
		return false, err
	}
	l.Touch()
	h.manifest, h.lock = *m, l
	return true, nil
}

// acquireCached returns an entry with at least these components. If there is none, it calls fetch to make one.
func (s *Store) acquireCached(ctx context.Context, ref Ref, components []string, fetch func(context.Context, *fetching) error) (dir, version string, release func(), err error) {
	name := family(ref)
	h, err := s.obtain(ctx, ref, name, components, fetch)
	if err != nil {
		return "", "", nil, s.explain(wrap(ref, err))
	}
	return s.rootDir(h.key), h.Version, h.release(), nil
}

func (s *Store) obtain(ctx context.Context, ref Ref, family string, components []string, fetch func(context.Context, *fetching) error) (*held, error) {
	enough := func(m manifest) bool { return containsAll(m.Components, components) }
	if h, err := s.find(family, enough); h != nil || err != nil {
		return h, err
	}
	l, err := filelock.Await(ctx, s.fetchLock(family), filelock.Exclusive, func() {
		s.Progress(fmt.Sprintf("%s: waiting for another process that fetches it", ref))
	})
	if err != nil {
		return nil, err
	}
	defer l.Remove()
	if h, err := s.find(family, enough); h != nil || err != nil {
		return h, err
	}
	return s.fetch(ctx, ref, family, components, fetch)
}

// wrap adds the artifact's name to errors that do not have it.
func wrap(ref Ref, err error) error {
	var full *NoSpaceError
	if Permanent(err) || errors.As(err, &full) {
		return err
	}
	return fmt.Errorf("acquire %s: %w", ref, err)
}

// release returns the function that releases the entry. It may be called more than once.
func (h *held) release() func() {
	return sync.OnceFunc(func() {
		h.lock.Touch()
		h.lock.Release()
	})
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(c string) bool { return !slices.Contains(have, c) })
}
