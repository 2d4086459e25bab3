package poller

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

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

func TestWhatIsNoFileIsRefusedInWords(t *testing.T) {
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
		} {
			tip := at.push(tc.files)
			wantRefused(t, tc.name, at.files, tip, tc.want)
		}
	})
}

func TestAFileThatIsNotGoodIsRefusedInWords(t *testing.T) {
	for _, tc := range []struct{ name, content, want string }{
		{"another suite", strings.Replace(mine, `"mine"`, `"yours"`, 1), `name is "yours"`},
		{"programs beside it", strings.Replace(mine, `"programs"`, `"file"`, 1), "programs are not read from a repository"},
		{"programs that ship", strings.Replace(mine, `"programs"`, `"shipped"`, 1), "programs are not read from a repository"},
		{"a way out", strings.Replace(mine, `command =`, `source = "../../etc", command =`, 1), "bench/mine.toml:14:"},
		{"a pool as target", strings.ReplaceAll(mine, "here", "pool_here"), "pool"},
		{"no TOML", "{ \"name\": 1 }\x00\x1b[2J", "bench/mine.toml:1:1: "},
		{"nothing", "", "version is 0"},
		{"far too deep", strings.Repeat("a.", 400_000) + "a = 1", "more than 16 parts"},
	} {
		files := &tree{}
		files.set(tc.content)
		wantRefused(t, tc.name, files, "1", tc.want)
	}
}

// wantRefused polls twice, with two pollers.
func wantRefused(t *testing.T, name string, files Files, tip, want string) {
	t.Helper()
	c, log := newControl(t)
	for range 2 {
		outcome, err := definitionsPoller(c, "a", "main", files).Poll(t.Context())
		if err != nil || !strings.Contains(outcome.Refused, want) || strings.ContainsAny(outcome.Refused, "\x00\x1b") {
			t.Errorf("%s: %q %v, want %q in it", name, outcome.Refused, err, want)
		}
	}
	if diff := cmp.Diff([]string{`rejected "main" ` + tip}, suiteEvents(t, log)); diff != "" {
		t.Errorf("%s: (-want +got):\n%s", name, diff)
	}
}

// Of a file of 100 MB nothing is read, neither by this process nor into git's memory.
func TestAFileOf100MBIsNotRead(t *testing.T) {
	r := newRepository(t)
	for _, dir := range []string{r.local, r.url} {
		r.git(dir, "config", "core.compression", "1")
	}
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
	for _, filter := range []string{"true", "false"} {
		r.git(r.url, "config", "uploadpack.allowFilter", filter)
		c, log := newControl(t)
		p := definitionsPoller(c, "a", "", r.source(t, ""))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		outcome, err := p.Poll(t.Context())
		runtime.ReadMemStats(&after)
		if err != nil || !strings.Contains(outcome.Refused, "it has 104857600 bytes") {
			t.Errorf("filters %s: %q %v", filter, outcome.Refused, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 {
			t.Errorf("filters %s: %d MiB were allocated", filter, n>>20)
		}
		if got := suiteEvents(t, log); len(got) != 1 || !strings.HasPrefix(got[0], "rejected") {
			t.Errorf("filters %s: %q", filter, got)
		}
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

// A newer program has published a file that this one cannot read: it does not contradict.
func TestWhatANewerProgramPublishedIsLeftAlone(t *testing.T) {
	c, log := newControl(t)
	files := &tree{}
	files.set(broken)
	at, err := files.File(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	d := small()
	d.Name = "mine"
	if _, err := c.PublishFrom(t.Context(), by, d, control.Origin{Revision: "1", File: at.ID}); err != nil {
		t.Fatal(err)
	}
	definitionsPoller(c, "a", "", files).turn(t.Context())
	wantEvents(t, log, `published "" 1`)
}

// Definitions that fit into the file, but with all that it leaves out not into an event, are refused.
func TestDefinitionsThatNoEventHoldsAreRefused(t *testing.T) {
	c, log := newControl(t)
	c.Log = narrow{log}
	files := &tree{}
	files.set(mine)
	p := definitionsPoller(c, "a", "", files)
	for range 2 {
		if outcome, err := p.Poll(t.Context()); err != nil || !strings.Contains(outcome.Refused, "split the suite") {
			t.Errorf("%+v %v", outcome, err)
		}
	}
	wantEvents(t, log, `rejected "" 1`)
}

// narrow is a log whose events are too small for definitions.
type narrow struct{ eventlog.Log }

// Append implements eventlog.Log.
func (n narrow) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	for _, part := range parts {
		for _, e := range part.Events {
			if _, ok := e.Fact.(events.DefinitionsPublished); ok {
				return 0, fmt.Errorf("append: %w", eventlog.ErrBatchTooLarge)
			}
		}
	}
	return n.Log.Append(ctx, parts...)
}

// A wish that cannot be recorded because the log is away is tried again, and says nothing against the source.
func TestDefinitionsWaitForTheLog(t *testing.T) {
	c, log := newControl(t)
	files := &tree{}
	files.set(mine)
	away := &control.Control{Log: unavailable{log}, Clock: c.Clock}
	p := definitionsPoller(away, "a", "", files)
	for range 5 {
		p.turn(t.Context())
	}
	if p.failures != 0 {
		t.Errorf("%d failures are counted against the source", p.failures)
	}
	p.Control = c
	p.turn(t.Context())
	wantEvents(t, log, `published "" 1`)
}
