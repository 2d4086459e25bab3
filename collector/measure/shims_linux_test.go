package measure

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// keeping returns a runner whose shims stay until the end of the test.
func keeping(t *testing.T) *Runner {
	t.Helper()
	r := &Runner{Shims: &Shims{}}
	t.Cleanup(r.Shims.Close)
	return r
}

// parentOfCommand measures a shell that says who its parent is: the number of the shim.
func parentOfCommand(t *testing.T, r *Runner, noNet bool) int {
	t.Helper()
	c := shell(`echo $PPID`)
	c.NoNet = noNet
	pid, err := strconv.Atoi(strings.TrimSpace(string(mustRun(t, r, c).Stdout)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestAShimStays(t *testing.T) {
	r := keeping(t)
	first := parentOfCommand(t, r, false)
	for range 3 {
		if next := parentOfCommand(t, r, false); next != first {
			t.Errorf("shim %d, then %d", first, next)
		}
	}
	if _, err := r.Run(t.Context(), Cmd{Path: "/no/such/file"}); !errors.Is(err, ErrStart) {
		t.Errorf("error %v, want ErrStart", err)
	}
	if next := parentOfCommand(t, r, false); next != first {
		t.Error("a command that could not be started cost a shim")
	}
	r.Shims.Close()
	if alive(first) {
		t.Error("the shim outlived Close")
	}
	if last := parentOfCommand(t, r, false); alive(last) {
		t.Error("a shim that was started after Close stays")
	}
}

// Commands with a network and those without have shims of their own, and each finds what it asked for.
func TestCommandsWithAndWithoutANetworkTakeTurns(t *testing.T) {
	r := keeping(t)
	mine, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	shims := map[bool]int{}
	for i := range 6 {
		noNet := i%2 == 1
		pid := parentOfCommand(t, r, noNet)
		if first, seen := shims[noNet]; seen && first != pid {
			t.Errorf("another shim for no network %v", noNet)
		}
		shims[noNet] = pid
		c := shell(`readlink /proc/self/ns/net; cat /proc/self/status >&2`)
		c.NoNet = noNet
		out := mustRun(t, r, c)
		isolated := noNet && !strings.HasPrefix(out.Took[SettingNetwork], "refused: ")
		if shares := strings.TrimSpace(string(out.Stdout)) == mine; shares == isolated {
			t.Errorf("no network %v, took %q, but shares our network: %v", noNet, out.Took[SettingNetwork], shares)
		}
		if got := statusOf(t, out.Stderr, "CapAmb"); strings.Trim(got, "0") != "" {
			t.Errorf("the command got the ambient capabilities %s", got)
		}
		c = helper("loopback")
		if c.NoNet = noNet; mustRun(t, r, c).ExitCode != 0 {
			t.Errorf("no loopback with no network %v", noNet)
		}
	}
	if shims[true] == shims[false] {
		t.Error("one shim for both")
	}
}

// A kill between two commands costs nothing. One during a command costs that one, with its processes.
func TestAKilledShimIsReplaced(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		r.Shims = &Shims{}
		defer r.Shims.Close()
		second := parentOfCommand(t, r, false)
		for range 5 {
			first := second
			if err := unix.Kill(first, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if second = parentOfCommand(t, r, false); second == first || alive(first) {
				t.Errorf("shim %d after %d", second, first)
			}
		}

		fifo := filepath.Join(t.TempDir(), "fifo")
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		command := make(chan int, 1)
		go func() {
			line, _ := os.ReadFile(fifo)
			pid, _ := strconv.Atoi(strings.TrimSpace(string(line)))
			_ = unix.Kill(second, unix.SIGKILL)
			command <- pid
		}()
		out, err := r.Run(t.Context(), shell(`echo $$ >`+fifo+`; while :; do read x </dev/zero; done`))
		if err == nil || !strings.Contains(err.Error(), "gave no report") {
			t.Errorf("outcome %+v, error %v of a command whose shim was killed", out, err)
		}
		pid := <-command
		until(t, "the command has ended", func() bool { return !alive(pid) || ended(t, pid) })
		if third := parentOfCommand(t, r, false); third == second {
			t.Error("the killed shim is still used")
		}
	})
}

// ended reports whether the process is a zombie.
func ended(t *testing.T, pid int) bool {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return true
	}
	return strings.HasPrefix(statusOf(t, data, "State"), "Z")
}

// state is what a command finds that others before it may have changed.
const state = `cat /proc/self/status | grep -v -i -e ^sigq -e ^tgid -e ^ns -e pid: -e ^vm -e ^rss -e ctxt -e ^ngid: -e ^hugetlb; cat /proc/self/personality; nice; ulimit -a; umask; pwd; ls /proc/self/fd; cat /proc/self/oom_score_adj`

func TestSettingsDoNotLeak(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		r.Shims = &Shims{}
		defer r.Shims.Close()
		plain := shell(state)
		before := mustRun(t, r, plain)
		var cpu int
		for cpu = range readStat() {
			break
		}
		c := shell(state + `; ulimit -n 20; umask 0; cd /; trap "" TERM; exec sleep 0`)
		c.CPUs, c.Nice, c.DisableASLR, c.Dir, c.Stdin = []int{cpu}, 5, true, t.TempDir(), []byte("in")
		c.Files = Files{os.Stderr}
		changed := mustRun(t, r, c)
		if string(changed.Stdout) == string(before.Stdout) {
			t.Error("the settings took no effect")
		}
		after := mustRun(t, r, plain)
		if diff := cmp.Diff(string(before.Stdout), string(after.Stdout)); diff != "" {
			t.Error(diff)
		}
		if after.Took[SettingCPUs] != "" || after.Took[SettingASLR] != "" {
			t.Errorf("took %v", after.Took)
		}
	})
}

