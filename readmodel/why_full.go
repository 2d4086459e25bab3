package readmodel

import (
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/match"
)

// WhyFull says that a job passes a machine by, because something else than jobs has the memory there.
type WhyFull struct {
	// ReservedMiB is what the job reserves, FreeMiB is what the last job found that reserves more. Until is when the machine
	// is tried again.
	ReservedMiB int64     `json:"reserved_mib"`
	FreeMiB     int64     `json:"free_mib"`
	Until       time.Time `json:"until"`
}

// passedBy returns why jobs that wait for the same pass a machine by that could run them; nil if they do not.
func (r whyRows) passedBy(f whyFirst, m MachineRow) *WhyFull {
	needs, _ := match.Parse(f.Requires) // a machine can run it
	if !m.Full.Lacks(needs) {
		return nil
	}
	until := m.Full.Until(slices.ContainsFunc(r.park.manned(f), func(o MachineRow) bool {
		return o.Name != m.Name && !o.Full.Lacks(needs) && !slices.Contains(f.Avoids, o.Name)
	}))
	if !r.waits.Now.Before(until) {
		return nil
	}
	return &WhyFull{ReservedMiB: needs.MemoryMiB(), FreeMiB: m.Full.FreeMiB, Until: until}
}

// words says it of the machine.
func (f WhyFull) words() string {
	return fmt.Sprintf("it had %d MiB of memory free when a job last began there, less than the %d MiB that this one reserves, and is passed by until %s",
		f.FreeMiB, f.ReservedMiB, phrase.Moment(f.Until))
}

// MachineFull says that jobs found less memory free on a machine than they reserve.
type MachineFull struct {
	events.HostFull
	// Times counts such jobs in a row, At is when the last one was given back. Jobs that reserve more than was free pass the
	// machine by until Until at the latest.
	Times int       `json:"times"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
	// Words say all of it in one sentence.
	Words string `json:"words"`
}

// fullOf returns how full a machine is while jobs may pass it by; nil for the rest.
func fullOf(m MachineRow, now time.Time) *MachineFull {
	if m.Full == nil || !now.Before(m.Full.Until(true)) {
		return nil
	}
	f := MachineFull{HostFull: m.Full.HostFull, Times: m.Full.Times, At: m.Full.At, Until: m.Full.Until(true)}
	again := ""
	if f.Times > 1 {
		again = fmt.Sprintf(", %d times in a row", f.Times)
	}
	f.Words = fmt.Sprintf("a job that reserves %d MiB of memory found %d MiB free at %s%s: jobs that reserve more than was free pass this machine by, until %s at the latest",
		f.ReservedMiB, f.FreeMiB, phrase.Moment(f.At), again, phrase.Moment(f.Until))
	return &f
}
