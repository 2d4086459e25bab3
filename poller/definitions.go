package poller

import (
	"context"
	"errors"
	"fmt"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/visible"
	"github.com/tachobench/tacho/rules/suite"
)

// Definitions are the definitions of a suite: a file in a repository, which is published when it changes.
type Definitions struct {
	Files Files
	// Path is where the repository has the file.
	Path string
	// Branch is the branch that uses the definitions; empty for all that have none of their own.
	Branch string
}

// Reading is what a file of definitions says at a commit.
type Reading struct {
	Suite    events.SuiteName `json:"suite"`
	Branch   string           `json:"branch,omitempty"`
	Revision string           `json:"revision"`
	File     string           `json:"file"`
	// Digest is that of the definitions; empty if there are Problems.
	Digest events.Digest `json:"digest,omitempty"`
	// Problems say why the file cannot be used, each with its line.
	Problems []string `json:"problems,omitempty"`

	definitions suite.Definitions
}

// Look reads the file at the tip of its branch. It records nothing.
func (d Definitions) Look(ctx context.Context, name events.SuiteName) (Reading, error) {
	return d.look(ctx, name, Reading{})
}

// look is Look; while the tip is the commit of known, nothing is read.
func (d Definitions) look(ctx context.Context, name events.SuiteName, known Reading) (Reading, error) {
	tip, err := d.Files.Tip(ctx)
	if err != nil || tip == known.Revision {
		return known, err
	}
	file, err := d.Files.File(ctx, tip, d.Path)
	if err != nil {
		return known, err
	}
	r := readingOf(name, d.Path, file)
	r.Branch = d.Branch
	return r, nil
}

// readingOf returns what a file of definitions says.
func readingOf(name events.SuiteName, path string, file File) Reading {
	r := Reading{Suite: name, Revision: file.Revision, File: file.ID}
	if file.Refused != "" {
		r.Problems = []string{visible.Line(file.Refused)}
		return r
	}
	found, problems := load(name, path, file.Data)
	for _, p := range problems {
		r.Problems = append(r.Problems, visible.Line(p.String()))
	}
	if len(problems) == 0 {
		r.definitions, r.Digest = found, found.Digest()
	}
	return r
}

// problem returns the first problem, with the number of the others.
func (r Reading) problem() string {
	if n := len(r.Problems) - 1; n > 0 {
		return fmt.Sprintf("%s (and %d more)", r.Problems[0], n)
	}
	return r.Problems[0]
}

// load reads a suite file without anything beside it: no path in it is looked up on this machine.
func load(name events.SuiteName, path string, data []byte) (suite.Definitions, suite.Problems) {
	beside := false
	d, err := suite.LoadBounded(path, data, func(suite.BenchmarkDef) (events.Digest, error) {
		beside = true
		return "", nil
	})
	var problems suite.Problems
	if err != nil && !errors.As(err, &problems) {
		problems = suite.Problems{{File: path, Message: err.Error()}}
	}
	if beside {
		problems = append(problems, suite.Problem{File: path, Message: fmt.Sprintf("sources.root is %q or %q, and programs are not read from a repository: "+
			"write a name that the collectors' configuration maps to a directory ([sources]), or publish the suite with `tacho suite publish`",
			suite.SourcesFile, suite.SourcesShipped)})
	}
	if err == nil && d.Name != name {
		problems = append(problems, suite.Problem{File: path, Message: fmt.Sprintf("name is %q, and the poller is for suite %q: correct the name here, or the suite of the [[poller]]",
			d.Name, name)})
	}
	return d, problems
}

func (r Reading) origin() control.Origin {
	return control.Origin{Branch: r.Branch, Revision: r.Revision, File: r.File}
}

