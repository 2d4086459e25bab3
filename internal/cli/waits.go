package cli

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/rules/waits"
)

type waitsCmd struct {
	Window string `help:"How far back, such as 24h or 7d; at most 90d." default:"7d" placeholder:"TIME"`
	Lane   string `help:"Show only this lane, such as linux-amd64/0; a target alone is its matched jobs." placeholder:"LANE"`
	JSON   bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*waitsCmd) Help() string {
	return "A job waits from the moment it may run until a collector first takes it; time in which it waits for other jobs does not count. " +
		"It is in time if it waits no longer than the target (sla.target). It counts once that time is over: one that still waits then is not in time, " +
		"one that was cancelled before is left out. Jobs that were asked for again, such as reruns, repairs and samples, and further attempts are counted apart."
}

// Run shows how long jobs waited, and how long requests took.
func (c *waitsCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	found, err := cl.WaitStats(ctx, c.Window, c.Lane)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(found)
	}
	p.heading("%s to %s", moment(&found.From), moment(&found.To))
	if found.RunsFrom.After(found.From) {
		p.heading("jobs from %s on: those before have left the tables", moment(&found.RunsFrom))
	}
	var rows [][]string
	for _, l := range found.Lanes {
		longest, again := "-", "-"
		if l.Waiting > 0 {
			longest = duration(l.LongestMS)
		}
		if l.Again.Runs > 0 {
			again = fmt.Sprintf("%d of %d", l.Again.Hits, l.Again.Runs)
		}
		rows = append(rows, []string{
			l.Lane + when(l.Matched, " (any machine)"), duration(l.TargetMS), fmt.Sprint(l.Runs), fmt.Sprint(l.Hits), attained(l.Stats), tookOr(l.P50MS), tookOr(l.P90MS),
			fmt.Sprint(l.Waiting), longest, again, fmt.Sprint(l.Retries),
		})
	}
	fmt.Fprintln(p.Stdout)
	if len(rows) == 0 {
		of, others := "", ""
		if c.Lane != "" {
			of, others = " of "+c.Lane, " `tacho waits` shows all lanes."
		}
		fmt.Fprintf(p.Stdout, "No job%s waits now, and none is judged in this window yet: that takes until its target has passed.%s\n", of, others)
	} else if err := table(p.Stdout, []string{"LANE", "TARGET", "JOBS", "IN TIME", "ATTAINMENT", "P50", "P90", "WAITING", "LONGEST NOW", "AGAIN IN TIME", "RETRIES"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, k := range found.Kinds {
		rows = append(rows,
			[]string{string(k.Kind), fmt.Sprint(k.Requests), "p50", tookOr(k.Whole.P50MS), tookOr(k.Artifact.P50MS), tookOr(k.Admission.P50MS), tookOr(k.Execution.P50MS), tookOr(k.Report.P50MS)},
			[]string{string(k.Kind), fmt.Sprint(k.Requests), "p90", tookOr(k.Whole.P90MS), tookOr(k.Artifact.P90MS), tookOr(k.Admission.P90MS), tookOr(k.Execution.P90MS), tookOr(k.Report.P90MS)},
		)
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(p.Stdout)
	return table(p.Stdout, []string{"KIND", "REQUESTS", "", "WHOLE", "ARTIFACT", "ADMISSION", "EXECUTION", "REPORT"}, rows)
}

func attained(s waits.Stats) string {
	if text := s.Percent(); text != "" {
		return text
	}
	return "-"
}

func tookOr(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return duration(*ms)
}

// stageWords says how the time of a request was spent; "" if that is not known.
func stageWords(s *waits.Stages) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("artifact %s, admission %s, execution %s, report %s", duration(s.ArtifactMS), duration(s.AdmissionMS), duration(s.ExecutionMS), duration(s.ReportMS)) +
		when(s.Open, " so far")
}
