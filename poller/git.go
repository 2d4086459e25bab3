package poller

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/filelock"
	"github.com/tachobench/tacho/internal/git"
)

// Git is a branch of a git remote, read from a mirror of its commits on this machine.
//
// One ref of the mirror follows the branch, wherever that goes: a force push, a merge or a change of the branch's
// name needs no special care. Everything in the mirror can be fetched again. The mirror is locked while git works in
// it, also by a git that outlives a killed poller. Locks that git itself left behind are then removed.
type Git struct {
	// URL is the remote, in git's form. An empty Branch is the one that its HEAD names.
	URL, Branch string
	// Dir is the directory of the mirror; it is made when it is needed.
	Dir    string
	Logger *slog.Logger
}

// tipRef follows the branch in the mirror.
const tipRef = "refs/polled/tip"

// Newest implements Source.
func (g Git) Newest(ctx context.Context) iter.Seq2[Artifact, error] {
	return func(yield func(Artifact, error) bool) {
		tip, err := g.remoteTip(ctx)
		if err != nil {
			yield(Artifact{}, err)
			return
		}
		m, err := g.update(ctx, tip)
		if err != nil {
			yield(Artifact{}, err)
			return
		}
		defer m.lock.Release()
		if err := m.log(ctx, yield); err != nil {
			yield(Artifact{}, fmt.Errorf("read the mirror of %s: %w", clean(g.URL), err))
		}
	}
}

// update locks the mirror and updates it to the branch of the remote, unless it is already at tip. The caller releases
// the lock.
func (g Git) update(ctx context.Context, tip string) (mirror, error) {
	lock, err := g.await(ctx)
	if err != nil {
		return mirror{}, err
	}
	m := mirror{Git: g, lock: lock}
	err = m.fetch(ctx, tip)
	if errors.Is(err, errDamaged) && ctx.Err() == nil {
		g.Logger.Warn("the mirror is damaged and fetched anew", "dir", g.Dir, "error", err)
		if err = os.RemoveAll(g.Dir); err == nil {
			err = m.fetch(ctx, tip)
		}
	}
	if err != nil {
		lock.Release()
		return mirror{}, fmt.Errorf("mirror %s: %w", clean(g.URL), err)
	}
	return m, nil
}

// await locks the mirror. The lock ends when it is released here and all child processes that hold it have ended.
func (g Git) await(ctx context.Context) (*filelock.Lock, error) {
	if err := os.MkdirAll(filepath.Dir(g.Dir), 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Await(ctx, g.Dir+".lock", filelock.Exclusive, nil)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("another process works with the mirror %s: %w", g.Dir, err)
	}
	return lock, err
}

func (g Git) head() string {
	if g.Branch == "" {
		return "HEAD"
	}
	return "refs/heads/" + g.Branch
}

// remoteTip asks the remote for the commit at the tip of the branch.
func (g Git) remoteTip(ctx context.Context) (string, error) {
	const limit = 2 * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	output, err := git.Command{Args: []string{"ls-remote", "--quiet", "--", g.URL, g.head()}}.Run(ctx)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", clean(g.URL), err)
	}
	for line := range strings.Lines(output) {
		if sha, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && ref == g.head() {
			return sha, nil
		}
	}
	if g.Branch == "" {
		return "", fmt.Errorf("%s has no default branch: it is empty, or its HEAD names a branch that is gone; name one with branch", clean(g.URL))
	}
	return "", fmt.Errorf("%s has no branch %s", clean(g.URL), g.Branch)
}

// mirror is the locked mirror of a Git.
type mirror struct {
	Git
	lock *filelock.Lock
}

// errDamaged says that the mirror cannot be used and that the remote is not the cause.
var errDamaged = errors.New("the mirror is damaged")

func (m mirror) git(args ...string) git.Command {
	return git.Command{Args: append([]string{"--git-dir=" + m.Dir}, args...), Hold: m.lock}
}

// remote is git for a command that may fetch. The cleanup must have ended when the lock is released. A file that is too
// large for definitions goes to the disk and never into git's memory.
func (m mirror) remote(args ...string) git.Command {
	return m.git(append([]string{
		"-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false", "-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=120",
		"-c", fmt.Sprintf("core.bigFileThreshold=%d", mostFile),
	}, args...)...)
}

