package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// onGround is set in a process that runs in namespaces of its own.
const onGround = "TACHO_CHAOS_GROUND"

// toGround runs a test again, in a user, network, mount and process namespace of its own, and returns true when it has ended.
// In those namespaces it may make networks without any right on the machine. They and all processes in them end with it. It
// returns false in that process.
func toGround(t *testing.T, test string) bool {
	t.Helper()
	if os.Getenv(onGround) != "" {
		if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			t.Fatal(err)
		}
		return false
	}
	for _, program := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: install iproute2 and util-linux", err)
		}
	}
	args := []string{"-test.run=^" + test + "$", "-test.v", "-test.count=1"}
	for _, a := range os.Args {
		if strings.HasPrefix(a, "-test.timeout=") {
			args = append(args, a)
		}
	}
	again := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	again.Env = append(os.Environ(), onGround+"=yes")
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	// The kernel takes the end of the thread that forks for the death of the parent.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	if err := again.Run(); err != nil {
		t.Fatalf("in namespaces of its own (the kernel must allow unprivileged user namespaces): %v", err)
	}
	return true
}

// networks are links between network namespaces: each node has one of its own, with an address, and a cable to a bridge in
// the namespace of this process.
type networks struct {
	t *testing.T
	// holders keep the namespaces while no node runs in them.
	holders [3]*exec.Cmd
}

func newNetworks(t *testing.T) *networks {
	t.Helper()
	n := &networks{t: t}
	n.run("ip", "link", "set", "lo", "up")
	n.run("ip", "link", "add", "name", "br0", "type", "bridge")
	n.run("ip", "addr", "add", "10.93.0.254/24", "dev", "br0")
	n.run("ip", "link", "set", "br0", "up")
	for i := range n.holders {
		hold := exec.Command("cat")
		stdin, err := hold.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		hold.Stdout = io.Discard
		hold.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if err := hold.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = stdin.Close()
			_ = hold.Wait()
		})
		n.holders[i] = hold
		n.run("ip", "link", "add", "name", cable(i), "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(hold.Process.Pid))
		n.run("ip", "link", "set", cable(i), "up")
		n.cut(i, false)
		for _, line := range []string{"link set lo up", "addr add " + address(i) + "/24 dev eth0", "link set eth0 up"} {
			cmd := n.command(i, "ip", strings.Fields(line)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("ip %s: %v: %s", line, err, out)
			}
		}
	}
	return n
}

func cable(i int) string   { return fmt.Sprintf("cable%d", i) }
func address(i int) string { return fmt.Sprintf("10.93.0.%d", i+1) }

func (n *networks) run(name string, args ...string) {
	n.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

func (n *networks) listens(i int) (client, route string) {
	return address(i) + ":4222", address(i) + ":6222"
}

func (n *networks) client(i int) string { return address(i) + ":4222" }

func (n *networks) route(_, j int) string { return address(j) + ":6222" }

func (n *networks) command(i int, name string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--target", strconv.Itoa(n.holders[i].Process.Pid), "--net", name}, args...)...)
}

func (n *networks) cut(i int, off bool) {
	if off {
		n.run("ip", "link", "set", cable(i), "nomaster")
	} else {
		n.run("ip", "link", "set", cable(i), "master", "br0")
	}
}
