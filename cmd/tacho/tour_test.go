package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/internal/cli"
)

// block is the commands of one step of a page. The word behind sh says what the test expects of their output: see has parts of
// it, until has parts that come in the end if the commands are repeated, refused has parts of a refusal.
type block struct {
	commands, expects string
	parts             []string
}

var fence = regexp.MustCompile("(?ms)^```sh(?: (see|until|refused): ([^\n]*))?\n(.*?)^```$")

// blocks returns the commands of a page in their order.
func blocks(t *testing.T, file string) (found []block) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		b := block{commands: m[3], expects: m[1]}
		if b.expects != "" {
			b.parts = strings.Split(m[2], ", ")
		}
		found = append(found, b)
	}
	if n := strings.Count(string(page), "```sh"); n != len(found) || n == 0 {
		t.Fatalf("%s has %d blocks of commands, and %d are understood", file, n, len(found))
	}
	return found
}

// shell is a shell in which a person types commands.
type shell struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
	// last is what the last commands printed that waited for something.
	last string
}

// over ends the output of each block; the exit code follows it.
const over = "===== over "

// newShell starts a shell in the directory of a site, which finds the program.
func (s *site) newShell() *shell {
	s.t.Helper()
	sh := &shell{t: s.t, cmd: exec.Command("sh")}
	sh.cmd.Dir = s.dir
	sh.cmd.Env = append(s.env, "PATH="+filepath.Dir(binary)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, w, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	in, err := sh.cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	sh.in, sh.out, sh.cmd.Stdout, sh.cmd.Stderr = in, bufio.NewReader(out), w, w
	if err := sh.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if s.t.Failed() {
			text, _ := sh.run("kill $(cat *.pid); wait; tail *.log")
			s.t.Logf("%s\n%s", sh.last, text)
		}
		if err := in.Close(); err != nil {
			s.t.Error(err)
		}
		if err := sh.cmd.Wait(); err != nil {
			s.t.Error(err)
		}
		if err := out.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return sh
}

// run types commands and returns what they print, with single spaces, and the last exit code.
func (sh *shell) run(commands string) (out string, code int) {
	sh.t.Helper()
	late := time.AfterFunc(time.Minute, func() {
		if err := sh.cmd.Process.Kill(); err != nil {
			sh.t.Log(err)
		}
	})
	defer late.Stop()
	if _, err := fmt.Fprintf(sh.in, "%s\necho \"%s$?\"\n", strings.TrimRight(commands, "\n"), over); err != nil {
		sh.t.Fatal(err)
	}
	for {
		line, err := sh.out.ReadString('\n')
		if err != nil {
			sh.t.Fatalf("the shell ended: %v\n%s\n%s", err, commands, out)
		}
		if ended, ok := strings.CutPrefix(line, over); ok {
			code, err = strconv.Atoi(strings.TrimSpace(ended))
			if err != nil {
				sh.t.Fatal(err)
			}
			return out, code
		}
		out += strings.Join(strings.Fields(line), " ") + "\n"
	}
}

// follow does what one step of a page says.
func (sh *shell) follow(s *site, b block) {
	s.t.Helper()
	if b.expects == "until" {
		s.eventually(b.commands+"shows "+strings.Join(b.parts, ", "), 30*time.Second, func() bool {
			sh.last, _ = sh.run(b.commands)
			return lacks(sh.last, b.parts) == ""
		})
		return
	}
	out, code := sh.run(b.commands)
	want := cli.ExitDone
	if b.expects == "refused" {
		want = cli.ExitRefused
	}
	if part := lacks(out, b.parts); code != want || part != "" {
		s.t.Fatalf("%s: exit code %d, want %d; the output lacks %q:\n%s", b.commands, code, want, part, out)
	}
}

// lacks returns the first part that a text does not have.
func lacks(text string, parts []string) string {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// A reader of docs/sharing-tour.md types its commands in their order.
func TestTheTourOfASharedFarm(t *testing.T) { tour(t, "sharing-tour.md") }

// A reader of docs/builds-tour.md does the same: from a commit to a report, built by the farm.
func TestTheTourOfBuilds(t *testing.T) { tour(t, "builds-tour.md") }

// tour types the commands of a page in their order.
func tour(t *testing.T, page string) {
	t.Helper()
	t.Parallel()
	s := newSite(t)
	s.prepare()
	sh := s.newShell()
	here := strings.NewReplacer(`os = "linux"`, fmt.Sprintf("os = %q", runtime.GOOS), `arch = "amd64"`, fmt.Sprintf("arch = %q", runtime.GOARCH))
	for _, b := range blocks(t, page) {
		b.commands = here.Replace(b.commands)
		sh.follow(s, b)
	}
}