// publish reads the file once, and publishes its definitions if they are new, or records why they are refused. The log
// remembers by its name which content was read last: a poller that was killed or started again, and a second one, repeat
// nothing. refused says what is wrong with the file; empty if it is good.
func (p *Poller) publish(ctx context.Context, by control.By) (refused string, err error) {
	read, err := p.Definitions.look(ctx, p.Suite, p.read)
	if err != nil {
		return "", err
	}
	line, err := p.line(ctx, read.Branch)
	if err != nil {
		return "", err
	}
	sealed, err := p.sealed(ctx, read)
	if err != nil {
		return "", err
	}
	if len(read.Problems) == 0 && (line.File != read.File || len(line.Problems) > 0 || !sealed) {
		from := read.origin()
		from.Seal = p.Key.Definitions(read.Suite, read.Digest)
		answer, err := p.Control.PublishFrom(ctx, by, read.definitions, from)
		switch {
		case unpublishable(&read, p.Definitions.Path, err):
		case err != nil:
			return "", fmt.Errorf("publish the definitions of %.12s: %w", read.Revision, err)
		case !answer.Existed:
			p.Logger.Info("definitions are published", "suite", p.Suite, "branch", read.Branch, "revision", read.Revision, "digest", read.Digest)
			p.warn(read.definitions)
		}
	}
	p.read = read
	if len(read.Problems) == 0 || line.File == read.File && len(line.Problems) == 0 {
		// Either the file is good, or a newer program than this one found it good and published it.
		return "", nil
	}
	if line.File != read.File {
		line.Revision = read.Revision
		_, err := p.Control.Reject(ctx, by, p.Suite, read.origin(), read.Problems)
		if err != nil {
			return "", fmt.Errorf("record that the definitions of %.12s are refused: %w", read.Revision, err)
		}
		p.Logger.Warn("definitions are refused", "suite", p.Suite, "branch", read.Branch, "revision", read.Revision, "problem", read.Problems[0])
	}
	// All pollers of the file name the revision in the log, so that they raise one alert.
	return fmt.Sprintf("the definitions of suite %s in revision %.12s are refused: %s", p.Suite, line.Revision, read.problem()), nil
}

// warn says which collectors must be updated for definitions.
func (p *Poller) warn(d suite.Definitions) {
	if p.CannotRead == nil {
		return
	}
	if old := p.CannotRead(d); len(old) > 0 {
		p.Logger.Warn("definitions are too new for some collectors", "suite", p.Suite, "problem", suite.TooNew(d, old))
	}
}

// unpublishable reports whether definitions can never be published, and notes why.
func unpublishable(read *Reading, path string, err error) bool {
	var no *control.RefusedError
	switch {
	case errors.As(err, &no):
		read.Problems = []string{visible.Line(fmt.Sprintf("%s: %s", path, no.Reason))}
	case errors.Is(err, eventlog.ErrBatchTooLarge):
		read.Problems = []string{path + ": the definitions are too large for one event of the log, which has at most 1 MiB: split the suite"}
	default:
		return false
	}
	return true
}

// sealed reports whether the definitions have the seal of the poller's key; so do those that need none.
func (p *Poller) sealed(ctx context.Context, r Reading) (bool, error) {
	own := p.Key.Definitions(r.Suite, r.Digest)
	if own == nil || r.Digest == "" {
		return true, nil
	}
	published, err := p.published(ctx)
	return published == nil || published.Sealed(r.Branch, r.Digest, own), err
}

// line returns what the log says about the branch that the definitions are for.
func (p *Poller) line(ctx context.Context, branch string) (suite.Line, error) {
	published, err := p.published(ctx)
	if err != nil || published == nil {
		return suite.Line{}, err
	}
	return published.Lines()[branch], nil
}

// published returns what the log says about the suite; nil if it says nothing.
func (p *Poller) published(ctx context.Context) (*control.Published, error) {
	published, err := p.Control.Published(ctx, p.Suite)
	var refused *control.RefusedError
	if errors.As(err, &refused) && refused.Kind == control.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was published of suite %s: %w", p.Suite, err)
	}
	return published, nil
}
