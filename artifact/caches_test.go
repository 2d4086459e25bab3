package artifact

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/rules/suite"
)

// use opens a cache, which must be the caller's own or not, and returns the names of its files.
func use(t *testing.T, s *Store, name string, wantOwn bool) (dir string, files []string, release func()) {
	t.Helper()
	dir, own, release, err := s.Cache(name)
	if err != nil || own != wantOwn {
		t.Fatalf("cache %s: own %v, %v", name, own, err)
	}
	return dir, names(tree(t, dir)), release
}

// fill uses a cache for a job that adds a file.
func fill(t *testing.T, s *Store, name, file string, bytes int) {
	t.Helper()
	dir, _, release := use(t, s, name, true)
	put(t, filepath.Join(dir, file), bytes)
	release()
}

func put(t *testing.T, path string, bytes int) {
	t.Helper()
	if err := os.WriteFile(path, make([]byte, bytes), 0o644); err != nil {
		t.Fatal(err)
	}
}

func told(t *testing.T, s *Store, want ...string) {
	t.Helper()
	if got, err := s.Evicted(); err != nil || !slices.Equal(got, want) {
		t.Errorf("removed are %q, want %q; %v", got, want, err)
	}
}

func TestTheNextJobFindsTheCacheAsItWasLeft(t *testing.T) {
	s := open(t, Config{MaxBytes: 1 << 20})
	fill(t, s, "ccache/gcc", "o", 10)
	other := open(t, Config{Dir: s.Dir, MaxBytes: 1 << 20})
	dir, files, release := use(t, other, "ccache/gcc", true)
	if !slices.Equal(files, []string{"o"}) || !strings.Contains(dir, "cache-ccache.gcc-") {
		t.Errorf("in %s are %q", dir, files)
	}
	release()
	_, files, release = use(t, s, "ccache.gcc", true)
	defer release()
	if len(files) > 0 {
		t.Errorf("another cache holds %q", files)
	}
}

func TestOfTwoJobsOneGetsAnEmptyDirectory(t *testing.T) {
	s := open(t, Config{})
	fill(t, s, "git/linux", "pack", 10)
	dir, _, release := use(t, s, "git/linux", true)
	spare, files, releaseSpare := use(t, open(t, Config{Dir: s.Dir}), "git/linux", false)
	if spare == dir || len(files) > 0 {
		t.Errorf("the second job gets %s with %q", spare, files)
	}
	put(t, filepath.Join(spare, "lost"), 10)
	releaseSpare()
	if _, err := os.Stat(spare); !os.IsNotExist(err) {
		t.Errorf("the empty directory is still there: %v", err)
	}
	release()
	if _, files, release = use(t, s, "git/linux", true); !slices.Equal(files, []string{"pack"}) {
		t.Errorf("the cache holds %q", files)
	}
	release()
	if left := leftovers(t, s); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// Caches and artifacts share one bound. What is in use stays.
func TestTheOldestUnusedCachesGo(t *testing.T) {
	web := newServer(t)
	web.publishProgram(t, "a", 100_000)
	s := open(t, Config{MaxBytes: 350_000})
	fill(t, s, "one", "f", 100_000)
	_, _, releaseTwo := use(t, s, "two", true)
	fill(t, s, "three", "f", 100_000)
	told(t, s)
	_, _, releaseA := acquire(t, s, programRef(web, "a"))
	releaseA()
	told(t, s)
	fill(t, s, "four", "f", 100_000)
	told(t, s, "one")
	told(t, s)
	fill(t, s, "five", "f", 200_000)
	if got := has(t, s, web, "a"); got != "" {
		t.Error("the artifact is there, and it was older than cache four")
	}
	fill(t, s, "three", "f", 100_000)
	told(t, s, "four")
	releaseTwo()
	fill(t, s, "large", "f", 400_000)
	told(t, s, "large")
	if keys, err := s.keys(""); len(keys) != 3 || err != nil {
		t.Errorf("there are %q, %v; two, three and five have room", keys, err)
	}
}

func TestACacheThatIsMadeAgainIsNotTold(t *testing.T) {
	s := open(t, Config{MaxBytes: 100_000})
	for i := range 300 {
		fill(t, s, fmt.Sprint("c", i), "f", 90_000)
	}
	fill(t, s, "c298", "f", 10)
	got, err := s.Evicted()
	if err != nil || len(got) != 255 || slices.Contains(got, "c298") || !slices.Contains(got, "c299") || !slices.Contains(got, "c297") {
		t.Errorf("%d are told, %v", len(got), err)
	}
}

// useForever uses a cache until the process is killed.
func useForever() {
	s, err := Open(Config{Dir: os.Getenv("DIR")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		dir, own, _, err := s.Cache("ccache/gcc")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "o"), []byte("half"), 0o644)
		}
		fmt.Println("uses", own, err)
	}
	select {}
}

