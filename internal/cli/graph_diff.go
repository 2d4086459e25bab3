package cli

import (
	"context"
	"errors"
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
	A       string             `arg:"" help:"SUITE[@BRANCH][:GRAPH][,NAME=VALUE]...: the name of a shipped suite, or a file; a branch, a graph and options." placeholder:"A"`
	B       string             `arg:"" help:"The same." placeholder:"B"`
	Request events.RequestKind `help:"Kind of the request: master, try or release; default: master." default:"master" enum:"master,try,release" placeholder:"KIND"`
	Options map[string]string  `help:"Option of both; may be repeated." name:"option" placeholder:"NAME=VALUE"`
	JSON    bool               `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*graphDiffCmd) Help() string {
	return "It asks no server. It shows which jobs B has and A has not, which it lacks, and what else differs in them and in what they need. " +
		"If nothing differs, it prints nothing and ends with exit code 0, else with 1. Which benchmarks changed is what `tacho suite diff` shows.\n\n" +
		"Example: tacho graph diff mine.toml@main mine.toml@release/2:full,pgo=on --request try"
}

// Run shows how the jobs of two requests would differ.
func (c *graphDiffCmd) Run(_ context.Context, p *Program) error {
	from, a, err := c.side(c.A)
	if err != nil {
		return err
	}
	to, b, err := c.side(c.B)
	if err != nil {
		return err
	}
	differences := suite.DiffJobs(from, a, to, b)
	if c.JSON {
		err = p.json(append([]suite.Difference{}, differences...))
	}
	if err != nil || len(differences) == 0 {
		return err
	}
	for _, d := range differences {
		if !c.JSON {
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
