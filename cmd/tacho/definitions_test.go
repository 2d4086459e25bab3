package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/fakegithub"
)

// TestDefinitionsOfARepository publishes what is pushed, at once, and refuses what is broken with its line, while requests go
// on with what was published before. A roll-back holds until the file changes.
func TestDefinitionsOfARepository(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	g.replace("naps.toml", `root = "file"`, `root = "programs"`)
	path := filepath.Join(g.dir, "quick.toml")
	conf, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	conf = fmt.Appendf(conf, "\n[sources]\nprograms = %q\n\n[[poller]]\nname = \"naps\"\nkind = \"definitions\"\nsuite = \"naps\"\nrepository = \"rust-lang/rust\"\n"+
		"branch = \"release/1\"\nserves = \"all\"\npath = \"bench/naps.toml\"\ninterval = \"1h\"\n", g.dir)
	if err := os.WriteFile(path, conf, 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(g.dir, "naps.toml"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	commit := func(readme, content string) string {
		n++
		c := fakegithub.Commit{SHA: fmt.Sprintf("%040x", 0xdef000+n), Message: "Change", Files: fakegithub.Files(map[string]string{"README": readme, "bench/naps.toml": content})}
		g.repo.AddCommit(c)
		return c.SHA
	}
	description := func(words string) string {
		return strings.Replace(string(text), "primary_target", fmt.Sprintf("description = %q\nprimary_target", words), 1)
	}
	push := func(readme, content string) { g.repo.Push("release/1", commit(readme, content), g.alice) }
	// published returns the digests of what the poller published, the newest last.
	published := func() (digests []string) {
		for _, e := range g.events() {
			if f, ok := e.Fact.(events.DefinitionsPublished); ok && f.File != "" && f.Branch == "" {
				digests = append(digests, string(f.Digest))
			}
		}
		return digests
	}
	wants := func(count int) []string {
		t.Helper()
		g.eventually(fmt.Sprintf("%d publications", count), 60*time.Second, func() bool { return len(published()) >= count })
		return published()
	}
	shows := func(what string) {
		t.Helper()
		g.eventually("the branches show "+what, 60*time.Second, func() bool {
			out, _, _ := g.run("suite", "branches", "naps")
			return strings.Contains(out, what)
		})
	}

	g.repo.SetBranch("release/1", commit("one", description("first")))
	if out := g.must("poller", "look", "naps"); !strings.Contains(out, "all branches that have none of their own") {
		t.Errorf("look shows:\n%s", out)
	}
	if out := g.must("poller", "list"); !strings.Contains(out, "for all branches") || !strings.Contains(out, "rust-lang/rust release/1 bench/naps.toml") {
		t.Errorf("list shows:\n%s", out)
	}
	g.start()
	g.listen()
	first := wants(1)[0]
	push("one", description("second"))
	second := wants(2)[1]
	shows(second)

	g.must("suite", "promote", "naps", first, "--reason", "the second is wrong")
	push("two", description("second"))
	broken := strings.Replace(description("second"), "[[scenario]]\n", "[[scenario]]\nspeed = 1\n", 1)
	push("two", broken)
	before, _, _ := strings.Cut(broken, "speed")
	problem := fmt.Sprintf("bench/naps.toml:%d:1: unknown key \"scenario.speed\"", 1+strings.Count(before, "\n"))
	shows(problem)
	shows(first)
	if _, errs, code := g.run("poller", "look", "naps"); code == 0 || !strings.Contains(errs, problem) {
		t.Errorf("look shows a broken file with code %d:\n%s", code, errs)
	}
	g.eventually("an alert stands", 60*time.Second, func() bool {
		a, ok := g.alert().(events.AlertRaised)
		return ok && strings.Contains(a.Message, problem)
	})
	g.must("request", "master", "v1", "--wait")
	made := map[events.Digest]bool{}
	for _, e := range g.events() {
		if f, ok := e.Fact.(events.JobsCreated); ok {
			for _, j := range f.Jobs {
				made[j.Definitions] = true
			}
		}
	}
	if !maps.Equal(made, map[events.Digest]bool{events.Digest(first): true}) {
		t.Errorf("jobs were made with %v, want %s", made, first)
	}

	push("two", description("third"))
	third := wants(3)[2]
	shows(third)
	g.eventually("the alert is cleared", 60*time.Second, func() bool {
		_, ok := g.alert().(events.AlertCleared)
		return ok
	})
	if got := published(); len(got) != 3 {
		t.Errorf("%d publications: %v", len(got), got)
	}
}
