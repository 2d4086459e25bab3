package runner

import (
	"errors"
	"strings"
	"testing"

	"github.com/tachobench/tacho/collector/measure"
)

// A process that is killed at its limit may look like many other ends of a command.
func TestTheLimitIsNamedBeforeAnyOtherEnd(t *testing.T) {
	for name, out := range map[string]measure.Outcome{
		"killed":          {Signal: "SIGKILL", ExitCode: -1},
		"a child, failed": {ExitCode: 1},
		"a child, passed": {},
		"too late":        {TimedOut: true, Signal: "SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			out.OutOfMemory, out.MemoryLimit, out.MemoryPeak = true, 64<<20, 64<<20-1
			err := judge(measure.Cmd{Path: "/bin/tail"}, out)
			failed, ok := errors.AsType[*commandError](err)
			if !ok || !failed.outOfMemory {
				t.Fatalf("got %#v", err)
			}
			if want := "wanted more than the 64 MiB that its job reserves (memory=), and held 64 MiB"; !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		})
	}
}