// fetch updates the mirror to the branch of the remote, unless it is already at tip.
func (m mirror) fetch(ctx context.Context, tip string) error {
	if _, err := os.Stat(filepath.Join(m.Dir, "config")); errors.Is(err, os.ErrNotExist) {
		if err := m.init(ctx); err != nil {
			return err
		}
	}
	at, err := m.git("rev-parse", "--quiet", "--verify", tipRef).Run(ctx)
	if err == nil && strings.TrimSpace(at) == tip {
		return nil
	}
	if err := removeLeftovers(m.Dir); err != nil {
		return err
	}
	if _, err := m.git("config", "remote.origin.url", m.URL).Run(ctx); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	// Commits are all that is needed of most remotes: a server that can do so leaves out trees and files.
	_, err = m.remote("fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--filter=tree:0", "origin", "+"+m.head()+":"+tipRef).Run(ctx)
	if saysDamaged(err) {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return err
}

// saysDamaged reports whether git failed because of what is in the mirror.
func saysDamaged(err error) bool {
	var failed *git.Error
	return errors.As(err, &failed) && failed.Says("not a git repository", "corrupt", "bad object", "missing object", "invalid object", "unable to read",
		"bad tree", "bad config", "does not point to a valid object", "did not send all necessary objects", "cannot lock ref", "unable to resolve reference",
		"invalid sha1 pointer", "packfile", "index file", "inflate:", "object file")
}

// init makes an empty mirror. It makes a half-made one anew: the finished directory is renamed into its place last.
func (m mirror) init(ctx context.Context) error {
	if err := os.RemoveAll(m.Dir); err != nil {
		return err
	}
	making := m.Dir + ".new"
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	if _, err := (git.Command{Args: []string{"init", "--quiet", "--bare", "--template=", "--", making}, Hold: m.lock}).Run(ctx); err != nil {
		return err
	}
	return os.Rename(making, m.Dir)
}

// removeLeftovers removes what a killed git left in a mirror. The mirror is locked, so no git works in it.
func removeLeftovers(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(path, ".lock") || strings.HasPrefix(d.Name(), "tmp_") {
			return os.Remove(path)
		}
		return nil
	})
}

// log yields the commits of the mirror. It does not return an error of yield itself.
func (m mirror) log(ctx context.Context, yield func(Artifact, error) bool) error {
	enough := errors.New("enough")
	err := m.git("-c", "i18n.logOutputEncoding=UTF-8", "-c", "log.showSignature=false",
		"log", "--first-parent", "-z", "--no-color", "--no-notes", "--format=%H%n%P%n%ct%n%B", tipRef, "--").
		Stream(ctx, func(r io.Reader) error {
			for lines := bufio.NewReader(r); ; {
				record, err := lines.ReadString(0)
				if errors.Is(err, io.EOF) && record == "" {
					return nil
				}
				if err != nil && !errors.Is(err, io.EOF) {
					return err
				}
				a, err := parseCommit(strings.TrimSuffix(record, "\x00"))
				if err != nil {
					return err
				}
				if !yield(a, nil) {
					return enough
				}
			}
		})
	if errors.Is(err, enough) {
		return nil
	}
	if err != nil && ctx.Err() == nil {
		// The next poll then fetches everything anew.
		return errors.Join(err, os.RemoveAll(m.Dir))
	}
	return err
}

// parseCommit reads one record of the log: SHA, parents and date in a line each, then the message to the end.
func parseCommit(record string) (Artifact, error) {
	fields := strings.SplitN(record, "\n", 4)
	if len(fields) != 4 {
		return Artifact{}, fmt.Errorf("git log: %.80q is no commit", record)
	}
	seconds, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return Artifact{}, fmt.Errorf("git log: commit %.40q has the date %.40q", fields[0], fields[2])
	}
	a := Artifact{Kind: events.Master, Tag: events.Tag(fields[0]), PR: pullRequest(fields[3]), At: time.Unix(seconds, 0).UTC()}
	if err := events.CheckTag(a.Tag); err != nil {
		return Artifact{}, fmt.Errorf("git log: %w", err)
	}
	first, _, _ := strings.Cut(fields[1], " ")
	a.Parent = events.Tag(first)
	return a, nil
}
