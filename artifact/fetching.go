package artifact

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/tachobench/tacho/internal/filelock"
)

// fetching is an entry in the making. No other process touches its directory.
type fetching struct {
	manifest
	store *Store
	ref   Ref
	key   string
	room  *room
}

func (f *fetching) dir() string  { return f.store.entryDir(f.key) }
func (f *fetching) root() string { return f.store.rootDir(f.key) }

// fetch makes an entry with fill and returns it with a shared lock. When it fails, it leaves nothing behind.
func (s *Store) fetch(ctx context.Context, ref Ref, family string, components []string, fill func(context.Context, *fetching) error) (*held, error) {
	key := entryKey(family, components)
	l, err := filelock.Await(ctx, s.lockFile(key), filelock.Exclusive, nil)
	if err != nil {
		return nil, err
	}
	f := &fetching{
		manifest: manifest{Suite: ref.Suite, Tag: ref.Tag, Target: ref.Target, Components: components},
		store:    s, ref: ref, key: key, room: &room{store: s, key: key},
	}
	if err := f.make(ctx, fill); err != nil {
		// The first reason of the failure is the one that matters. A later sweep removes what remains.
		_ = s.removeEntry(key, l)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	l.Touch()
	if err := l.Share(); err != nil {
		l.Release()
		return nil, err
	}
	// The last used entry is removed only if the cache is far too small.
	if m, err := s.readManifest(key); m == nil || err != nil {
		l.Release()
		return nil, errors.Join(err, errors.New("the artifact was removed right after it was fetched: the cache's limit is too small, raise it"))
	}
	return &held{manifest: f.manifest, key: key, lock: l}, nil
}

func (f *fetching) make(ctx context.Context, fill func(context.Context, *fetching) error) error {
	if err := removeAll(f.dir()); err != nil {
		return err
	}
	if err := f.room.retry(func() error { return os.MkdirAll(f.root(), 0o755) }); err != nil {
		return err
	}
	if err := fill(ctx, f); err != nil {
		return err
	}
	version, err := probe(ctx, f.ref, f.root())
	if err != nil {
		return err
	}
	if version != "" {
		f.Version = version
	}
	if err := f.room.retry(func() error { return f.store.writeManifest(f.key, f.manifest) }); err != nil {
		return err
	}
	// From here on the manifest tells the size.
	if err := os.Remove(filepath.Join(f.dir(), reservationName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
