package ab

import (
	"os"
	"testing"

	"github.com/tachobench/tacho/collector/measure"
)

func TestMain(m *testing.M) {
	if measure.RunShimIfAsked() {
		return
	}
	os.Exit(m.Run())
}

// shell is a side that runs a script.
func shell(script string) Side {
	return Side{Name: "sh", Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ()}
}

// loop is a side that counts to n. It starts in far less time than a Go program with the race detector.
func loop(n string) Side { return shell("i=0; while [ $i -lt " + n + " ]; do i=$((i+1)); done") }

// naps is a side that sleeps for so many seconds, and uses nearly no CPU time.
func naps(seconds string) Side { return shell("exec /bin/sleep " + seconds) }
