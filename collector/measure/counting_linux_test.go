package measure

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseCounting(t *testing.T) {
	for _, c := range []Counting{CountAuto, CountCounters, CountValgrind, CountOff} {
		if got, err := ParseCounting(string(c)); got != c || err != nil {
			t.Errorf("%q: %q, %v", c, got, err)
		}
	}
	for _, text := range []string{"", "perf", "Auto", "true"} {
		if got, err := ParseCounting(text); err == nil || got != "" || !strings.Contains(err.Error(), `"valgrind"`) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestWhichWayAMachineTakes(t *testing.T) {
	for _, c := range []struct {
		asked        Counting
		counters     bool
		valgrind     bool
		want         Counting
		inWhy, notIn string
	}{
		{"", true, true, CountCounters, "processor", "valgrind"},
		{"", false, true, CountOff, "no counter here", "valgrind"},
		{CountCounters, true, true, CountCounters, "processor", "valgrind"},
		{CountCounters, false, true, CountOff, "no counter here", "valgrind"},
		{CountAuto, true, true, CountCounters, "processor", "valgrind"},
		{CountAuto, true, false, CountCounters, "processor", "valgrind"},
		{CountAuto, false, true, CountValgrind, "no counter here", "install"},
		{CountAuto, false, false, CountOff, "install", "processor"},
		{CountValgrind, true, true, CountValgrind, "asked for", "install"},
		{CountValgrind, true, false, CountOff, "install", "processor"},
		{CountOff, true, true, CountOff, "switched off", "install"},
	} {
		none := "no counter here"
		if c.counters {
			none = ""
		}
		way, why := c.asked.on(none, c.valgrind)
		if way != c.want || !strings.Contains(why, c.inWhy) || strings.Contains(why, c.notIn) {
			t.Errorf("%q with counters %v, valgrind %v: %q since %q, want %q", c.asked, c.counters, c.valgrind, way, why, c.want)
		}
	}
}

// What Probe says of this machine decides.
func TestCountingFollowsTheProbe(t *testing.T) {
	_, missing := Probe(t.Context())
	way, why := CountingOf(t.Context(), CountCounters)
	if noCounters := missing[InstructionsU]; (way == CountOff) != (noCounters != "") || !strings.Contains(why, noCounters) {
		t.Errorf("%q since %q, though the probe says %q", way, why, noCounters)
	}
}

func TestSwitchedOffOpensNoCounterOfInstructions(t *testing.T) {
	r := Runner{Counting: CountOff}
	out := mustRun(t, &r, Cmd{Path: "/bin/true"})
	if _, counted := out.Metrics[InstructionsU]; counted || !strings.Contains(out.Missing[InstructionsU], "switched off") {
		t.Errorf("counted %v, missing %q", counted, out.Missing[InstructionsU])
	}
}

// countable reports whether valgrind is here. It is never required: without it counting must say so.
func countable(t *testing.T) bool {
	t.Helper()
	if _, err := exec.LookPath(valgrindName); err == nil {
		return true
	}
	if n, err := new(Runner).CountInstructions(t.Context(), Cmd{Path: "/bin/true"}); !errors.Is(err, ErrNoValgrind) {
		t.Errorf("%v instructions, error %v, want ErrNoValgrind", n, err)
	}
	return false
}

func mustCount(t *testing.T, c Cmd) Counted {
	t.Helper()
	n, err := new(Runner).CountInstructions(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The counts of a command with children are equal, and those of the children are in them.
func TestCountInstructions(t *testing.T) {
	if !countable(t) {
		return
	}
	c := shell(`i=0; while [ $i -lt 500 ]; do i=$((i+1)); done; /bin/true; sh -c '/bin/true; :'`)
	c.DisableASLR = true
	first, second := mustCount(t, c), mustCount(t, c)
	if first != second || first.Processes != 4 || first.Note != "" || first.Instructions < 100_000 {
		t.Errorf("%+v, then %+v", first, second)
	}
}

// What a count is not exact about is said.
func TestCountsSayWhatTheyCannotSee(t *testing.T) {
	if !countable(t) {
		return
	}
	if got := mustCount(t, shell(`(read x </dev/null; :); exit 0`)); got.Processes != 2 || !strings.Contains(got.Note, "copies of their parent") {
		t.Errorf("%+v of a process that goes on as a copy", got)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// Valgrind knows of a process that kills itself.
	c := shell(`sh -c 'echo >` + fifo + `; while :; do :; done' & read x <` + fifo + `; kill -KILL $!; wait; exit 0`)
	if got := mustCount(t, c); got.Processes != 1 || !strings.Contains(got.Note, "killed are not counted (1)") {
		t.Errorf("%+v of a process that was killed", got)
	}
}

func TestCountsOfFailuresAreErrors(t *testing.T) {
	if !countable(t) {
		return
	}
	slow := shell(`while :; do :; done`)
	slow.Timeout = 2 * time.Second
	for name, c := range map[string]struct {
		c    Cmd
		want string
	}{
		"fails":   {Cmd{Path: "/bin/false"}, "under valgrind it ended with exit code 1"},
		"slow":    {slow, "under valgrind it took too long"},
		"killed":  {shell(`kill -KILL $$`), "under valgrind it was killed by SIGKILL"},
		"unknown": {Cmd{Path: "/no/such/file"}, "under valgrind it ended with exit code"},
	} {
		if n, err := new(Runner).CountInstructions(t.Context(), c.c); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, error %v, want %q", name, n, err, c.want)
		}
	}
}

func TestCountInstructionsWithoutValgrind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if n, err := (&Runner{}).CountInstructions(t.Context(), Cmd{Path: "/bin/true"}); !errors.Is(err, ErrNoValgrind) {
		t.Errorf("%v instructions, error %v, want ErrNoValgrind", n, err)
	}
	if way, why := CountingOf(t.Context(), CountValgrind); way != CountOff || why != ErrNoValgrind.Error() {
		t.Errorf("%q since %q", way, why)
	}
}

// A program that ends well although valgrind did not know an instruction of one of its processes did not do all of its work.
func TestUnknownInstructionsSpoilACount(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"log.1":   "==1== Command: ./a\n==1== Parent PID: 9\n==1==\n",
		"count.1": "events: Ir\nsummary: 12\n",
		"log.2":   "==2== Command: ./b\n==2== Parent PID: 1\nvex amd64->IR: unhandled instruction bytes: 0xF 0x1 0xF9\n==2== valgrind: Unrecognised instruction at address 0x48.\n",
		"count.2": "events: Ir\nsummary: 30\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, unknown, err := readCounts(dir)
	if want := (Counted{Instructions: 42, Processes: 2}); got != want || !unknown || err != nil {
		t.Errorf("%+v, unknown %v, %v", got, unknown, err)
	}
	if what := failureOfCounting(Outcome{}, unknown); !strings.Contains(what, "does not know") {
		t.Errorf("%q", what)
	}
	for _, broken := range []string{"", "events: Dr\nsummary: 1\n", "events: Ir\nsummary: x\n"} {
		if err := os.WriteFile(filepath.Join(dir, "count.2"), []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := readCounts(dir); err == nil {
			t.Errorf("%+v of %q", got, broken)
		}
	}
}
