package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// public makes a directory that every user can reach, unlike t.TempDir.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tacho-public-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestUnprivileged runs the tests of this package again as an ordinary user. If this process runs as one, they
// have run as such already.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		if who, err := candidate(t.TempDir()); err != nil || who.how != asCaller {
			t.Errorf("candidate = %+v, %v; want the caller", who, err)
		}
		return
	}
	dir := public(t)
	// Only root can reach the directory of the test binary.
	binary := filepath.Join(dir, "pgserver.test")
	// A file that this process has open for writing could not be run: a child that another test starts may have it still.
	if out, err := exec.Command("cp", os.Args[0], binary).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tmp := filepath.Join(dir, "tmp")
	if err := errors.Join(os.Mkdir(tmp, 0o700), os.Chown(tmp, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.v", "-test.run=^Test(RestartKeepsData|Killed.*|LivingOrphan|Unprivileged)$")
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as an ordinary user: %v\n%s", err, out)
	}
	for _, name := range []string{"TestRestartKeepsData", "TestKilledServer", "TestKilledOwner", "TestLivingOrphan", "TestUnprivileged"} {
		if !strings.Contains(string(out), "--- PASS: "+name) {
			t.Errorf("%s did not run as an ordinary user:\n%s", name, out)
		}
	}
}

// TestGivenToNobody tests what root does if the kernel refuses user namespaces. An ordinary user never does it:
// it cannot give files away.
func TestGivenToNobody(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(public(t), "postgres")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	who, err := giveToNobody(dir)
	if os.Geteuid() != 0 {
		if err == nil {
			t.Errorf("an ordinary user gave its directory away: %+v", who)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, dir)
	writeFact(t, s.URL(), "kept")
	if uid, _, err := owner(fmt.Sprintf("/proc/%d", pidOf(t, dir))); err != nil || uid != nobody {
		t.Errorf("the server runs as user %d, %v; want nobody", uid, err)
	}
	stop(t, s)
	wantFact(t, start(t, dir), "kept")
}

func TestPrivatePlaceIsNotGivenToNobody(t *testing.T) {
	private := filepath.Join(public(t), "home")
	dir := filepath.Join(private, "postgres")
	if err := errors.Join(os.Mkdir(private, 0o700), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	_, err := giveToNobody(dir)
	if err == nil || !strings.Contains(err.Error(), private+": run Tacho as an ordinary user") {
		t.Errorf("giveToNobody = %v, want a refusal that names %s", err, private)
	}
}

func TestRefused(t *testing.T) {
	for _, no := range []error{syscall.EPERM, syscall.ENOSPC} {
		if !refused(fmt.Errorf("ask: %w", &os.PathError{Op: "fork/exec", Path: "postgres", Err: no})) {
			t.Errorf("refused(%v) = false", no)
		}
	}
	for _, other := range []error{nil, syscall.ENOENT, syscall.EACCES, &exec.ExitError{}} {
		if refused(other) {
			t.Errorf("refused(%v) = true", other)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PGDATA", "/elsewhere")
	t.Setenv("LC_MESSAGES", "de_DE.UTF-8")
	env := strings.Join(environment(), "\n")
	if strings.Contains(env, "/elsewhere") || strings.Contains(env, "de_DE") || !strings.Contains(env, "LC_ALL=C") {
		t.Errorf("environment steers PostgreSQL:\n%s", env)
	}
}
