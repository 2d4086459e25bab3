package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
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
		{"chunk", chunkWords(j.Job)},
		{"priority", when(j.SampleOf != nil, j.Priority.String())},
		{"suite", string(j.Suite)},
		{"tag", short(j.Tag) + against},
		{"what", fmt.Sprintf("%s %s/%s of %s", j.Kind, j.Backend, j.Profile, j.Part())},
		{"requires", strings.Join(j.Requires, " ")},
		{"lane", laneOf(j.Job)},
		{"reason", j.Reason},
		{"forced", j.Forced},
		{"expected", expectedToTake(j.CostMS)},
		{"reused", j.Reused()},
		{"created", moment(&j.CreatedAt)},
		{"ended", moment(j.FinishedAt)},
		{"cases", fmt.Sprintf("%d measured, %d skipped, %d failed", j.Measured, j.Skipped, j.Failed)},
		{"stale input", when(j.StaleInput, "it uses an output of a job that has failed since")},
		{"tokens", tokensOf(j.Built)},
		{"used", used(j.PeakMemoryBytes, j.CPUMS)},
	})
	if err := p.storedTables(j); err != nil {
		return err
	}
	if err := p.alikeTable(j.Alike); err != nil {
		return err
	}
	if err := p.attemptTable(j.AttemptList); err != nil {
		return err
	}
	if j.Diagnostics != nil {
		fmt.Fprintln(p.Stdout)
		if err := p.diagnostics(*j.Diagnostics, false); err != nil {
			return err
		}
	}
	p.sameErrors(j.ErrorList)
	return nil
}

// sameErrors prints errors, those of one cause once.
func (p *Program) sameErrors(list []readmodel.JobError) {
	others := map[string]int{}
	key := func(e readmodel.JobError) string {
		return string(e.Kind) + " " + compare.SameError(e.Message, e.Case)
	}
	for _, e := range list {
		others[key(e)]++
	}
	for _, e := range list {
		n := others[key(e)]
		if n == 0 {
			continue // it was said with the first of them
		}
		others[key(e)] = 0
		p.heading("%s: %s: %s%s", e.Kind, e.Context, firstLine(e.Message), when(n > 1, fmt.Sprintf(" … and %s: same error", phrase.Count(n-1, "other"))))
	}
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

// expectedToTake says how long a job was expected to take when its graph was made; empty if its graph has no costs.
func expectedToTake(costMS *int64) string {
	if costMS == nil {
		return ""
	}
	return phrase.Duration(time.Duration(*costMS) * time.Millisecond)
}

// chunkWords says which part of a divided job a job measures; empty for one that is not divided.
func chunkWords(j readmodel.Job) string {
	if j.Chunk == 0 {
		return ""
	}
	words := fmt.Sprintf("%d of at most %d", j.Chunk, j.Chunks)
	for i, u := range j.Units {
		words += when(i == 0, ": ") + when(i > 0, ", ") + string(u)
	}
	return words
}
