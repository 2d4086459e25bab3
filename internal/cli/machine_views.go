package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

type machineListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run lists the machines.
func (c *machineListCmd) Run(ctx context.Context, p *Program) error {
	return show(p, c.JSON, func(cl *client.Client) (readmodel.Machines, error) { return cl.Machines(ctx) }, "", p.machineList)
}

func (p *Program) machineList(found readmodel.Machines) error {
	var rows [][]string
	for _, m := range found.Machines {
		rows = append(rows, []string{
			string(m.Name), string(m.Pool), fmt.Sprintf("%d of %d", m.Open, m.Slots), freeMemory(m), freeCPUs(m),
			cmp.Or(strings.Join(deviceWords(m.Devices), " "), "-"), cmp.Or(strings.Join(m.Traits, " "), "-"), collectorStates(m),
		})
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.Stdout, "No machine of a pool is registered: register one with `tacho machine add`.")
	} else if err := table(p.Stdout, []string{"MACHINE", "POOL", "JOBS", "FREE MEMORY", "FREE CPUS", "DEVICES", "TRAITS", "COLLECTORS"}, rows); err != nil {
		return err
	}
	for _, m := range found.Machines {
		if m.Full != nil {
			fmt.Fprintf(p.Stdout, "%s is full: %s\n", m.Name, m.Full.Words)
		}
	}
	for _, u := range found.Unserved {
		lacks := cmp.Or(u.Lacks, "there is no machine")
		if u.Nearest != "" {
			lacks = fmt.Sprintf("%s comes nearest, %s", u.Nearest, u.Lacks)
		}
		fmt.Fprintf(p.Stdout, "no machine can run %s of %s requests, such as %s, which waits since %s and requires %s: %s\n",
			phrase.Count(u.Jobs, "job"), u.Kind, u.JobID, moment(&u.Since), strings.Join(u.Requires, " "), lacks)
	}
	p.hints(found.Hints)
	return nil
}

// hints tells which kinds of jobs reserve too little or too much memory.
func (p *Program) hints(list []readmodel.MemoryHint) {
	for _, h := range list {
		p.heading("hint: %s in requires; `tacho job show %s` had the most", h.Words, h.JobID)
	}
}

// freeMemory says how much memory is free of how much.
func freeMemory(m readmodel.Machine) string {
	if m.MemoryMiB == 0 {
		return "not known"
	}
	return fmt.Sprintf("%s of %s", memorySize(m.FreeMemoryMiB), memorySize(m.MemoryMiB))
}

func freeCPUs(m readmodel.Machine) string {
	if m.CPUs == 0 {
		return "not known"
	}
	return fmt.Sprintf("%d of %d", m.FreeCPUs, m.CPUs)
}

// collectorStates counts the collectors of a machine by their state, in the order of the first of each.
func collectorStates(m readmodel.Machine) string {
	counts := map[readmodel.CollectorState]int{}
	var order []readmodel.CollectorState
	for _, c := range m.Collectors {
		if counts[c.State]++; counts[c.State] == 1 {
			order = append(order, c.State)
		}
	}
	words := make([]string, len(order))
	for i, state := range order {
		words[i] = fmt.Sprintf("%d %s", counts[state], state)
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

type machineShowCmd struct{ machineName }

// Run shows one machine.
func (c *machineShowCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	m, err := cl.Machine(ctx, c.Name)
	if err != nil {
		return next(err, "see `tacho machine list`")
	}
	if c.JSON {
		return p.json(m)
	}
	collectors, err := cl.Collectors(ctx, false)
	if err != nil {
		return err
	}
	limits := ""
	for _, slot := range collectors {
		if why := limitsOf(slot); slot.Machine == m.Name && why != "" {
			limits = "not enforced, jobs can use more than they reserve: " + why
		}
	}
	alerts, err := cl.Alerts(ctx, 0)
	if err != nil {
		return err
	}
	alert, full := "", ""
	if m.Full != nil {
		full = m.Full.Words
	}
	for _, a := range alerts {
		if a.Kind == events.AlertHostFull && a.About == string(m.Name) {
			alert = a.Message + " " + a.Action
		}
	}
	p.heading("machine %s of pool %s", m.Name, m.Pool)
	p.facts([][2]string{
		{"host", m.OS + "/" + m.Arch},
		{"jobs", fmt.Sprintf("%d of at most %d", m.Open, m.Slots)},
		{"memory", freeMemory(m) + when(m.MemoryMiB > 0, " free")},
		{"CPUs", freeCPUs(m) + when(m.CPUs > 0, " free")},
		{"devices", strings.Join(deviceWords(m.Devices), " ")},
		{"traits", strings.Join(m.Traits, " ")},
		{"only", strings.Join(m.Only, " ")},
		{"accepts", spaced(m.Accepts)},
		{"limits", limits},
		{"full", full},
		{"alert", alert},
	})
	var rows [][]string
	for _, s := range m.Collectors {
		job, needs := "-", "-"
		if s.Job != nil {
			job, needs = fmt.Sprintf("%s (%s %s)", s.Job.JobID, short(s.Job.Tag), s.Job.Kind), cmp.Or(strings.Join(s.Job.Requires, " "), "-")
		}
		rows = append(rows, []string{string(s.Name), s.Lane.String(), string(s.State), moment(&s.Since), job, needs})
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(p.Stdout)
	return table(p.Stdout, []string{"COLLECTOR", "LANE", "STATE", "SINCE", "JOB", "REQUIRES"}, rows)
}
