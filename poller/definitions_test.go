package poller

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// A file is published once, however often it is polled and whatever else changes in the repository.
func TestAFileIsPublishedWhenItChanges(t *testing.T) {
	places(t, func(t *testing.T, at place) {
		c, log := newControl(t)
		first := at.push(suiteFile(mine))
		p := definitionsPoller(c, "a", "main", at.files)
		for range 3 {
			p.turn(t.Context())
		}
		wantEvents(t, log, `published "main" `+first)
		other := suiteFile(mine)
		other["README"] = file{Content: "Something else"}
		at.push(other)
		p.turn(t.Context())
		definitionsPoller(c, "b", "main", at.files).turn(t.Context())
		wantEvents(t, log, `published "main" `+first)
		// No commit here has a parent: each push is a force push.
		second := at.push(suiteFile(mineOf("second")))
		p.turn(t.Context())
		definitionsPoller(c, "b", "main", at.files).turn(t.Context())
		third := at.push(suiteFile(mine))
		p.turn(t.Context())
		wantEvents(t, log, `published "main" `+first, `published "main" `+second, `published "main" `+third)
		if got := inForce(t, c, "main"); got != "" {
			t.Errorf("%q is in force", got)
		}
		// The same file for all branches is another matter.
		definitionsPoller(c, "all", "", at.files).turn(t.Context())
		wantEvents(t, log, `published "main" `+first, `published "main" `+second, `published "main" `+third, `published "" `+third)
		for _, e := range read(t, log) {
			if f, ok := e.Fact.(events.DefinitionsPublished); ok && f.Suite == "mine" && (f.File == "" || e.Source != "poller" || !strings.HasPrefix(string(e.Actor), "poller:")) {
				t.Errorf("%+v by %s", f, e.Actor)
			}
		}
	})
}

// A broken file is refused with line and column. What was published before stays in force, and one alert says so until
// the file is good.
func TestABrokenFileIsRefusedWithItsLine(t *testing.T) {
	places(t, func(t *testing.T, at place) {
		c, log := newControl(t)
		good := at.push(suiteFile(mineOf("good")))
		p := definitionsPoller(c, "a", "", at.files)
		p.turn(t.Context())
		bad := at.push(suiteFile(broken))
		for range 3 {
			p.turn(t.Context())
		}
		later := suiteFile(broken)
		later["README"] = file{Content: "Something else"}
		at.push(later)
		p.turn(t.Context())
		definitionsPoller(c, "a", "", at.files).turn(t.Context())
		if got := inForce(t, c, "release/1"); got != "good" {
			t.Errorf("%q is in force", got)
		}
		for _, e := range read(t, log) {
			switch f := e.Fact.(type) {
			case events.DefinitionsRejected:
				if len(f.Problems) != 1 || !strings.HasPrefix(f.Problems[0], `bench/mine.toml:9:45: unknown profile of kind compile "fast"`) {
					t.Errorf("%q", f.Problems)
				}
			case events.AlertRaised:
				if f.Kind != events.AlertSource || !strings.Contains(f.Message, bad[:12]) || !strings.Contains(f.Message, "bench/mine.toml:9:45") ||
					!strings.Contains(f.Action, "tacho suite branches mine") {
					t.Errorf("%+v", f)
				}
			}
		}
		mended := at.push(suiteFile(mineOf("mended")))
		p.turn(t.Context())
		wantEvents(t, log, `published "" `+good, `rejected "" `+bad, "alert source-a", `published "" `+mended, "cleared source-a")
		if got := inForce(t, c, "main"); got != "mended" {
			t.Errorf("%q is in force", got)
		}
	})
}

// Without any good file requests are told why there are no definitions.
func TestASuiteWhoseFirstFileIsBroken(t *testing.T) {
	c, _ := newControl(t)
	files := &tree{}
	files.set(broken)
	p := definitionsPoller(c, "a", "", files)
	p.turn(t.Context())
	_, _, err := c.CreateRequest(t.Context(), by, control.NewRequest{Suite: "mine", Kind: events.Release, Tag: "1.0"})
	if err == nil || !strings.Contains(err.Error(), "tacho suite branches mine") {
		t.Errorf("got %v", err)
	}
	files.set(mine)
	p.turn(t.Context())
	if got := inForce(t, c, "main"); got != "" {
		t.Errorf("%q is in force", got)
	}
}

