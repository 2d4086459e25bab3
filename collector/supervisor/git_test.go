package supervisor

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a bare repository whose build writes a program.
type repository struct {
	t    *testing.T
	tree string
	bare string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, tree: filepath.Join(t.TempDir(), "tree"), bare: filepath.Join(t.TempDir(), "bare.git")}
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", r.bare).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Mkdir(r.tree, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("remote", "add", "origin", r.bare)
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = r.tree
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit pushes a commit whose build.sh is the text, and returns its SHA.
func (r *repository) commit(branch, build string) string {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.tree, "build.sh"), []byte(build), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.git("checkout", "--quiet", "-B", branch)
	r.git("add", ".")
	r.git("commit", "--quiet", "--allow-empty", "--message", "build")
	r.git("push", "--quiet", "--force", "origin", branch)
	return r.git("rev-parse", "HEAD")
}

// tag pushes a tag of the last commit.
func (r *repository) tag(tag string) {
	r.t.Helper()
	r.git("tag", tag)
	r.git("push", "--quiet", "origin", tag)
}

// builds is a build.sh that makes a program of the version that it gets.
func builds(where string) string {
	return "mkdir -p bin\ncat > " + where + " <<EOF\n#!/bin/sh\n" +
		"if [ \"\\$1\" = version ]; then echo '{\"version\": \"$VERSION\"}'; exit 0; fi\n" +
		"echo \"started $VERSION\" >> \"\\$PLAN/journal\"\nwhile :; do sleep 0.02; done\nEOF\n"
}

func TestGitBuildsTagsAndCommits(t *testing.T) {
	r := newRepository(t)
	first := r.commit("main", builds("tacho"))
	r.tag("v2")
	second := r.commit("main", builds("bin/tacho"))
	g := Git{URL: r.bare, Ref: "main", Build: "sh build.sh", Environ: os.Environ(), Output: io.Discard}
	for _, version := range []string{"v2", first, second, second[:10]} {
		path, err := g.Get(t.Context(), version, t.TempDir())
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "started "+version+"\"") {
			t.Errorf("%s: %v\n%s", version, err, text)
		}
	}
}

func TestGitSaysWhyAVersionCannotBeHad(t *testing.T) {
	r := newRepository(t)
	broken := r.commit("main", "echo 'undefined: x' >&2; exit 2")
	nothing := r.commit("main", "true")
	other := r.commit("other", "true")
	for what, c := range map[string]struct{ url, version, want string }{
		"a tag that is not there":  {r.bare, "v9", "has no tag v9, and its branch main no such commit"},
		"a commit of other branch": {r.bare, other, "no such commit"},
		"a branch is no version":   {r.bare, "main", "has no tag main"},
		"a build that fails":       {r.bare, broken, `build with "sh build.sh": exit status 2: undefined: x`},
		"a build of nothing":       {r.bare, nothing, "left neither bin/tacho nor tacho"},
		"no repository":            {r.bare + "x", "v2", "fetch "},
		"a secret in the URL":      {"https://alice:secret@127.0.0.1:1/x.git", "v2", "fetch "},
	} {
		t.Run(what, func(t *testing.T) {
			g := Git{URL: c.url, Ref: "main", Build: "sh build.sh", Environ: os.Environ(), Output: io.Discard}
			_, err := g.Get(t.Context(), c.version, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestAPushedVersionIsBuiltAndStarted(t *testing.T) {
	s, r := newSite(t), newRepository(t)
	s.config.Source = Git{URL: r.bare, Ref: "main", Build: "sh build.sh", Environ: os.Environ(), Output: &s.output}
	s.start()
	s.awaitJournal("started v1", 1)
	commit := r.commit("main", builds("tacho"))
	s.want(commit)
	s.write("plan/leave-v1", "")
	s.awaitJournal("started "+commit, 1)
	s.end()
}
