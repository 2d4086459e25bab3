package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/visible"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type traceCmd struct {
	ID   string `arg:"" help:"Id, tag or key of a request, id of a job, the beginning of an id or tag, or sequence of an event."`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *traceCmd) Help() string {
	return "Each event is shown below the one that caused it. For a request you see everything that came of it; for a job its own events and " +
		"what led to them; for an event what led to it and what came of it."
}

// effect is an event with what it caused, in the order of the log.
type effect struct {
	Seq     events.Seq   `json:"seq"`
	Type    string       `json:"type"`
	Time    string       `json:"time"`
	Actor   events.Actor `json:"actor"`
	Text    string       `json:"text"`
	Job     events.JobID `json:"job_id,omitempty"`
	Effects []*effect    `json:"effects,omitempty"`
}

// Run shows the tree of causes.
func (c *traceCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	first, keep, err := c.find(ctx, cl)
	if err != nil {
		return err
	}
	top, err := causes(ctx, cl, first)
	if err != nil {
		return err
	}
	top.prune(keep)
	if c.JSON {
		return p.json(top)
	}
	return top.print(p, "", "")
}

// find returns an event of what the id names. keep selects the events to show, with what led to them.
func (c *traceCmd) find(ctx context.Context, cl *client.Client) (readmodel.Event, func(*effect) bool, error) {
	if n, err := strconv.ParseUint(c.ID, 10, 64); err == nil {
		seq := events.Seq(n)
		e, err := cl.Event(ctx, seq)
		if err != nil { // the beginning of a commit's hash may be digits only
			if first, keep, other := c.findNamed(ctx, cl); other == nil {
				return first, keep, nil
			}
		}
		return e, func(x *effect) bool { return x.Seq == seq }, next(err, "see `tacho events tail -n 20`")
	}
	return c.findNamed(ctx, cl)
}

// findNamed is find for the id of a request or a job.
func (c *traceCmd) findNamed(ctx context.Context, cl *client.Client) (readmodel.Event, func(*effect) bool, error) {
	var missing *client.Error
	id, keep := events.RequestID(""), func(*effect) bool { return true }
	r, err := cl.Request(ctx, c.ID)
	if id = r.ID; errors.As(err, &missing) && missing.Status == 404 {
		var j readmodel.JobHistory
		j, err = cl.Job(ctx, events.JobID(c.ID))
		switch {
		case err == nil || !errors.As(err, &missing):
		case missing.Status == 410: // the job has left the tables, but the log still has it
			j.ID, j.RequestID, err = missing.JobID, missing.RequestID, nil
		case missing.Status == 404:
			missing.Message, missing.Next = fmt.Sprintf("%s is no request, job or event", c.ID), "see `tacho request list` and `tacho jobs`"
		}
		id, keep = j.RequestID, func(x *effect) bool { return x.Job == j.ID }
	}
	if err != nil {
		return readmodel.Event{}, nil, err
	}
	list, err := cl.Events(ctx, client.EventQuery{Subject: "request." + string(id), After: new(events.Seq), Limit: 1})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("the log has no event of request %s", id)
	}
	if err != nil {
		return readmodel.Event{}, nil, err
	}
	return list[0], keep, nil
}

// causes returns the tree of everything that has the same first cause as the event. If that cause is a request, later
// commands about it (a cancel, a repair) are below it, too, with what came of them.
func causes(ctx context.Context, cl *client.Client, e readmodel.Event) (*effect, error) {
	for e.Cause > 0 {
		cause, err := cl.Event(ctx, e.Cause)
		if err != nil {
			return nil, fmt.Errorf("read the cause of event %d: %w", e.Seq, err)
		}
		e = cause
	}
	var list []readmodel.Event
	var err error
	// An event that no command caused has no root to ask for.
	if e.Root != "" {
		if list, err = behind(ctx, cl, e.Seq, client.EventQuery{Root: e.Root}); err != nil {
			return nil, err
		}
	}
	if e.Subject.Family() == "request" {
		own, err := behind(ctx, cl, e.Seq, client.EventQuery{Subject: strings.TrimPrefix(string(e.Subject), events.SubjectPrefix)})
		if err != nil {
			return nil, err
		}
		list = append(list, own...)
		slices.SortFunc(list, func(a, b readmodel.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	top := effectOf(e)
	known := map[events.Seq]*effect{e.Seq: top}
	for _, x := range list {
		cause := known[x.Cause]
		if cause == nil && x.Subject == e.Subject {
			cause = top
		}
		if known[x.Seq] == nil && cause != nil {
			known[x.Seq] = effectOf(x)
			cause.Effects = append(cause.Effects, known[x.Seq])
		}
	}
	return top, nil
}

// behind returns all events that a query finds after a sequence, in order.
func behind(ctx context.Context, cl *client.Client, after events.Seq, q client.EventQuery) (all []readmodel.Event, err error) {
	q.After, q.Limit = &after, page
	for {
		list, err := cl.Events(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if len(list) < page {
			return all, nil
		}
		after = list[len(list)-1].Seq
	}
}

func effectOf(e readmodel.Event) *effect {
	x := &effect{Seq: e.Seq, Type: e.Type, Time: e.StoredAt.UTC().Format("2006-01-02T15:04:05.000Z"), Actor: e.Actor, Text: describeStored(e)}
	if recorded, err := events.Decode(events.Stored{Seq: e.Seq, Subject: e.Subject, Header: e.Headers, Data: e.Data}); err == nil {
		x.Job = jobOf(recorded.Fact)
	}
	return x
}

// jobOf returns the job that a fact is about; empty when it is about none or several.
func jobOf(f events.Fact) events.JobID {
	// The rest is not about one job.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDispatched:
		return f.Job.ID
	case events.WorkFact:
		return f.Which()
	case events.ResultFact:
		return f.Which()
	}
	return ""
}

// prune keeps the wanted events, all that they caused, and what led to them. It reports whether any are wanted.
func (x *effect) prune(wanted func(*effect) bool) bool {
	if wanted(x) {
		return true
	}
	var kept []*effect
	for _, e := range x.Effects {
		if e.prune(wanted) {
			kept = append(kept, e)
		}
	}
	x.Effects = kept
	return len(kept) > 0
}

// print writes the tree. head comes before the event itself, indent before what it caused.
func (x *effect) print(p *Program, head, indent string) error {
	line := fmt.Sprintf("%6d  %s  %s%s  %s", x.Seq, x.Time[11:], head, shortType(x.Type), visible.Line(x.Text))
	if p.width != nil {
		line = cut(line, p.width())
	}
	if _, err := io.WriteString(p.Stdout, line+"\n"); err != nil {
		return err
	}
	for i, e := range x.Effects {
		branch, below := "├─ ", "│  "
		if i == len(x.Effects)-1 {
			branch, below = "└─ ", "   "
		}
		if err := e.print(p, indent+branch, indent+below); err != nil {
			return err
		}
	}
	return nil
}
