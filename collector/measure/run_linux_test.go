package measure

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestRunHandsOverWhatWasGiven(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		dir := t.TempDir()
		odd := "a\xff b\n"
		out := mustRun(t, r, Cmd{
			Path: "/bin/sh", Args: []string{"-c", `cat; pwd; printf %s "$1$ODD"; env >&2; exit 7`, "sh", odd},
			Env: []string{"ODD=" + odd}, Dir: dir, Stdin: []byte("in\n"),
		})
		if got, want := string(out.Stdout), "in\n"+dir+"\n"+odd+odd; got != want {
			t.Errorf("stdout %q, want %q", got, want)
		}
		for line := range strings.Lines(strings.ReplaceAll(string(out.Stderr), odd, "odd")) {
			if name, _, _ := strings.Cut(line, "="); !slices.Contains([]string{"ODD", "PWD", "OLDPWD", "SHLVL", "_"}, name) {
				t.Errorf("%q is in an environment that has only ODD and what the shell adds", line)
			}
		}
		if out.ExitCode != 7 || out.Signal != "" || out.TimedOut {
			t.Errorf("exit code %d, signal %q, timed out %v; want 7", out.ExitCode, out.Signal, out.TimedOut)
		}
	})
}

func TestRunNamesTheSignal(t *testing.T) {
	out := mustRun(t, &Runner{}, shell(`kill -SEGV $$`))
	if out.ExitCode != -1 || out.Signal != "SIGSEGV" || out.TimedOut {
		t.Errorf("exit code %d, signal %q, timed out %v; want -1, SIGSEGV", out.ExitCode, out.Signal, out.TimedOut)
	}
}

func TestRunRefuses(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		for name, c := range map[string]Cmd{
			"no such file":         {Path: "/no/such/file"},
			"no such directory":    {Path: "/bin/true", Dir: "/no/such/directory"},
			"not executable":       {Path: "/etc/passwd"},
			"not a path":           {Path: "true"},
			"negative timeout":     {Path: "/bin/true", Timeout: -1},
			"negative limit":       {Path: "/bin/true", OutputLimit: -1},
			"zero in the argument": {Path: "/bin/true", Args: []string{"\x00"}},
		} {
			if out, err := r.Run(t.Context(), c); err == nil {
				t.Errorf("%s: outcome %+v, want an error", name, out)
			} else if strings.HasPrefix(name, "no") && name != "not a path" && !errors.Is(err, ErrStart) {
				t.Errorf("%s: error %v, want ErrStart", name, err)
			}
		}
	})
}

func TestRunBoundsTheOutput(t *testing.T) {
	c := shell(`echo first; head -c 5000000 /dev/zero; echo last; echo err >&2`)
	c.OutputLimit = 1000
	out := mustRun(t, &Runner{}, c)
	if !bytes.HasPrefix(out.Stdout, []byte("first\n")) || !bytes.HasSuffix(out.Stdout, []byte("last\n")) {
		t.Errorf("stdout %q keeps not both ends", out.Stdout)
	}
	if want := int64(5_000_000 + 6 + 5 - 1000); out.StdoutDropped != want || !bytes.Contains(out.Stdout, []byte("["+strconv.FormatInt(want, 10)+" bytes left out]")) {
		t.Errorf("%d bytes dropped, want %d and a note of it", out.StdoutDropped, want)
	}
	if string(out.Stderr) != "err\n" || out.StderrDropped != 0 {
		t.Errorf("stderr %q, %d dropped", out.Stderr, out.StderrDropped)
	}
}

func TestTimeoutKillsEveryDescendant(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		c := stray("/dev/stdout")
		c.Timeout = 700 * time.Millisecond
		out := mustRun(t, r, c)
		if !out.TimedOut || out.Signal != "SIGKILL" {
			t.Errorf("timed out %v, signal %q", out.TimedOut, out.Signal)
		}
		expectGone(t, out.Stdout)
	})
}

func TestRunLeavesNothingBehind(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		out := mustRun(t, r, shell(`setsid sleep 1000 & echo $!`))
		if out.ExitCode != 0 || out.TimedOut {
			t.Errorf("exit code %d, timed out %v", out.ExitCode, out.TimedOut)
		}
		expectGone(t, out.Stdout)
	})
}

func expectGone(t *testing.T, stdout []byte) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(string(stdout)))
	if err != nil {
		t.Fatalf("the command did not come to start its child: %v", err)
	}
	if alive(pid) {
		t.Errorf("process %d outlived the run", pid)
	}
}

