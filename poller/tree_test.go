package poller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/rules/suite"
)

// treePoller polls commits that have definitions of their own.
func treePoller(c *control.Control, name string, from Source) *Poller {
	return New(Config{
		Name: name, Suite: "mine", Source: from, Path: suitePath, Policy: Policy{Backlog: 20}, Interval: 2 * time.Minute,
		Control: c, Clock: time.Now, Logger: discard,
	})
}

// withOwn returns a control whose suite "mine" was published for all branches.
func withOwn(t testing.TB) (*control.Control, *memory.Log) {
	t.Helper()
	c, log := newControl(t)
	if _, err := c.Publish(t.Context(), by, loaded(t, mineOf("of all"))); err != nil {
		t.Fatal(err)
	}
	return c, log
}

func loaded(t testing.TB, content string) suite.Definitions {
	t.Helper()
	d, problems := load("mine", suitePath, []byte(content))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

// asked is what the log says of a request for a commit.
type asked struct {
	Definitions, Problem string
}

// askedFor returns the requests of suite mine by the number of their commit, with the names of the contents of their files.
func askedFor(t testing.TB, log *memory.Log, commits []events.Tag, contents map[string]string) []asked {
	t.Helper()
	names := map[events.Digest]string{}
	for name, content := range contents {
		names[loaded(t, content).Digest()] = name
	}
	out := make([]asked, len(commits))
	for _, e := range read(t, log) {
		f, ok := e.Fact.(events.RequestCreated)
		if !ok || f.Suite != "mine" {
			continue
		}
		i := slices.Index(commits, f.Tag)
		if i < 0 || out[i] != (asked{}) || f.Customised {
			t.Fatalf("%+v", f)
		}
		out[i] = asked{names[f.Definitions], f.DefinitionsProblem}
		if f.Definitions == "" && f.DefinitionsProblem == "" {
			out[i].Definitions = "those of its branch"
		}
	}
	return out
}

// forest are branches of all kinds whose commits have files; grow adds a commit to theirs.
func forest(t *testing.T, test func(t *testing.T, from Tree, grow func(map[string]file) events.Tag)) {
	t.Helper()
	for name, filter := range map[string]string{"git": "true", "git without filters": "false"} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.git(r.url, "config", "uploadpack.allowFilter", filter)
			var tip events.Tag
			test(t, r.source(t, "main"), func(files map[string]file) events.Tag {
				var on []events.Tag
				if tip != "" {
					on = append(on, tip)
				}
				tip = r.commitFiles(files, on...)
				r.push("main", tip)
				return tip
			})
		})
	}
	t.Run("GitHub", func(t *testing.T) {
		s := fakegithub.Start(t, fakegithub.Config{})
		repo := s.Repository("o/r")
		g, err := NewGitHub(GitHubConfig{HTTP: NewClient(NewTransport(s.Client().Transport, time.Now)), API: s.URL(), Repository: "o/r", Branch: "main"})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		test(t, g, func(files map[string]file) events.Tag {
			sha := fmt.Sprintf("%040x", 0xabc000+len(all))
			repo.AddCommit(fakegithub.Commit{SHA: sha, Message: "Change", Files: files, Parents: all[max(len(all)-1, 0):]})
			repo.SetBranch("main", sha)
			all = append(all, sha)
			return events.Tag(sha)
		})
	})
}

