package poller

import (
	"context"
	"errors"
	"fmt"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/visible"
)

// mostUnread is in how many polls in a row files of commits may be unreadable, while the list of commits can be read. From
// then on a request whose file cannot be read takes the definitions of its branch, until a file can be read: commits must
// not wait for ever.
const mostUnread = 5

// ownDefinitions adds to a request the definitions that its own commit has. They are published first, once for each digest,
// so a poller that is killed between the two steps repeats nothing. If they cannot be used, the request says why, and takes
// those of its branch. An error is worth another poll.
func (p *Poller) ownDefinitions(ctx context.Context, by control.By, n control.NewRequest) (control.NewRequest, error) {
	if p.Path == "" || n.Kind != events.Master {
		return n, nil
	}
	_, known, err := p.Control.Log.Last(ctx, events.RequestSubject(events.NewRequestID(n.Suite, n.Kind, string(n.Tag))))
	if known || err != nil {
		return n, err
	}
	read, err := p.readTree(ctx, n.Tag)
	if err != nil {
		return n, err
	}
	if len(read.Problems) == 0 {
		origin := read.origin()
		origin.Aside, origin.Seal = true, p.Key.Definitions(read.Suite, read.Digest)
		answer, err := p.Control.PublishFrom(ctx, by, read.definitions, origin)
		switch {
		case unpublishable(&read, p.Path, err):
		case err != nil:
			return n, fmt.Errorf("publish the definitions of %.12s: %w", n.Tag, err)
		case !answer.Existed:
			p.warn(read.definitions)
		}
	}
	if len(read.Problems) > 0 {
		return p.withoutOwn(n, read.problem()), nil
	}
	n.Named, n.Tree = read.Digest, true
	return n, nil
}

// readTree reads the file of a commit. A source that fails often is a problem of the file in the end.
func (p *Poller) readTree(ctx context.Context, commit events.Tag) (Reading, error) {
	tree, ok := p.Source.(Tree)
	if !ok {
		return Reading{}, errors.New("the commits of this source have no files")
	}
	file, err := tree.At(ctx, string(commit), p.Path)
	if err == nil {
		p.unread = 0
		return readingOf(p.Suite, p.Path, file), nil
	}
	var limited *LimitedError
	if ctx.Err() == nil && !errors.As(err, &limited) {
		p.unread++
	}
	if p.unread < mostUnread {
		return Reading{}, fmt.Errorf("read the definitions of %.12s: %w", commit, err)
	}
	return Reading{Problems: []string{visible.Line(fmt.Sprintf("%s: it could not be read in %d polls: %s", p.Path, mostUnread, err))}}, nil
}

// withoutOwn returns a request that takes the definitions of its branch, and says why.
func (p *Poller) withoutOwn(n control.NewRequest, problem string) control.NewRequest {
	n.Named, n.Tree, n.Problem = "", false, problem
	p.Logger.Warn("the definitions of a commit cannot be used: its request takes those of its branch", "tag", n.Tag, "problem", problem)
	return n
}

// create asks for a commit or release. If its own definitions do not suit it, it takes those of its branch.
func (p *Poller) create(ctx context.Context, by control.By, n control.NewRequest) (control.Answer, error) {
	_, answer, err := p.Control.CreateRequest(ctx, p.asking(by), n)
	var refused *control.RefusedError
	if n.Named != "" && errors.As(err, &refused) && refused.Kind == control.Invalid {
		_, answer, err = p.Control.CreateRequest(ctx, p.asking(by), p.withoutOwn(n, p.Path+": "+refused.Reason))
	}
	return answer, err
}
