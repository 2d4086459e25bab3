// Package job decides the attempts of jobs on a lane.
//
// A lane is strictly first in, first out: its dispatched jobs have places 1, 2, 3, …, and a job is dequeued only after
// the job at the place before it has ended. So the state of a lane is its current place and what happens there. Every
// event on the lane's work subject carries all of that state: a collector reads the last event, never a history.
//
//	          JobDequeued            JobFinished, JobMoved
//	open ────────────────▶ current ───────────────▶ ended (place is over; the next may begin)
//	  ▲                      │ │
//	  └──────────────────────┘ │  AttemptLost (a crash: spends one of the attempts)
//	  └────────────────────────┘  AttemptReleased (shutdown, drain, transient error, full host, machine not ready: spends nothing)
//
// The log is the fence. Every fact is appended with the last sequence of the work subject as the expected version. So
// of a finish and a loss of the same attempt exactly one is recorded, and two attempts are never both current. The
// sequence of JobDequeued is the attempt's token.
package job

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
)

// Phase is the closed set of phases of the current place of a lane.
type Phase string

// The phases of a place.
const (
	// Open: no attempt is current.
	Open Phase = "open"
	// Current: an attempt runs.
	Current Phase = "current"
	// Ended: the job of this place is over.
	Ended Phase = "ended"
)

// Lane is the state of one lane's work. The zero value is a lane on which nothing was ever dequeued.
type Lane struct {
	Place uint64
	Phase Phase
	JobID events.JobID
	// Job is known while the last event is a JobDequeued.
	Job       events.JobSpec
	Collector events.CollectorName
	Instance  string
	// Token is the sequence of the JobDequeued of the current or the last attempt.
	Token events.Seq
	// Attempt counts the executions of the job, Lost those that ended by a crash or by silence.
	Attempt, Lost int
	// Since is when the first of a run of transient errors struck; zero when there was none.
	Since time.Time
	// StartedAt is when the current attempt began.
	StartedAt time.Time
	// Failing is set when the job of an ended place failed because its artifact had transient errors for too long,
	// since Since. The artifact's next job then has no budget of its own.
	Failing events.Artifact
	// Full is set while the job waits because the host had less free memory than it reserves.
	Full *events.HostFull `json:",omitempty"`
}

// Refusal says why a command is not carried out. The collector that gets one has lost the job.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// Command is the closed set of commands to a lane.
//
//sumtype:decl
type Command interface{ command() }

// Dequeue begins an attempt of the job that was dispatched at a place.
type Dequeue struct {
	Place       uint64
	Job         events.JobSpec
	Collector   events.CollectorName
	Instance    string
	Version     string
	Environment events.Digest
	// MaxAttempts is how many executions may be lost before the job fails.
	MaxAttempts int
	// Since is when transient errors with the job's artifact began, in this job or in others; zero when there are none.
	Since time.Time
	// Attempt and Lost count the executions of the job on the lanes that it was on before, and those that were lost.
	Attempt, Lost int
}

// Finish ends the job of the attempt that Token names.
type Finish struct {
	Token   events.Seq
	Outcome events.Outcome
	Reason  string
	// Fault is the kind of error that ended the whole job; empty when its test cases were all tried.
	Fault                     events.ErrorKind
	Measured, Skipped, Failed int
	// Evicted are the caches that the machine has removed and not told yet.
	Evicted []string
	// Used is what a matched job used; nil if that is not known.
	Used *events.Used
	// The others are as in JobFinished.
	Key        events.Digest
	ReusedFrom events.JobID
	Printed    *events.Printed
	Phases     *events.Phases
	Jobserver  *events.JobserverCount
	At         time.Time
}

// Lose says that the attempt's collector is gone.
type Lose struct {
	Token  events.Seq
	Reason string
}

// Release gives the job back unfinished at the time At. Transient is set when a transient error is the reason. Such
// errors are tried again until they have lasted for Deadline; then the job fails.
type Release struct {
	Token     events.Seq
	Reason    string
	Transient bool
	At        time.Time
	Deadline  time.Duration
	// Taken is set when another process than the attempt's own collector gives the job back.
	Taken bool
	// HostFull is set when the host had less free memory than the job reserves.
	HostFull *events.HostFull
	// Unready is set when a command of the machine's own configuration failed.
	Unready bool
	// Printed tells how much output the attempt made; nil if that is not known.
	Printed *events.Printed
}

// Withdraw ends a job that was dispatched but is not being executed, because its request was cancelled.
type Withdraw struct {
	Place  uint64
	Job    events.JobSpec
	Reason string
}

// Move takes a job away from its place, so that another machine can have it. If it is being executed, Lost says whether
// its collector is gone: that spends one of the job's attempts.
type Move struct {
	Place  uint64
	JobID  events.JobID
	Reason string
	Lost   bool
	// Attempt and Losses count the executions before the job came to the lane, and those that were lost.
	Attempt, Losses int
}

func (Dequeue) command()  {}
func (Finish) command()   {}
func (Lose) command()     {}
func (Release) command()  {}
func (Withdraw) command() {}
func (Move) command()     {}
