package ab

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is a git repository with a script in two revisions: v1 and v2.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	runScript(t, dir, `git init -q -b main . && git config user.email a@example.org && git config user.name A && mkdir sub
printf 'sleep 0.00\n' >sub/work.sh && git add . && git commit -qm one && git tag v1
printf 'sleep 0.2\n' >sub/work.sh && git commit -qam two && git tag v2`)
	return dir
}

// runScript runs a script of the shell, which must succeed, and returns what it printed.
func runScript(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// found finds the sides of a wish that is good.
func found(t *testing.T, w Wish) (a, b Side, notes []string, remove func()) {
	t.Helper()
	w.Environ = os.Environ()
	a, b, notes, remove, err := Sides(t.Context(), w)
	if err != nil {
		remove()
		t.Fatal(err)
	}
	return a, b, notes, remove
}

func TestRevisionsAreBuiltBesideTheRepository(t *testing.T) {
	dir := repository(t)
	runScript(t, dir, "echo unfinished >>sub/work.sh")
	var said []string
	a, b, notes, remove := found(t, Wish{
		A: "v1", B: "HEAD", Args: []string{"sh", "./built.sh"}, Build: "cp work.sh built.sh", Dir: filepath.Join(dir, "sub"),
		Say: func(text string) { said = append(said, text) },
	})
	if len(a.Dir) != len(b.Dir) || a.Dir == b.Dir || a.Commit == b.Commit || len(said) != 2 || !strings.Contains(said[0], "building v1") {
		t.Errorf("got %+v and %+v, said %q", a, b, said)
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "1 file is changed") {
		t.Errorf("the notes are %q", text)
	}
	if r := measured(t, plan(a, b)); r.Verdict != Regressed {
		t.Errorf("got %s", r.Sentence())
	}
	remove()
	if list := runScript(t, dir, "git worktree list"); strings.Count(list, "\n") != 0 {
		t.Errorf("worktrees are left: %s", list)
	}
	if _, err := os.Stat(a.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", a.Dir, err)
	}
}

func TestOneRevisionTwiceIsSaid(t *testing.T) {
	_, _, notes, remove := found(t, Wish{A: "v2", B: "main", Args: []string{"true"}, Dir: repository(t)})
	defer remove()
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "both revisions are commit") {
		t.Errorf("the notes are %q", text)
	}
}

func TestABuildThatFailsSaysItsOutput(t *testing.T) {
	_, _, _, remove, err := Sides(t.Context(), Wish{
		A: "v1", B: "v2", Args: []string{"true"}, Build: "echo no rule to make it; exit 2", Dir: repository(t), Environ: os.Environ(),
	})
	remove()
	var unknown *UnknownError
	if err == nil || errors.As(err, &unknown) || !strings.Contains(err.Error(), "no rule to make it") || !strings.Contains(err.Error(), "build v1") {
		t.Errorf("got %v", err)
	}
}

func TestWordsThatNameNothingAreRefused(t *testing.T) {
	dir, nowhere := repository(t), t.TempDir()
	noGit := append(slices.Clone(os.Environ()), "PATH="+nowhere)
	for _, tt := range []struct {
		wish Wish
		want string
	}{
		{Wish{A: "v1", B: "v9", Build: "true", Dir: dir}, `no revision "v9"`},
		{Wish{A: "--all", B: "v1", Build: "true", Dir: dir}, `no revision "--all"`},
		{Wish{A: "v9", B: "v1", Dir: dir}, `"v9" is no program, no directory and no revision`},
		{Wish{A: "v1", B: "v2", Build: "true", Dir: nowhere}, "no git repository here"},
		{Wish{A: "v1", B: "v2", Dir: dir}, "nothing is said to run"},
		{Wish{A: "sub", B: "sh", Dir: dir}, "name two of one kind"},
		{Wish{A: "sub", B: "sub", Args: []string{"no-such-program"}, Dir: dir}, `no program "no-such-program"`},
		{Wish{A: "/bin/sh", B: "./nosuch", Dir: dir}, "/bin/sh is a program and ./nosuch is none"},
		{Wish{A: "./nosuch", B: "/bin/sh", Dir: nowhere}, "/bin/sh is a program and ./nosuch is none"},
		{Wish{A: "sh", B: "sh", SetB: []string{"GOGC"}, Dir: dir}, "NAME=value"},
	} {
		tt.wish.Environ = os.Environ()
		_, _, _, remove, err := Sides(t.Context(), tt.wish)
		remove()
		var unknown *UnknownError
		if !errors.As(err, &unknown) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.wish, err, tt.want)
		}
	}
	t.Setenv("PATH", nowhere)
	_, _, _, remove, err := Sides(t.Context(), Wish{A: "v1", B: "v2", Build: "true", Dir: dir, Environ: noGit})
	remove()
	if err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("without git: %v", err)
	}
}

func TestDirectoriesRunTheirOwnProgram(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old", "new"} {
		runScript(t, dir, "mkdir "+name+" && printf '#!/bin/sh\\npwd\\n' >"+name+"/work && chmod +x "+name+"/work")
	}
	a, b, _, remove := found(t, Wish{A: "old", B: "./new/", Args: []string{"./work", "-n"}, MoreB: []string{"3"}, Dir: dir})
	defer remove()
	if a.Argv[0] != filepath.Join(dir, "old", "work") || b.Dir != filepath.Join(dir, "new") || !slices.Equal(b.Argv[1:], []string{"-n", "3"}) {
		t.Errorf("got %+v and %+v", a, b)
	}
}

func TestAVariableReplacesThatOfTheEnvironment(t *testing.T) {
	t.Setenv("TACHO_AB_TEST", "1")
	a, b, _, remove := found(t, Wish{A: "sh", B: "sh", SetB: []string{"TACHO_AB_TEST=2"}})
	defer remove()
	if !slices.Contains(a.Env, "TACHO_AB_TEST=1") || !slices.Contains(b.Env, "TACHO_AB_TEST=2") || slices.Contains(b.Env, "TACHO_AB_TEST=1") {
		t.Error("the variable is not that of its side")
	}
	if !filepath.IsAbs(a.Argv[0]) {
		t.Errorf("sh is not found: %q", a.Argv)
	}
}
