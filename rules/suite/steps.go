package suite

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// What the jobs of a kind do.
const (
	DoesMeasure = "measure"
	DoesCommand = "command"
	DoesBuild   = "build"
)

// RunsCommands reports whether the jobs of the kind run commands, or build, instead of measuring benchmarks.
func (k Kind) RunsCommands() bool { return k.Does == DoesCommand || k.Builds() }

// Builds reports whether the jobs of the kind run their commands in a tree of the artifact's commit, and yield outputs.
func (k Kind) Builds() bool { return k.Does == DoesBuild }

// Success says which end of its commands is the success of a job. The first rule that applies decides: a time limit, a code
// of RetryExit, any other code than those of Exit, a line that matches Fail, a pattern of Require that no line matches,
// Metrics that are missing or cannot be read.
type Success struct {
	// Exit are the exit codes of a command that succeeded; empty means 0. With one of RetryExit the job is tried again later.
	Exit      []int `toml:"exit" json:"exit,omitempty"`
	RetryExit []int `toml:"retry_exit" json:"retry_exit,omitempty"`
	// Fail and Require are regular expressions (RE2) for single lines that the commands print, to either output.
	Fail    []string `toml:"fail" json:"fail,omitempty"`
	Require []string `toml:"require" json:"require,omitempty"`
	// Metrics is a file of lines as of the format "jsonlines", in the directory in which the commands run. What it holds becomes
	// the results of the job.
	Metrics string `toml:"metrics" json:"metrics,omitempty"`
}

// StepsPlan says what a job runs whose kind runs commands.
type StepsPlan struct {
	// Steps run one after another, while they succeed. Always run after them in any case. {artifact}, {source}, {tokens},
	// {cache:NAME} and {input:NAME} are still to be replaced.
	Steps, Always [][]string
	// Env are variables for each of them, as NAME=value.
	Env []string
	// Timeout is the limit of one command.
	Timeout time.Duration
	// Builds says that they run in a tree of the artifact's commit. The others run in the directory of Source, which is empty
	// without one. SourceDigest is its content if the definitions know it.
	Builds       bool
	Source       string
	SourceDigest events.Digest
	// Outputs and Uploads are what is stored of the files that they leave.
	Outputs, Uploads []StoredPaths
	Success          Success
	// Fail and Require are those of Success, compiled.
	Fail, Require []*regexp.Regexp
	Diagnostics   Diagnostics
	// Case has the metrics, if there are any.
	Case events.TestCase
}

// StoredPaths is a part of a tree that is stored under a name, and after which step: 0 for the end.
type StoredPaths struct {
	Name  string
	Paths Paths
	After int
}

func storedPaths(of []OutputPaths) ([]StoredPaths, error) {
	var all []StoredPaths
	for _, o := range of {
		paths, err := ParsePaths(o.Paths)
		if err != nil {
			return nil, fmt.Errorf("paths of %s: %w", o.Name, err)
		}
		all = append(all, StoredPaths{o.Name, paths, o.After})
	}
	return all, nil
}

// UploadsOf returns what is kept of the jobs of a kind for people to look at.
func (d Definitions) UploadsOf(kind events.JobKind) ([]StoredPaths, error) {
	k, _ := d.Kind(kind)
	return storedPaths(k.Uploads)
}

// Steps returns what a job runs whose kind runs commands. The error names what the definitions lack: the job was then made
// with other ones.
func (d Definitions) Steps(job events.JobSpec) (StepsPlan, error) {
	kind, ok := d.Kind(job.Kind)
	switch {
	case !ok:
		return StepsPlan{}, d.foreign(job, "kind", string(job.Kind))
	case !kind.RunsCommands():
		return StepsPlan{}, fmt.Errorf("plan job %s: kind %s runs no commands", job.ID, kind.Name)
	case len(d.Scenarios) == 0:
		return StepsPlan{}, fmt.Errorf("plan job %s: suite %s has no scenarios", job.ID, d.Name)
	}
	timeout, err := time.ParseDuration(cmp.Or(kind.Timeout, d.Defaults.Timeout))
	if err != nil {
		return StepsPlan{}, fmt.Errorf("plan job %s: timeout of kind %s: %w", job.ID, kind.Name, err)
	}
	fields := strings.NewReplacer("{tag}", string(job.Artifact.Tag), "{target}", string(job.Target), "{profile}", string(job.Profile), "{backend}", string(job.Backend))
	p := StepsPlan{
		Env: kind.Env, Timeout: timeout, Source: kind.Source, SourceDigest: kind.SourceDigest, Success: kind.Success,
		Builds: kind.Builds(), Steps: replaced(fields, kind.Steps), Always: replaced(fields, kind.Always),
		Case: events.TestCase{
			Benchmark: events.Benchmark(kind.Name), Profile: job.Profile, Scenario: d.Scenarios[0].Name, Backend: job.Backend, Target: job.Target,
		},
	}
	if len(p.Success.Exit) == 0 {
		p.Success.Exit = []int{0}
	}
	if p.Fail, err = compiled(kind.Success.Fail); err == nil {
		p.Require, err = compiled(kind.Success.Require)
	}
	if err != nil {
		return StepsPlan{}, fmt.Errorf("plan job %s: success of kind %s: %w", job.ID, kind.Name, err)
	}
	if p.Outputs, err = storedPaths(kind.Outputs); err == nil {
		p.Uploads, err = storedPaths(kind.Uploads)
	}
	if err == nil {
		p.Diagnostics, err = NewDiagnostics(kind.Diagnostics, kind.Deny)
	}
	if err != nil {
		return StepsPlan{}, fmt.Errorf("plan job %s: kind %s: %w", job.ID, kind.Name, err)
	}
	return p, nil
}

func replaced(fields *strings.Replacer, commands [][]string) [][]string {
	all := make([][]string, len(commands))
	for i, argv := range commands {
		all[i] = make([]string, len(argv))
		for j, argument := range argv {
			all[i][j] = fields.Replace(argument)
		}
	}
	return all
}

func compiled(patterns []string) ([]*regexp.Regexp, error) {
	all := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		var err error
		if all[i], err = regexp.Compile(p); err != nil {
			return nil, err
		}
	}
	return all, nil
}
