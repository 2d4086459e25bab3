package runner_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tachobench/tacho/collector/runner"
)

// smallDisk is where the test below finds a small disk.
const smallDisk = "TACHO_TEST_SMALL_DISK"

// TestABuildThatFillsTheDisk runs itself with a disk of its own, in namespaces of its own.
func TestABuildThatFillsTheDisk(t *testing.T) {
	dir := os.Getenv(smallDisk)
	if dir == "" {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		dir = t.TempDir()
		again := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
			`mount -t tmpfs -o size=2m tacho "$1" && exec "$2" -test.run '^TestABuildThatFillsTheDisk$' -test.v`, "sh", dir, exe)
		again.Env = append(os.Environ(), smallDisk+"="+dir)
		out, err := again.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestABuildThatFillsTheDisk") {
			t.Errorf("%v:\n%s", err, out)
		}
		return
	}
	job, _ := buildOf(t, "p=p", "head -c 4000000 /dev/zero > big")
	job.Slot = filepath.Join(dir, "slot")
	err := newRunner().RunSteps(t.Context(), job, &recorder{})
	if !errors.Is(err, runner.ErrTransient) || !strings.Contains(err.Error(), "the disk is full: make room on the file system of "+job.Slot) {
		t.Errorf("got %v", err)
	}
	next, shelf := buildOf(t, "p=p", "head -c 1500000 /dev/zero > p")
	next.Slot = job.Slot
	// There is no room for a copy of the output, and none is needed.
	if got, _ := run(t, next); got != "success" || len(shelf.outputs) != 1 {
		t.Error(got)
	}
}
