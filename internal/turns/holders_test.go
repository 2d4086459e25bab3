package turns

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// keepVariable lets a process of a test keep the turn that it gets. With commandToo it has a command that keeps it, too.
const (
	keepVariable = "TACHO_TEST_TURNS_KEEP"
	commandToo   = "command"
)

// keep says that a process has a turn, and keeps it until the process is killed.
func keep(turn *Turn, with string) error {
	if err := turn.Say("j1", time.Unix(1, 0)); err != nil {
		return err
	}
	if with == commandToo {
		file, err := turn.Copy()
		if err != nil {
			return err
		}
		cmd := exec.Command("cat") // until the test closes its end of the pipe
		cmd.Stdin, cmd.ExtraFiles = os.Stdin, []*os.File{file}
		if err := cmd.Start(); err != nil {
			return err
		}
	}
	os.Stdout.WriteString("kept\n")
	select {}
}

// A process that is stopped keeps its turn, and those that wait know which one it is, and of which job. The same goes for a command
// that goes on without its collector.
func TestWhoWaitsKnowsWhoHasTheTurn(t *testing.T) {
	for _, with := range []string{"alone", commandToo} {
		t.Run(with, func(t *testing.T) {
			m := open(t)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), dirVariable+"="+m.dir, kindVariable+"="+string(MeasureAlone), keepVariable+"="+with)
			cmd.Stderr = os.Stderr
			hold, commandEnds, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin = hold
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "kept\n" {
				t.Fatalf("%q %v", line, err)
			}
			if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			build := later(t, m, Build)
			want := Holder{PID: cmd.Process.Pid, Job: "j1", Since: time.Unix(1, 0).UTC()}
			names := func(gone bool) {
				t.Helper()
				all := m.Holders()
				want.Gone = gone
				if len(all) == 1 {
					want.Name = all[0].Name
				}
				if len(all) != 1 || all[0] != want || want.Name == "" {
					t.Errorf("the turn is with %+v, want %+v", all, want)
				}
			}
			names(false)
			still(t, build, "a stopped process lost its turn")
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			if with == commandToo {
				names(true)
				still(t, build, "a command lost the turn of its collector")
			}
			if err := commandEnds.Close(); err != nil {
				t.Fatal(err)
			}
			turn := <-build
			defer turn.Release()
			if _, err := m.Join(User{Name: "own"}); err != nil {
				t.Fatal(err)
			}
			if err := turn.Say("j2", time.Unix(2, 0)); err != nil {
				t.Fatal(err)
			}
			for _, h := range m.Holders() {
				if !h.Gone {
					t.Errorf("it waits for itself, or for a process that has ended: %+v", h)
				}
			}
		})
	}
}

// What others put into the directory is no holder.
func TestFilesThatAreNoHolders(t *testing.T) {
	m := open(t)
	dir := m.file(holdersDir) + "/"
	for name, text := range map[string]string{"half": `{"pid":`, "zero": `{"pid":0}`, "negative": `{"pid":-1}`, "large": string(make([]byte, maxNote+1)), "c~": `{"pid":1}`} {
		if err := os.WriteFile(dir+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", dir+"link"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	if all := m.Holders(); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}
