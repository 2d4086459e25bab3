package artifact

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tachobench/tacho/rules/suite"
)

// In a tar archive without compression, only the end mark tells a whole one from a part of it.
func TestTarWithoutItsEndIsHalfADownload(t *testing.T) {
	whole := tarball(t, file{name: "x/bin/program", content: "#!/bin/sh\n"}, file{name: "x/lib/more", size: 700})
	if _, err := unpackTo(t, t.TempDir(), whole); err != nil {
		t.Fatal(err)
	}
	// Cut where one file ends and the next would begin, and before the first.
	for _, length := range []int{0, 1024} {
		if _, err := unpackTo(t, t.TempDir(), whole[:length]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: got %v", length, len(whole), err)
		}
	}
	web := newServer(t)
	web.on("/x.tar", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		buf.WriteString("HTTP/1.0 200 OK\r\n\r\n")
		buf.Write(whole[:1024])
		buf.Flush()
	})
	ref := programRef(web, "x")
	ref.Source.URLs = []string{web.URL + "/{tag}.tar"}
	if _, _, _, err := open(t, Config{}).Acquire(t.Context(), ref); kindOf(err) != "transient" {
		t.Errorf("a connection that broke off between two files: %s: %v", kindOf(err), err)
	}
}

// A process that a build leaves behind would disturb all later measurements.
func TestNothingOfABuildGoesOnRunning(t *testing.T) {
	repository := t.TempDir()
	gitIn(t, repository, "init", "--quiet", "-b", "main")
	hash := commit(t, repository, "#!/bin/sh\nmkdir bin; sleep 1000 & echo $! > pid; echo built\n")
	s := open(t, Config{})
	dir, _, _, err := s.Acquire(t.Context(), Ref{Suite: "p", Source: suite.Artifact{
		Kind: suite.ArtifactGit, Repository: "file://" + repository, Build: []string{"./make.sh"},
	}, Tag: eventsTag(hash), Target: "any"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for tooLong := time.After(2 * time.Minute); ; {
		state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(text)), "stat"))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) || strings.Contains(string(state), ") Z ") {
			return
		}
		select { // a process that was killed needs a moment to end
		case <-again.C:
		case <-tooLong:
			t.Fatalf("still there: %s %v", state, err)
		}
	}
}

// A killed git command leaves its lock files, which would stop every later one.
func TestLocksOfAKilledGitAreNoObstacle(t *testing.T) {
	repository := t.TempDir()
	gitIn(t, repository, "init", "--quiet", "-b", "main")
	ref := func(tag string) Ref {
		return Ref{Suite: "p", Source: suite.Artifact{
			Kind: suite.ArtifactGit, Repository: "file://" + repository, Build: []string{"./make.sh"},
		}, Tag: eventsTag(tag), Target: "any"}
	}
	first := commit(t, repository, "#!/bin/sh\n")
	s := open(t, Config{})
	acquire(t, s, ref(first))
	heads, err := filepath.Glob(filepath.Join(s.entriesDir(), "*", "root", "refs", "heads"))
	if err != nil || len(heads) != 1 {
		t.Fatal(heads, err)
	}
	for _, name := range []string{filepath.Join(heads[0], "main.lock"), filepath.Join(heads[0], "..", "..", "packed-refs.lock")} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	acquire(t, s, ref(commit(t, repository, "#!/bin/sh\n# second\n")))
}
