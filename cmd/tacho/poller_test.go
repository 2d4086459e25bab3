package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// newCommits makes a repository with a branch main, and returns a function that adds commits to it.
func (s *site) newCommits(dir string) func(n int) {
	s.t.Helper()
	git := func(args ...string) {
		s.t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(s.env, "HOME="+s.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
			"GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@example.org")
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	git("init", "--quiet", "--initial-branch=main")
	made := 0
	return func(n int) {
		for range n {
			made++
			git("commit", "--quiet", "--allow-empty", "-m", fmt.Sprintf("Change %d (#%d)", made, made))
		}
	}
}

// asked returns the pull requests of the requests that pollers made, in order.
func (s *site) asked() (prs []int) {
	for _, e := range s.events() {
		if c, ok := e.Fact.(events.RequestCreated); ok && e.Source == "poller" {
			prs = append(prs, c.PR)
		}
	}
	return prs
}

func (s *site) alert() (last events.Fact) {
	for _, e := range s.events() {
		if strings.HasPrefix(string(e.Fact.Subject()), string(events.AlertSubject("source-"))) {
			last = e.Fact
		}
	}
	return last
}

// New commits of a branch become requests by themselves, once, also over restarts. A source that cannot be polled raises an
// alert until it can be polled again.
func TestPollersOfAConfiguration(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	text, err := os.ReadFile(filepath.Join(s.dir, "quick.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"here", "later"} {
		text = fmt.Appendf(text, "\n[[poller]]\nname = %q\nkind = \"git-commits\"\nsuite = \"naps\"\nurl = %q\ninterval = \"1s\"\n", name, filepath.Join(s.dir, name))
	}
	if err := os.WriteFile(filepath.Join(s.dir, "quick.toml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	commit := s.newCommits(filepath.Join(s.dir, "here"))
	commit(4)
	s.start("--collectors", "0")
	wants := func(what string, prs ...int) {
		t.Helper()
		s.eventually(what, 20*time.Second, func() bool { return slices.Equal(s.asked(), prs) })
	}
	wants("the newest and its parent are asked for", 3, 4)
	commit(2)
	wants("new commits are asked for", 3, 4, 5, 6)
	s.eventually("an alert stands", 30*time.Second, func() bool {
		a, ok := s.alert().(events.AlertRaised)
		return ok && a.About == "later" && strings.Contains(a.Message, "source later cannot be polled")
	})
	if err := s.up.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	commit(1)
	s.start("--collectors", "0")
	wants("it goes on after a kill", 3, 4, 5, 6, 7)
	s.newCommits(filepath.Join(s.dir, "later"))(1)
	s.eventually("the alert is cleared", 30*time.Second, func() bool {
		_, ok := s.alert().(events.AlertCleared)
		return ok
	})
	wants("the other source is polled", 3, 4, 5, 6, 7, 1)
}
