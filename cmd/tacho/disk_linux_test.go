package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tachobench/tacho/events"
)

// A collector whose cache has no room gives its job back with a reason that names the directory, and the request fails when
// the time for such errors is over. Requests that need less room are measured before and after.
func TestAFullDiskUnderTheCache(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, newShop(t, map[string]int{"small": 1000, "huge": 8 << 20, "tiny": 500}))
	s.replace("quick.toml", "max_attempts = 20", "max_attempts = 20\ntransient_deadline = \"2s\"")
	s.start("--collectors", "0")
	s.must("collector", "add", "near", "--target", "here", "--set", "0")

	// A disk of 4 MB that only the collector sees, in namespaces of its own.
	cache := t.TempDir()
	run := slices.Concat([]string{"-c", `mount -t tmpfs -o size=4m tacho "$0" && exec "$@"`, cache, binary}, s.args, []string{"collector", "run", "near", "--cache", cache})
	cmd := exec.Command("/bin/sh", run...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	s.online("near", s.beginAs(cmd).cmd.Process.Pid)

	for _, tag := range []string{"small", "huge", "tiny"} {
		s.must("request", "master", tag)
	}
	full := s.ended("huge")
	if full.State != events.StateFailed {
		t.Fatalf("the request without room is %s: %s", full.State, full.Reason)
	}
	if j := full.JobList[0]; !strings.Contains(j.Reason, "is full") || !strings.Contains(j.Reason, cache) || !strings.Contains(j.Reason, "free some space") || j.Attempts < 2 {
		t.Errorf("after %d attempts: %s", j.Attempts, j.Reason)
	}
	for _, tag := range []events.Tag{"small", "tiny"} {
		if r := s.ended(tag); r.State != events.StateCompleted || r.JobList[0].Measured != 6 {
			t.Errorf("the request for %s is %s with %d test cases: %s", tag, r.State, r.JobList[0].Measured, r.Reason)
		}
	}
	s.checkLogOf("huge")
}
