package main

import (
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tachobench/tacho/internal/transcript"
)

// process is a command of tacho that runs beside the test.
type process struct {
	cmd   *exec.Cmd
	log   transcript.Buffer
	ended chan struct{}
}

// patient lets processes wait longer for the core than tests of refusals can. The core may need some seconds to hear of a
// collector on a machine with much to do.
func (s *site) patient() { s.replace("quick.toml", `start_wait = "2s"`, `start_wait = "60s"`) }

// begin starts a command that keeps running. The end of the test ends it.
func (s *site) begin(args ...string) *process {
	s.t.Helper()
	return s.beginAs(exec.Command(binary, slices.Concat(s.args, args)...))
}

func (s *site) beginAs(cmd *exec.Cmd) *process {
	s.t.Helper()
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Env = s.env
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		// The exit code says how it ended.
		_ = cmd.Wait()
	}()
	s.t.Cleanup(func() {
		p.stop(s.t)
		if s.t.Failed() {
			s.t.Logf("%s said:\n%s", strings.Join(cmd.Args, " "), p.log.String())
		}
	})
	return p
}

// stop ends the process softly and returns its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	// An error says that the process has already ended.
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	return p.wait(t)
}

// wait waits for the end of the process and returns its exit code.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * time.Minute):
		t.Errorf("%s does not end:\n%s", p.cmd, p.log.String())
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.ended
	}
	return p.cmd.ProcessState.ExitCode()
}

// says waits until the process has said something.
func (p *process) says(s *site, what string) {
	s.t.Helper()
	s.eventually("it says "+what, 30*time.Second, func() bool {
		text := p.log.String()
		if strings.Contains(text, what) {
			return true
		}
		select {
		case <-p.ended:
			s.t.Fatalf("it ended without saying %q:\n%s", what, text)
		default:
		}
		return false
	})
}

// refused runs a command that must fail with an exit code and print all the parts.
func (s *site) refused(code int, args []string, parts ...string) {
	s.t.Helper()
	out, errs, got := s.run(args...)
	if got != code {
		s.t.Errorf("tacho %s: exit code %d, want %d", strings.Join(args, " "), got, code)
	}
	if out != "" {
		s.t.Errorf("tacho %s fails and prints to stdout: %s", strings.Join(args, " "), out)
	}
	if strings.Count(errs, "tacho: ") != 1 {
		s.t.Errorf("tacho %s does not say one sentence: %s", strings.Join(args, " "), errs)
	}
	for _, part := range parts {
		if !strings.Contains(errs, part) {
			s.t.Errorf("tacho %s says %q, want %q in it", strings.Join(args, " "), errs, part)
		}
	}
}

// words splits a command line without quotes.
func words(line string) []string { return strings.Fields(line) }
