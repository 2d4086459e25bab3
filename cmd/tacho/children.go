package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/subprocess"
	"github.com/tachobench/tacho/rules/job"
)

// child is a collector that runs as a process of its own on this machine, so that measuring disturbs
// nothing here and a crash there is only a crash there.
type child struct {
	name   events.CollectorName
	args   []string
	stderr io.Writer
	logger *slog.Logger
	// standing is what the log says of the collector, say tells a person.
	standing func(context.Context) (job.Standing, error)
	say      func(format string, args ...any)
}

// run keeps the process alive until ctx ends: it starts it again, less and less eagerly while it keeps
// dying. A process that left because it was asked to is started again once the collector is activated.
func (c child) run(ctx context.Context) error {
	policy := retry.Pauses(200*time.Millisecond, 30*time.Second)
	asked := false
	for {
		c.awaitActive(ctx, asked)
		if ctx.Err() != nil {
			return nil
		}
		began := time.Now()
		err := c.once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > time.Minute {
			policy.Reset()
		}
		next := policy.NextBackOff()
		if asked = err == nil; !asked {
			c.logger.Warn("a collector ended and is started again", "collector", c.name, "error", err, "in", next.Round(time.Millisecond))
		}
		retry.Sleep(ctx, next)
	}
}

// awaitActive waits while the collector may not work, or ctx ends. The wish to drain was about the process that
// there was: one that left for it stays away until an activation, and another one may start.
func (c child) awaitActive(ctx context.Context, asked bool) {
	for told := false; ctx.Err() == nil; retry.Sleep(ctx, time.Second) {
		s, err := c.standing(ctx)
		if err != nil {
			c.logger.Warn("whether a collector may start cannot be read, trying again", "collector", c.name, "error", err)
			continue
		}
		s.Draining = s.Draining && asked
		if s.Takes() {
			return
		}
		if !told {
			told = true
			if s.Removed {
				c.say("collector  %s was removed and is not started again", c.name)
				continue
			}
			c.say("collector  %s is %s; it starts after `tacho collector activate %s`", c.name, outOf(s), c.name)
		}
	}
}

// outOf says in a word why a collector takes no jobs.
func outOf(s job.Standing) string {
	switch {
	case !s.Active:
		return "inactive"
	case s.Quarantined:
		return "quarantined"
	}
	return "drained"
}

// once runs one process. The thread that starts it must live as long as it does: the kernel ends the
// process when that thread ends.
func (c child) once(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, self, c.args...)
	// What is measured must not find a token that collectors have no use for.
	cmd.Env = withoutTokens(os.Environ())
	tail, lines := &subprocess.Tail{}, &wholeLines{to: c.stderr}
	defer lines.end()
	cmd.Stdout = io.MultiWriter(lines, tail)
	cmd.Stderr = cmd.Stdout
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 15 * time.Second
	dieWithParent(cmd)
	if err := cmd.Run(); err != nil {
		if last := tail.LastLine(); last != "" {
			return fmt.Errorf("%w: %s", err, last)
		}
		return err
	}
	return nil
}
