package cli

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/website/client"
)

type requestSubmitCmd struct {
	File string `arg:"" help:"File with one request a line, as a JSON object." type:"path"`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*requestSubmitCmd) Help() string {
	return `A line is a request as the API takes it: {"kind": "master", "tag": "1234abc", "parent_tag": "0123456", "priority": "low"}. ` +
		"All lines, at most 10,000, are checked before the first one is recorded. If the command is interrupted, run it again: " +
		"requests that are there already stay as they are."
}

// Run submits the requests.
func (c *requestSubmitCmd) Run(ctx context.Context, p *Program) error {
	list, err := c.read()
	if err != nil {
		return err
	}
	cl, err := p.client()
	if err != nil {
		return err
	}
	for _, check := range []bool{true, false} {
		what := "recorded"
		if check {
			what = "checked"
		}
		all, err := submit(ctx, cl, list, check, func(n int) { p.say("%d of %s %s", n, phrase.Count(len(list), "request"), what) })
		switch n := len(all.Requests); {
		case err != nil && n > 0 && !check:
			return fmt.Errorf("%w; %d of %s are recorded: run the same command again to continue", err, n, phrase.Count(len(list), "request"))
		case err != nil:
			return err
		case check:
			continue
		case c.JSON:
			return p.json(all)
		}
		if i := slices.IndexFunc(all.Requests, func(a client.RequestAnswer) bool { return a.Note != "" }); i >= 0 {
			p.say("line %d: %s", i+1, all.Requests[i].Note)
		}
		fmt.Fprintf(p.Stdout, "%s: %d recorded, %d there already\n", phrase.Count(len(list), "request"), all.Recorded, len(list)-all.Recorded)
	}
	return nil
}

// read reads the file and checks what can be checked without a server.
func (c *requestSubmitCmd) read() ([]control.NewRequest, error) {
	f, err := os.Open(c.File)
	if err != nil {
		return nil, usage.Error{Err: err}
	}
	defer f.Close()
	list, err := client.ReadLines(f)
	if err == nil {
		err = control.Distinct(list, func(i int) string { return fmt.Sprintf("line %d", i+1) })
	}
	if err != nil {
		return nil, usage.Errorf("%s: %w", c.File, err)
	}
	return list, nil
}

// submit sends all requests in batches, and tells after each how many were sent. If a batch fails, the answer has the
// batches before it.
func submit(ctx context.Context, cl *client.Client, list []control.NewRequest, check bool, tell func(int)) (client.BatchAnswer, error) {
	all := client.BatchAnswer{Requests: []client.RequestAnswer{}}
	for part := range slices.Chunk(list, control.MaxRequests) {
		answer, err := cl.CreateRequests(ctx, control.Batch{Requests: part, First: len(all.Requests) + 1, Check: check})
		if err != nil {
			return all, err
		}
		all.Requests = append(all.Requests, answer.Requests...)
		all.Recorded += answer.Recorded
		all.Seq = max(all.Seq, answer.Seq)
		tell(len(all.Requests))
	}
	all.Existed = all.Recorded == 0
	return all, nil
}
