package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/internal/visible"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type eventsCmd struct {
	Tail   eventsTailCmd   `cmd:"" help:"Show events in order: all, or the newest with -n; with -f also new ones as they come."`
	Show   eventsShowCmd   `cmd:"" help:"Show one event in full."`
	Export eventsExportCmd `cmd:"" help:"Write all events as JSON lines."`
	Park   eventsParkCmd   `cmd:"" help:"Leave an event that this version does not understand out of everything."`
	Unpark eventsUnparkCmd `cmd:"" help:"Take a parked event into everything again."`
	Parked eventsParkedCmd `cmd:"" help:"List the parked events."`
}

type eventsTailCmd struct {
	N       int    `help:"Show this many of the newest; 0 shows all." short:"n" name:"count" default:"0"`
	Follow  bool   `help:"Also show new events as they come." short:"f"`
	Type    string `help:"Only one type, such as job.finished.v1." placeholder:"TYPE"`
	Subject string `help:"Only one aggregate (request.r12…); if it ends in a dot, all that begin with it." placeholder:"SUBJECT"`
	JSON    bool   `help:"Print JSON lines." name:"json"`
}

// Run shows events in order.
func (c *eventsTailCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	if err := knownType(c.Type); err != nil {
		return err
	}
	to := p.Stdout
	if c.JSON {
		to = p.jsonOut()
	}
	out := bufio.NewWriter(to)
	defer out.Flush()
	q := client.EventQuery{Type: c.Type, Subject: c.Subject, Limit: c.N}
	if c.N == 0 {
		q.After, q.Limit = new(events.Seq), page
	}
	var last events.Seq
	for {
		list, err := cl.Events(ctx, q)
		if err != nil {
			return err
		}
		for i := range list {
			// Without a start, the newest event comes first.
			e := list[i]
			if c.N != 0 {
				e = list[len(list)-1-i]
			}
			if err := p.eventLine(out, e, c.JSON); err != nil {
				return err
			}
			last = e.Seq
		}
		if c.N != 0 || len(list) < page {
			break
		}
		q.After = &last
	}
	if !c.Follow {
		return nil
	}
	q.After, q.Limit = &last, 0
	return cl.FollowEvents(ctx, q, func(e readmodel.Event) error {
		return errors.Join(p.eventLine(out, e, c.JSON), out.Flush())
	})
}

// knownType refuses a name that is no event type. For a type without its version, as lines of events show it, the error names
// the whole type.
func knownType(name string) error {
	known := events.Types()
	if name == "" || slices.Contains(known, name) {
		return nil
	}
	var meant []string
	for _, t := range known {
		if shortType(t) == name {
			meant = append(meant, t)
		}
	}
	if len(meant) == 0 {
		meant = known
	}
	return usage.Errorf("unknown type of event %q: use %s", name, strings.Join(meant, ", "))
}

// page is how many events are asked for at once.
const page = 1000

func (p *Program) eventLine(out *bufio.Writer, e readmodel.Event, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(e)
	}
	line := fmt.Sprintf("%6d  %s  %-24s %s", e.Seq, e.StoredAt.Local().Format("15:04:05.000"), shortType(e.Type), visible.Line(describeStored(e)))
	if p.width != nil {
		line = cut(line, p.width())
	}
	_, err := fmt.Fprintln(out, line)
	return err
}

type eventsShowCmd struct {
	Seq  events.Seq `arg:"" help:"Sequence number of the event."`
	JSON bool       `help:"Print JSON." name:"json"`
}

// Run shows one event.
func (c *eventsShowCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	e, err := cl.Event(ctx, c.Seq)
	if err != nil {
		return next(err, "see `tacho events tail -n 20`")
	}
	if c.JSON {
		return p.json(e)
	}
	fmt.Fprintf(p.Stdout, "event %d: %s\n%s\n\n", e.Seq, shortType(e.Type), visible.Line(describeStored(e)))
	for _, name := range sortedKeys(e.Headers) {
		fmt.Fprintf(p.Stdout, "%-16s %s\n", name, visible.Line(e.Headers[name]))
	}
	fmt.Fprintf(p.Stdout, "%-16s %s\n%-16s %s\n%-16s %s\n\n", "subject", e.Subject, "stored at", e.StoredAt.UTC().Format("2006-01-02T15:04:05.000Z"), "chain", e.Chain)
	return p.shownJSON(e.Data)
}

type eventsExportCmd struct{}

// Run writes the whole log as JSON lines.
func (c *eventsExportCmd) Run(ctx context.Context, p *Program) error {
	return (&eventsTailCmd{JSON: true}).Run(ctx, p)
}

type replayCmd struct {
	Verify bool `help:"Change nothing: rebuild beside the live tables and compare row by row." xor:"what"`
	Forget bool `help:"Take a log for the right one that lacks events which the archive in the tables has, or is another one: they are lost." xor:"what"`
	JSON   bool `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *replayCmd) Help() string {
	return "With --verify, a running Tacho does the work, if there is one. Without --verify, the tables are rebuilt and swapped: stop `tacho up` first, " +
		"or set nats.url and database.url to your own servers, where this may run beside everything else."
}

// Run rebuilds the tables, or verifies that they are what the log gives.
func (c *replayCmd) Run(ctx context.Context, p *Program) error {
	report, err := c.report(ctx, p)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := p.json(report); err != nil {
			return err
		}
	} else if err := p.replayTable(report, c.Verify); err != nil {
		return err
	}
	if c.Verify && !report.Identical() {
		return fmt.Errorf("the tables are not what the log gives: rebuild them with `tacho replay`, and report what happened before")
	}
	return nil
}

func (c *replayCmd) report(ctx context.Context, p *Program) (projector.Report, error) {
	var report projector.Report
	_, runs := datadir.Dir(p.config.Data).Find()
	if c.Verify && (runs || p.config.Server != "") {
		cl, err := p.client()
		if err != nil {
			return report, err
		}
		raw, err := cl.VerifyReplay(ctx)
		if err == nil {
			return report, json.Unmarshal(raw, &report)
		}
		var gone *client.UnreachableError
		if p.config.Server != "" || !errors.As(err, &gone) {
			return report, err
		}
		// That Tacho was killed, so its directory is free.
	}
	return p.host().Replay(ctx, node.ReplayOptions{Verify: c.Verify, Forget: c.Forget})
}

func (p *Program) replayTable(r projector.Report, verified bool) error {
	if !verified {
		fmt.Fprintf(p.Stdout, "rebuilt from %s\n", phrase.Count(int(r.Seq), "event"))
		return nil
	}
	var rows [][]string
	for _, t := range r.Tables {
		verdict := "identical"
		if !t.Identical() {
			verdict = phrase.Count(t.Differing, "row") + " " + phrase.Verb(t.Differing, "differs", "differ")
		}
		rows = append(rows, []string{t.Name, fmt.Sprint(t.Live.Rows), fmt.Sprint(t.Rebuilt.Rows), fmt.Sprintf("%.16s", t.Rebuilt.Digest), verdict})
	}
	if err := table(p.Stdout, []string{"TABLE", "ROWS", "REBUILT", "DIGEST", ""}, rows); err != nil {
		return err
	}
	if r.Identical() {
		fmt.Fprintf(p.Stdout, "All tables are what %s of the log give, row by row.\n", when(r.Seq > 1, "the ")+phrase.Count(int(r.Seq), "event"))
	}
	return nil
}
