package collector

import (
	"context"
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/match"
)

// fullLook is how long a job is left alone that found too little memory, while it waits for the scheduler to take it.
const fullLook = time.Second

// fullError ends an attempt before its first command: the host has too little free memory.
type fullError struct{ events.HostFull }

func (e *fullError) Error() string {
	return fmt.Sprintf("the host has %d MiB of memory free, and the job reserves %d MiB", e.FreeMiB, e.ReservedMiB)
}

// full returns how much less memory is free on the host than a job reserves; nil if there is enough, or if either is not
// known.
//
// What other jobs on the machine reserve and do not use yet counts as free. That is right: the scheduler adds up what is
// reserved, so all of them together fit into what the machine offers. What is found here is that something else on the
// host uses what the machine offers, and a job that begins all the same would make the host swap, or kill.
func (c *Collector) full(spec events.JobSpec) *fullError {
	if !spec.Matched || c.FreeMemory == nil {
		return nil
	}
	need, err := match.Parse(spec.Requires)
	reserved := need.MemoryMiB()
	if err != nil || reserved == 0 { // the Bench refuses terms that it does not know
		return nil
	}
	bytes, known := c.FreeMemory()
	if free := bytes >> 20; known && free < reserved {
		return &fullError{events.HostFull{ReservedMiB: reserved, FreeMiB: free}}
	}
	return nil
}

// stillFull reports whether a job that found too little memory at this place waits there, and would find too little
// again. The scheduler usually takes it within a moment. While none runs, the job begins when there is memory.
func (c *Collector) stillFull(ctx context.Context, d events.JobDispatched) bool {
	if c.full(d.Job) == nil {
		return false
	}
	state, _, err := c.laneState(ctx) // begin meets the same error
	return err == nil && state.Full != nil && state.Phase == job.Open && state.Place == d.Place
}
