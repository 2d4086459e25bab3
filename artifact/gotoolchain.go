package artifact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// The go command itself fetches, verifies and keeps Go toolchains, in its module cache. This package only asks for
// them. The machine's own settings for proxies, checksum databases and caches apply.

var goVersion = regexp.MustCompile(`^go1(\.[0-9]+){0,2}((rc|beta)[0-9]+)?$`)

// goName returns the go command's name of a release. It accepts both 1.25.3 and go1.25.3.
func goName(ref Ref) (string, error) {
	name := "go" + strings.TrimPrefix(string(ref.Tag), "go")
	if !goVersion.MatchString(name) {
		return "", &NotThereError{What: ref.String(), Tried: []string{"the releases of Go, which are named like go1.25.3"}}
	}
	return name, nil
}

// acquireGo returns the toolchain's GOROOT. There is nothing to release: the go command removes a toolchain only when
// it is told to.
func (s *Store) acquireGo(ctx context.Context, ref Ref) (dir, version string, release func(), err error) {
	name, err := goName(ref)
	if err != nil {
		return "", "", nil, err
	}
	progress := func(line string) {
		if text, ok := strings.CutPrefix(line, "go: downloading "); ok {
			s.Progress(fmt.Sprintf("%s: downloading %s", ref, text))
		}
	}
	dir, err = s.runGo(ctx, ref, progress, []string{"GOTOOLCHAIN=" + name}, "env", "GOROOT")
	if err != nil {
		return "", "", nil, wrap(ref, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "VERSION"))
	if err != nil {
		return "", "", nil, wrap(ref, err)
	}
	// Go commands before 1.21 ignore GOTOOLCHAIN.
	if is, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n"); is != name {
		return "", "", nil, &RefusedError{What: ref.String(), Reason: fmt.Sprintf("the go command on PATH gives %s instead: install Go 1.21 or newer", is)}
	}
	version, err = probe(ctx, ref, dir, "GOTOOLCHAIN=local", "GOROOT="+dir)
	if err != nil {
		return "", "", nil, wrap(ref, err)
	}
	if version == "" {
		version = strings.TrimSpace(string(b))
	}
	return dir, version, func() {}, nil
}

// readyGo asks the go command's own cache first and then the module proxy.
func (s *Store) readyGo(ctx context.Context, ref Ref) error {
	name, err := goName(ref)
	if err != nil {
		return err
	}
	if _, err := s.runGo(ctx, ref, nil, []string{"GOTOOLCHAIN=" + name, "GOPROXY=off"}, "env", "GOROOT"); err == nil || ctx.Err() != nil {
		return err
	}
	// Each release comes out for all platforms at once.
	module := fmt.Sprintf("golang.org/toolchain@v0.0.1-%s.%s-%s", name, runtime.GOOS, runtime.GOARCH)
	_, err = s.runGo(ctx, ref, nil, []string{"GOTOOLCHAIN=local", "GO111MODULE=on"}, "list", "-m", module)
	return err
}

// runGo runs the go command outside of any module and returns its output. line takes its other messages.
func (s *Store) runGo(ctx context.Context, ref Ref, line func(string), env []string, args ...string) (string, error) {
	c := command{
		dir: s.Dir, argv: append([]string{"go"}, args...),
		env: append(env, "GOWORK=off"),
		// If a go command runs this process, it has told its children which toolchain they are.
		unset: []string{"GOROOT", "GOTOOLCHAIN_INTERNAL_*"},
		line:  line,
	}
	output, said, err := c.run(ctx)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return strings.TrimSpace(output), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", &RefusedError{What: ref.String(), Reason: "no go command on PATH: install Go 1.21 or newer (https://go.dev/dl), or add its bin directory to the PATH of the collector"}
	case errors.As(err, &exit):
		return "", s.goError(ctx, ref, said, err)
	}
	return "", err
}

// The go command has no exit codes for these: its messages are the only sign.
var (
	goNotThere = regexp.MustCompile(`(?i)\b404 not found|\b410 gone|toolchain not available|invalid gotoolchain|invalid toolchain|invalid version|unknown revision|no matching versions|reading file:.*no such file`)
	goRefused  = regexp.MustCompile(`(?i)checksum mismatch|security error|\b401 unauthorized|\b403 forbidden|disabled by go|checksum database disabled`)
	goFull     = regexp.MustCompile(`(?i)no space left on device|disk quota exceeded`)
	goProgress = regexp.MustCompile(`(?m)^go: downloading .*\n`)
	goPassing  = regexp.MustCompile(`(?i)\b(408|429|5[0-9]{2}) [a-z]`)
)

// goError returns the kind of error that a failure of the go command means.
func (s *Store) goError(ctx context.Context, ref Ref, said string, err error) error {
	said = goProgress.ReplaceAllString(said, "")
	switch {
	case goFull.MatchString(said):
		return noSpace(s.moduleCache(ctx), 0)
	case goRefused.MatchString(said):
		return &RefusedError{What: ref.String(), Reason: "the go command refuses to fetch it; see go help goproxy" + indented(said)}
	case goPassing.MatchString(said):
	case goNotThere.MatchString(said):
		return &NotThereError{What: ref.String(), Tried: []string{"Go's module proxy (go env GOPROXY)" + indented(said)}}
	}
	return fmt.Errorf("the go command could not fetch it: %w%s", err, indented(said))
}

// moduleCache returns where the go command keeps toolchains.
func (s *Store) moduleCache(ctx context.Context) string {
	output, _, err := command{dir: s.Dir, argv: []string{"go", "env", "GOMODCACHE"}, env: []string{"GOTOOLCHAIN=local"}}.run(ctx)
	if dir := strings.TrimSpace(output); err == nil && dir != "" {
		return dir
	}
	return "the go command's module cache"
}
