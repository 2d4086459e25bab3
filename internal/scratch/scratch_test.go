package scratch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestDirSweepsWhatTheDeadLeft(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(parent, fmt.Sprintf("%s%d-1", Prefix, gone.Process.Pid))
	living := filepath.Join(parent, fmt.Sprintf("%s%d-1", Prefix, os.Getpid()))
	strange := filepath.Join(parent, Prefix+"x")
	for _, dir := range []string{dead, living, strange} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if dir, err := Dir(); err != nil || filepath.Dir(dir) != parent {
		t.Errorf("Dir = %q, %v; want a directory in TMPDIR", dir, err)
	}
	for dir, want := range map[string]bool{dead: false, living: true, strange: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", dir, err == nil, want)
		}
	}
}