func TestWhatIsNoGoodFileIsRefusedInWords(t *testing.T) {
	places(t, func(t *testing.T, at place) {
		secret := filepath.Join(t.TempDir(), "secret.toml")
		if err := os.WriteFile(secret, []byte(mineOf("of the server")), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			name  string
			files map[string]file
			want  string
		}{
			{"absent", map[string]file{"README": {}}, "no such file"},
			{"a directory", map[string]file{suitePath + "/x": {}}, "it is a directory"},
			{"a link", map[string]file{suitePath: {Mode: "120000", Content: "../good.toml"}, "good.toml": {Content: mine}}, "symbolic link"},
			{"a link to this machine", map[string]file{suitePath: {Mode: "120000", Content: secret}}, "symbolic link"},
			{"a link on the way", map[string]file{"bench": {Mode: "120000", Content: filepath.Dir(secret)}}, "no such file"},
			{"a link to a directory", map[string]file{"bench": {Mode: "120000", Content: "other"}, "other/mine.toml": {Content: mine}}, "no such file"},
			{"a submodule", map[string]file{suitePath: {Mode: "160000"}}, "submodule"},
			{"a submodule on the way", map[string]file{"bench": {Mode: "160000"}}, "no such file"},
			{"too large", suiteFile(mine + "#" + strings.Repeat("x", mostFile)), "definitions have at most 1048576"},
			{"another suite", suiteFile(strings.Replace(mine, `"mine"`, `"yours"`, 1)), `name is "yours"`},
			{"programs beside it", suiteFile(strings.Replace(mine, `"programs"`, `"file"`, 1)), "programs are not read from a repository"},
			{"programs that ship", suiteFile(strings.Replace(mine, `"programs"`, `"shipped"`, 1)), "programs are not read from a repository"},
			{"a way out", suiteFile(strings.Replace(mine, `command =`, `source = "../../etc", command =`, 1)), "bench/mine.toml:14:"},
			{"a pool as target", suiteFile(strings.ReplaceAll(mine, "here", "pool_here")), "pool"},
			{"no TOML", suiteFile("{ \"name\": 1 }\x00\x1b[2J"), "bench/mine.toml:1:1: "},
			{"nothing", suiteFile(""), "version is 0"},
			{"far too deep", suiteFile(strings.Repeat("a.", 400_000) + "a = 1"), "more than 16 parts"},
		} {
			c, log := newControl(t)
			tip := at.push(tc.files)
			for range 2 {
				outcome, err := definitionsPoller(c, "a", "main", at.files).Poll(t.Context())
				if err != nil || !strings.Contains(outcome.Refused, tc.want) || strings.ContainsAny(outcome.Refused, "\x00\x1b") {
					t.Errorf("%s: %q %v, want %q in it", tc.name, outcome.Refused, err, tc.want)
				}
			}
			if diff := cmp.Diff([]string{`rejected "main" ` + tip}, suiteEvents(t, log)); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", tc.name, diff)
			}
		}
	})
}

// Of a file of 100 MB nothing is read, neither by this process nor into git's memory.
func TestAFileOf100MBIsNotRead(t *testing.T) {
	for name, filter := range map[string]string{"git": "true", "git without filters": "false"} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.git(r.url, "config", "uploadpack.allowFilter", filter)
			r.git(r.url, "config", "core.bigFileThreshold", "1m")
			huge := filepath.Join(t.TempDir(), "huge")
			if err := os.WriteFile(huge, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(huge, 100<<20); err != nil {
				t.Fatal(err)
			}
			content, err := os.Open(huge)
			if err != nil {
				t.Fatal(err)
			}
			defer content.Close()
			r.git(r.local, "read-tree", "--empty")
			r.git(r.local, "update-index", "--add", "--cacheinfo", "100644,"+r.blob(content)+","+suitePath)
			r.push("main", r.commitIndex())
			c, log := newControl(t)
			p := definitionsPoller(c, "a", "", r.source(t, ""))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			outcome, err := p.Poll(t.Context())
			runtime.ReadMemStats(&after)
			if err != nil || !strings.Contains(outcome.Refused, "it has 104857600 bytes") {
				t.Errorf("%q %v", outcome.Refused, err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 {
				t.Errorf("%d MiB were allocated", n>>20)
			}
			if got := suiteEvents(t, log); len(got) != 1 || !strings.HasPrefix(got[0], "rejected") {
				t.Errorf("%q", got)
			}
		})
	}
}

