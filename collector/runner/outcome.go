package runner

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
)

const (
	// parsedOutputLimit bounds, in bytes, the output of a command that prints its metrics.
	parsedOutputLimit = 8 << 20
	// tailLimit bounds, in bytes, what a message quotes of the output of a command.
	tailLimit = 4 << 10
)

// commandError says that a command ran and failed.
type commandError struct {
	argv     []string
	what     string
	tail     string
	timedOut bool
	// outOfMemory says that it was killed at its memory limit.
	outOfMemory bool
}

func (e *commandError) Error() string {
	text := fmt.Sprintf("%s %s", strings.Join(e.argv, " "), e.what)
	if e.tail != "" {
		text += ":\n" + e.tail
	}
	return text
}

// judge returns why an executed command counts as failed, as a *commandError, or nil.
func judge(c measure.Cmd, out measure.Outcome) error {
	e := &commandError{argv: append([]string{filepath.Base(c.Path)}, c.Args...), tail: tail(out), timedOut: out.TimedOut, outOfMemory: out.OutOfMemory}
	switch {
	case out.OutOfMemory:
		e.what = "was killed at its memory limit: it wanted more than the " + mebibytes(out.MemoryLimit) + " that its job reserves (memory=), and held " +
			mebibytes(out.MemoryPeak)
	case out.TimedOut:
		e.what = fmt.Sprintf("was killed after its time limit of %v", c.Timeout.Round(time.Millisecond))
	case out.Signal != "":
		e.what = "was killed by " + out.Signal
	case out.ExitCode != 0:
		e.what = fmt.Sprintf("ended with exit code %d", out.ExitCode)
	default:
		return nil
	}
	return e
}

// mebibytes returns an amount of memory in words; one that is not known is 0.
func mebibytes(bytes int64) string {
	if bytes == 0 {
		return "an unknown amount"
	}
	return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20)
}

// tail returns the end of what a command wrote to stderr, or to stdout if it wrote nothing there.
func tail(out measure.Outcome) string {
	text := bytes.TrimSpace(out.Stderr)
	if len(text) == 0 {
		text = bytes.TrimSpace(out.Stdout)
	}
	if len(text) <= tailLimit {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	text = text[len(text)-tailLimit:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return "… " + strings.ToValidUTF8(string(text), "\uFFFD")
}

// outOfSpace reports whether err means a full file system: one of our own calls failed for it, or a command said so.
func outOfSpace(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	var failed *commandError
	if !errors.As(err, &failed) || failed.timedOut {
		return false
	}
	said := strings.ToLower(failed.tail)
	return strings.Contains(said, syscall.ENOSPC.Error()) || strings.Contains(said, syscall.EDQUOT.Error())
}

// samplesOf returns the samples of a successful command: the metrics that it printed, or else its own cost.
func samplesOf(s Step, out measure.Outcome) ([]events.Iteration, error) {
	sizes, err := sizesOf(s.Sizes)
	if err != nil {
		return nil, err
	}
	all := []map[events.Metric]float64{out.Metrics}
	if s.Parse != nil {
		fail := func(what string) error {
			return &commandError{argv: append([]string{filepath.Base(s.Cmd.Path)}, s.Cmd.Args...), what: what, tail: tail(out)}
		}
		if out.StdoutDropped > 0 {
			return nil, fail(fmt.Sprintf("printed more than %d bytes", parsedOutputLimit))
		}
		if all, err = s.Parse(out.Stdout); err != nil {
			return nil, fail("printed what cannot be read (" + err.Error() + ")")
		}
		if len(all) == 0 {
			return nil, fail("printed no metrics")
		}
	}
	samples := make([]events.Iteration, len(all))
	for i, metrics := range all {
		samples[i] = events.Iteration{Metrics: maps.Clone(metrics), Interference: out.Interference}
		maps.Copy(samples[i].Metrics, sizes)
	}
	return samples, nil
}

// sizesOf adds up the sizes of the files of each pattern.
func sizesOf(patterns map[events.Metric]string) (map[events.Metric]float64, error) {
	sizes := map[events.Metric]float64{}
	for metric, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("sizes of %s: %w", pattern, err)
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				return nil, fmt.Errorf("size for %s: %w", metric, err)
			}
			sizes[metric] += float64(info.Size())
		}
	}
	return sizes, nil
}