// If the kernel refuses to put the command into its cgroup, measuring and killing still work.
func TestUnusableCgroup(t *testing.T) {
	c := stray("/dev/stdout")
	c.Timeout = 700 * time.Millisecond
	out, err := (&Runner{}).runOrder(t.Context(), order{Cmd: c, Cgroup: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Took[SettingCgroup]; !strings.HasPrefix(got, "none: ") {
		t.Errorf("cgroup %q, want none", got)
	}
	if out.Missing[CPUTime] == "" {
		t.Error("nobody says why cpu-time is missing")
	}
	expectGone(t, out.Stdout)
}

func TestCancelStopsTheRun(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		fifo := filepath.Join(t.TempDir(), "fifo")
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("enough")
		pid := make(chan []byte, 1)
		go func() {
			line, _ := os.ReadFile(fifo) // returns when the writer has written its number and closed
			pid <- line
			cancel(reason)
		}()
		c := stray(fifo)
		if out, err := r.Run(ctx, c); !errors.Is(err, reason) {
			t.Errorf("outcome %+v, error %v, want %v", out, err, reason)
		}
		expectGone(t, <-pid)
		if _, err := r.Run(ctx, c); !errors.Is(err, reason) {
			t.Errorf("error %v of a run that is cancelled before, want %v", err, reason)
		}
	})
}

func TestKilledCollectorTakesTheCommandAlong(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	collector := exec.Command("/proc/self/exe")
	collector.Env = []string{helperVariable + "=collector", "FIFO=" + fifo}
	if err := collector.Start(); err != nil {
		t.Fatal(err)
	}
	defer collector.Process.Kill()
	line, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil || !alive(pid) {
		t.Fatalf("process %q should be there by now (%v)", line, err)
	}
	if err := collector.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = collector.Wait() // it was killed
	until(t, "the stray process is gone", func() bool { return !alive(pid) })
	until(t, "the cgroup is removed", func() bool { return len(cgroupsOf(t, collector.Process.Pid)) == 0 })
}

func TestRunLeaksNothing(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	var r Runner
	run := func() {
		mustRun(t, &r, Cmd{Path: "/bin/true", NoNet: true, Stdin: []byte("unread")})
		if _, err := r.Run(t.Context(), Cmd{Path: "/no/such/file"}); err == nil {
			t.Error("no error for no such file")
		}
	}
	run() // the first run opens files that the runtime keeps
	files := open()
	for range 5 {
		run()
	}
	if got := open(); got != files {
		t.Errorf("%d files open, were %d", got, files)
	}
	if groups := cgroupsOf(t, os.Getpid()); len(groups) > 0 {
		t.Errorf("cgroups %q are left", groups)
	}
	for pid, parent := range allParents() {
		if parent == os.Getpid() {
			t.Errorf("process %d is left", pid)
		}
	}
}

func TestCommandInheritsNoFiles(t *testing.T) {
	// A duplicate is not closed on exec.
	fd, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	out := mustRun(t, &Runner{}, shell(`exec ls /proc/self/fd`))
	if got, want := string(out.Stdout), "0\n1\n2\n3\n"; got != want { // 3 is the directory that ls reads
		t.Errorf("open files %q, want %q", got, want)
	}
}

// A program that measures but forgot RunShimIfAsked must not start itself again and again.
func TestForgottenShim(t *testing.T) {
	c := exec.CommandContext(t.Context(), "/proc/self/exe", shimArgument)
	c.Env = []string{helperVariable + "=forgetful"} // takes the place of RunShimIfAsked
	out, err := c.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("RunShimIfAsked")) {
		t.Errorf("error %v, said %q, want a hint at RunShimIfAsked", err, out)
	}
}

func TestRunsAtTheSameTime(t *testing.T) {
	var r Runner
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			out, err := r.Run(t.Context(), shell("exit "+strconv.Itoa(i)))
			if err != nil || out.ExitCode != i {
				t.Errorf("exit code %d, error %v, want %d", out.ExitCode, err, i)
			}
		})
	}
	group.Wait()
}

// TestUnprivileged repeats the tests of this package as a user without rights. If the tests already run as such a
// user, there is nothing to repeat.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	const nobody = 65534
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run=^Test", "-test.skip=^TestCount")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	c.Dir = "/"
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestTimeoutKillsEveryDescendant")) {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
}

// What a command prints is told while it runs, not only at its end.
func TestLinesComeWhileTheCommandRuns(t *testing.T) {
	goOn := filepath.Join(t.TempDir(), "go-on")
	c := shell(`echo one; echo two >&2; until [ -e ` + goOn + ` ]; do sleep 0.01; done; printf three`)
	var got []string
	c.Lines = func(text []byte) {
		if got = append(got, string(text)); len(got) == 2 {
			if err := os.WriteFile(goOn, nil, 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	out := mustRun(t, &Runner{}, c)
	slices.Sort(got[:2])
	if !slices.Equal(got, []string{"one\n", "two\n", "three"}) || string(out.Stdout) != "one\nthree" || string(out.Stderr) != "two\n" {
		t.Errorf("got %q, and %+v", got, out)
	}
}
