package ab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Wish is what a person wants to compare.
type Wish struct {
	// A and B name two programs, two directories or two git revisions.
	A, B string
	// Args are the arguments of both programs; for directories and revisions the command that runs in each.
	Args []string
	// Build is a command for the shell that builds a revision in its checkout. With it, A and B are revisions.
	Build string
	// SetA and SetB are variables for one side alone, as NAME=value; MoreA and MoreB are further arguments for one side alone.
	SetA, SetB, MoreA, MoreB []string
	// Environ is the environment of both.
	Environ []string
	// Dir is where the person is; empty is the directory of this process.
	Dir string
	// Say tells what is done, when that takes a while.
	Say func(text string)
}

// Sides finds what is meant by a wish, and builds it if that is wanted. Notes are what a reader of the result should know. Call
// remove in the end, also after an error. An UnknownError is wrong usage.
func Sides(ctx context.Context, w Wish) (a, b Side, notes []string, remove func(), err error) {
	remove = func() {}
	for _, v := range slices.Concat(w.SetA, w.SetB) {
		if name, _, found := strings.Cut(v, "="); !found || name == "" {
			return a, b, nil, remove, &UnknownError{fmt.Sprintf("the variable %q is not NAME=value", v)}
		}
	}
	a, b = Side{Name: w.A, Set: w.SetA}, Side{Name: w.B, Set: w.SetB}
	kindA, pathA := w.kindOf(w.A)
	kindB, pathB := w.kindOf(w.B)
	switch {
	case kindB == revision && isFile(kindA, w.A):
		return a, b, nil, remove, &UnknownError{notAProgram(w.A, w.B)}
	case kindA == revision && isFile(kindB, w.B):
		return a, b, nil, remove, &UnknownError{notAProgram(w.B, w.A)}
	case kindA == revision || kindB == revision:
		if notes, remove, err = w.checkOut(ctx, &a, &b); err != nil {
			return a, b, notes, remove, err
		}
	case kindA != kindB:
		return a, b, nil, remove, &UnknownError{fmt.Sprintf("%s is a %s and %s is a %s: name two of one kind", w.A, kindA, w.B, kindB)}
	case kindA == directory:
		a.Dir, b.Dir = pathA, pathB
	default:
		a.Argv, b.Argv = append([]string{pathA}, w.Args...), append([]string{pathB}, w.Args...)
	}
	for _, s := range []*Side{&a, &b} {
		if s.Argv == nil {
			if s.Argv, err = w.commandIn(s.Dir); err != nil {
				return a, b, notes, remove, err
			}
		}
		s.Env = with(w.Environ, s.Set)
	}
	a.Argv, b.Argv = append(a.Argv, w.MoreA...), append(b.Argv, w.MoreB...)
	return a, b, notes, remove, nil
}

// isFile reports whether a word is the path of a program. One that is found on PATH may be the name of a branch as well.
func isFile(k kind, word string) bool {
	return k == program && strings.ContainsRune(word, filepath.Separator)
}

// notAProgram says what is wrong with a word beside a program.
func notAProgram(program, word string) string {
	return fmt.Sprintf("%s is a program and %s is none: build it, or write the path of its file", program, word)
}

// with returns an environment with further variables, which replace those of the same names.
func with(environ, set []string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	})
	return append(out, set...)
}

// UnknownError says that what somebody wrote names nothing.
type UnknownError struct{ Text string }

// Error implements error.
func (e *UnknownError) Error() string { return e.Text }

// kind is what a word of a person names.
type kind string

const (
	program   kind = "program"
	directory kind = "directory"
	revision  kind = "revision"
)

// kindOf returns what a word names, and the path of a program or directory. What is neither may be a revision.
func (w Wish) kindOf(word string) (kind, string) {
	if w.Build != "" {
		return revision, ""
	}
	at := word
	if !filepath.IsAbs(at) {
		at = filepath.Join(w.Dir, word)
	}
	info, err := os.Stat(at)
	if err == nil && info.IsDir() {
		absolute, err := filepath.Abs(at)
		if err == nil {
			return directory, absolute
		}
	}
	if err == nil && (info.Mode()&0o111 != 0 || strings.ContainsRune(word, filepath.Separator)) {
		if absolute, err := filepath.Abs(at); err == nil {
			return program, absolute
		}
	}
	if strings.ContainsRune(word, filepath.Separator) {
		return revision, ""
	}
	found, err := exec.LookPath(word)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return revision, ""
	}
	if found, err = filepath.Abs(found); err != nil {
		return revision, ""
	}
	return program, found
}

// commandIn returns the command that runs in a directory. A relative path in it begins in that directory.
func (w Wish) commandIn(dir string) ([]string, error) {
	if len(w.Args) == 0 {
		return nil, &UnknownError{"nothing is said to run: write it after two dashes, such as: tacho ab " + w.A + " " + w.B + " -- ./program"}
	}
	argv := slices.Clone(w.Args)
	if strings.ContainsRune(argv[0], filepath.Separator) {
		if !filepath.IsAbs(argv[0]) {
			argv[0] = filepath.Join(dir, argv[0])
		}
		if _, err := os.Stat(argv[0]); err != nil {
			return nil, fmt.Errorf("find the command: %w", err)
		}
		return argv, nil
	}
	found, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, &UnknownError{fmt.Sprintf("there is no program %q on PATH: write ./%s for one in the directory %s", argv[0], argv[0], dir)}
	}
	argv[0], err = filepath.Abs(found)
	return argv, err
}
