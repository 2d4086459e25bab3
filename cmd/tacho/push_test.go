package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/fakegithub"
)

// A hundred commits are pushed, in four pushes and a force push. GitHub reports the pushes. The two pollers of the branch,
// which otherwise look once an hour, request each commit once, parents before children. Nothing stalls.
func TestPushesArePolledAtOnce(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	path := filepath.Join(g.dir, "quick.toml")
	conf, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		conf = fmt.Appendf(conf, "\n[[poller]]\nname = %q\nkind = \"github-commits\"\nsuite = \"naps\"\nrepository = \"rust-lang/rust\"\nbranch = \"main\"\ninterval = \"1h\"\n", name)
	}
	if err := os.WriteFile(path, conf, 0o644); err != nil {
		t.Fatal(err)
	}
	sha := func(n int) string { return fmt.Sprintf("%040x", 0xabc000+n) }
	commit := func(n, parent int) {
		c := fakegithub.Commit{SHA: sha(n), Message: fmt.Sprintf("Auto merge of #%d - x, r=y", 1000+n), At: time.Now().Add(time.Duration(n-200) * time.Minute)}
		if n > 0 {
			c.Parents = []string{sha(parent)}
		}
		g.repo.AddCommit(c)
	}
	commit(0, 0)
	g.repo.SetBranch("main", sha(0))
	g.start("--collectors", "0")
	g.listen()
	requests := func(n int) {
		g.eventually(fmt.Sprintf("%d requests", n), 60*time.Second, func() bool {
			return strings.Count(g.must("events", "export"), "dev.tacho.request.created.v1") >= n
		})
	}
	requests(1)
	for n := 1; n <= 100; n++ {
		commit(n, n-1)
		if n%25 == 0 {
			g.repo.Push("main", sha(n), g.bors)
		}
	}
	requests(101)
	// The force push replaces the last three by two others.
	commit(101, 97)
	commit(102, 101)
	g.repo.Push("main", sha(102), g.bors)
	requests(103)

	seen := map[events.Tag]bool{"": true}
	n := 0
	for _, e := range g.events() {
		if f, ok := e.Fact.(events.RequestCreated); ok {
			n++
			if !seen[f.Parent] || seen[f.Tag] || f.PR == 0 || f.Kind != events.Master {
				t.Errorf("event %d: %s with parent %s, PR %d: its parent was asked for: %v, itself before: %v", e.Seq, f.Tag, f.Parent, f.PR, seen[f.Parent], seen[f.Tag])
			}
			seen[f.Tag] = true
		}
		if f, ok := e.Fact.(events.DeliveryHandled); ok && f.Outcome != events.DeliveryAccepted && strings.HasPrefix(f.Command, "push") {
			t.Errorf("%+v", f)
		}
	}
	if n != 103 {
		t.Errorf("%d requests", n)
	}
}
