package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// findPath returns the first directory of the source that exists.
func findPath(ref Ref) (string, error) {
	missing := &NotThereError{What: ref.String()}
	for _, template := range ref.Source.Path {
		dir := strings.NewReplacer("{tag}", string(ref.Tag), "{target}", string(ref.Target)).Replace(template)
		if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", &RefusedError{What: ref.String(), Reason: fmt.Sprintf("cannot tell where %s is: %v", template, err)}
			}
			dir = home + rest
		}
		if !filepath.IsAbs(dir) {
			return "", &RefusedError{What: ref.String(), Reason: fmt.Sprintf("path %q is relative: use a whole path in the suite's [artifact]", template)}
		}
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() {
			return filepath.Clean(dir), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for %s: %w", ref, err)
		}
		missing.Tried = append(missing.Tried, dir)
	}
	return "", missing
}

// acquirePath returns a directory in its own place.
func (s *Store) acquirePath(ctx context.Context, ref Ref) (dir, version string, release func(), err error) {
	if dir, err = findPath(ref); err == nil {
		version, err = probe(ctx, ref, dir)
	}
	if err != nil {
		return "", "", nil, wrap(ref, err)
	}
	if version == "" {
		version = string(ref.Tag)
	}
	return dir, version, func() {}, nil
}
