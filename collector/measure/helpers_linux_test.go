package measure

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// helpers returns the commands that tests measure, or that they start to kill.
func helpers() map[string]func() error {
	return map[string]func() error{
		"allocate":  allocate,
		"burn":      burn,
		"collector": collectForEver,
		"forgetful": forget,
		"loopback":  talkToItself,
		"print":     printMuch,
		"room":      tellRoom,
	}
}

const allocated = 64 << 20

func allocate() error {
	memory, err := unix.Mmap(-1, 0, allocated, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	return nil
}

// burn spends at least 100 ms of CPU time.
func burn() error {
	for {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
			return err
		}
		if time.Duration(now.Nano()) > 100*time.Millisecond {
			return nil
		}
	}
}

// stray returns a command that starts a process in a session and process group of its own, writes that process's
// number to the file, and waits for it.
func stray(file string) Cmd { return shell(`setsid sleep 1000 & echo $! >` + file + `; wait`) }

// collectForEver measures a stray command, which writes to the fifo that the environment names.
func collectForEver() error {
	var r Runner
	_, err := r.Run(context.Background(), stray(os.Getenv("FIFO")))
	return err
}

func forget() error {
	_, err := new(Runner).Run(context.Background(), Cmd{Path: "/bin/true"})
	return err
}

func talkToItself() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	return conn.Close()
}

// printMuch prints as many bytes as the environment says, as fast as it can, in lines of 64 bytes. If FILE is set, it prints
// into that file.
func printMuch() error {
	n, err := strconv.Atoi(os.Getenv("BYTES"))
	if err != nil {
		return err
	}
	to := os.Stdout
	if name := os.Getenv("FILE"); name != "" {
		if to, err = os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644); err != nil {
			return err
		}
	}
	block := bytes.Repeat([]byte(strings.Repeat("x", 63)+"\n"), 64)
	for ; n > 0; n -= len(block) {
		if _, err := to.Write(block[:min(n, len(block))]); err != nil {
			return err
		}
	}
	return nil
}

// tellRoom prints how much fits into its outputs.
func tellRoom() error {
	for _, fd := range []uintptr{1, 2} {
		size, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		if err != nil {
			return err
		}
		fmt.Println(size)
	}
	return nil
}

func shell(script string) Cmd {
	return Cmd{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Timeout: time.Minute}
}

// noGoodbye saves helpers the second that a program with race detection sleeps at its end.
const noGoodbye = "GORACE=atexit_sleep_ms=0"

func helper(name string, env ...string) Cmd {
	// In every process this path is its own program; in the shim that is the test binary too.
	return Cmd{Path: "/proc/self/exe", Env: append(env, helperVariable+"="+name, noGoodbye), Timeout: time.Minute}
}

func mustRun(t *testing.T, r *Runner, c Cmd) Outcome {
	t.Helper()
	out, err := r.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eachRunner runs the test with a cgroup (where this user may make one) and without.
func eachRunner(t *testing.T, test func(t *testing.T, r *Runner)) {
	t.Run("default", func(t *testing.T) { test(t, &Runner{}) })
	t.Run("no cgroup", func(t *testing.T) { test(t, &Runner{NoCgroup: true}) })
}

// alive reports whether the process exists; zombies count.
func alive(pid int) bool {
	_, there := parentOf(pid)
	return there
}

// cgroupsOf returns the existing cgroups that the process made.
func cgroupsOf(t *testing.T, pid int) []string {
	t.Helper()
	probe, err := newCgroup()
	if err != nil {
		return nil // no cgroup can be made here, so there is none
	}
	if err := probe.remove(0); err != nil {
		t.Fatal(err)
	}
	groups, err := filepath.Glob(filepath.Join(filepath.Dir(string(probe)), cgroupPattern(pid)))
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// until waits until the condition holds.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(2 * time.Minute)
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("still not so: %s", what)
		}
	}
}

// statusOf returns a value from a text like /proc/self/status.
func statusOf(t *testing.T, text []byte, key string) string {
	t.Helper()
	for scanner := bufio.NewScanner(strings.NewReader(string(text))); scanner.Scan(); {
		if name, value, _ := strings.Cut(scanner.Text(), ":"); name == key {
			return strings.TrimSpace(value)
		}
	}
	t.Fatal(fmt.Errorf("no %s in %q", key, text))
	return ""
}
