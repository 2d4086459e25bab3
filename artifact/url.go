package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// urlComponents returns all components that an artifact needs, each once. A source without components has none.
func urlComponents(ref Ref) []string {
	var all []string
	for _, c := range slices.Concat(ref.Source.Components, ref.Components) {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// candidate is one place where a whole artifact may be: one URL template with one channel.
type candidate struct{ urls []string }

// candidates returns the places in the order in which choose tries them.
func candidates(ref Ref) []candidate {
	var all []candidate
	for _, template := range ref.Source.URLs {
		channels := ref.Source.Channels
		if !strings.Contains(template, "{channel}") {
			channels = []string{""}
		}
		for _, channel := range channels {
			all = append(all, candidate{expand(ref, template, channel)})
		}
	}
	return all
}

// expand returns the URLs of all components, each once.
func expand(ref Ref, template, channel string) []string {
	components := urlComponents(ref)
	if !strings.Contains(template, "{component}") {
		components = []string{""}
	}
	var urls []string
	for _, c := range components {
		t := template
		if slices.Contains(ref.Source.NoTarget, c) {
			t = withoutTarget(t)
		}
		u := strings.NewReplacer("{tag}", string(ref.Tag), "{target}", string(ref.Target), "{component}", c, "{channel}", channel).Replace(t)
		if !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	return urls
}

// withoutTarget returns the template for a component that is the same for all targets: without {target} and the "-"
// or "_" before it.
func withoutTarget(template string) string {
	for _, field := range []string{"-{target}", "_{target}", "{target}"} {
		template = strings.ReplaceAll(template, field, "")
	}
	return template
}

// choose returns the first place that has everything. It does not ask for the URLs that present returns. A failing
// place ends the search: otherwise its failure would decide what is measured. choose skips a place that refuses
// access. If no place has everything, it returns the refusals as the error.
func (s *Store) choose(ctx context.Context, ref Ref, present func(candidate) []string) (candidate, error) {
	missing := &NotThereError{What: ref.String()}
	var refused error
	for _, c := range candidates(ref) {
		have := present(c)
		err := s.allThere(ctx, c, have)
		if err == nil {
			return c, nil
		}
		var gone *NotThereError
		if errors.As(err, &gone) {
			missing.Tried = append(missing.Tried, gone.Tried...)
		} else if Permanent(err) {
			refused = errors.Join(refused, err)
		} else {
			return candidate{}, err
		}
	}
	if refused != nil {
		return candidate{}, refused
	}
	return candidate{}, missing
}

func (s *Store) allThere(ctx context.Context, c candidate, have []string) error {
	for _, u := range c.urls {
		if slices.Contains(have, u) {
			continue
		}
		if err := s.head(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) readyURL(ctx context.Context, ref Ref) error {
	components := urlComponents(ref)
	h, err := s.find(family(ref), func(m manifest) bool { return containsAll(m.Components, components) })
	if err != nil {
		return err
	}
	if h != nil {
		h.lock.Release()
		return nil
	}
	_, err = s.choose(ctx, ref, func(candidate) []string { return nil })
	return err
}

// fetchURL links the files that another entry of the family has, and downloads the rest.
func (s *Store) fetchURL(ctx context.Context, f *fetching) error {
	var base *held
	letGo := func() {
		if base != nil {
			base.lock.Release()
			base = nil
		}
	}
	defer letGo()
	var failed error
	place, err := s.choose(ctx, f.ref, func(c candidate) []string {
		letGo()
		base, failed = s.base(f, c)
		if base == nil {
			return nil
		}
		return base.urls()
	})
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	if base != nil {
		shared, err := f.link(s.rootDir(base.key), base.Parts)
		if err != nil {
			return err
		}
		if !shared {
			letGo()
		}
	}
	for _, u := range place.urls {
		if base != nil && slices.Contains(base.urls(), u) {
			continue
		}
		if err := s.addArchive(ctx, f, u); err != nil {
			return err
		}
	}
	f.Version = string(f.ref.Tag)
	return named(f.ref.String(), checkLinks(f.root()))
}

// base finds an entry whose archives all belong to the candidate, so that only the candidate's others must be
// fetched. It takes one with the most archives.
func (s *Store) base(f *fetching, c candidate) (*held, error) {
	name, _, _ := strings.Cut(f.key, "-")
	most := 0
	fits := func(m manifest) bool {
		return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p part) bool { return !slices.Contains(c.urls, p.From) })
	}
	keys, err := s.keys(name + "-")
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if m, err := s.readManifest(key); err == nil && m != nil && fits(*m) {
			most = max(most, len(m.Parts))
		}
	}
	return s.find(name, func(m manifest) bool { return fits(m) && len(m.Parts) == most })
}

func (h *held) urls() []string {
	var urls []string
	for _, p := range h.Parts {
		urls = append(urls, p.From)
	}
	return urls
}

// link gives the new entry the files of another one by hard links. It returns false if this does not work here, and
// then the entry is empty again: not all file systems have hard links, and not for all users.
func (f *fetching) link(from string, parts []part) (bool, error) {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(f.root(), rel)
		return f.room.retry(func() error {
			switch {
			case d.IsDir():
				return os.MkdirAll(to, 0o755)
			case d.Type() == fs.ModeSymlink:
				target, err := os.Readlink(path)
				if err != nil {
					return err
				}
				return os.Symlink(target, to)
			}
			return os.Link(path, to)
		})
	})
	var refused *os.LinkError
	if errors.As(err, &refused) && !isFull(err) {
		return false, errors.Join(removeAll(f.root()), os.Mkdir(f.root(), 0o755))
	}
	if err != nil {
		return false, fmt.Errorf("share the files of the cached artifact: %w", err)
	}
	f.Parts = append(f.Parts, parts...)
	return true, nil
}

// addArchive downloads one archive into the entry and merges it with the earlier ones.
func (s *Store) addArchive(ctx context.Context, f *fetching, url string) error {
	stage := filepath.Join(f.dir(), "stage")
	if err := f.room.retry(func() error { return os.MkdirAll(stage, 0o755) }); err != nil {
		return err
	}
	s.Progress(fmt.Sprintf("%s: downloading %s", f.ref, url))
	before := f.room.used
	p, err := s.download(ctx, url, f.ref.String(), func(name string, r *transfer) error { return unpack(name, r, stage, f.room) })
	if err != nil {
		return err
	}
	if err := arrange(stage, f.root()); err != nil {
		return named(url, err)
	}
	p.Disk, p.Origin = f.room.used-before, f.key
	f.Parts = append(f.Parts, p)
	return removeAll(stage)
}

// named adds to an error what it belongs to.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	var refused *RefusedError
	if errors.As(err, &refused) && refused.What == "" {
		return &RefusedError{What: what, Reason: refused.Reason}
	}
	return fmt.Errorf("%s: %w", what, err)
}
