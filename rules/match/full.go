package match

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Full is a machine that had less free memory than a job reserves: something else on its host uses what it offers.
type Full struct {
	// HostFull is what the newest job reserves, and what was free.
	events.HostFull
	// Times counts such jobs in a row. At is when the newest was given back, by the event Seq.
	Times int
	At    time.Time
	Seq   events.Seq
	// Alarm is what the job found with which Times reached FullAlarm, by the event AlarmBy: the words of an alert must not
	// change with each try.
	Alarm   events.HostFull `json:",omitzero"`
	AlarmBy events.Seq      `json:",omitzero"`
}

// FullAlarm is how many jobs in a row must find too little memory on a machine until a person is told.
const FullAlarm = 3

// FullRan is how long a job must run until it has surely found enough memory. A collector looks before the first
// command, which takes it far less.
const FullRan = time.Minute

const (
	// fullPause is how long a full machine gets no job that reserves more than was free. It doubles with each time in a
	// row, since each try costs some events, and the memory may be taken for days.
	fullPause = 30 * time.Second
	// fullPauseOnly is the longest pause if no other machine can run the job, fullPauseOthers if one can: each try
	// ends that another machine is held for the job.
	fullPauseOnly, fullPauseOthers = 4 * time.Minute, 30 * time.Minute
)

// Lacks reports whether a job reserves more than was free. A nil machine is not full.
func (f *Full) Lacks(r Requirement) bool { return f != nil && r.memory > f.FreeMiB }

// Until returns when the machine is tried again. others says that another machine can run the jobs and has the memory. All
// jobs that reserve more than was free wait, not only the one that was given back: they would find the same.
func (f *Full) Until(others bool) time.Time {
	most := fullPauseOnly
	if others {
		most = fullPauseOthers
	}
	return f.At.Add(min(fullPause<<min(f.Times-1, 10), most))
}

// Ended is the end of an attempt on a machine.
type Ended struct {
	// At is when the log stored it, as event Seq. Ran is how long the attempt had run.
	At  time.Time
	Seq events.Seq
	Ran time.Duration
	// Requires are the terms of its job.
	Requires []string
}

// After returns what the end of an attempt tells about the free memory of its machine; nil if that is not full. It is not
// any more once a job ran that began later and reserves more than was free. Other facts about the work change nothing.
func (f *Full) After(fact events.WorkFact, end Ended) *Full {
	token, ran := events.Seq(0), end.Ran >= FullRan
	switch fact := fact.(type) {
	case events.AttemptReleased:
		if fact.HostFull != nil {
			return f.again(*fact.HostFull, end)
		}
		token = fact.Token
	case events.AttemptLost:
		token = fact.Token
	case events.JobFinished:
		token, ran = fact.Token, ran || fact.Outcome != events.Cancelled
	case events.JobDequeued, events.JobMoved: // no attempt ends
	}
	if ran && f.Disproved(token, end.Requires) {
		return nil
	}
	return f
}

// again returns the machine after one more job found too little memory.
func (f *Full) again(found events.HostFull, end Ended) *Full {
	next := Full{Times: 1}
	if f != nil {
		next = *f
		next.Times++
	}
	next.HostFull, next.At, next.Seq = found, end.At, end.Seq
	if next.Times == FullAlarm {
		next.Alarm, next.AlarmBy = found, end.Seq
	}
	return &next
}

// Disproved reports whether an attempt that ran for FullRan tells that the machine has memory again: it began later, and
// its job, which requires the terms, reserves more than was free.
func (f *Full) Disproved(token events.Seq, requires []string) bool {
	if f == nil || token <= f.Seq {
		return false
	}
	needs, _ := Parse(requires) // terms of a newer program reserve nothing
	return f.Lacks(needs)
}
