package ab

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/measure"
)

// helperVariable makes the test binary a command that does what its value names.
const helperVariable = "AB_TEST_HELPER"

func TestMain(m *testing.M) {
	if helper := os.Getenv(helperVariable); helper != "" {
		os.Exit(help(helper, os.Args[1:]))
	}
	if measure.RunShimIfAsked() {
		return
	}
	os.Exit(m.Run())
}

// help does what a command of a test does, and returns its exit code.
func help(what string, args []string) int {
	switch what {
	case "burn": // so many times 100,000 rounds
		n, _ := strconv.Atoi(args[0])
		x := uint64(1)
		for range n * 100_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
		fmt.Fprintln(os.Stderr, x)
	case "wait": // so many milliseconds
		n, _ := strconv.Atoi(args[0])
		<-time.After(time.Duration(n) * time.Millisecond)
	case "fail":
		fmt.Fprintln(os.Stderr, "the disk is made of cheese")
		return 3
	case "sometimes": // fails in the run after those for which there are bytes in the file
		return sometimes(args[0], args[1])
	}
	return 0
}

// sometimes adds a byte to a file, and fails once it has more than so many.
func sometimes(file, most string) int {
	n, _ := strconv.Atoi(most)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	defer f.Close()
	if _, err := f.WriteString("."); err != nil {
		return 1
	}
	if info, err := f.Stat(); err != nil || info.Size() > int64(n) {
		fmt.Fprintln(os.Stderr, "once too often")
		return 1
	}
	return 0
}

// side is a side that runs a helper.
func side(t *testing.T, helper string, args ...string) Side {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Side{Name: helper, Argv: append([]string{path}, args...), Env: []string{helperVariable + "=" + helper}}
}

// shell is a side that runs a script.
func shell(script string) Side {
	return Side{Name: "sh", Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ()}
}
