package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/waits"
)

type graphTimingsCmd struct {
	Request string `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag; with /N, graph N of the request." placeholder:"REQUEST[/N]"`
	Jobs    bool   `help:"Show each job, and what its end unblocked."`
	JSON    bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*graphTimingsCmd) Help() string {
	return "Without /N it shows the first graph of the request; as JSON null if there is none. Times are those at which the log stored the events. " +
		"A job waits from the moment it may run until a collector takes it, and between its attempts; it is blocked while it waits for other jobs, and skipped while it cannot run because one of these failed. " +
		"The critical path ends with the job that ended last; each job of it was ready when the one before ended."
}

// slicesShown is in how many parts the command cuts the time of a graph.
const slicesShown = 12

// Run shows the timings.
func (c *graphTimingsCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	found, err := graphsNamed(ctx, cl, c.Request)
	if err != nil {
		return next(err, "see `tacho request list`")
	}
	if len(found.Graphs) == 0 {
		if c.JSON {
			return p.json(nil)
		}
		return p.noGraph(ctx, cl, found.RequestID)
	}
	g := found.Graphs[0]
	t, err := cl.Timings(ctx, string(found.RequestID), g.Number)
	if err != nil {
		return next(err, fmt.Sprintf("see `tacho graph list %s`", found.RequestID))
	}
	if c.JSON {
		return p.json(t)
	}
	if more := len(found.Graphs) - 1; more > 0 {
		p.say("this is graph %s of %d; name another one with %s/N", graphName(g), more+1, found.RequestID)
	}
	p.heading("graph %s (%s): %s after %s", graphName(g), t.Kind, graphState(g), duration(t.To.Sub(t.From).Milliseconds()))
	p.facts([][2]string{
		{"running", duration(t.RunningMS)},
		{"waiting", duration(t.WaitingMS)},
		{"blocked", duration(t.BlockedMS)},
		{"skipped", when(t.SkippedMS > 0, duration(t.SkippedMS))},
		{"lost", when(t.LostMS > 0, duration(t.LostMS)+" of machine time, in attempts that did not end their job")},
		{"parts", phasesWords(t.Phases)},
		{"no times", when(t.Left > 0, phrase.Count(t.Left, "job")+" had ended before, or left the tables")},
	})
	var rows [][]string
	for _, s := range t.Path {
		rows = append(rows, []string{s.Name, string(s.Job), duration(s.ReadyMS), duration(s.WaitingMS), duration(s.RunningMS)})
	}
	if len(rows) > 0 {
		fmt.Fprintln(p.Stdout)
		err = table(p.Stdout, []string{"CRITICAL PATH", "JOB", "READY AFTER", "WAITED", "RAN"}, rows)
		if err != nil {
			return err
		}
	}
	if c.Jobs {
		return p.timedJobs(t)
	}
	fmt.Fprintln(p.Stdout)
	return p.overTime(t)
}

// overTime draws how many jobs did what, a line for each part of the time.
func (p *Program) overTime(t readmodel.Timings) error {
	parts := t.Slices(slicesShown)
	most := 1.0
	for _, s := range parts {
		most = max(most, s.Running+s.Waiting+s.Blocked+s.Skipped)
	}
	each := min(barWidth/most, barWidth/4)
	head := []string{"FROM", "TO", "RUNNING", "WAITING", "BLOCKED"}
	if t.SkippedMS > 0 {
		head = append(head, "SKIPPED")
	}
	var rows [][]string
	for _, s := range parts {
		row := []string{duration(s.FromMS), duration(s.ToMS), fmt.Sprintf("%.1f", s.Running), fmt.Sprintf("%.1f", s.Waiting), fmt.Sprintf("%.1f", s.Blocked)}
		if t.SkippedMS > 0 {
			row = append(row, fmt.Sprintf("%.1f", s.Skipped))
		}
		bar, sum, drawn := "", 0.0, 0
		for _, part := range []struct {
			jobs float64
			sign string
		}{{s.Running, "#"}, {s.Waiting, "+"}, {s.Blocked, "."}, {s.Skipped, "x"}} {
			sum += part.jobs
			until := int(math.Round(sum * each))
			bar += strings.Repeat(part.sign, max(until-drawn, 0))
			drawn = max(drawn, until)
		}
		rows = append(rows, append(row, bar))
	}
	return table(p.Stdout, append(head, "# RUNNING  + WAITING  . BLOCKED"+when(t.SkippedMS > 0, "  x SKIPPED")), rows)
}

// barWidth is how many letters a bar has at most.
const barWidth = 40

// phasesWords says how long the parts of attempts took; "" if that is not known.
func phasesWords(p *events.Phases) string {
	if p == nil {
		return ""
	}
	var words []string
	for _, part := range []struct {
		name string
		ms   int64
	}{{"turn", p.Wait}, {"fetch", p.Fetch}, {"prepare", p.Prepare}, {"run", p.Run}, {"store", p.Store}} {
		if part.ms > 0 {
			words = append(words, part.name+" "+duration(part.ms))
		}
	}
	return strings.Join(words, ", ")
}

// timedJobs prints each job, those first that ended first.
func (p *Program) timedJobs(t readmodel.Timings) error {
	jobs, names := slices.Clone(t.Rounds), map[int]string{}
	for _, j := range jobs {
		names[j.Number] = j.Name
	}
	slices.SortStableFunc(jobs, func(a, b waits.Timing) int { return cmp.Compare(endOf(a), endOf(b)) })
	var rows [][]string
	for _, j := range jobs {
		begun, ended, unblocked := "-", "-", make([]string, len(j.Unblocked))
		if j.BegunMS != nil {
			begun = duration(*j.BegunMS)
		}
		if j.EndedMS != nil {
			ended = duration(*j.EndedMS)
		}
		for i, number := range j.Unblocked {
			unblocked[i] = names[number]
		}
		rows = append(rows, []string{
			j.Name, string(j.Job), duration(j.BlockedMS), duration(j.SkippedMS), duration(j.WaitingMS), begun, duration(j.RunningMS), duration(j.LostMS), ended, cmp.Or(phasesWords(j.Phases), "-"), fewOf(unblocked),
		})
	}
	fmt.Fprintln(p.Stdout)
	return table(p.Stdout, []string{"NAME", "JOB", "BLOCKED", "SKIPPED", "WAITED", "BEGAN AFTER", "RAN", "LOST", "ENDED AFTER", "PARTS", "UNBLOCKED"}, rows)
}

// endOf returns when a job ended; one that has not comes last.
func endOf(j waits.Timing) int64 {
	if j.EndedMS == nil {
		return math.MaxInt64
	}
	return *j.EndedMS
}
