package pgserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/internal/scratch"
)

// ownerEnv names a directory. It makes the test binary a process that owns a server there until stdin ends.
const ownerEnv = "TACHO_PGSERVER_TEST_OWNER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		if err := ownUntilEOF(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code, err := runInScratch(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// runInScratch runs the tests with their temporary directories in a scratch directory, which may be in memory.
func runInScratch(m *testing.M) (code int, err error) {
	dir, err := scratch.Dir()
	if err != nil {
		return 0, err
	}
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return 0, errors.Join(err, os.RemoveAll(dir))
	}
	return m.Run(), os.RemoveAll(dir)
}

func ownUntilEOF(dir string) error {
	s, err := Start(context.Background(), Config{Dir: dir, Fast: true})
	if err != nil {
		return err
	}
	fmt.Println(s.URL())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return s.Stop(context.Background())
}

// startOwner runs a process that owns a server in dir and returns it with the server's URL.
func startOwner(t *testing.T, dir string) (owner *exec.Cmd, url string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // never written: it ends with us
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the owner did not start: %v", err)
	}
	return cmd, strings.TrimSpace(line)
}

func killOwner(t *testing.T, owner *exec.Cmd) {
	t.Helper()
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it was killed
}

func TestKilledOwner(t *testing.T) {
	t.Parallel()
	t.Run("the server ends by itself", func(t *testing.T) {
		dir := t.TempDir()
		owner, url := startOwner(t, dir)
		writeFact(t, url, "kept")
		pid := pidOf(t, dir)
		killOwner(t, owner)
		eventually(t, "the orphan ends", func() bool {
			return !runsOn(pid, filepath.Join(dir, "data")) && len(residents(filepath.Join(dir, "data"))) == 0
		})
		wantFact(t, start(t, dir), "kept")
	})
	t.Run("started again at once", func(t *testing.T) {
		dir := t.TempDir()
		owner, url := startOwner(t, dir)
		writeFact(t, url, "kept")
		killOwner(t, owner)
		wantFact(t, start(t, dir), "kept")
	})
	t.Run("owner and server at once", func(t *testing.T) {
		dir := t.TempDir()
		owner, url := startOwner(t, dir)
		writeFact(t, url, "kept")
		if err := syscall.Kill(pidOf(t, dir), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killOwner(t, owner)
		wantFact(t, start(t, dir), "kept")
	})
}

// The owner of a server died, but the server got no signal, as on systems that send none.
func TestLivingOrphan(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(public(t), "pg") // short: PostgreSQL ends at once when its socket has a path that is too long
	stop(t, start(t, dir))

	bin, err := find(t.Context(), Config{}, os.Getenv("PATH"), installed())
	if err != nil {
		t.Fatal(err)
	}
	who, v, err := identify(t.Context(), bin, dir)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{dir: dir, bin: bin, version: v, who: who, fast: true}
	sock := socketDir(filepath.Join(dir, "sock"))
	orphan := exec.Command(bin.tool("postgres"), c.arguments(sock)...)
	orphan.SysProcAttr = who.attributes(0)
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- orphan.Wait() }()
	// One that answers has done all that it may fail in.
	eventually(t, "the orphan holds the directory and answers", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the orphan ended by itself, so this tests nothing: %v", err)
		default:
		}
		conn, err := pgx.Connect(t.Context(), (&Server{socket: sock}).URL())
		if err != nil {
			return false
		}
		return conn.Close(t.Context()) == nil && len(residents(c.data())) > 0
	})

	s := start(t, dir)
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the orphan still lives")
	}
	if got := query[int](t, s.URL(), "SELECT 1"); got != 1 {
		t.Errorf("SELECT 1 = %d", got)
	}
}

// The pid file of a server that died with the machine may name an unrelated process that lives now.
func TestPIDFileNamesAStranger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop(t, start(t, dir))
	stranger, _ := startOwner(t, t.TempDir())
	content := strconv.Itoa(stranger.Process.Pid) + "\n" + filepath.Join(dir, "data") + "\n1\n5432\n\n\n"
	if err := os.WriteFile(filepath.Join(dir, "data", "postmaster.pid"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
	if !alive(stranger.Process.Pid) {
		t.Error("the stranger was killed")
	}
}
