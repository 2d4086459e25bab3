package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/suite"
)

// errDiffers ends a command that was asked whether two things differ. What it printed says how.
var errDiffers = errors.New("there are differences")

type graphDiffCmd struct {
	A       string             `arg:"" help:"SUITE[@BRANCH][:GRAPH][,NAME=VALUE]...: the name of a shipped suite, or a file; a branch, a graph and options. Or REQUEST/N, a graph of a request." placeholder:"A"`
	B       string             `arg:"" help:"The same; beside REQUEST/N, the word template." placeholder:"B"`
	Request events.RequestKind `help:"Kind of the request: master, try or release; default: master." default:"master" enum:"master,try,release" placeholder:"KIND"`
	Options map[string]string  `help:"Option of both; may be repeated." name:"option" placeholder:"NAME=VALUE"`
	JSON    bool               `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*graphDiffCmd) Help() string {
	return "With REQUEST/N and template, it shows how the jobs of a graph differ from those that the definitions make for the request. Otherwise it asks no server, and shows which jobs B has and A has not, which it lacks, and what else differs in them and in what they need. " +
		"If nothing differs, it prints nothing and ends with exit code 0, else with 1. Which benchmarks changed is what `tacho suite diff` shows.\n\n" +
		"Examples:\n\n  tacho graph diff 1a2b3c4d/2 template\n\n  tacho graph diff mine.toml@main mine.toml@release/2:full,pgo=on --request try"
}

// Run shows how the jobs of two requests would differ.
func (c *graphDiffCmd) Run(ctx context.Context, p *Program) error {
	if c.B == templateWord {
		return c.fromTemplate(ctx, p)
	}
	from, a, err := c.side(c.A)
	if err != nil {
		return err
	}
	to, b, err := c.side(c.B)
	if err != nil {
		return err
	}
	return p.differences(suite.DiffJobs(from, a, to, b), c.JSON)
}

// templateWord stands for what the definitions make of a request.
const templateWord = "template"

// fromTemplate shows how the jobs of a graph differ from those that the definitions make.
func (c *graphDiffCmd) fromTemplate(ctx context.Context, p *Program) error {
	request, number, err := graphNamed(c.A)
	if err != nil {
		return err
	}
	cl, err := p.client()
	if err != nil {
		return err
	}
	found, err := cl.GraphDifferences(ctx, string(request), number)
	switch {
	case err != nil:
		return next(err, "see `tacho graph list "+string(request)+"`")
	case found.Why != "":
		return fmt.Errorf("graph %s/%d cannot be compared: %s", found.RequestID, number, found.Why)
	}
	return p.differences(found.Differences, c.JSON)
}

// differences prints differences, and says by its error that there are some.
func (p *Program) differences(differences []suite.Difference, asJSON bool) (err error) {
	if asJSON {
		err = p.json(append([]suite.Difference{}, differences...))
	}
	if err != nil || len(differences) == 0 {
		return err
	}
	for _, d := range differences {
		if !asJSON {
			p.heading("%s", d)
		}
	}
	return errDiffers
}

// side expands one of the two.
func (c *graphDiffCmd) side(reference string) (suite.Definitions, suite.Expansion, error) {
	name, choice, err := suite.ParseReference(reference, func(name string) bool {
		_, err := os.Stat(name)
		return err == nil || slices.Contains(definitions.Names(), name)
	})
	if err != nil {
		return suite.Definitions{}, suite.Expansion{}, usage.Error{Err: err}
	}
	d, err := loadSuite(name)
	if err != nil {
		return d, suite.Expansion{}, err
	}
	for key, value := range c.Options {
		if _, own := choice.Options[key]; !own {
			choice.Options[key] = value
		}
	}
	x, err := d.Expansion(suite.Request{Artifact: events.Artifact{Suite: d.Name, Tag: noTag, Kind: c.Request}, Definitions: "any", Choice: choice})
	if err != nil {
		return d, x, usage.Errorf("%s: %w", reference, err)
	}
	return d, x, nil
}
