package supervisor

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// helperVariable makes the test program a supervisor. Its value is the directory of the site and the source of versions.
const helperVariable = "TACHO_TEST_SUPERVISOR"

func TestMain(m *testing.M) {
	if told := os.Getenv(helperVariable); told != "" {
		if err := supervise(strings.Fields(told)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	// What a shell starts in the background ignores interrupts, and so does all that it starts: a script can then not trap them.
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	m.Run()
}

// supervise runs a supervisor that wants v2 and gets it from the given source.
func supervise(told []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := bareSite(ctx, told[0])
	if err == nil {
		_, err = s.control.WantVersion(ctx, by, events.VersionWanted{Version: "v2"})
	}
	if err != nil {
		return err
	}
	s.config.Bind = func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
	s.config.Output = os.Stderr
	if strings.HasPrefix(told[1], "http") {
		s.config.Source = Download{Template: told[1]}
	} else {
		s.config.Source = Git{URL: told[1], Ref: "main", Build: "sh build.sh", Environ: os.Environ(), Output: os.Stderr, Bind: s.config.Bind}
	}
	return New(s.config).Run(ctx)
}

// helper starts a supervisor as a process of its own; kill kills it without warning.
func (s *site) helper(source string) (kill func()) {
	s.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"="+s.dir+" "+source, "PLAN="+filepath.Join(s.dir, "plan"))
	cmd.Stderr = &s.output
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill() // a process that has ended already
			_ = cmd.Wait()         // it was killed
		}
	}
	s.t.Cleanup(kill)
	return kill
}

// In whatever step a supervisor is killed, the next one continues from what is there.
func TestKilledBetweenAnyTwoSteps(t *testing.T) {
	slow := "echo building >> \"$PLAN/journal\"\nwhile [ ! -e \"$PLAN/built\" ]; do sleep 0.02; done\n"

	t.Run("while it downloads", func(t *testing.T) {
		s, shop := newSite(t), newShop(t)
		shop.files["/v2"] = []byte(programText("v2"))
		half := make(chan bool)
		var whole atomic.Bool
		shop.spoil = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, ".sha256") || whole.Load() {
				return false
			}
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "#!/bin/sh\n")
			w.(http.Flusher).Flush()
			half <- true
			<-r.Context().Done()
			return true
		}
		s.write("plan/exit-v1", "75")
		kill := s.helper(shop.URL + "/{version}")
		<-half
		kill()
		whole.Store(true)
		s.goesOn(shop.URL+"/{version}", 2)
	})
	t.Run("while it builds", func(t *testing.T) {
		s, r := newSite(t), newRepository(t)
		r.commit("main", slow+builds("tacho"))
		r.tag("v2")
		s.write("plan/exit-v1", "75")
		kill := s.helper(r.bare)
		s.awaitJournal("building", 1)
		kill()
		s.write("plan/built", "")
		s.goesOn(r.bare, 2)
	})
	t.Run("before it switches", func(t *testing.T) {
		s, r := newSite(t), newRepository(t)
		r.commit("main", slow+builds("tacho"))
		r.tag("v2")
		s.write("plan/built", "")
		s.write("plan/exit-v1", "75")
		kill := s.helper(r.bare)
		s.awaitJournal("started v2", 1)
		kill()
		if err := os.Remove(filepath.Join(s.dir, "versions/current")); err != nil {
			t.Fatal(err)
		}
		s.goesOn(r.bare, 2)
		if n := len(s.journal("building")); n != 1 {
			t.Errorf("it was built %d times: what was complete is to be found", n)
		}
	})
	t.Run("at any moment", func(t *testing.T) {
		s, r := newSite(t), newRepository(t)
		r.commit("main", builds("tacho"))
		r.tag("v2")
		s.write("plan/exit-v1", "75")
		for i := range 12 {
			kill := s.helper(r.bare)
			s.awaitJournal("started", i+1)
			s.pass(time.Duration(i) * 12 * time.Millisecond)
			kill()
		}
		s.goesOn(r.bare, 1)
	})
}

// pass lets the supervisor continue for a while. It does not matter how far it gets.
func (s *site) pass(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.t.Context().Done():
	}
}

// goesOn starts a supervisor and waits until version v2 runs, for the nth time or so.
func (s *site) goesOn(source string, starts int) {
	s.t.Helper()
	was := len(s.journal("started v2"))
	kill := s.helper(source)
	s.awaitJournal("started v2", was+1)
	kill()
	if n := len(s.journal("started")); n < starts {
		s.t.Errorf("%d starts:\n%s", n, s.read("plan/journal"))
	}
	if diff := cmp.Diff([]string{"current", "v2"}, s.versions()); diff != "" {
		s.t.Errorf("what lies there (-want +got):\n%s", diff)
	}
	if s.read("versions/current") != "v2\n" {
		s.t.Errorf("current is %q", s.read("versions/current"))
	}
}