// Who moves a branch to earlier definitions is not overruled by the poller, until the file changes.
func TestARollBackStaysUntilTheFileChanges(t *testing.T) {
	c, log := newControl(t)
	files := &tree{}
	p := definitionsPoller(c, "a", "main", files)
	files.set(mineOf("first"))
	p.turn(t.Context())
	first, err := c.Definitions(t.Context(), "mine", "main")
	if err != nil {
		t.Fatal(err)
	}
	files.set(mineOf("second"))
	p.turn(t.Context())
	if _, err := c.Promote(t.Context(), by, "mine", "main", first.Digest(), "the second is wrong"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		files.set(mineOf("second")) // another commit
		p.turn(t.Context())
		definitionsPoller(c, "b", "main", files).turn(t.Context())
	}
	if got := inForce(t, c, "main"); got != "first" {
		t.Errorf("%q is in force", got)
	}
	wantEvents(t, log, `published "main" 1`, `published "main" 2`, "promoted")
	files.set(mineOf("third"))
	p.turn(t.Context())
	if got := inForce(t, c, "main"); got != "third" {
		t.Errorf("%q is in force", got)
	}
}

// A repository or a branch that is gone is no fault of the definitions.
func TestARepositoryThatIsGoneIsAFailedPoll(t *testing.T) {
	places(t, func(t *testing.T, at place) {
		c, log := newControl(t)
		tip := at.push(suiteFile(mine))
		p := definitionsPoller(c, "a", "main", at.files)
		p.turn(t.Context())
		at.gone()
		for range 4 {
			p.turn(t.Context())
		}
		wantEvents(t, log, `published "main" `+tip, "alert source-a")
		if got := inForce(t, c, "main"); got != "" {
			t.Errorf("%q is in force", got)
		}
		at.back()
		p.turn(t.Context())
		wantEvents(t, log, `published "main" `+tip, "alert source-a", "cleared source-a")
	})
}

func TestABranchThatIsGoneIsAFailedPoll(t *testing.T) {
	r := newRepository(t)
	r.push("work", r.commitFiles(suiteFile(mine)))
	c, log := newControl(t)
	p := definitionsPoller(c, "a", "", r.source(t, "work"))
	p.turn(t.Context())
	r.git(r.local, "push", "--quiet", r.url, ":refs/heads/work")
	if outcome, err := p.Poll(t.Context()); err == nil || outcome.Refused != "" || !strings.Contains(err.Error(), "no branch work") {
		t.Errorf("%+v %v", outcome, err)
	}
	if got := suiteEvents(t, log); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// Damage to the mirror costs a new fetch, as for commits.
func TestADamagedMirrorIsFetchedAnew(t *testing.T) {
	r := newRepository(t)
	from := r.source(t, "")
	r.push("main", r.commitFiles(suiteFile(mine)))
	c, log := newControl(t)
	definitionsPoller(c, "a", "", from).turn(t.Context())
	err := filepath.WalkDir(filepath.Join(from.Dir, "objects"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if err := os.Chmod(path, 0o600); err != nil {
			return err
		}
		return os.WriteFile(path, nil, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	p := definitionsPoller(c, "a", "", from)
	for range 2 {
		if _, err := p.Poll(t.Context()); err != nil {
			t.Logf("the first poll: %v", err)
		}
	}
	if got := suiteEvents(t, log); len(got) != 1 {
		t.Errorf("%q", got)
	}
	if outcome, err := p.Poll(t.Context()); err != nil || outcome.Refused != "" {
		t.Errorf("%+v %v", outcome, err)
	}
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
