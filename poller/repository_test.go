package poller

import (
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// began is when the history of test repositories and the simulated time begin.
var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

var discard = slog.New(slog.DiscardHandler)

// repository is a bare git repository that receives pushes, and the repository from which they come.
type repository struct {
	t          testing.TB
	local, url string
	commits    int
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	for name, value := range map[string]string{
		"HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.org",
	} {
		t.Setenv(name, value)
	}
	r := &repository{t: t, local: filepath.Join(t.TempDir(), "local.git"), url: filepath.Join(t.TempDir(), "remote.git")}
	for _, dir := range []string{r.local, r.url} {
		r.git("", "init", "--quiet", "--bare", "--initial-branch=main", dir)
	}
	r.git(r.url, "config", "uploadpack.allowFilter", "true")
	return r
}

func (r *repository) git(dir string, args ...string) string {
	r.t.Helper()
	return r.gitAt(began, dir, args...)
}

func (r *repository) gitAt(at time.Time, dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	date := fmt.Sprintf("%d +0000", at.Unix())
	cmd.Env = append(cmd.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit, a minute younger than the one before. The first parent is the commit before it on its
// branch.
func (r *repository) commit(message string, parents ...events.Tag) events.Tag {
	r.t.Helper()
	r.commits++
	return r.commitAt(began.Add(time.Duration(r.commits)*time.Minute), message, parents...)
}

func (r *repository) commitAt(at time.Time, message string, parents ...events.Tag) events.Tag {
	r.t.Helper()
	const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	r.git(r.local, "hash-object", "-t", "tree", "-w", "/dev/null")
	args := []string{"commit-tree", emptyTree, "-m", message}
	for _, p := range parents {
		if p != "" {
			args = append(args, "-p", string(p))
		}
	}
	return events.Tag(r.gitAt(at, r.local, args...))
}

// chain makes n commits in a row on top of one, oldest first, with the messages of merged pull requests.
func (r *repository) chain(n int, on events.Tag) []events.Tag {
	r.t.Helper()
	var out []events.Tag
	for range n {
		on = r.commit(fmt.Sprintf("Auto merge of #%d - somebody:thing, r=other\n\nText.", 1000+r.commits), on)
		out = append(out, on)
	}
	return out
}

// push pushes a commit to a branch, by force if needed.
func (r *repository) push(branch string, tip events.Tag) {
	r.t.Helper()
	r.git(r.local, "push", "--quiet", "--force", r.url, string(tip)+":refs/heads/"+branch)
}

func (r *repository) source(t *testing.T, branch string) Git {
	return Git{URL: r.url, Branch: branch, Dir: filepath.Join(t.TempDir(), "mirrors", "main.git"), Logger: discard}
}
