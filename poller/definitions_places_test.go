package poller

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/fakegithub"
)

// mine is a good suite file. Its line 4 has the programs, its line 12 the profile.
const mine = `version = 1
name = "mine"
primary_target = "here"
sources = { root = "programs" }
defaults = { iterations = 1, timeout = "1m" }
categories = { master = ["primary"], try = ["primary"], release = ["primary"] }
artifact = { kind = "path", path = ["/opt/{tag}"], driver = "command" }
target = [{ name = "here", sets = 1, os = "linux", arch = "amd64" }]
kind = [{ name = "compile", per_set = true, profile = "opt" }]
backend = [{ name = "only" }]
scenario = [{ name = "full", cache = "none" }]
profile = [{ name = "opt" }]
metric = [{ name = "wall-time", unit = "s", class = "time", better = "lower" }]
benchmark = [{ name = "one", category = "primary", sets = { here = 0 }, command = ["{artifact}/cc", "one.c"] }]
`

// broken has a mistake in line 9, column 45.
var broken = strings.Replace(mine, `profile = "opt" }]`, `profile = "fast" }]`, 1)

func mineOf(description string) string { return mine + "description = \"" + description + "\"\n" }

// file is what a commit of a test repository has at the path: a mode and a content.
type file = fakegithub.File

const suitePath = "bench/mine.toml"

// commitFiles makes a commit with a tree of its own.
func (r *repository) commitFiles(files map[string]file, parents ...events.Tag) events.Tag {
	r.t.Helper()
	r.git(r.local, "read-tree", "--empty")
	for path, f := range files {
		mode, id := "100644", strings.Repeat("1", 40)
		if f.Mode != "" {
			mode = f.Mode
		}
		if mode != "160000" {
			id = r.blob(strings.NewReader(f.Content))
		}
		r.git(r.local, "update-index", "--add", "--cacheinfo", mode+","+id+","+path)
	}
	return r.commitIndex(parents...)
}

func (r *repository) blob(content io.Reader) string {
	r.t.Helper()
	cmd := exec.Command("git", "-C", r.local, "hash-object", "-w", "--stdin")
	cmd.Stdin = content
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) commitIndex(parents ...events.Tag) events.Tag {
	r.t.Helper()
	r.commits++
	args := []string{"commit-tree", r.git(r.local, "write-tree"), "-m", fmt.Sprint("Change ", r.commits)}
	for _, p := range parents {
		args = append(args, "-p", string(p))
	}
	return events.Tag(r.gitAt(began.Add(time.Duration(r.commits)*time.Minute), r.local, args...))
}

// place is a repository whose files are polled.
type place struct {
	files Files
	// push moves the branch to a commit with these files, and returns the commit.
	push func(files map[string]file) string
	// gone takes the repository away, back brings it back.
	gone, back func()
}

// places are repositories of all kinds: a git server that leaves out what is not asked for, one that cannot, and GitHub.
func places(t *testing.T, test func(*testing.T, place)) {
	t.Helper()
	for name, filter := range map[string]string{"git": "true", "git without filters": "false"} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.git(r.url, "config", "uploadpack.allowFilter", filter)
			rename := func(from, to string) {
				if err := os.Rename(from, to); err != nil {
					t.Error(err)
				}
			}
			test(t, place{
				files: r.source(t, "main"),
				push: func(files map[string]file) string {
					tip := r.commitFiles(files)
					r.push("main", tip)
					return string(tip)
				},
				gone: func() { rename(r.url, r.url+".away") }, back: func() { rename(r.url+".away", r.url) },
			})
		})
	}
	t.Run("GitHub", func(t *testing.T) {
		s := fakegithub.Start(t, fakegithub.Config{})
		repo := s.Repository("o/r")
		n := 0
		var token string
		files := &swap{}
		from := func(name string) {
			g, err := NewGitHub(GitHubConfig{
				HTTP: NewClient(NewTransport(s.Client().Transport, time.Now)), API: s.URL(), Token: token, Repository: "o/" + name, Branch: "main",
			})
			if err != nil {
				t.Fatal(err)
			}
			files.Files = g
		}
		from("r")
		test(t, place{
			files: files,
			push: func(files map[string]file) string {
				n++
				sha := fmt.Sprintf("%040x", 0xabc000+n)
				repo.AddCommit(fakegithub.Commit{SHA: sha, Message: "Change", Files: files})
				repo.SetBranch("main", sha)
				return sha
			},
			gone: func() { from("other") }, back: func() { from("r") },
		})
	})
}

// swap are Files that a test replaces.
type swap struct{ Files }

func definitionsPoller(c *control.Control, name, branch string, files Files) *Poller {
	return New(Config{
		Name: name, Suite: "mine", Definitions: &Definitions{Files: files, Path: suitePath, Branch: branch},
		Interval: 2 * time.Minute, Control: c, Clock: time.Now, Logger: discard,
	})
}

func suiteFile(content string) map[string]file {
	return map[string]file{suitePath: {Content: content}, "README": {Content: "Read me"}}
}

// suiteEvents returns what happened to suite mine, and its alerts, in short.
func suiteEvents(t testing.TB, log *memory.Log) []string {
	t.Helper()
	out := []string{}
	for _, e := range read(t, log) {
		// The others are of no interest here.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.DefinitionsPublished:
			if f.Suite == "mine" {
				out = append(out, fmt.Sprintf("published %q %s", f.Branch, f.Revision))
			}
		case events.DefinitionsRejected:
			out = append(out, fmt.Sprintf("rejected %q %s", f.Branch, f.Revision))
		case events.DefinitionsPromoted:
			out = append(out, "promoted")
		case events.AlertRaised:
			out = append(out, "alert "+string(f.Key))
		case events.AlertCleared:
			out = append(out, "cleared "+string(f.Key))
		}
	}
	return out
}

func wantEvents(t testing.TB, log *memory.Log, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), suiteEvents(t, log)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func inForce(t testing.TB, c *control.Control, branch string) string {
	t.Helper()
	d, err := c.Definitions(t.Context(), "mine", branch)
	if err != nil {
		t.Fatal(err)
	}
	return d.Description
}

// tree is a repository in memory.
type tree struct {
	mu      sync.Mutex
	commits int
	content string
}

func (f *tree) set(content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commits++
	f.content = content
}

// Tip implements Files.
func (f *tree) Tip(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprint(f.commits), nil
}

// File implements Files.
func (f *tree) File(context.Context, string, string) (File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return File{Revision: fmt.Sprint(f.commits), ID: fmt.Sprintf("blob %x", f.content), Data: []byte(f.content)}, nil
}
