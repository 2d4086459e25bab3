package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/internal/git"
	"github.com/tachobench/tacho/internal/subprocess"
)

// Source makes the programs of versions.
type Source interface {
	// Get makes the program of a version in the empty directory work and returns its path. The caller removes everything else
	// there. An error says in one sentence why Get failed.
	Get(ctx context.Context, version, work string) (path string, err error)
	// String names the source for people, without secrets.
	String() string
}

const (
	// fetchWithin and buildWithin bound the two steps of Git.Get.
	fetchWithin = 10 * time.Minute
	buildWithin = time.Hour
)

// Git builds versions from a repository: a version is a tag, or a commit of Ref by its SHA or the beginning of it.
type Git struct {
	URL string
	// Ref is the branch whose commits may be built, besides the tags.
	Ref string
	// Build is a command for sh, run at the top of the fetched tree with VERSION in its environment. It leaves the
	// program as tacho or bin/tacho.
	Build string
	// Environ is the environment of git and the build.
	Environ []string
	// Output takes what the build prints.
	Output io.Writer
	// Bind is as in Config.
	Bind func(*exec.Cmd)
}

// String implements Source.
func (g Git) String() string { return withoutSecrets(g.URL) }

// Get implements Source.
func (g Git) Get(ctx context.Context, version, work string) (string, error) {
	tree := filepath.Join(work, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	if _, err := g.git(ctx, tree, "init", "--quiet"); err != nil {
		return "", err
	}
	if _, err := g.git(ctx, tree, "fetch", "--quiet", "--no-auto-gc", "--no-tags", "--", g.URL,
		"+refs/heads/"+g.Ref+":refs/remotes/origin/"+g.Ref, "+refs/tags/*:refs/tags/*"); err != nil {
		return "", errors.New("fetch " + strings.ReplaceAll(err.Error(), g.URL, g.String()))
	}
	commit, err := g.resolve(ctx, tree, version)
	if err != nil {
		return "", err
	}
	if _, err := g.git(ctx, tree, "checkout", "--quiet", "--detach", commit); err != nil {
		return "", fmt.Errorf("check out %s: %w", version, err)
	}
	if _, err := command(ctx, buildWithin, func(ctx context.Context) *exec.Cmd {
		c := exec.CommandContext(ctx, "sh", "-c", g.Build)
		c.Dir, c.Env = tree, append(g.environ(), "VERSION="+version)
		return c
	}, g.Bind, g.Output); err != nil {
		return "", fmt.Errorf("build with %q: %w", g.Build, err)
	}
	for _, path := range []string{filepath.Join(tree, "bin", programName), filepath.Join(tree, programName)} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("the build command %q left neither bin/tacho nor tacho", g.Build)
}

// sha matches the SHA of a commit, or the beginning of one.
var sha = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// resolve returns the commit that a version names.
func (g Git) resolve(ctx context.Context, tree, version string) (string, error) {
	names := []string{"refs/tags/" + version}
	if sha.MatchString(version) {
		names = append(names, version)
	}
	for _, name := range names {
		commit, err := g.git(ctx, tree, "rev-parse", "--quiet", "--verify", "--end-of-options", name+"^{commit}")
		if err == nil {
			return strings.TrimSpace(commit), nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	return "", fmt.Errorf("%s has no tag %s, and its branch %s no such commit", g, version, g.Ref)
}

func (g Git) git(ctx context.Context, dir string, args ...string) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, fetchWithin, fmt.Errorf("git was ended after %s", fetchWithin))
	defer cancel()
	printed, err := git.Command{Dir: dir, Args: args, Environ: g.environ(), Bind: g.Bind}.Run(limited)
	var failed *git.Error
	if errors.As(err, &failed) && failed.Said != "" {
		err = fmt.Errorf("%w: %s", failed.Err, subprocess.LastLine(failed.Said))
	}
	return printed, err
}

// environ returns the environment without the variables that would lead git to another repository, and without Variable.
func (g Git) environ() []string {
	return slices.DeleteFunc(git.Neutral(g.Environ), func(v string) bool { return strings.HasPrefix(v, Variable+"=") })
}
