package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/pgserver"
	"github.com/tachobench/tacho/internal/scratch"
	"github.com/tachobench/tacho/internal/tlsfiles"
	"github.com/tachobench/tacho/internal/transcript"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// binary is the program under test, built by TestMain. It lies in a directory of this run.
var binary string

// newCluster makes an empty Postgres once. A copy of it takes a fifth of the time that a new one does.
var newCluster = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(filepath.Dir(binary), "postgres")
	server, err := pgserver.Start(context.Background(), pgserver.Config{Dir: dir, Fast: true})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "data"), server.Stop(context.Background())
})

func TestMain(m *testing.M) {
	if measure.RunShimIfAsked() || runner.RunWrapperIfAsked() {
		return
	}
	if file := os.Getenv(clockVariable); file != "" {
		os.Exit(mainWithClock(file))
	}
	dir, err := os.MkdirTemp("", "tacho-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "tacho")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	// The tests wait for processes more than they work.
	flag.Parse()
	code, err := 1, flag.Set("test.parallel", "4")
	if err == nil {
		err = build.Run()
	}
	if err == nil {
		code = m.Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// site is a Tacho that runs by itself, with a suite whose programs sleep.
type site struct {
	t   *testing.T
	dir string
	up  *exec.Cmd
	// gone is closed when up has ended.
	gone chan struct{}
	args []string
	env  []string
	log  transcript.Buffer
}

// newSite prepares a data directory, a suite and a quick configuration. Nothing runs yet.
func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"artifacts/v1", "artifacts/v2", "artifacts/v3", "nap"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "nap", "nap.sh"), []byte("echo napping $1\nexec sleep $1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer("{{os}}", runtime.GOOS, "{{arch}}", runtime.GOARCH, "{{dir}}", dir).Replace(string(text))
	}
	for _, name := range []string{"naps.toml", "quick.toml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(read(name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &site{t: t, dir: dir}
	s.args = []string{"--data", filepath.Join(dir, "data"), "--config", filepath.Join(dir, "quick.toml")}
	s.env = append(os.Environ(), "TACHO_DATA=", "TACHO_SERVER=", "TACHO_TOKEN=", "TACHO_NATS_URL=", "TACHO_DATABASE_URL=", "TACHO_SUITE=")
	return s
}

func (s *site) data(parts ...string) string {
	return filepath.Join(append([]string{s.dir, "data"}, parts...)...)
}

func (s *site) home() datadir.Dir { return datadir.Dir(s.data()) }

// replace changes the configuration or the suite before anything runs.
func (s *site) replace(file, old, replacement string) {
	s.t.Helper()
	path := filepath.Join(s.dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		s.t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, replacement)), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// prepare puts a Postgres into the data directory, unless there is one. Its files are in memory if they may be.
func (s *site) prepare() {
	s.t.Helper()
	if _, err := os.Stat(s.data("postgres")); err == nil {
		return
	}
	from, err := newCluster()
	if err != nil {
		s.t.Fatal(err)
	}
	dir, err := scratch.Dir()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			s.t.Error(err)
		}
	})
	if out, err := exec.Command("cp", "-a", from, dir).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	err = os.MkdirAll(s.data(), 0o700)
	if err == nil {
		err = os.Symlink(dir, s.data("postgres"))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// start starts `tacho up` and waits until it answers.
func (s *site) start(flags ...string) {
	s.t.Helper()
	s.prepare()
	if err := os.Remove(s.data("running.json")); err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	s.up = exec.Command(binary, slices.Concat([]string{"up", "--listen", "127.0.0.1:0"}, flags, s.args)...)
	s.up.Env = s.env
	s.up.Stdout, s.up.Stderr = &s.log, &s.log
	s.up.WaitDelay = 10 * time.Second
	if err := s.up.Start(); err != nil {
		s.t.Fatal(err)
	}
	up := s.up
	ended := make(chan struct{})
	s.gone = ended
	go func() {
		_ = up.Wait() // what it said tells more
		close(ended)
	}()
	s.t.Cleanup(func() {
		if err := up.Process.Signal(syscall.SIGINT); err == nil {
			select {
			case <-ended:
			case <-time.After(2 * time.Minute):
				s.t.Errorf("tacho up does not stop:\n%s", s.log.String())
				if err := up.Process.Kill(); err != nil {
					s.t.Log(err)
				}
			}
		}
	})
	deadline := time.Now().Add(50 * time.Second)
	s.eventually("tacho up answers", 60*time.Second, func() bool {
		select {
		case <-ended:
			s.t.Fatalf("tacho up ended: %v\n%s", up.ProcessState, s.log.String())
		default:
			if time.Now().After(deadline) { // the log of the process then shows where it hangs
				if err := up.Process.Signal(syscall.SIGQUIT); err != nil {
					s.t.Log(err)
				}
			}
		}
		c, ok := s.client()
		if !ok {
			return false
		}
		_, err := c.Status(s.t.Context())
		return err == nil
	})
}

// client returns a client of the running Tacho.
func (s *site) client() (*client.Client, bool) {
	text, err := os.ReadFile(s.data("running.json"))
	if err != nil {
		return nil, false
	}
	var r datadir.Running
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, false
	}
	token, err := os.ReadFile(s.data("token"))
	if err != nil {
		return nil, false
	}
	c, err := client.New(r.URL, strings.TrimSpace(string(token)))
	if err == nil && len(r.CA) > 0 {
		var authorities *tlsfiles.Authorities
		if authorities, err = tlsfiles.OpenAuthorities(slog.New(slog.DiscardHandler), r.CA...); err == nil {
			c.Secure(tlsfiles.Client{CA: authorities, Name: r.ServerName}.Config())
		}
	}
	return c, err == nil
}

// slack is how many times longer than on a quiet machine a condition may take. Nothing takes longer for it but a failure.
const slack = 3

// eventually polls a condition. Other processes meet it, and send no signal when they do. To ask may take a process of its
// own: the pause is five times as long as asking took, so that waiting leaves the processor to the work it waits for.
func (s *site) eventually(what string, within time.Duration, ok func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), slack*within)
	defer cancel()
	for asked := time.Now(); !ok(); asked = time.Now() {
		pause := min(max(5*time.Since(asked), 50*time.Millisecond), 250*time.Millisecond)
		select {
		case <-ctx.Done():
			log, errs, _ := s.run("events", "tail")
			s.t.Fatalf("not within %s: %s\n%s\n%s%s", within, what, s.log.String(), log, errs)
		case <-time.After(pause):
		}
	}
}

// run runs a command to its end and returns what it printed and its exit code.
func (s *site) run(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	cmd := exec.Command(binary, slices.Concat(s.args, args)...)
	cmd.Env = s.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs a command that must succeed, and returns what it printed.
func (s *site) must(args ...string) string {
	s.t.Helper()
	out, errs, code := s.run(args...)
	if code != 0 {
		s.t.Fatalf("tacho %s: exit code %d\n%s%s\n%s", strings.Join(args, " "), code, out, errs, s.log.String())
	}
	return out
}

// events returns the whole log.
func (s *site) events() []events.Recorded {
	s.t.Helper()
	var out []events.Recorded
	for line := range strings.Lines(s.must("events", "export")) {
		var e readmodel.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatal(err)
		}
		r, err := events.Decode(events.Stored{Seq: e.Seq, Subject: e.Subject, Header: e.Headers, Data: e.Data})
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}
