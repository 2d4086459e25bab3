package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/seal"
	"github.com/tachobench/tacho/rules/suite"
)

// published remembers what the log says about suites, so that definitions are parsed once. An event never changes, so
// what was read is right until the suite has a newer event.
type published struct {
	mu     sync.Mutex
	suites map[events.SuiteName]*Published
	// named are definitions that requests named lately.
	named map[namedKey]suite.Definitions
}

// Published is what the log says about the definitions of a suite.
type Published struct {
	name        events.SuiteName
	seq         events.Seq
	lines       suite.Lines
	definitions map[events.Digest]suite.Definitions // those in force
	// unreadable says why definitions in force cannot be read, such as those of a newer program.
	unreadable map[events.Digest]error
	seals      seals
	// digests are all that were published, and moves all that branches were moved to.
	digests map[events.Digest]bool
	moves   []move
}

// For returns the definitions that a branch uses, or a refusal when there are none. An empty branch is one that has none
// of its own.
func (p *Published) For(branch string) (suite.Definitions, error) {
	d, ok := p.definitions[p.lines.InForce(branch)]
	err := p.unreadable[p.lines.InForce(branch)]
	switch {
	case err != nil:
		return d, fmt.Errorf("read the definitions of suite %s: %w", p.name, err)
	case !ok && len(p.lines) == 0:
		return d, refuse(NotFound, "suite %s has definitions that requests name by their digest, and none that its branches use: publish some with `tacho suite publish`", p.name)
	case !ok && branch == "" && len(p.lines.Branches()) == 0:
		return d, refuse(NotFound, "suite %s has no definitions yet, because those in its repository were refused: `tacho suite branches %s` says why", p.name, p.name)
	case !ok && branch == "":
		return d, refuse(NotFound, "suite %s has definitions for %s alone: name one of these branches", p.name, strings.Join(p.lines.Branches(), ", "))
	case !ok:
		return d, refuse(NotFound, "suite %s has no definitions for branch %s: publish some with `tacho suite publish`", p.name, branch)
	}
	return d, nil
}

// Lines returns which definitions each branch uses. They must not be changed.
func (p *Published) Lines() suite.Lines { return p.lines }

// Varies reports whether a suite has something of its own for branches: definitions, or rules in them.
func (p *Published) Varies() bool {
	for branch, line := range p.lines {
		if line.Digest != "" && (branch != "" || len(p.definitions[line.Digest].Branches) > 0) {
			return true
		}
	}
	return false
}

// targets returns the targets of all definitions in force: first those of branch "", then those of the other branches.
// One that several of them have is returned once for each of its forms.
func (p *Published) targets() []suite.Target {
	var out []suite.Target
	for _, branch := range append([]string{""}, p.lines.Branches()...) {
		for _, t := range p.definitions[p.lines[branch].Digest].Targets {
			if !slices.ContainsFunc(out, func(o suite.Target) bool { return o.Name == t.Name && o.Sets == t.Sets }) {
				out = append(out, t)
			}
		}
	}
	return out
}

// Definitions returns the definitions that a branch of a suite uses, or a refusal when there are none.
func (c *Control) Definitions(ctx context.Context, name events.SuiteName, branch string) (suite.Definitions, error) {
	p, err := c.Published(ctx, name)
	if err != nil {
		return suite.Definitions{}, err
	}
	return p.For(branch)
}

// publications returns what the log says about a suite, or a refusal when no definitions were published.
type publications func(context.Context, events.SuiteName) (*Published, error)

// publishedOnce returns publications that ask the log once for each suite. It is for one decision, and for one goroutine.
func (c *Control) publishedOnce() publications {
	known := map[events.SuiteName]*Published{}
	return func(ctx context.Context, name events.SuiteName) (*Published, error) {
		if p := known[name]; p != nil {
			return p, nil
		}
		p, err := c.Published(ctx, name)
		if err == nil {
			known[name] = p
		}
		return p, err
	}
}

// Published returns what the log says about a suite, or a refusal when no definitions were published. It reads and parses
// only what is new.
func (c *Control) Published(ctx context.Context, name events.SuiteName) (*Published, error) {
	if err := events.CheckToken("suite", string(name)); err != nil {
		return nil, refuse(Invalid, "%s", err)
	}
	c.published.mu.Lock()
	known := c.published.suites[name]
	c.published.mu.Unlock()
	if known != nil {
		newer, err := c.Log.Newer(ctx, events.SuiteSubject(name), known.seq)
		switch {
		case err != nil:
			return nil, err
		case !newer:
			return known, nil
		}
	}
	read, err := c.readSuite(ctx, name, known)
	switch {
	case err != nil:
		return nil, err
	case read.seq == 0:
		return nil, refuse(NotFound, "no definitions of suite %s were published: publish some with `tacho suite publish`%s", name, c.others(ctx, name))
	}
	c.published.mu.Lock()
	defer c.published.mu.Unlock()
	if c.published.suites == nil {
		c.published.suites = map[events.SuiteName]*Published{}
	}
	c.published.suites[name] = read
	return read, nil
}

