package artifact

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// has reports which of the tags are in the cache.
func has(t *testing.T, s *Store, web *server, tags ...string) string {
	t.Helper()
	var there []string
	for _, tag := range tags {
		if m, err := s.readManifest(entryKey(family(programRef(web, tag)), nil)); m != nil && err == nil {
			there = append(there, tag)
		}
	}
	return strings.Join(there, " ")
}

func TestOldestUnusedGoesFirst(t *testing.T) {
	web := newServer(t)
	for _, tag := range []string{"a", "b", "c", "d", "e"} {
		web.publishProgram(t, tag, 100_000)
	}
	web.publishProgram(t, "big", 400_000)
	s := open(t, Config{MaxBytes: 350_000})
	_, _, useA := acquire(t, s, programRef(web, "a"))
	_, _, useB := acquire(t, s, programRef(web, "b"))
	_, _, useC := acquire(t, s, programRef(web, "c"))
	useB()
	useA()
	if got := has(t, s, web, "a", "b", "c"); got != "a b c" {
		t.Fatalf("there are %s", got)
	}
	_, _, useD := acquire(t, s, programRef(web, "d"))
	if got := has(t, s, web, "a", "b", "c", "d"); got != "a c d" {
		t.Errorf("there are %s; b was unused for longest", got)
	}
	_, _, _, err := s.Acquire(t.Context(), programRef(web, "big"))
	var full *NoSpaceError
	if !errors.As(err, &full) || Permanent(err) || full.Limit != 350_000 || full.Dir != s.Dir || full.Needed < 350_000 {
		t.Errorf("got %v", err)
	}
	if got := has(t, s, web, "c", "d"); got != "c d" {
		t.Errorf("there are %s; c and d are in use", got)
	}
	if got := leftovers(t, s); got != nil {
		t.Errorf("left %v", got)
	}
	useC()
	useD()
	acquire(t, s, programRef(web, "e"))
}

// helper starts this test binary as another process.
func helper(t *testing.T, what string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), helperVariable+"="+what), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

func helperRef(tag string) Ref {
	return Ref{Suite: "program", Source: suite.Artifact{Kind: suite.ArtifactURL, URLs: []string{os.Getenv("URL") + "/{tag}.tar.gz"}}, Tag: events.Tag(tag), Target: "any"}
}

// holdForever acquires an artifact, reports that, and uses it until the process is killed.
func holdForever() {
	s, err := Open(Config{Dir: os.Getenv("DIR")})
	if err == nil {
		_, _, _, err = s.Acquire(context.Background(), helperRef("a"))
	}
	fmt.Println("held", err)
	select {}
}

func TestUseHoldsBetweenProcesses(t *testing.T) {
	web := newServer(t)
	web.publishProgram(t, "a", 100_000)
	web.publishProgram(t, "b", 100_000)
	s := open(t, Config{MaxBytes: 150_000})
	other := helper(t, "hold", "DIR="+s.Dir, "URL="+web.URL)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held <nil>\n" {
		t.Fatalf("helper: %q, %v", line, err)
	}
	var full *NoSpaceError
	if _, _, _, err := s.Acquire(t.Context(), programRef(web, "b")); !errors.As(err, &full) {
		t.Errorf("got %v", err)
	}
	if got := has(t, s, web, "a", "b"); got != "a" {
		t.Errorf("there are %q", got)
	}
	// The use ends with the process, however it ends.
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err == nil {
		t.Error("the helper ended by itself")
	}
	acquire(t, s, programRef(web, "b"))
	if got := has(t, s, web, "a", "b"); got != "b" {
		t.Errorf("there are %q", got)
	}
}

func TestCrashInTheMiddleIsSweptUp(t *testing.T) {
	web := newServer(t)
	web.publishProgram(t, "a", 3_000_000)
	whole := web.files["/a.tar.gz"]
	half := make(chan struct{})
	web.on("/a.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		w.Write(whole[:len(whole)*3/4])
		http.NewResponseController(w).Flush()
		close(half)
		<-r.Context().Done()
	})
	dir := t.TempDir()
	other := helper(t, "hold", "DIR="+dir, "URL="+web.URL)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	<-half
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err == nil {
		t.Error("the helper ended by itself")
	}
	left, err := os.ReadDir(filepath.Join(dir, "entries"))
	if err != nil || len(left) != 1 {
		t.Fatalf("the crash left %v, %v", left, err)
	}
	s := open(t, Config{Dir: dir})
	if keys, err := s.keys(""); keys != nil || err != nil {
		t.Errorf("after opening there is %v, %v", keys, err)
	}
	web.on("/a.tar.gz", nil)
	acquire(t, s, programRef(web, "a"))
}

// TestCancelledFetchLeavesNothing also checks which error the caller gets.
func TestCancelledFetchLeavesNothing(t *testing.T) {
	web := newServer(t)
	web.publishProgram(t, "a", 1000)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the job was cancelled")
	web.on("/a.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			cancel(stop)
			<-r.Context().Done()
		}
	})
	s := open(t, Config{})
	if _, _, _, err := s.Acquire(ctx, programRef(web, "a")); !errors.Is(err, stop) || Permanent(err) {
		t.Errorf("got %v", err)
	}
	if got := leftovers(t, s); got != nil {
		t.Errorf("left %v", got)
	}
}
