package cli

import (
	"fmt"

	"github.com/tachobench/tacho/rules/graph"
)

type graphCmd struct {
	List    graphListCmd    `cmd:"" help:"List the graphs of a request."`
	Show    graphShowCmd    `cmd:"" help:"Show the jobs of a graph: their states, what they need, and why they wait or are skipped."`
	Timings graphTimingsCmd `cmd:"" help:"Show what the jobs of a graph did over time, its critical path, and machine time that was lost."`
	Plan    graphPlanCmd    `cmd:"" help:"Show the jobs that a request would make, what they need, and an order in which they could run."`

	Diff graphDiffCmd `cmd:"" help:"Show how the jobs differ that requests would make with two suites, branches, graphs or options, or those of a graph from what its definitions make."`

	Retrigger graphRetriggerCmd `cmd:"" help:"Measure jobs again, as samples beside what was measured."`
	Noise     graphNoiseCmd     `cmd:"" help:"Measure the parent several times more, to see how much its results differ by chance."`
	Repair    graphRepairCmd    `cmd:"" help:"Run jobs again that did not succeed."`
	Add       graphAddCmd       `cmd:"" help:"Add jobs to a request that its graph or its options switched off."`
	Submit    graphSubmitCmd    `cmd:"" help:"Submit a graph of your own jobs, measured beside a request."`
	Cancel    graphCancelCmd    `cmd:"" help:"Withdraw a graph that somebody asked for."`
}

// drawn are the flags of commands that can print a graph as a drawing.
type drawn struct {
	JSON bool `help:"Print JSON." name:"json" xor:"form"`
	DOT  bool `help:"Print the graph for Graphviz." name:"dot" xor:"form"`
	SVG  bool `help:"Print the graph as a drawing." name:"svg" xor:"form"`
}

func (d drawn) drawing() bool { return d.DOT || d.SVG }

// draw prints the drawing that the flags name. label says what is drawn.
func (d drawn) draw(p *Program, label string, drawing graph.Drawing) error {
	text := drawing.File(label)
	if d.DOT {
		text = drawing.DOT()
	}
	_, err := fmt.Fprint(p.exactly(p.Stdout), text)
	return err
}
