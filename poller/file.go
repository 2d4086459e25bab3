package poller

import (
	"context"
	"fmt"
)

// mostFile is how many bytes a file of definitions may have. Definitions are one event, and an event has at most 1 MiB.
const mostFile = 1 << 20

// Files is a branch of a repository elsewhere, for reading one file of it. An error means that the repository could not
// be read.
type Files interface {
	// Tip returns the commit at the tip of the branch.
	Tip(ctx context.Context) (string, error)
	// File returns what a commit that Tip returned, or a later one, has at a path. It follows no links.
	File(ctx context.Context, revision, path string) (File, error)
}

// Tree is a source whose commits have files.
type Tree interface {
	Source
	// At returns what a commit that Newest yielded has at a path. It follows no links. An error means that the repository
	// could not be read.
	At(ctx context.Context, commit, path string) (File, error)
}

// File is what a commit has at a path.
type File struct {
	Revision string
	// ID is the name that git gives to the content. Where there is no file, it says what there is instead.
	ID   string
	Data []byte
	// Refused says why this is no file that can be read; empty if Data is its content.
	Refused string
}

// ofMode returns f as the mode in git's tree says; the mode is empty where the tree has nothing.
func (f File) ofMode(path, mode string) File {
	instead := func(id, format string) File {
		f.ID, f.Refused = id, fmt.Sprintf(format, path)
		return f
	}
	switch mode {
	case "100644", "100755", "100664":
		return f
	case "":
		return instead("absent", "%s: there is no such file in the repository: restore it, or correct the path of the [[poller]]")
	case "040000":
		return instead("directory", "%s: it is a directory: put the definitions into one file, or correct the path of the [[poller]]")
	case "120000":
		return instead("link", "%s: it is a symbolic link, which is not followed: put the file itself there, or name the file that it leads to")
	case "160000":
		return instead("submodule", "%s: it is a submodule: name a file of this repository, or poll the other one")
	}
	return instead("mode "+mode, "%s: it is no file: put the definitions into a file")
}

// tooLarge returns f as a file of which nothing is read.
func (f File) tooLarge(path string, size int64) File {
	f.Refused = fmt.Sprintf("%s: it has %d bytes, and definitions have at most %d: is it the right file?", path, size, mostFile)
	return f
}
