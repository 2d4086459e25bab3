package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
)

// setup runs the command of the service `setup` of docker-compose.yml, with an empty data directory, as a new container has.
func (s *site) setup(suite string) (out string, code int) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docker-compose.yml"))
	if err != nil {
		s.t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct{ Entrypoint, Command []string }
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		s.t.Fatal(err)
	}
	setup := compose.Services["setup"]
	if len(setup.Entrypoint) < 2 || len(setup.Command) != 1 {
		s.t.Fatalf("setup is %+v", setup)
	}
	data := s.t.TempDir()
	cmd := exec.Command(setup.Entrypoint[0], append(setup.Entrypoint[1:], strings.ReplaceAll(setup.Command[0], "$$", "$"))...)
	cmd.Env = append(s.env, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"),
		"TACHO_DATA="+data, "TACHO_SERVER="+s.url(), "TACHO_TOKEN="+s.home().KnownToken(), "TACHO_SUITE="+suite)
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	files, err := os.ReadDir(data)
	if err != nil || len(files) > 0 {
		s.t.Errorf("setup has no volume, and leaves %v in its data directory: %v", files, err)
	}
	return both.String(), cmd.ProcessState.ExitCode()
}

// The containers of an earlier `up` are gone, and so is all that setup kept. It finds its collectors in the log, also one that an
// earlier version registered with a key, and one that somebody took out.
func TestTheSetupOfTheComposeFileRepeats(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("--collectors", "0")
	s.must("suite", "publish", "go")
	s.must("collector", "add", "collector-0", "--target", "linux-amd64", "--set", "0")
	for range 2 {
		if out, code := s.setup("go"); code != cli.ExitDone || !strings.Contains(out, "collector collector-0 is registered already") || strings.Contains(out, "credentials") {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
	}
	registered := count(s.events(), func(f events.Fact) bool { _, ok := f.(events.CollectorRegistered); return ok })
	if registered != 2 {
		t.Errorf("%d registrations, want 2", registered)
	}
	again := s.must("collector", "add", "collector-1", "--target", "linux-amd64", "--set", "1", "--password", "--json")
	if !strings.Contains(again, `"existed": true`) || strings.Contains(again, "nkey") {
		t.Errorf("got %s", again)
	}

	// A collector that is out of service keeps no other from its start.
	s.must("collector", "deactivate", "collector-0")
	if out, code := s.setup("go"); code != cli.ExitDone || !strings.Contains(out, "tacho collector activate collector-0") || !strings.Contains(out, "collector collector-1 is registered already") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if out, code := s.setup("nothing"); code == cli.ExitDone {
		t.Errorf("setup accepts a suite that does not exist:\n%s", out)
	}
}
