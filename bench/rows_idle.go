package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tachobench/tacho/internal/freeport"
)

const (
	emptyNATS = "NATS with an empty stream"
	tenWakes  = "ten wakes a second"

	// peerCommand is the first argument with which this program is one of these peers.
	peerCommand = "be-idle"
	// settles is how long the processes are left alone first, until what they do after a start is done, and watched how long a turn
	// looks at one.
	settles, watched = 45 * time.Second, 15 * time.Second
	// readyWithin bounds the start of tacho up, and goneWithin its end.
	readyWithin, goneWithin = 3 * time.Minute, 30 * time.Second
)

// rowsOfRest are about having nothing to do.
func rowsOfRest() []Row {
	return []Row{{
		Name: "idle", Work: "tacho up with two collectors connected and nothing to do, as a share of one processor", Rounds: 2, Run: idle,
		Figures: []Figure{
			{Name: "core", Unit: "%", Better: lower, Goals: []Goal{{"", 0.5}, {emptyNATS, 5}}},
			{Name: "collector", Unit: "%", Better: lower, Goals: []Goal{{"", 0.5}}},
		},
	}}
}

func idle(ctx context.Context, b *Bed) ([]Side, error) {
	if _, err := os.Stat(b.program); err != nil {
		return nil, fmt.Errorf("%w: build the program with `make build`, or name it with --tacho", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server, err := b.child(self, peerCommand, emptyNATS, b.dir)
	if err != nil {
		return nil, err
	}
	ticker, err := b.child(self, peerCommand, tenWakes)
	if err != nil {
		return nil, err
	}
	core, collector, err := b.up(ctx)
	if err != nil {
		return nil, err
	}
	b.say("idle: the processes are left alone for %s", settles)
	if err := pause(ctx, settles); err != nil {
		return nil, err
	}
	side := func(name string, pids ...int) Side {
		return Side{name, func(ctx context.Context) ([]float64, error) {
			began := time.Now()
			before, err := cpuOfAll(pids)
			if err == nil {
				err = pause(ctx, watched)
			}
			if err != nil {
				return nil, err
			}
			after, err := cpuOfAll(pids)
			took := time.Since(began)
			found := make([]float64, 2) // a peer has no collector
			for i := range after {
				found[i] = 100 * (after[i] - before[i]).Seconds() / took.Seconds()
			}
			return found, err
		}}
	}
	return []Side{side("tacho", core, collector), side(emptyNATS, server), side(tenWakes, ticker)}, nil
}

// child starts a program that ends with the bed.
func (b *Bed) child(program string, args ...string) (pid int, err error) {
	said := b.path("said")
	out, err := os.Create(said)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	// A Ctrl-C is for the bench, which ends its children in their order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	b.onEnd(func() error {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		select {
		case err := <-ended:
			if err == nil {
				return nil
			}
			text, _ := os.ReadFile(said) // what it said only helps
			return fmt.Errorf("%s %s: %w: %.2000s", filepath.Base(program), strings.Join(args, " "), err, text)
		case <-time.After(goneWithin):
			return errors.Join(fmt.Errorf("%s did not end within %s", filepath.Base(program), goneWithin), syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
		}
	})
	return cmd.Process.Pid, nil
}

// up starts tacho up and waits until it is ready. It returns the processes of the core and of one of its collectors.
func (b *Bed) up(ctx context.Context) (core, collector int, err error) {
	addrs, err := freeport.Addresses(1)
	if err != nil {
		return 0, 0, err
	}
	data := b.path("up")
	if core, err = b.child(b.program, "up", "--data", data, "--listen", addrs[0]); err != nil {
		return 0, 0, err
	}
	c := b.client()
	for ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("tacho up is not ready within %s", readyWithin)); ; {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addrs[0]+"/readyz", nil)
		if err == nil {
			_, err = send(c, r, http.StatusOK)
		}
		if err == nil {
			collector = processWith("collector\x00run\x00", data)
		}
		if collector > 0 {
			cancel()
			return core, collector, nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			cancel()
			return 0, 0, err
		}
	}
}

// processWith returns a process whose arguments hold all parts; 0 if there is none.
func processWith(parts ...string) (pid int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, name := range names {
		line, err := os.ReadFile(name)
		has := err == nil // it may have ended
		for _, part := range parts {
			has = has && bytes.Contains(line, []byte(part))
		}
		if pid, err = strconv.Atoi(filepath.Base(filepath.Dir(name))); has && err == nil {
			return pid
		}
	}
	return 0
}

// cpuOfAll is cpuOfProcess of some.
func cpuOfAll(pids []int) (all []time.Duration, err error) {
	for _, pid := range pids {
		cpu, err := cpuOfProcess(pid)
		if err != nil {
			return nil, err
		}
		all = append(all, cpu)
	}
	return all, nil
}

// cpuOfProcess returns the CPU time of the threads of a process, to the nanosecond.
func cpuOfProcess(pid int) (sum time.Duration, err error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("process %d has no CPU time in /proc: it has ended, or this is no Linux", pid)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		on, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(on, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// beIdle is a peer of the row: it does what its name says until ctx ends.
func beIdle(ctx context.Context, args []string) error {
	if args[0] == tenWakes {
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
		}
	}
	b, err := newBed(ctx, args[1], 1, nil)
	if err != nil {
		return err
	}
	js, _, err := b.stream(false)
	if err == nil {
		js.Conn().Close()
		<-ctx.Done()
	}
	return errors.Join(err, b.Close())
}