func (c *Control) readSuite(ctx context.Context, name events.SuiteName, known *Published) (*Published, error) {
	history, err := c.Log.Read(ctx, events.SuiteSubject(name))
	if err != nil {
		return nil, err
	}
	read := &Published{
		name: name, definitions: map[events.Digest]suite.Definitions{}, unreadable: map[events.Digest]error{}, digests: map[events.Digest]bool{},
	}
	content := map[events.Digest]events.RawJSON{}
	for _, e := range history {
		read.seq = e.Seq
		if e.Fact == nil { // litter
			continue
		}
		read.lines = read.lines.Evolve(e.Fact)
		read.seals = read.seals.with(e.Fact)
		read.evolve(e.Fact)
		if f, ok := e.Fact.(events.DefinitionsPublished); ok {
			content[f.Digest] = f.Content
		}
	}
	for _, line := range read.lines {
		if line.Digest == "" {
			continue
		}
		if known != nil {
			if d, ok := known.definitions[line.Digest]; ok {
				read.definitions[line.Digest] = d
				continue
			}
		}
		d, err := suite.Parse(content[line.Digest])
		if err != nil { // other branches go on
			read.unreadable[line.Digest] = err
			continue
		}
		read.definitions[line.Digest] = d
	}
	return read, nil
}

// decideBranchPriority returns a refusal if a priority that somebody names is above what a branch allows.
func decideBranchPriority(branch string, t suite.Template, p events.Priority) error {
	if t.MaxPriority == "" || p.Level() >= t.MaxPriority.Level() {
		return nil
	}
	return refuse(Forbidden, "priority %s is above what branch %s allows, which is %s (max_priority)", p, branch, t.MaxPriority)
}

// branchTemplate returns what the branch of a request says of its priority.
func (c *Control) branchTemplate(ctx context.Context, q request.Request) (suite.Template, error) {
	if q.Choice().Branch == "" {
		return suite.Template{}, nil
	}
	d, err := c.Definitions(ctx, q.Artifact.Suite, q.Choice().Branch)
	if err != nil {
		return suite.Template{}, err
	}
	t, err := d.Template(q.Kind, suite.Choice{Branch: q.Choice().Branch})
	if err != nil { // what allows nothing says nothing of priorities
		return suite.Template{}, nil
	}
	return t, nil
}

// Origin says where definitions come from and whom they are for.
type Origin struct {
	// Branch is the branch that uses them; empty for all that have none of their own.
	Branch string
	// Revision is the commit that they were read from, File the name that the repository gives to the content of their
	// file. Both are empty if a person publishes them.
	Revision, File string
	// Aside publishes them for requests that name them, and for no branch.
	Aside bool
	// Standing are definitions that a program publishes at each of its starts. Once published, they do not undo a promotion,
	// and they leave alone what a repository publishes.
	Standing bool
	// Seal is the signature of who publishes them; nil for none.
	Seal *events.Seal
}

// Publish makes definitions the current ones of their suite, for all branches that have none of their own.
func (c *Control) Publish(ctx context.Context, by By, d suite.Definitions) (Answer, error) {
	return c.PublishFrom(ctx, by, d, Origin{})
}

// PublishFrom makes definitions the current ones of a branch of their suite. The file of a repository is published once: the
// same content again, at whatever revision, changes nothing, even if the branch was moved to other definitions since. What
// was rejected before, by an older program, is published. Definitions that are published aside are published once. A seal that
// definitions do not have yet is also recorded, but for those that no branch uses any more.
func (c *Control) PublishFrom(ctx context.Context, by By, d suite.Definitions, from Origin) (Answer, error) {
	for _, t := range d.Targets {
		if _, pool := (events.Lane{Target: t.Name}).Pool(); pool {
			return Answer{}, refuse(Invalid, "%s", events.CheckTarget(t.Name))
		}
	}
	digest := d.Digest()
	if from.Seal != nil {
		if _, err := seal.Parse(seal.Text(*from.Seal)); err != nil {
			return Answer{}, refuse(Invalid, "the seal cannot be read: %s", err)
		}
	}
	return c.onBranch(ctx, by, events.RightPublish, d.Name, from.Branch, func(h suiteHistory) ([]events.Fact, error) {
		line := h.lines[from.Branch]
		switch {
		case from.Aside && h.digests[digest] && h.seals.has(digest, from.Seal):
			return nil, nil
		case from.Aside:
		case line.Digest == digest && !h.seals.has(digest, from.Seal): // the same, sealed anew
		case from.File != "" && line.File == from.File && len(line.Problems) == 0, from.File == "" && line.Digest == digest, from.Standing && (line.Published == digest || line.File != ""):
			return nil, nil
		}
		return []events.Fact{events.DefinitionsPublished{
			Suite: d.Name, Digest: digest, Content: d.Canonical(), Branch: from.Branch, Revision: from.Revision, File: from.File,
			Seal: from.Seal, Aside: from.Aside,
		}}, nil
	})
}

