package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
)

// versionsRepository is a git repository whose build takes the program that was built for a version, with the tag v2.
func (s *site) versionsRepository() (dir string) {
	s.t.Helper()
	built := filepath.Join(s.dir, "built-v2")
	build := exec.Command("go", "build", "-ldflags", "-X main.version=v2", "-o", built, ".")
	if out, err := build.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	dir = filepath.Join(s.dir, "repository")
	if err := os.Mkdir(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	script := "test \"$VERSION\" != v3 || { echo 'v3 is broken'; exit 1; }\ncp '" + built + "' tacho\n"
	if err := os.WriteFile(filepath.Join(dir, "build.sh"), []byte(script), 0o644); err != nil {
		s.t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message", "build"},
		{"tag", "v2"},
		{"tag", "v3"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("git: %v: %s", err, out)
		}
	}
	return dir
}

func TestACollectorIsUpdatedBetweenTwoRequests(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := newSite(t)
	s.patient()
	repository := s.versionsRepository()
	s.start("--collectors", "0")
	s.must("collector", "add", "far-0", "--target", "here", "--set", "0")
	s.must("collector", "add", "far-1", "--target", "here", "--set", "1")
	supervise := words("collector supervise far-0 --build sh\x00build.sh --git " + repository)
	for i := range supervise {
		supervise[i] = strings.ReplaceAll(supervise[i], "\x00", " ")
	}
	p := s.begin(supervise...)
	s.begin("collector", "run", "far-1")
	s.listed("far-0", "idle")
	s.refused(cli.ExitRefused, supervise, "far-0 is already supervised on this machine")

	s.must("request", "master", "v1")
	s.must("request", "master", "v2", "--parent", "v1")
	s.awaitResults(1)
	if out := s.must("collector", "want", "v2", "--reason", "faster"); !strings.Contains(out, "version v2 is wanted\n") {
		t.Errorf("got %s", out)
	}
	if out := s.must("collector", "want", "v2"); !strings.Contains(out, "is wanted already") {
		t.Errorf("got %s", out)
	}
	s.must("request", "master", "v2", "--parent", "v1", "--wait")
	s.listed("far-0", "v2")
	if out := s.must("collector", "list"); !strings.Contains(out, "version v2 is wanted: faster") {
		t.Errorf("got %s", out)
	}
	s.checkLog()
	s.checkVersions()

	s.must("collector", "want", "v3")
	s.eventually("why it is not updated is told", 60*time.Second, func() bool {
		return strings.Contains(s.must("collector", "list"), `far-0: version v3 cannot be had: build with "sh build.sh": exit status 1: v3 is broken`)
	})
	s.listed("far-0", "v2")

	s.must("collector", "drain", "far-0", "--reason", "reboot")
	p.says(s, "it was drained (reboot): let it run again with `tacho collector activate far-0`")
	s.must("collector", "activate", "far-0")
	s.listed("far-0", "idle")
	if code := p.stop(t); code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
	s.listed("far-0", "offline")
}

// listed waits until the collector's line in the list has a word.
func (s *site) listed(name, word string) {
	s.t.Helper()
	s.eventually(name+" is listed with "+word, 60*time.Second, func() bool {
		for line := range strings.Lines(s.must("collector", "list")) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == name && strings.Contains(line, word) {
				return true
			}
		}
		return false
	})
}

// checkVersions makes sure that each request was measured by one version on each lane, both versions by far-0, and
// that the update cost no attempt.
func (s *site) checkVersions() {
	s.t.Helper()
	type place struct {
		request events.RequestID
		lane    events.Lane
	}
	measured, versions, updates := map[place]string{}, map[events.CollectorName]map[string]bool{}, 0
	for _, e := range s.events() {
		// The rest has no part in it.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.JobDequeued:
			at := place{f.Job.RequestID, f.Lane}
			if was, ok := measured[at]; ok && was != f.Version {
				s.t.Errorf("event %d: request %s is measured by versions %s and %s on lane %s", e.Seq, at.request, was, f.Version, at.lane)
			}
			measured[at] = f.Version
			if versions[f.Collector] == nil {
				versions[f.Collector] = map[string]bool{}
			}
			versions[f.Collector][f.Version] = true
		case events.CollectorUpdating:
			updates++
		case events.AttemptLost, events.AttemptReleased:
			s.t.Errorf("event %d: %#v", e.Seq, f)
		}
	}
	if len(versions["far-0"]) != 2 || len(versions["far-1"]) != 1 || updates != 1 {
		s.t.Errorf("versions %v, %d updates", versions, updates)
	}
}
