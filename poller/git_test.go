package poller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// take returns what a source yields, the newest first.
func take(t testing.TB, from Source) ([]Artifact, error) {
	t.Helper()
	var out []Artifact
	for a, err := range from.Newest(t.Context()) {
		if err != nil {
			return out, err
		}
		out = append(out, a)
	}
	return out, nil
}

func tags(artifacts []Artifact) []events.Tag {
	var out []events.Tag
	for _, a := range artifacts {
		out = append(out, a.Tag)
	}
	return out
}

// newestFirst returns a history in the order in which sources yield it.
func newestFirst(history []events.Tag) []events.Tag {
	out := slices.Clone(history)
	slices.Reverse(out)
	return out
}

func yields(t *testing.T, from Source, history []events.Tag) []Artifact {
	t.Helper()
	got, err := take(t, from)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(newestFirst(history), tags(got)); diff != "" {
		t.Fatal(diff)
	}
	return got
}

func TestGitYieldsFirstParentsWithPullRequests(t *testing.T) {
	r := newRepository(t)
	root := r.commit("Begin")
	side := r.commit("Work on a branch", root)
	merge := r.commit("Merge pull request #7 from them/branch\n\nIt is better (#9)", root, side)
	squash := r.commit("Make it faster (#8)", merge)
	r.push("main", squash)
	r.push("other", side)
	got := yields(t, r.source(t, ""), []events.Tag{root, merge, squash})
	want := []Artifact{
		{Kind: events.Master, Tag: squash, Parent: merge, PR: 8, At: began.Add(4 * time.Minute)},
		{Kind: events.Master, Tag: merge, Parent: root, PR: 7, At: began.Add(3 * time.Minute)},
		{Kind: events.Master, Tag: root, At: began.Add(time.Minute)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	yields(t, r.source(t, "other"), []events.Tag{root, side})
}

func TestGitFollowsPushesForcePushesAndDeletions(t *testing.T) {
	r := newRepository(t)
	from := r.source(t, "work")
	history := r.chain(5, "")
	r.push("main", history[0])
	r.push("work", history[4])
	yields(t, from, history)
	yields(t, from, history)
	history = append(history[:2:2], r.chain(4, history[1])...)
	r.push("work", history[5])
	yields(t, from, history)
	r.push("work", history[2])
	yields(t, from, history[:3])
	r.git(r.local, "push", "--quiet", r.url, ":refs/heads/work")
	if _, err := take(t, from); err == nil || !strings.Contains(err.Error(), "no branch work") {
		t.Errorf("a branch that is gone: %v", err)
	}
	// The branch has the name of an earlier directory of branches.
	r.push("work/a", history[3])
	from.Branch = "work/a"
	yields(t, from, history[:4])
	// Unrelated history.
	other := r.chain(2, "")
	r.push("work/a", other[1])
	yields(t, from, other)
}

func TestGitWithoutFiltersOnTheServer(t *testing.T) {
	r := newRepository(t)
	r.git(r.url, "config", "uploadpack.allowFilter", "false")
	history := r.chain(3, "")
	r.push("main", history[2])
	yields(t, r.source(t, ""), history)
}

// The remains of a killed fetch, and worse damage, cost at most a new fetch.
func TestGitGoesOnAfterAKilledFetchAndDamage(t *testing.T) {
	r := newRepository(t)
	from := r.source(t, "")
	history := r.chain(3, "")
	r.push("main", history[2])
	yields(t, from, history)
	touch := func(name string) func() error {
		return func() error {
			path := filepath.Join(from.Dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o600)
		}
	}
	for name, damage := range map[string]func() error{
		"a lock of the ref":           touch(tipRef + ".lock"),
		"a lock of packed refs":       touch("packed-refs.lock"),
		"a lock of the configuration": touch("config.lock"),
		"half a pack":                 touch("objects/pack/tmp_pack_abc"),
		"an empty ref":                touch(tipRef),
		"an empty HEAD":               touch("HEAD"),
		"an empty configuration":      touch("config"),
		"no configuration":            func() error { return os.Remove(filepath.Join(from.Dir, "config")) },
		"no objects":                  func() error { return os.RemoveAll(filepath.Join(from.Dir, "objects")) },
		"empty objects": func() error {
			return filepath.WalkDir(filepath.Join(from.Dir, "objects"), func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				return os.WriteFile(path, nil, 0o600)
			})
		},
		"half a mirror that was being made": func() error {
			if err := os.RemoveAll(from.Dir); err != nil {
				return err
			}
			return os.MkdirAll(from.Dir+".new/objects", 0o700)
		},
		"nothing": func() error { return os.RemoveAll(from.Dir) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := filepath.WalkDir(from.Dir, func(path string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					err = os.Chmod(path, 0o600)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			history = append(history, r.chain(1, history[len(history)-1])...)
			r.push("main", history[len(history)-1])
			// Damage that only reading finds is repaired by the next poll.
			if _, err := take(t, from); err != nil {
				t.Logf("the first poll: %v", err)
			}
			yields(t, from, history)
		})
	}
}

// A server stops answering in the middle of a fetch: the poll is ended, as if killed, and the next one works.
func TestGitGoesOnAfterAFetchThatWasCutOff(t *testing.T) {
	r := newRepository(t)
	history := r.chain(3, "")
	r.push("main", history[2])
	began := make(chan struct{})
	silent, smart := true, &cgi.Handler{
		Path: filepath.Join(r.git("", "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.url), "GIT_HTTP_EXPORT_ALL=1", "HOME=" + os.Getenv("HOME"), "GIT_CONFIG_GLOBAL=/dev/null"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if silent && bytes.Contains(body, []byte("command=fetch")) {
			silent = false
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			fmt.Fprint(w, "000dpackfile\n0010\x01PACK\x00\x00\x00\x02")
			_ = http.NewResponseController(w).Flush()
			close(began)
			<-req.Context().Done()
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		smart.ServeHTTP(w, req)
	}))
	defer server.Close()
	from := r.source(t, "")
	from.URL = server.URL + "/" + filepath.Base(r.url)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	for _, err := range from.Newest(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	yields(t, from, history)
	history = append(history, r.chain(1, history[2])...)
	r.push("main", history[3])
	yields(t, from, history)
}

// A git that outlives its poller holds the mirror until it ends.
func TestAMirrorThatIsInUseIsWaitedFor(t *testing.T) {
	r := newRepository(t)
	from := r.source(t, "")
	history := r.chain(2, "")
	r.push("main", history[1])
	lock, err := from.await(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := from.await(ctx); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := take(t, from)
		done <- err
	}()
	lock.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestGitSaysWhatIsWrong(t *testing.T) {
	r := newRepository(t)
	for name, tc := range map[string]struct {
		from Git
		want string
	}{
		"no repository":  {Git{URL: filepath.Join(r.local, "nowhere")}, "does not appear to be a git repository"},
		"no commits":     {Git{URL: r.url}, "no default branch"},
		"no such branch": {Git{URL: r.url, Branch: "gone"}, "no branch gone"},
		"a password":     {Git{URL: "http://user:secret@127.0.0.1:1/x"}, "git ls-remote"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.from.Dir, tc.from.Logger = filepath.Join(t.TempDir(), "m"), discard
			_, err := take(t, tc.from)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q in it and no secret", err, tc.want)
			}
		})
	}
}

func TestGitStopsWhenItHasEnough(t *testing.T) {
	r := newRepository(t)
	history := r.chain(30, "")
	r.push("main", history[29])
	n := 0
	for a, err := range r.source(t, "").Newest(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; a.Tag == history[27] {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d commits were taken", n)
	}
}

func FuzzParseCommit(f *testing.F) {
	f.Add("1111111111111111111111111111111111111111\n2222222222222222222222222222222222222222 33\n946684800\nAuto merge of #1 - x\n\ntext")
	f.Add("a\n\n0\n")
	f.Add("\n\n\n")
	f.Fuzz(func(t *testing.T, record string) {
		a, err := parseCommit(record)
		if err == nil && (events.CheckTag(a.Tag) != nil || a.PR < 0 || strings.ContainsAny(string(a.Parent), " \n")) {
			t.Errorf("%q is %+v", record, a)
		}
	})
}
