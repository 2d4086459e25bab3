package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNoValgrind says that instructions cannot be counted, since valgrind is not on PATH.
var ErrNoValgrind = errors.New("valgrind is not on PATH: install it to count instructions without hardware counters")

const valgrindName = "valgrind"

// Counted is what valgrind counted of one command.
type Counted struct {
	// Instructions are those of all its processes in user mode: the metric Instructions.
	Instructions float64
	// Processes is how many were counted.
	Processes int
	// Note says in words what the count is not exact about; empty if there is nothing.
	Note string
}

// CountInstructions executes c under valgrind and counts the instructions of the command and of all that it starts. It takes
// some thirty to fifty times as long as the command, and a second more for each program. So it is a pass of its own,
// whose times mean nothing; noise does not change the count. What valgrind cannot see: the work of the kernel, waiting, what
// a process did before it became another program (exec), and programs that gain rights (setuid), which it does not start.
// It runs the threads of a process one at a time.
//
// Part of a count is of no use. So it is an error if the command fails, if it takes longer than its Timeout, or if valgrind
// did not know one of its instructions.
func (r *Runner) CountInstructions(ctx context.Context, c Cmd) (Counted, error) {
	valgrind, err := exec.LookPath(valgrindName)
	if err != nil {
		return Counted{}, fmt.Errorf("count instructions of %q: %w", c.Path, ErrNoValgrind)
	}
	if err := c.check(); err != nil {
		return Counted{}, err
	}
	dir, err := os.MkdirTemp("", "tacho-count-")
	if err != nil {
		return Counted{}, fmt.Errorf("count instructions of %q: %w", c.Path, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	plain := c
	// In the names of these files, "%" begins a placeholder: each process has files of its own.
	in := strings.ReplaceAll(dir, "%", "%%") + string(filepath.Separator)
	c.Args = append([]string{
		"--command-line-only=yes", "--tool=cachegrind", "--cache-sim=no", "--branch-sim=no", "--trace-children=yes", "--vgdb=no",
		"--cachegrind-out-file=" + in + countPrefix + "%p", "--log-file=" + in + logPrefix + "%p", "--", plain.Path,
	}, plain.Args...)
	c.Path = valgrind
	out, err := r.Run(ctx, c)
	if err != nil {
		return Counted{}, fmt.Errorf("count instructions: %w", err)
	}
	counted, unknown, err := readCounts(dir)
	switch what := failureOfCounting(out, unknown); {
	case what != "":
		return Counted{}, fmt.Errorf("count instructions of %q: %s", append([]string{plain.Path}, plain.Args...), what)
	case err != nil:
		return Counted{}, fmt.Errorf("count instructions of %q: %w", plain.Path, err)
	}
	return counted, nil
}

// failureOfCounting says why a command that ran under valgrind was not counted as a whole; empty if it was. unknown says that
// valgrind did not know an instruction.
func failureOfCounting(out Outcome, unknown bool) string {
	switch {
	case out.OutOfMemory:
		return "under valgrind it wanted more memory than it may have, and was killed"
	case out.TimedOut:
		return "under valgrind it took too long"
	case unknown:
		return "it has an instruction that this valgrind does not know, perhaps a newer one would"
	case out.Signal != "":
		return "under valgrind it was killed by " + out.Signal
	case out.ExitCode != 0:
		said := bytes.TrimSpace(out.Stderr)
		return fmt.Sprintf("under valgrind it ended with exit code %d: %s", out.ExitCode, said[max(0, len(said)-quotedOutput):])
	}
	return ""
}

// quotedOutput bounds what an error quotes of a command's output, in bytes.
const quotedOutput = 500

// The files of a process are named after its number: what it counted, and what valgrind had to say.
const (
	countPrefix = "count."
	logPrefix   = "log."
)

// readCounts adds up the counts of all processes. unknown says that one of them has an instruction that valgrind does not know.
func readCounts(dir string) (c Counted, unknown bool, err error) {
	logs, err := filepath.Glob(filepath.Join(dir, logPrefix+"*"))
	if err != nil {
		return Counted{}, false, fmt.Errorf("read the counts: %w", err)
	}
	lost, copies, said := 0, 0, map[string]valgrindLog{}
	for _, file := range logs {
		data, err := os.ReadFile(file)
		if err != nil {
			return Counted{}, false, fmt.Errorf("read what valgrind said: %w", err)
		}
		l := readLog(data)
		said[strings.TrimPrefix(filepath.Base(file), logPrefix)] = l
		unknown = unknown || l.unknown
	}
	for pid, l := range said {
		data, err := os.ReadFile(filepath.Join(dir, countPrefix+pid))
		if errors.Is(err, os.ErrNotExist) {
			lost++
			continue
		}
		if err != nil {
			return Counted{}, unknown, fmt.Errorf("read the counts: %w", err)
		}
		n, err := parseCachegrind(data)
		if err != nil {
			return Counted{}, unknown, err
		}
		c.Instructions, c.Processes = c.Instructions+n, c.Processes+1
		if parent, counted := said[l.parent]; counted && parent.command == l.command {
			copies++
		}
	}
	if c.Processes == 0 {
		return Counted{}, unknown, errors.New("valgrind left no count")
	}
	var notes []string
	if copies > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d processes went on as copies of their parent, whose instructions until then are counted in them again", copies, c.Processes))
	}
	if lost > 0 {
		notes = append(notes, fmt.Sprintf("processes that were killed are not counted (%d)", lost))
	}
	c.Note = strings.Join(notes, "; ")
	return c, unknown, nil
}

// valgrindLog is what valgrind says of one process.
type valgrindLog struct {
	command, parent string
	// unknown: it has an instruction that valgrind does not know.
	unknown bool
}

// readLog reads what valgrind says of a process: lines that begin with its number, "==12== Command: /bin/true".
func readLog(data []byte) (l valgrindLog) {
	for line := range bytes.Lines(data) {
		_, text, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		switch key, value, _ := strings.Cut(text, ":"); {
		case key == "Command" && l.command == "":
			l.command = value
		case key == "Parent PID" && l.parent == "":
			l.parent = strings.TrimSpace(value)
		}
		l.unknown = l.unknown || strings.Contains(text, "unhandled instruction bytes") || strings.Contains(text, "Unrecognised instruction")
	}
	return l
}

// parseCachegrind reads the total of the first event, instructions, from cachegrind's file.
func parseCachegrind(data []byte) (float64, error) {
	events := ""
	for line := range bytes.Lines(data) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		switch key {
		case "events":
			events, _, _ = strings.Cut(strings.TrimSpace(value), " ")
		case "summary":
			first, _, _ := strings.Cut(strings.TrimSpace(value), " ")
			n, err := strconv.ParseUint(first, 10, 64)
			if err != nil || events != "Ir" {
				return 0, fmt.Errorf("parse cachegrind's file: %q of event %q is not a count of instructions", first, events)
			}
			return float64(n), nil
		}
	}
	return 0, errors.New("parse cachegrind's file: no summary in it")
}
