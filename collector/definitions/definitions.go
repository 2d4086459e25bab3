// Package definitions holds the suites that ship inside the program, with the programs that they measure. It also
// reads suites from files.
//
// A shipped suite is <name>.toml; its programs are txtar archives, <name>/<program>.txtar. A suite that is a file has
// its programs beside it, as directories or as txtar archives. Both forms of a program have the same digest: it
// covers the names and the contents of its files and nothing else.
package definitions

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// The patterns match all suites and programs: a new one needs no change here.
//
//go:embed *.toml */*.txtar
var shipped embed.FS

const extension = ".toml"

// Names returns the names of the shipped suites, sorted.
func Names() []string {
	files, err := fs.Glob(shipped, "*"+extension)
	if err != nil {
		return nil
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, extension)
	}
	slices.Sort(files)
	return files
}

// Load returns the suite that nameOrFile names: a shipped one, or a file whose name ends in ".toml". For an unknown
// name, the error lists the shipped suites. For a file, it is suite.Problems with everything that is wrong.
func Load(nameOrFile string) (suite.Definitions, error) {
	if !strings.HasSuffix(nameOrFile, extension) {
		return Shipped(nameOrFile)
	}
	data, err := os.ReadFile(nameOrFile)
	if err != nil {
		return suite.Definitions{}, fmt.Errorf("read suite file: %w", err)
	}
	d, err := suite.Load(nameOrFile, data, ProgramsBeside(nameOrFile).digestOf)
	if err != nil {
		return suite.Definitions{}, err
	}
	if d.Sources.Root == suite.SourcesShipped {
		return suite.Definitions{}, suite.Problems{{File: nameOrFile, Message: fmt.Sprintf(
			"sources.root is %q, which is for suites inside the program: use %q and keep the programs beside the file",
			suite.SourcesShipped, suite.SourcesFile)}}
	}
	return d, nil
}

// LoadDraft is Load for planning: the sets of the suite need not be complete. For a shipped suite, the draft's file
// is <name>.toml, as in this program's source.
func LoadDraft(nameOrFile string) (suite.Draft, error) {
	if strings.HasSuffix(nameOrFile, extension) {
		data, err := os.ReadFile(nameOrFile)
		if err != nil {
			return suite.Draft{}, fmt.Errorf("read suite file: %w", err)
		}
		return suite.LoadDraft(nameOrFile, data)
	}
	if _, err := Shipped(nameOrFile); err != nil {
		return suite.Draft{}, err
	}
	data, err := shipped.ReadFile(nameOrFile + extension)
	if err != nil {
		return suite.Draft{}, fmt.Errorf("read shipped suite: %w", err)
	}
	return suite.LoadDraft(nameOrFile+extension, data)
}

// Shipped returns a suite that ships. The error for an unknown name lists the known ones.
func Shipped(name string) (suite.Definitions, error) {
	if !slices.Contains(Names(), name) {
		return suite.Definitions{}, fmt.Errorf("unknown suite %q: use %s, or a file whose name ends in %s",
			name, strings.Join(Names(), ", "), extension)
	}
	data, err := shipped.ReadFile(name + extension)
	if err != nil {
		return suite.Definitions{}, fmt.Errorf("read shipped suite: %w", err)
	}
	return suite.Load(name+extension, data, ShippedPrograms(events.SuiteName(name)).digestOf)
}

// ShippedPrograms returns the programs of a shipped suite.
func ShippedPrograms(suiteName events.SuiteName) Programs {
	sub, err := fs.Sub(shipped, string(suiteName))
	if err != nil {
		// The name is not a valid path, so it names no programs.
		sub = embed.FS{}
	}
	return Programs{files: sub}
}

// ProgramsBeside returns the programs of a suite that is a file. It does not follow links that lead out of the file's
// directory.
func ProgramsBeside(file string) Programs {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		// If the directory does not exist, reading the first program says so.
		return Programs{files: os.DirFS(filepath.Dir(file))}
	}
	return Programs{files: root.FS()}
}