func TestAKilledProcessFreesItsCaches(t *testing.T) {
	s := open(t, Config{})
	other := helper(t, "use", "DIR="+s.Dir)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	for _, want := range []string{"uses true <nil>\n", "uses false <nil>\n"} {
		if line, err := said.ReadString('\n'); line != want {
			t.Fatalf("helper: %q, %v", line, err)
		}
	}
	_, files, release := use(t, s, "ccache/gcc", false)
	if len(files) > 0 {
		t.Errorf("beside the other process a job finds %q", files)
	}
	release()
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err == nil {
		t.Error("the helper ended by itself")
	}
	if len(leftovers(t, s)) != 1 {
		t.Errorf("the killed process left %q", leftovers(t, s))
	}
	s = open(t, Config{Dir: s.Dir})
	if _, files, release = use(t, s, "ccache/gcc", true); !slices.Equal(files, []string{"o"}) {
		t.Errorf("after the kill the cache holds %q", files)
	}
	release()
	if left := leftovers(t, s); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

func TestACacheStaysInItsPlace(t *testing.T) {
	s := open(t, Config{})
	for _, name := range []string{"", "/", "..", "../x", "a/../b", "a//b", "/etc", "a/", ".git", "a\x00b", "{tag}", "=go/v1", "a b", strings.Repeat("a", 129)} {
		if _, _, _, err := s.Cache(name); !Permanent(err) {
			t.Errorf("cache %q: %v", name, err)
		}
	}
	// A job that puts a link in the place of its cache hurts nothing outside.
	outside := t.TempDir()
	put(t, filepath.Join(outside, "mine"), 10)
	dir, _, release := use(t, s, "a", true)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, dir); err != nil {
		t.Fatal(err)
	}
	release()
	if _, files, release := use(t, s, "a", true); len(files) > 0 {
		t.Errorf("the next job finds %q", files)
		release()
	}
	if files := names(tree(t, outside)); !slices.Equal(files, []string{"mine"}) {
		t.Errorf("outside are %q", files)
	}
}

func TestABuildUsesItsCache(t *testing.T) {
	repository := t.TempDir()
	gitIn(t, repository, "init", "--quiet", "-b", "main")
	s := open(t, Config{})
	ref := func(tag string) Ref {
		return Ref{Suite: "p", Source: suite.Artifact{
			Kind: suite.ArtifactGit, Repository: "file://" + repository, Build: []string{"./make.sh", "in={cache:cc}"},
		}, Tag: eventsTag(tag), Target: "any", Caches: func(name string) (string, error) {
			dir, _, release, err := s.Cache(name)
			t.Cleanup(release)
			return dir, err
		}}
	}
	first := commit(t, repository, "#!/bin/sh\nls ${1#in=} >found; touch ${1#in=}/object\n")
	dir, _, _ := acquire(t, s, ref(first))
	if found, err := os.ReadFile(filepath.Join(dir, "found")); err != nil || len(found) > 0 {
		t.Errorf("the first build finds %q, %v", found, err)
	}
	// The artifact is there, so its cache is not opened.
	again := ref(first)
	again.Caches = nil
	acquire(t, s, again)
	key := cacheKey("cc")
	if _, err := os.Stat(filepath.Join(s.rootDir(key), "object")); err != nil {
		t.Error(err)
	}
}
