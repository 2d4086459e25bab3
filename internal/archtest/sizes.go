package archtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// maxBytes is how large a tracked file may be. Every clone has it for ever, even after it is deleted. So built
// programs and dumps do not belong in the history.
const maxBytes = 1 << 20

// Tracked is a file that git tracks.
type Tracked struct {
	Name  string
	Bytes int64
}

// ReadTracked returns the files of the repository in dir.
func ReadTracked(dir string) (files []Tracked, err error) {
	// A checkout may belong to another user, as in a container.
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files that git tracks: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, but the removal is not committed yet
		}
		if err != nil {
			return nil, err
		}
		files = append(files, Tracked{name, info.Size()})
	}
	return files, nil
}

// CheckSizes reports files that are too large.
func CheckSizes(files []Tracked) (problems []Problem) {
	for _, f := range files {
		if f.Bytes > maxBytes {
			problems = append(problems, Problem{f.Name, fmt.Sprintf("has %d bytes, more than %d: take it out before it is committed", f.Bytes, maxBytes)})
		}
	}
	return problems
}