// Each request takes the file of its own commit. What cannot be used costs no commit: it takes those of its branch.
func TestEachCommitTakesItsOwnDefinitions(t *testing.T) {
	forest(t, func(t *testing.T, from Tree, grow func(map[string]file) events.Tag) {
		c, log := withOwn(t)
		contents := map[string]string{"first": mine, "second": mineOf("second"), "of all": mineOf("of all")}
		var commits []events.Tag
		for _, files := range []map[string]file{
			suiteFile(mine), suiteFile(mine), suiteFile(mineOf("second")), suiteFile(broken),
			{"README": {}},
			suiteFile(mine + "#" + strings.Repeat("x", mostFile)),
			{suitePath: {Mode: "120000", Content: "../README"}},
			suiteFile(mine), suiteFile(mineOf("of all")),
		} {
			commits = append(commits, grow(files))
		}
		p := treePoller(c, "a", from)
		poll(t, p, len(commits))
		got := askedFor(t, log, commits, contents)
		problems := []string{"bench/mine.toml:9:45: unknown profile", "no such file", "definitions have at most", "symbolic link"}
		for i, want := range problems {
			if at := 3 + i; got[at].Definitions != "" || !strings.Contains(got[at].Problem, want) {
				t.Errorf("commit %d: %+v, want %q", at, got[at], want)
			}
			got[3+i] = asked{}
		}
		want := []asked{{"first", ""}, {"first", ""}, {"second", ""}, {}, {}, {}, {}, {"first", ""}, {"of all", ""}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := inForce(t, c, "main"); got != "of all" {
			t.Errorf("%q is in force", got)
		}
		aside := 0
		for _, e := range read(t, log) {
			if f, ok := e.Fact.(events.DefinitionsPublished); ok && f.Aside {
				aside++
				if f.Revision == "" || f.File == "" || f.Branch != "" || f.Suite != "mine" {
					t.Errorf("%+v", f)
				}
			}
		}
		if aside != 2 {
			t.Errorf("%d definitions were published aside, want 2", aside)
		}
		// What came later asks for nothing anew, and the next commit goes on.
		poll(t, treePoller(c, "b", from), 0)
		commits = append(commits, grow(suiteFile(mineOf("second"))))
		poll(t, p, 1)
		if got := askedFor(t, log, commits, contents); got[len(got)-1] != (asked{"second", ""}) {
			t.Errorf("the newest commit: %+v", got[len(got)-1])
		}
	})
}

// A request for the same commit that somebody made before stays as it is.
func TestARequestOfAPersonKeepsItsDefinitions(t *testing.T) {
	c, log := withOwn(t)
	from := &woods{content: map[events.Tag]string{}}
	from.grow(mine)
	_, _, err := c.CreateRequest(t.Context(), by, control.NewRequest{Suite: "mine", Kind: events.Master, Tag: "c0"})
	if err != nil {
		t.Fatal(err)
	}
	poll(t, treePoller(c, "a", from), 0)
	if got := askedFor(t, log, []events.Tag{"c0"}, nil); got[0].Definitions != "those of its branch" {
		t.Errorf("%+v", got)
	}
}

// A file that cannot be read is tried again, and does not hold up the commits for ever.
func TestAFileThatIsNeverReadHoldsNothingUp(t *testing.T) {
	c, log := withOwn(t)
	from := &woods{content: map[events.Tag]string{}, err: errors.New("502 Bad Gateway")}
	from.grow(mine)
	from.grow(mine)
	p := treePoller(c, "a", from)
	for i := range mostUnread - 1 {
		if outcome, err := p.Poll(t.Context()); err == nil || outcome.Created > 0 {
			t.Fatalf("poll %d: %+v %v", i, outcome, err)
		}
	}
	poll(t, p, 2)
	from.err = nil
	from.grow(mine)
	poll(t, p, 1)
	got := askedFor(t, log, []events.Tag{"c0", "c1", "c2"}, map[string]string{"first": mine})
	if !strings.Contains(got[0].Problem, "502 Bad Gateway") || got[1].Problem == "" || got[2] != (asked{"first", ""}) {
		t.Errorf("%+v", got)
	}
	// A limit is no fault of the file, however often it is met.
	from.err = &LimitedError{Host: "here", Until: time.Now()}
	from.grow(mine)
	for range 2 * mostUnread {
		if outcome, err := p.Poll(t.Context()); err == nil || outcome.Created > 0 {
			t.Fatalf("%+v %v", outcome, err)
		}
	}
}

// woods is a branch in memory whose commits have files.
type woods struct {
	branch
	content map[events.Tag]string
	err     error
}

func (w *woods) grow(content string) {
	w.branch.grow(1, time.Hour, fmt.Sprintf("c%d", len(w.content)))
	w.set(func(b *branch) {
		tag := events.Tag(fmt.Sprintf("c%d", len(w.content)))
		b.commits[len(b.commits)-1].Tag = tag
		w.content[tag] = content
	})
}

// At implements Tree.
func (w *woods) At(_ context.Context, commit, _ string) (File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	content := w.content[events.Tag(commit)]
	return File{Revision: commit, ID: fmt.Sprintf("blob %x", content), Data: []byte(content)}, w.err
}

// However many pollers run, and whenever they are killed: each commit has one request with the definitions of its own file,
// and each digest is published once.
func TestPollersOfATreeRepeatNothing(t *testing.T) {
	contents := map[string]string{"first": mine, "second": mineOf("second"), "third": mineOf("third"), "of all": mineOf("of all")}
	texts := append(slices.Sorted(maps.Values(contents)), broken)
	rapid.Check(t, func(rt *rapid.T) {
		c, log := withOwn(t)
		from := &woods{content: map[events.Tag]string{}}
		pollers := []*Poller{treePoller(c, "a", from), treePoller(c, "b", from)}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0, 1:
				if len(from.content) < 15 {
					from.grow(rapid.SampledFrom(texts).Draw(rt, "content"))
				}
			case 2:
				// A poller is killed before an append or after it, and another one replaces it.
				dying := &control.Control{Log: &mortal{Log: log, left: rapid.IntRange(0, 3).Draw(rt, "appends")}, Clock: c.Clock}
				_, _ = treePoller(dying, "a", from).Poll(t.Context())
				pollers[0] = treePoller(c, "a", from)
			default:
				var both sync.WaitGroup
				for _, p := range pollers {
					both.Go(func() {
						if _, err := p.Poll(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		}
		for _, p := range pollers {
			if _, err := p.Poll(t.Context()); err != nil {
				rt.Fatal(err)
			}
		}
		var commits []events.Tag
		for _, a := range from.commits {
			commits = append(commits, a.Tag)
		}
		for i, got := range askedFor(t, log, commits, contents) {
			content := from.content[commits[i]]
			if content == broken {
				if got.Problem == "" || got.Definitions != "" {
					rt.Fatalf("%s: %+v", commits[i], got)
				}
			} else if contents[got.Definitions] != content || got.Problem != "" {
				rt.Fatalf("%s: %+v, want %.20q", commits[i], got, content)
			}
		}
		published := map[events.Digest]int{}
		for _, e := range read(t, log) {
			if f, ok := e.Fact.(events.DefinitionsPublished); ok {
				if published[f.Digest]++; published[f.Digest] > 1 {
					rt.Fatalf("definitions %.12s are published twice", f.Digest)
				}
			}
		}
	})
}
