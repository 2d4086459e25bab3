package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/transcript"
)

const name = events.CollectorName("eider-1")

var by = control.By{Actor: "test", Source: "test", Root: "test"}

// script is a collector that does what files tell it: see site.
const script = `#!/bin/sh
version=%s
if [ "$1" = version ]; then echo "{\"version\": \"$version\"}"; exit 0; fi
trap 'echo "stopped $version" >> "$PLAN/journal"; exit 0' INT
echo "started $version $TACHO_SUPERVISED" >> "$PLAN/journal"
case "$TACHO_SUPERVISED" in
*hold*) ;;
*) if [ -e "$PLAN/exit-$version" ]; then echo "leaving"; exit "$(cat "$PLAN/exit-$version")"; fi ;;
esac
while :; do
  if [ -e "$PLAN/leave-$version" ]; then rm "$PLAN/leave-$version"; exit 75; fi
  sleep 0.02
done
`

func programText(version string) string { return fmt.Sprintf(script, version) }

// site is a machine with a supervisor whose collector is a script. In dir/plan the file exit-V is the code with which
// version V ends at once unless it is told to hold, leave-V makes it end with 75, and journal is what it wrote.
type site struct {
	t       *testing.T
	dir     string
	control *control.Control
	log     *memory.Log
	config  Config
	output  transcript.Buffer
	stop    context.CancelFunc
	ended   chan error
}

// newSite returns a machine whose own program is version v1, with a registered collector. Nothing runs yet.
func newSite(t *testing.T) *site {
	t.Helper()
	s, err := bareSite(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	s.write("plan/journal", "")
	s.write("tacho", programText("v1"))
	return s
}

// bareSite returns the site of a directory, with a log of its own.
func bareSite(ctx context.Context, dir string) (*site, error) {
	s := &site{dir: dir, log: memory.New(memory.Config{})}
	s.control = &control.Control{Log: s.log, Clock: time.Now}
	s.config = s.configuration()
	_, err := s.control.AddCollector(ctx, by, control.NewCollector{Name: name, Target: "here"})
	return s, err
}

func (s *site) configuration() Config {
	return Config{
		Name: name, Dir: filepath.Join(s.dir, "versions"), Own: filepath.Join(s.dir, "tacho"), Arguments: []string{"collector", "run", string(name)},
		Environ: append(os.Environ(), "PLAN="+filepath.Join(s.dir, "plan")), Output: &s.output,
		Open:   func(context.Context) (eventlog.Aggregates, func(), error) { return s.log, func() {}, nil },
		Pauses: Pauses{Restart: 10 * time.Millisecond, RestartMost: 50 * time.Millisecond, Update: time.Hour, Look: 10 * time.Millisecond},
		Clock:  time.Now, Logger: slog.New(slog.NewTextHandler(&s.output, nil)),
	}
}

func (s *site) write(file, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(file string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *site) want(version string) {
	s.t.Helper()
	if _, err := s.control.WantVersion(s.t.Context(), by, events.VersionWanted{Version: version}); err != nil {
		s.t.Fatal(err)
	}
}

// start starts the supervisor.
func (s *site) start() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.ended = stop, make(chan error, 1)
	supervisor := New(s.config)
	go func() { s.ended <- supervisor.Run(ctx) }()
	s.t.Cleanup(func() { s.stop() })
}

// end ends the supervisor softly.
func (s *site) end() {
	s.t.Helper()
	s.stop()
	if err := <-s.ended; err != nil {
		s.t.Errorf("%v\n%s", err, s.output.String())
	}
}

// eventually polls what other processes write: they send no signal.
func (s *site) eventually(what string, ok func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			s.t.Fatalf("not in time: %s\njournal:\n%s\noutput:\n%s", what, s.read("plan/journal"), s.output.String())
		case <-tick.C:
		}
	}
}

// journal returns the lines of the journal that begin with what.
func (s *site) journal(what string) (lines []string) {
	for line := range strings.Lines(s.read("plan/journal")) {
		if strings.HasPrefix(line, what) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func (s *site) awaitJournal(what string, times int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%q, %d times", what, times), func() bool { return len(s.journal(what)) >= times })
}

// versions returns the names in the directory of versions.
func (s *site) versions() (names []string) {
	s.t.Helper()
	entries, err := os.ReadDir(s.config.Dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// shelf is a source with ready programs.
type shelf map[string]string

func (shelf) String() string { return "a shelf" }

func (s shelf) Get(_ context.Context, version, work string) (string, error) {
	text, ok := s[version]
	if !ok {
		return "", fmt.Errorf("there is no version %s on the shelf", version)
	}
	path := filepath.Join(work, "program")
	return path, os.WriteFile(path, []byte(text), 0o644)
}
