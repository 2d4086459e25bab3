package cli

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

// demo benchmarks two releases, the older as the parent of the newer, and prints how they compare. Tacho never measures the
// same thing twice, so each demo has its own data directory. Demos share fetched artifacts.
func (c *upCmd) demo(ctx context.Context, p *Program) error {
	if p.globals.Data == "" && p.Getenv("TACHO_DATA") == "" {
		base := p.config.Data
		if p.config.Collector.Cache == "" {
			p.config.Collector.Cache = filepath.Join(base, "cache")
		}
		p.config.Data = filepath.Join(base, "demo", p.Clock().UTC().Format("20060102-150405"))
	}
	if c.Listen == "" {
		p.config.Listen = "127.0.0.1:0"
	}
	return c.up(ctx, p, func(ctx context.Context, up *node.Up) error {
		d, err := demoSuite(up.Suites)
		if err != nil {
			return err
		}
		if err := c.compare(ctx, p, up, d); err != nil {
			return err
		}
		if c.Stay || p.Terminal && !c.JSON {
			p.say("Serving the pages until Ctrl-C.")
			<-ctx.Done()
		}
		return nil
	})
}

func demoSuite(suites []suite.Definitions) (suite.Definitions, error) {
	for _, d := range suites {
		if d.Demo != nil {
			return d, nil
		}
	}
	return suite.Definitions{}, usage.Errorf("none of the suites has a demo: set TACHO_SUITE to one that has, such as go")
}

func (c *upCmd) compare(ctx context.Context, p *Program, up *node.Up, d suite.Definitions) error {
	cl, err := client.New(up.Here.URL, "")
	if err == nil {
		err = p.secure(cl, &up.Here)
	}
	if err != nil {
		return err
	}
	by := control.By{Actor: up.Actor, Source: "cli", Root: "tacho up --demo"}
	parameters := events.Parameters{Benchmarks: d.Demo.Benchmarks}
	for _, lane := range node.HostLanes([]suite.Definitions{d}, -1) {
		if !slices.Contains(parameters.Targets, lane.Target) {
			parameters.Targets = append(parameters.Targets, lane.Target)
		}
	}
	if len(parameters.Targets) == 0 {
		return usage.Errorf("suite %s has no target for this machine (%s/%s): choose another suite with TACHO_SUITE", d.Name, runtime.GOOS, runtime.GOARCH)
	}
	var ids []events.RequestID
	for _, n := range []control.NewRequest{
		{Suite: d.Name, Kind: events.Master, Tag: d.Demo.Parent, Parameters: parameters, AsItIs: true},
		{Suite: d.Name, Kind: events.Master, Tag: d.Demo.Child, Parent: d.Demo.Parent, Parameters: parameters, AsItIs: true},
	} {
		r, answer, err := up.Control.CreateRequest(ctx, by, n)
		if err != nil {
			return err
		}
		cl, ids = cl.After(answer.Seq), append(ids, r.ID)
	}
	up.Say("demo       suite %s: %s, and its parent %s", d.Name, d.Demo.Child, d.Demo.Parent)
	if err := p.await(ctx, cl, ids...); err != nil {
		return err
	}
	q := client.CompareQuery{A: d.Demo.Parent, B: d.Demo.Child, Suite: d.Name}
	comparison, err := cl.Compare(ctx, q)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := p.json(comparison); err != nil {
			return err
		}
	} else if err := cl.CompareAs(ctx, q, "text", p.Stdout); err != nil {
		return err
	}
	page := up.Here.URL + "/compare?" + url.Values{"a": {string(q.A)}, "b": {string(q.B)}, "suite": {string(q.Suite)}}.Encode()
	up.Say("\npage       %s\nlook again %s", page, "tacho up --data "+string(up.Dir))
	var failed []string
	for _, id := range ids {
		r, err := cl.Request(ctx, string(id))
		if err != nil {
			return err
		}
		if r.State != events.StateCompleted {
			failed = append(failed, fmt.Sprintf("request %s is %s (%s)", id, r.State, r.Reason))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s: see `tacho request show` and `tacho logs`", strings.Join(failed, "; "))
	}
	return nil
}
