package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/website/client"
)

// bytesOfBatch is how much is sent in one batch. The server takes some more.
const bytesOfBatch = 3 << 20

type requestSubmitCmd struct {
	File string `arg:"" help:"File with one request a line, as a JSON object; - for the standard input." type:"path"`
	Each bool   `help:"Record each request for itself: a refused one keeps no other out."`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*requestSubmitCmd) Help() string {
	return `A line is a request as the API takes it: {"kind": "master", "tag": "1234abc", "parent_tag": "0123456", "priority": "low"}. ` +
		"All lines, at most 10,000, are checked before the first one is recorded. With --each, lines are recorded as they are, which is quicker: " +
		"a refused line is named on the standard error, or has an error in the JSON, the others are recorded in about their order, and the exit code " +
		"is that of the worst line. If the command is interrupted, run it again: requests that are there already stay as they are."
}

// Run submits the requests.
func (c *requestSubmitCmd) Run(ctx context.Context, p *Program) error {
	if c.Each {
		return c.submitEach(ctx, p)
	}
	list, err := fromFile(c.File, func(r io.Reader) ([]control.NewRequest, error) {
		list, err := client.ReadLines(r)
		if err == nil {
			err = control.Distinct(list, func(i int) string { return fmt.Sprintf("line %d", i+1) })
		}
		return list, err
	})
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
		p.noted(all)
		fmt.Fprintf(p.Stdout, "%s: %d recorded, %d there already\n", phrase.Count(len(list), "request"), all.Recorded, len(list)-all.Recorded)
	}
	return nil
}

// noted says how the first request was read that was read in another way than it was written.
func (p *Program) noted(all client.BatchAnswer) {
	if i := slices.IndexFunc(all.Requests, func(a client.BatchedRequest) bool { return a.Note != "" }); i >= 0 {
		p.say("line %d: %s", i+1, all.Requests[i].Note)
	}
}

// fromFile reads a file, or the standard input if its name is "-".
func fromFile[T any](name string, read func(io.Reader) (T, error)) (out T, err error) {
	file := io.NopCloser(os.Stdin)
	if name != "-" {
		if file, err = os.Open(name); err != nil {
			return out, usage.Error{Err: err}
		}
	}
	defer file.Close()
	if out, err = read(file); err != nil {
		return out, usage.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// submit sends all requests in batches, and tells after each how many were sent. If a batch fails, the answer has the
// batches before it.
func submit(ctx context.Context, cl *client.Client, list []control.NewRequest, check bool, tell func(int)) (client.BatchAnswer, error) {
	all := client.BatchAnswer{Requests: []client.BatchedRequest{}}
	for part := range slices.Chunk(list, control.MaxRequests) {
		answer, err := cl.CreateRequests(ctx, control.Batch{Requests: part, First: len(all.Requests) + 1, Check: check})
		if err != nil {
			return all, err
		}
		for _, r := range answer.Requests {
			all = all.With(r, check)
		}
		tell(len(all.Requests))
	}
	return all, nil
}

// submitEach records each line for itself. The error is that of the worst line: a fault is worse than a refusal.
func (c *requestSubmitCmd) submitEach(ctx context.Context, p *Program) error {
	lines, err := fromFile(c.File, client.ReadEach)
	if err != nil {
		return err
	}
	cl, err := p.client()
	if err != nil {
		return err
	}
	all := client.BatchAnswer{Requests: []client.BatchedRequest{}}
	for begin := 0; begin < len(lines); {
		end := batchOf(lines, begin)
		part, err := eachOf(ctx, cl, lines[begin:end], begin+1)
		if err != nil {
			n := all.Recorded
			return fmt.Errorf("%w; %d of %s are recorded for sure: run the same command again to continue", err, n, phrase.Count(len(lines), "request"))
		}
		for _, r := range part {
			all = all.With(r, false)
			if r.Error != nil && !c.JSON {
				p.say("line %d: %s", len(all.Requests), r.Error)
			}
		}
		p.say("%d of %s done", end, phrase.Count(len(lines), "request"))
		begin = end
	}
	if c.JSON {
		err = p.json(all)
	} else {
		p.noted(all)
		_, err = fmt.Fprintf(p.Stdout, "%s: %d recorded, %d there already, %d refused\n", phrase.Count(len(lines), "request"),
			all.Recorded, len(lines)-all.Recorded-all.Refused, all.Refused)
	}
	if err != nil {
		return err
	}
	return worstOf(all)
}

// worstOf returns the error of the worst request; nil if none has one.
func worstOf(all client.BatchAnswer) error {
	worst := -1
	for i, r := range all.Requests {
		if r.Error != nil && (worst < 0 || r.Status >= http.StatusInternalServerError && all.Requests[worst].Status < http.StatusInternalServerError) {
			worst = i
		}
	}
	if worst < 0 {
		return nil
	}
	e := *all.Requests[worst].Error
	e.Status = all.Requests[worst].Status
	return fmt.Errorf("%d of %s said no, such as line %d: %w", all.Refused, phrase.Count(len(all.Requests), "request"), worst+1, &e)
}

// batchOf returns where a batch ends that begins at a line. A line that is no request stands alone.
func batchOf(lines []client.Line, begin int) int {
	size, end := 0, begin
	for end < len(lines) && end-begin < control.MaxEach && lines[end].Err == nil {
		data, err := json.Marshal(lines[end].Request)
		if size += len(data); err != nil || size > bytesOfBatch {
			break
		}
		end++
	}
	return max(end, begin+1)
}

// eachOf sends the lines of a batch, and returns their answers. first is the number of the first line.
func eachOf(ctx context.Context, cl *client.Client, lines []client.Line, first int) ([]client.BatchedRequest, error) {
	if err := lines[0].Err; err != nil {
		no := &client.Error{Message: err.Error(), Next: "see `tacho request submit --help` for the form"}
		return []client.BatchedRequest{{Status: http.StatusBadRequest, Error: no}}, nil
	}
	b := control.Batch{First: first, Each: true}
	for _, l := range lines {
		b.Requests = append(b.Requests, l.Request)
	}
	answer, err := cl.CreateRequests(ctx, b)
	if err == nil && len(answer.Requests) != len(lines) {
		err = errors.New("the server answered another number of requests than it was asked for: ask its operator which version it has (`tacho version`)")
	}
	return answer.Requests, err
}
