package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/turns"
	"github.com/tachobench/tacho/rules/match"
)

// besideTimeout bounds a command of the machine that runs before or after what is measured.
const besideTimeout = time.Minute

// unreadyError ends an attempt because a command of the machine's own configuration failed.
type unreadyError struct{ reason string }

func (e *unreadyError) Error() string { return e.reason }

// hold is the turn of one attempt on the machine. The attempt takes it as late as it can, before its first measured
// command, and keeps it until its last, so that all that it measures finds the machine in one state. Only to fetch an
// artifact, which can take minutes, it lets go in between: that is once in a job of a pair.
type hold struct {
	turn *turns.Turn
	kind turns.Kind
	// keep is what children hold of the turn.
	keep *os.File
	// ready is set if the commands before what is measured have run, so that those after it must.
	ready bool
	// fetched are the artifacts that the attempt has.
	fetched map[events.Tag]bool
}

// kindOf returns what turn a job needs. What may share its machine by its definitions may be measured beside others.
func (m *Machine) kindOf(spec events.JobSpec) turns.Kind {
	need, err := match.Parse(spec.Requires)
	if m.MeasureShared || err == nil && spec.Matched && !need.Exclusive() {
		return turns.Measure
	}
	return turns.MeasureAlone
}

// take returns what waits for the machine's turn, unless the attempt has it already. It returns the file that commands
// hold.
func (m *Machine) take(kind turns.Kind, job events.JobID, sink Sink) func(context.Context) (*os.File, error) {
	return func(ctx context.Context) (*os.File, error) {
		h := &m.hold
		if h.kind != "" {
			return h.keep, nil
		}
		if m.Turns != nil {
			if err := m.await(ctx, kind, job, sink); err != nil {
				return nil, err
			}
		}
		h.kind = kind
		if kind == turns.Build {
			return h.keep, nil
		}
		h.ready = true
		return h.keep, m.beside(ctx, "before", m.Before, sink.Log)
	}
}

// await waits for a turn, and says so.
func (m *Machine) await(ctx context.Context, kind turns.Kind, job events.JobID, sink Sink) error {
	began := time.Now()
	turn, err := m.Turns.Take(ctx, kind, func() {
		sink.Log("waiting for a turn on the machine: others build or measure")
		sink.Waits("its turn on the machine")
	})
	sink.Took(func(p *events.Phases) *int64 { return &p.Wait }, time.Since(began))
	sink.Waits("")
	if err != nil {
		return err
	}
	m.hold.turn = turn
	if said := turn.Say(string(job), time.Now()); said != nil {
		sink.Log("the other collectors of the machine are not told which job has the turn: " + said.Error())
	}
	m.hold.keep, err = turn.Copy()
	return err
}

// Holders returns who has the turn of the machine, for those that wait for it.
func (m *Machine) Holders() (holders []eventlog.TurnHolder) {
	if m.Turns == nil {
		return nil
	}
	for _, h := range m.Turns.Holders() {
		if len(holders) < eventlog.MaxTurnHolders {
			holders = append(holders, eventlog.TurnHolder{Name: events.CollectorName(h.Name), PID: h.PID, JobID: events.JobID(h.Job), Since: h.Since, Gone: h.Gone})
		}
	}
	return holders
}

// Rest ends the turn of an attempt. It is called when the attempt has run its last command, also if it was stopped.
func (m *Machine) Rest(ctx context.Context) error {
	err := m.letGo(ctx)
	m.hold = hold{}
	return err
}

// letGo ends the turn until the next measured command.
func (m *Machine) letGo(ctx context.Context) (err error) {
	h := &m.hold
	if h.ready {
		err = m.beside(context.WithoutCancel(ctx), "after", m.After, func(string) {})
	}
	if h.kind == turns.Build {
		// What the kernel has still to write would be written while others measure. A failure costs them some noise.
		_ = syncDisk(m.Slot)
	}
	if h.keep != nil {
		_ = h.keep.Close() // it is only locked
	}
	if h.turn != nil {
		h.turn.Release()
	}
	h.turn, h.kind, h.keep, h.ready = nil, "", nil, false
	return err
}

// beforeFetch lets go of the machine if an artifact has to be fetched.
func (m *Machine) beforeFetch(ctx context.Context, tag events.Tag) error {
	h := &m.hold
	if h.fetched[tag] {
		return nil
	}
	if h.fetched == nil {
		h.fetched = map[events.Tag]bool{}
	}
	h.fetched[tag] = true
	return m.letGo(ctx)
}

// beside runs a command of the machine's own configuration.
func (m *Machine) beside(ctx context.Context, when string, argv []string, log func(string)) error {
	if len(argv) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, besideTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		err = fmt.Errorf("it was killed after %s", besideTimeout)
	}
	reason := fmt.Sprintf("collector.%s failed on this machine: %s: %v: %s", when, strings.Join(argv, " "), err, lastBytes(out.Bytes()))
	log(reason)
	return &unreadyError{reason}
}

// lastBytes returns the end of what a command printed.
func lastBytes(out []byte) string {
	const most = 500
	out = bytes.TrimSpace(out)
	return strings.ToValidUTF8(string(out[max(0, len(out)-most):]), "")
}

// rest lets the bench end what it kept for the next of its runs in the same attempt.
func (c *Collector) rest(ctx context.Context, err error) error {
	if c.Rest == nil {
		return err
	}
	if end := c.Rest(ctx); end != nil {
		return errors.Join(err, end)
	}
	return err
}
