package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type jobShowCmd struct {
	Job  events.JobID `arg:"" help:"Id of the job, or its beginning."`
	JSON bool         `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*jobShowCmd) Help() string {
	return "Of a matched job it also shows what the last ten jobs like it used: of the same suite, target, set, kind, backend and profile. " +
		"Peak memory is that of the command that had the most. Where the machine limits jobs, the files that the kernel keeps in memory for the command are part of it; " +
		"elsewhere it is that of the largest process. CPU time is that of all commands together. Fetching and building artifacts is no part of either."
}

// Run shows the job.
func (c *jobShowCmd) Run(ctx context.Context, p *Program) error {
	read := func(cl *client.Client) (readmodel.JobHistory, error) { return cl.Job(ctx, c.Job) }
	return show(p, c.JSON, read, "see `tacho jobs`", p.showJob)
}

func (p *Program) showJob(j readmodel.JobHistory) error {
	p.heading("job %s: %s", j.ID, j.Shown())
	against := ""
	if j.Against != "" {
		against = " against " + short(j.Against)
	}
	p.facts([][2]string{
		{"request", string(j.RequestID) + when(j.Backfill, " (backfill)")},
		{"sample", sampleWords(j.SampleOf)},
		{"iterations", when(j.Iterations > 0, fmt.Sprintf("%d, and not as the definitions say", j.Iterations))},
		{"priority", when(j.SampleOf != nil, j.Priority.String())},
		{"suite", string(j.Suite)},
		{"tag", short(j.Tag) + against},
		{"what", fmt.Sprintf("%s %s/%s of %s", j.Kind, j.Backend, j.Profile, j.Part())},
		{"requires", strings.Join(j.Requires, " ")},
		{"lane", laneOf(j.Job)},
		{"reason", j.Reason},
		{"forced", j.Forced},
		{"reused", j.Reused()},
		{"created", moment(&j.CreatedAt)},
		{"ended", moment(j.FinishedAt)},
		{"cases", fmt.Sprintf("%d measured, %d skipped, %d failed", j.Measured, j.Skipped, j.Failed)},
		{"used", used(j.PeakMemoryBytes, j.CPUMS)},
	})
	if err := p.alikeTable(j.Alike); err != nil {
		return err
	}
	if err := p.attemptTable(j.AttemptList); err != nil {
		return err
	}
	for _, e := range j.ErrorList {
		p.heading("%s: %s: %s", e.Kind, e.Context, firstLine(e.Message))
	}
	return nil
}

// sampleWords says what a job is a sample of; "" for a job of the base series.
func sampleWords(s *readmodel.SampleOf) string {
	if s == nil {
		return ""
	}
	return s.Words + when(s.JobID != "", ", of job "+string(s.JobID))
}

// used says what a job used; "" if that is not known.
func used(peakBytes, cpuMS int64) string {
	var words []string
	if peakBytes > 0 {
		words = append(words, fmt.Sprintf("%d MiB of memory at its peak", readmodel.Mebibytes(peakBytes)))
	}
	if cpuMS > 0 {
		words = append(words, duration(cpuMS)+" of CPU time")
	}
	return strings.Join(words, ", ")
}

// alikeTable shows what the last jobs of a sort used; nothing if there are none.
func (p *Program) alikeTable(list []readmodel.JobUse) error {
	if len(list) == 0 {
		return nil
	}
	var rows [][]string
	for _, u := range list {
		peak, reserved := "-", "-"
		if u.PeakMemoryBytes > 0 {
			peak = fmt.Sprintf("%d MiB", readmodel.Mebibytes(u.PeakMemoryBytes))
		}
		if u.MemoryMiB > 0 {
			reserved = fmt.Sprintf("%d MiB", u.MemoryMiB)
		}
		rows = append(rows, []string{string(u.JobID), string(u.State), peak, reserved, duration(u.CPUMS)})
	}
	peak, cpu := readmodel.MostUsed(list)
	fmt.Fprintln(p.Stdout)
	p.heading("The last %s like it used at most %s:", phrase.Count(len(list), "job"), used(peak, cpu))
	return table(p.Stdout, []string{"JOB", "STATE", "PEAK MEMORY", "RESERVED", "CPU TIME"}, rows)
}

func (p *Program) attemptTable(list []readmodel.Attempt) error {
	if len(list) == 0 {
		return nil
	}
	var rows [][]string
	for _, a := range list {
		state, took := string(a.State), "-"
		if a.Outcome != "" {
			state = string(a.Outcome)
		}
		if a.EndedAt != nil {
			took = duration(a.DurationMS)
		}
		rows = append(rows, []string{fmt.Sprint(a.Attempt), string(a.Collector), state, moment(&a.StartedAt), took, firstLine(a.Reason)})
	}
	fmt.Fprintln(p.Stdout)
	return table(p.Stdout, []string{"ATTEMPT", "COLLECTOR", "STATE", "STARTED", "TOOK", "REASON"}, rows)
}
