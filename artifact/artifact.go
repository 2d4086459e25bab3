// Package artifact finds, fetches and keeps the things that are measured. A collector asks for one and uses it until
// it releases it.
//
// It knows four kinds of source: a toolchain that the go command fetches (kept in Go's own module cache), archives
// behind URLs, a git commit that is built, and a directory that already exists. Artifacts from URLs and git are kept
// in a cache directory, which several processes may share:
//
//	<dir>/entries/<key>/root/           the artifact
//	<dir>/entries/<key>/manifest.json   what it is; written last, moved into its place
//	<dir>/entries/<key>/…               temporary files of a fetch
//	<dir>/locks/<key>                   shared lock: in use; exclusive lock: being fetched or removed
//	<dir>/locks/<family>.fetch          exclusive lock: a process fetches an artifact of this family
//	<dir>/locks/cache                   exclusive lock: space is being counted and made
//	<dir>/evicted                       names of caches that were removed and not told yet
//
// A key is <family>-<components>. A family is one artifact (where it comes from, tag, target), with more or fewer
// components. An entry serves every request for some of its components. A request for more components makes a new
// entry, which shares the files of the old one by hard links and fetches only the missing ones.
//
// One rule makes it safe: an entry is what its manifest says, and without a manifest there is no entry. A fetch
// writes into the entry's own directory under its exclusive lock, syncs the file system to disk and writes the
// manifest last. A removal deletes the manifest first. A crash in between leaves a directory without manifest and
// without lock, which the next Open or the next fetch removes. Locks are flocks: they end with their process. The
// time of a lock's file is when the entry was last used.
//
// The cache is bounded: before a fetch writes more, the store removes the entries unused for longest until the new
// data fits. It does the same when the disk is full. It never removes an entry that a process uses.
//
// The directories that jobs name as caches of the machine are entries, too: artifacts and caches share one bound
// (caches.go).
package artifact

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Config says where a Store keeps artifacts and how it fetches them.
type Config struct {
	// Dir is the directory of the cache. Open makes it if it does not exist. Processes on one machine may share it,
	// and it should be on the machine's own disk. It is required.
	Dir string
	// MaxBytes bounds the size of the cache on disk, with its archives unpacked. It must be larger than the largest
	// set of artifacts that are in use at once, or fetches end with a *NoSpaceError. 0 means that only the disk is
	// the bound. The go command's own cache is not counted: Tacho never removes from it.
	MaxBytes int64
	// Client makes the HTTP requests; nil is a client that gives up when a server does not answer within a minute. It
	// must not have a Timeout, which would limit the length of downloads.
	Client *http.Client
	// Stall is how long a download may bring no data before it fails; 0 is one minute.
	Stall time.Duration
	// Progress takes a line of text for people whenever the Store begins something that takes long. The goroutines
	// that call the Store call it; nil drops the lines.
	Progress func(text string)
}

// Store is a cache of artifacts. Its methods may be called from many goroutines.
type Store struct{ Config }

// Ref names an artifact for one job.
type Ref struct {
	Suite  events.SuiteName
	Source suite.Artifact
	Tag    events.Tag
	Target events.Target
	// Components are needed in addition to those of Source: the job's backend and profile ask for them.
	Components []string
	// Caches returns the directory of a cache that the build command names, which lasts until the caller of Acquire ends
	// it. It is called only if the artifact is built. Nil: the build command names none.
	Caches func(name string) (dir string, err error)
}

// String returns the artifact as errors name it.
func (r Ref) String() string { return fmt.Sprintf("artifact %s %s for %s", r.Suite, r.Tag, r.Target) }

func (r Ref) check() error {
	if err := events.CheckTag(r.Tag); err != nil {
		return &RefusedError{What: r.String(), Reason: err.Error()}
	}
	if err := events.CheckToken("target", string(r.Target)); err != nil {
		return &RefusedError{What: r.String(), Reason: err.Error()}
	}
	return nil
}

// Open makes the cache directory if it does not exist, and removes what crashes left unfinished there.
func Open(c Config) (*Store, error) {
	if c.Dir == "" {
		return nil, fmt.Errorf("open the artifact cache: no directory is given; set one in the configuration")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the artifact cache %s: %w", c.Dir, err)
	}
	c.Dir = dir
	if c.Client == nil {
		c.Client = newClient()
	}
	if c.Stall <= 0 {
		c.Stall = time.Minute
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	s := &Store{c}
	for _, d := range []string{s.entriesDir(), s.locksDir()} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, s.explain(fmt.Errorf("open the artifact cache: %w", err))
		}
	}
	if err := s.sweep(); err != nil {
		return nil, fmt.Errorf("open the artifact cache %s: %w", c.Dir, err)
	}
	return s, nil
}

// Acquire returns the directory of an artifact and the version that the artifact says it has. It fetches the artifact
// if necessary, or waits while another process fetches it. The artifact stays in its place until release is called.
// Callers must not write to the directory: entries may share files.
//
// The error is a *NotThereError or a *RefusedError if trying again would not help (see Permanent), a *NoSpaceError if
// there is no room, and ctx's cause if ctx ended. Any other error is worth another try.
func (s *Store) Acquire(ctx context.Context, ref Ref) (dir, version string, release func(), err error) {
	if err := ref.check(); err != nil {
		return "", "", nil, err
	}
	switch ref.Source.Kind {
	case suite.ArtifactGoToolchain:
		return s.acquireGo(ctx, ref)
	case suite.ArtifactURL:
		if _, err := findPath(ref); err == nil {
			return s.acquirePath(ctx, ref)
		}
		return s.acquireCached(ctx, ref, urlComponents(ref), s.fetchURL)
	case suite.ArtifactGit:
		return s.acquireCached(ctx, ref, nil, s.fetchGit)
	case suite.ArtifactPath:
		return s.acquirePath(ctx, ref)
	}
	return "", "", nil, unknownKind(ref)
}

// Ready reports whether Acquire could return the artifact now. It does not fetch the artifact, but it updates the
// mirror of a git repository. It returns the errors of Acquire, except that a missing artifact is no error.
func (s *Store) Ready(ctx context.Context, ref Ref) (bool, error) {
	if err := ref.check(); err != nil {
		return false, err
	}
	var err error
	switch ref.Source.Kind {
	case suite.ArtifactGoToolchain:
		err = s.readyGo(ctx, ref)
	case suite.ArtifactURL:
		if _, err = findPath(ref); err != nil {
			err = s.readyURL(ctx, ref)
		}
	case suite.ArtifactGit, suite.ArtifactBuilt: // it is built when its commit exists
		err = s.readyGit(ctx, ref)
	case suite.ArtifactPath:
		_, err = findPath(ref)
	default:
		err = unknownKind(ref)
	}
	if isNotThere(err) {
		return false, nil
	}
	return err == nil, err
}

func unknownKind(ref Ref) error {
	return &RefusedError{
		What:   ref.String(),
		Reason: fmt.Sprintf("unknown kind of source %q: update this collector, or correct the suite file", ref.Source.Kind),
	}
}