// What one command leaves running is gone before the next one begins, also if it left session and group.
func TestNothingOfACommandMeetsTheNext(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		r.Shims = &Shims{}
		defer r.Shims.Close()
		shim := parentOfCommand(t, r, false)
		for range 3 {
			out := mustRun(t, r, shell(`setsid sh -c 'sleep 1000 & sleep 1000' & echo $!; sleep 1000 &`))
			expectGone(t, out.Stdout)
			children := 0
			for _, parent := range allParents() {
				if parent == shim {
					children++
				}
			}
			if children > 0 {
				t.Errorf("%d children of the shim are left", children)
			}
		}
		c := stray("/dev/stdout")
		c.Timeout = 300 * time.Millisecond
		out := mustRun(t, r, c)
		expectGone(t, out.Stdout)
		if next := parentOfCommand(t, r, false); !out.TimedOut || next != shim {
			t.Errorf("timed out %v; shim %d, then %d", out.TimedOut, shim, next)
		}
	})
}

// Each command gets its own files, its own input, and nothing of another's.
func TestFilesReachAShimThatStays(t *testing.T) {
	r := keeping(t)
	for i := range 3 {
		file := filepath.Join(t.TempDir(), "file")
		want := strconv.Itoa(i)
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		c := shell(`cat <&3; cat; ls /proc/self/fd >&2`)
		c.Files, c.Stdin = Files{f}, []byte("in"+want)
		out := mustRun(t, r, c)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if string(out.Stdout) != want+"in"+want || string(out.Stderr) != "0\n1\n2\n3\n4\n" {
			t.Errorf("command %d: stdout %q, stderr %q", i, out.Stdout, out.Stderr)
		}
	}
	if out := mustRun(t, r, shell(`cat; ls /proc/self/fd`)); string(out.Stdout) != "0\n1\n2\n3\n" {
		t.Errorf("without files: %q", out.Stdout)
	}
	many := Cmd{Path: "/bin/true", Files: make(Files, maxFiles)}
	for i := range many.Files {
		many.Files[i] = os.Stdin
	}
	if _, err := r.Run(t.Context(), many); err == nil || !strings.Contains(err.Error(), "files for one command") {
		t.Errorf("error %v of too many files", err)
	}
}

// A shim that was told to stop has no further command.
func TestAStoppedShimIsDiscarded(t *testing.T) {
	r := keeping(t)
	first := parentOfCommand(t, r, false)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(fifo)
		cancel()
	}()
	if _, err := r.Run(ctx, stray(fifo)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if alive(first) {
		t.Error("the shim is still there")
	}
	if next := parentOfCommand(t, r, false); next == first {
		t.Error("the shim is still used")
	}
}

// The peak of memory of a command is at least the shim's, so that must not grow with what it has done.
func TestAShimDoesNotGrow(t *testing.T) {
	r := keeping(t)
	rss := func() (kilobytes int) {
		pid := parentOfCommand(t, r, false)
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		kilobytes, err = strconv.Atoi(strings.TrimSuffix(statusOf(t, data, "VmHWM"), " kB"))
		if err != nil {
			t.Fatal(err)
		}
		return kilobytes
	}
	first := rss()
	for range 300 {
		mustRun(t, r, Cmd{Path: "/bin/true", Args: []string{strings.Repeat("x", 10_000)}})
	}
	if last := rss(); last > first+first/2 {
		t.Errorf("its peak of memory was %d kB, is %d kB", first, last)
	}
}

// Commands at the same time have shims of their own.
func TestShimsAtTheSameTime(t *testing.T) {
	r := keeping(t)
	var group sync.WaitGroup
	codes := make([]int, 12)
	for i := range codes {
		group.Go(func() {
			for range 3 {
				out, err := r.Run(t.Context(), shell("exit "+strconv.Itoa(i)))
				if err != nil {
					t.Error(err)
				}
				codes[i] += out.ExitCode
			}
		})
	}
	group.Wait()
	for i, code := range codes {
		if code != 3*i {
			t.Errorf("exit codes %v", codes)
		}
	}
	if len(r.Shims.idle) == 0 {
		t.Error("none stays")
	}
}