// The bounds of what is recorded of a rejected file.
const (
	maxProblems = 20
	maxProblem  = 500
)

func shortProblem(p string) string { return strings.ToValidUTF8(p[:min(len(p), maxProblem)], "�") }

// Reject records that the file of a repository cannot be used. The branch keeps its definitions. The same content again
// changes nothing.
func (c *Control) Reject(ctx context.Context, by By, name events.SuiteName, from Origin, problems []string) (Answer, error) {
	if n := len(problems); n > maxProblems {
		problems = append(slices.Clone(problems[:maxProblems-1]), fmt.Sprintf("and %d more", n-maxProblems+1))
	}
	problems = slices.Clone(problems)
	for i, p := range problems {
		problems[i] = shortProblem(p)
	}
	return c.onBranch(ctx, by, events.RightPublish, name, from.Branch, func(h suiteHistory) ([]events.Fact, error) {
		if h.lines[from.Branch].File == from.File {
			return nil, nil
		}
		return []events.Fact{events.DefinitionsRejected{
			Suite: name, Branch: from.Branch, Revision: from.Revision, File: from.File, Problems: problems,
		}}, nil
	})
}

// Promote moves a branch to definitions of its suite that were published before, forwards or back. An empty digest takes
// its own definitions from a branch: then it uses those of all branches.
func (c *Control) Promote(ctx context.Context, by By, name events.SuiteName, branch string, digest events.Digest, reason string) (Answer, error) {
	switch {
	case digest == "" && branch == "":
		return Answer{}, refuse(Invalid, "name the definitions by their digest: `tacho suite promote %s` lists them", name)
	case len(reason) > maxProblem:
		return Answer{}, refuse(Invalid, "the reason has more than %d bytes", maxProblem)
	}
	return c.onBranch(ctx, by, events.RightPromote, name, branch, func(h suiteHistory) ([]events.Fact, error) {
		from := h.lines[branch].Digest
		switch {
		case from == digest:
			return nil, nil
		case digest == "" && h.lines[""].Digest == "":
			return nil, refuse(Conflict, "branch %s cannot use the definitions of all branches: there are none", branch)
		case digest != "" && !h.digests[digest]:
			return nil, refuse(NotFound, "suite %s has no definitions %s: `tacho suite promote %s` lists what was published", name, digest, name)
		}
		return []events.Fact{events.DefinitionsPromoted{Suite: name, Branch: branch, Digest: digest, From: from, Reason: reason}}, nil
	})
}

// suiteHistory is what decisions on a suite need to know.
type suiteHistory struct {
	lines   suite.Lines
	digests map[events.Digest]bool
	seals   seals
}

// onBranch takes a decision on the definitions of a branch, for which an account needs a right.
func (c *Control) onBranch(ctx context.Context, by By, right events.Right, name events.SuiteName, branch string,
	decision func(suiteHistory) ([]events.Fact, error),
) (Answer, error) {
	err := events.CheckToken("suite", string(name))
	if err == nil && branch != "" {
		err = events.CheckBranch(branch)
	}
	if err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	return decide(ctx, c, by, events.SuiteSubject(name), func(h suiteHistory, e events.Recorded) suiteHistory {
		h.lines, h.seals = h.lines.Evolve(e.Fact), h.seals.with(e.Fact)
		if f, ok := e.Fact.(events.DefinitionsPublished); ok {
			if h.digests == nil {
				h.digests = map[events.Digest]bool{}
			}
			h.digests[f.Digest] = true
		}
		return h
	}, func(h suiteHistory) ([]events.Fact, error) {
		err := c.mayDefine(ctx, by, right, branch)
		if err != nil {
			return nil, err
		}
		return decision(h)
	})
}
