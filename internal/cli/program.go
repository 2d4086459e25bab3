// Package cli is the command line of tacho: it reads flags and configuration, asks a running Tacho or the node, and prints
// answers for a person or, with --json, for a program.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/collector/supervisor"
	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/website/client"
)

// The exit codes; see `tacho --help`.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitRefused = 3
	// ExitUpdate tells the supervisor of a collector to get the wanted version.
	ExitUpdate = supervisor.ExitUpdate
)

// Program is a command line and the world around it.
type Program struct {
	// Stdout takes the answers, Stderr everything else.
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Clock          func() time.Time
	// Version is the version that this program reports.
	Version string
	// Terminal is set if Stdout is a terminal.
	Terminal bool

	// raw is Stdout for what must arrive byte for byte. From Main on, Stdout and Stderr show control characters instead of
	// letting a terminal obey them; see cleanly.
	raw io.Writer
	// width returns the columns of the terminal; nil if Stdout is not a terminal.
	width func() int
	// screen writes to the terminal; nil if Stderr is not a terminal.
	screen *screen
	// found is the running Tacho that the data directory names; nil until client looks it up.
	found   *datadir.Running
	globals globals
	config  config.Config
}

// New returns a program that uses the standard files and the environment of this process. If version is empty, the program
// reports the version that the build recorded.
func New(version string) *Program {
	p := &Program{
		Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Clock: time.Now, Version: versionOr(version),
		Terminal: term.IsTerminal(int(os.Stdout.Fd())),
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		p.screen = newScreen(os.Stderr)
		p.Stderr = p.screen
	}
	if p.Terminal {
		p.width = func() int { return widthOf(os.Stdout) }
	}
	return p
}

// globals are the flags that every command takes.
type globals struct {
	Config   string `help:"Configuration file (TOML)." placeholder:"FILE" type:"path"`
	Data     string `help:"Data directory of a Tacho, or of collectors, on this machine." placeholder:"DIR" type:"path"`
	Server   string `help:"URL of a running Tacho; default: the one that the data directory names." placeholder:"URL"`
	ServerCA string `help:"CA of that server, or its own certificate; default: what the data directory says." placeholder:"FILE" type:"path" name:"server-ca"`
	Verbose  bool   `help:"Write a detailed log to stderr." short:"v"`
}

type commands struct {
	globals

	Up        upCmd         `cmd:"" help:"Run everything on this machine: log, database, website and collectors."`
	Serve     serveCmd      `cmd:"" help:"Run some parts of Tacho with your own NATS cluster and Postgres."`
	Collector collectorCmd  `cmd:"" help:"Register, run and look after collectors."`
	Machine   machineCmd    `cmd:"" help:"Register and change machines that take jobs by what these require."`
	Request   requestCmd    `cmd:"" help:"Make, show and withdraw requests for benchmarks."`
	Queue     queueCmd      `cmd:"" help:"Show the queue: what is benchmarked when, and why in this order; make and change further queues."`
	Account   accountCmd    `cmd:"" help:"Make and change accounts: who may ask, and for how much."`
	Share     shareCmd      `cmd:"" help:"Show how the farm is shared, and say how."`
	Usage     usageCmd      `cmd:"" help:"Show what each account had, by day."`
	Waits     waitsCmd      `cmd:"" help:"Show how long jobs waited for machines, and how long requests took."`
	Status    statusCmd     `cmd:"" help:"Show queue, requests and collectors at a glance."`
	Alerts    alertsCmd     `cmd:"" help:"Show what needs a person, and what to do about it."`
	Jobs      jobsCmd       `cmd:"" help:"List jobs."`
	Job       jobCmd        `cmd:"" help:"Ask about one job."`
	Logs      logsCmd       `cmd:"" help:"Show the output of a job."`
	Compare   compareCmd    `cmd:"" help:"Compare the results of two artifacts."`
	AB        abCmd         `cmd:"" name:"ab" help:"Measure two programs, directories or git revisions in turns on this machine, without a server."`
	GitHub    githubCmd     `cmd:"" name:"github" help:"Show deliveries from GitHub, and the comments for it."`
	Events    eventsCmd     `cmd:"" help:"Read the log."`
	Trace     traceCmd      `cmd:"" help:"Show what led to a request, job or event, and what came of it."`
	Replay    replayCmd     `cmd:"" help:"Rebuild the tables from the log, or verify that they are what it gives."`
	Log       logCmd        `cmd:"" help:"Check the log for damage, and repair it."`
	Backup    backupCmd     `cmd:"" help:"Write a backup of the log, the keys and the tokens into a new directory."`
	Restore   restoreCmd    `cmd:"" help:"Restore a backup into an empty data directory."`
	Snapshot  snapshotCmd   `cmd:"" help:"Make a snapshot of the log, so that the next start need not read all of it."`
	Poller    pollerCmd     `cmd:"" help:"List the sources of new artifacts, and try them."`
	Graph     graphCmd      `cmd:"" help:"Show which jobs of a request need which, and measure jobs again."`
	Suite     suiteCmd      `cmd:"" help:"Check, show, compare and publish definitions."`
	Seal      sealCmd       `cmd:"" help:"Make and show the keys that seal definitions and dispatches."`
	Doctor    doctorCmd     `cmd:"" help:"Find out what this machine can measure and what is wrong with it."`
	Complete  completionCmd `cmd:"" name:"completion" help:"Print a script that makes a shell complete commands and flags."`
	ShowConf  configCmd     `cmd:"" name:"config" help:"Show the effective configuration."`
	Version   versionCmd    `cmd:"" help:"Show the version."`
}

const description = `Tacho benchmarks compilers and programs on dedicated machines. Its queue is an append-only log, from which everything else is built.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused (conflict, not permitted, not found), 75 a supervised collector left for another version.`

// Main runs one command line and returns the exit code. Call it once.
func (p *Program) Main(ctx context.Context, args []string) int {
	defer p.cleanly()()
	var c commands
	exited := -1
	parser, err := p.parser(ctx, &c, func(code int) { exited = code })
	if err != nil {
		fmt.Fprintln(p.Stderr, "tacho:", err)
		return ExitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == completeWord {
		if err := complete(p.Stdout, parser.Model.Node, args[1:]); err != nil {
			return ExitFailed
		}
		return ExitDone
	}
	command, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "tacho: %v\nSee `%s --help`.\n", err, commandOf(err))
		return ExitUsage
	}
	if empty := emptyArgument(command); empty != "" {
		fmt.Fprintf(p.Stderr, "tacho: %s\nSee `%s --help`.\n", empty, command.Selected().FullPath())
		return ExitUsage
	}
	p.globals = c.globals
	if err := p.load(); err != nil {
		fmt.Fprintln(p.Stderr, "tacho:", err)
		return ExitUsage
	}
	if err := command.Run(); err != nil {
		return p.report(ctx, err)
	}
	return ExitDone
}

// host returns the node.Host of a command that runs something itself.
func (p *Program) host() *node.Host {
	return &node.Host{
		Config: p.config, ConfigFile: p.globals.Config, Verbose: p.globals.Verbose, Version: p.Version, Actor: p.actor(),
		Clock: p.Clock, Logger: p.logger(), Say: p.say, Stderr: p.Stderr,
	}
}

// logger returns the logger for the program's own messages.
func (p *Program) logger() *slog.Logger {
	level := slog.LevelWarn
	if p.globals.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: level}))
}

// emptyArgument says which argument of a command is there and says nothing, such as a variable of a script that is not set: in
// a path it would lead to another call. It returns nothing if there is none.
func emptyArgument(command *kong.Context) string {
	for _, at := range command.Path {
		if at.Positional == nil {
			continue
		}
		values := []reflect.Value{at.Positional.Target}
		if list := values[0]; list.Kind() == reflect.Slice {
			values = values[:0]
			for i := range list.Len() {
				values = append(values, list.Index(i))
			}
		}
		if slices.ContainsFunc(values, func(v reflect.Value) bool { return v.Kind() == reflect.String && strings.TrimSpace(v.String()) == "" }) {
			return fmt.Sprintf("%s is empty: write here: %s", at.Positional.Summary(), strings.TrimSuffix(at.Positional.Help, "."))
		}
	}
	return ""
}

// commandOf returns the last command that the parser understood in a wrong command line.
func commandOf(err error) string {
	var wrong *kong.ParseError
	if !errors.As(err, &wrong) || wrong.Context == nil || wrong.Context.Selected() == nil {
		return "tacho"
	}
	at := wrong.Context.Selected()
	if at.Hidden { // people do not name it
		at = at.Parent
	}
	return at.FullPath()
}

func (p *Program) parser(ctx context.Context, c *commands, exit func(code int)) (*kong.Kong, error) {
	return kong.New(c, kong.Name("tacho"), kong.Description(description), kong.Writers(p.Stdout, p.Stderr), kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(p))
}

func (p *Program) load() (err error) {
	p.config, err = config.Load(p.globals.Config, p.Getenv)
	if err != nil {
		return err
	}
	if p.globals.Data != "" {
		p.config.Data = p.globals.Data
	}
	if p.globals.Server != "" {
		p.config.Server = p.globals.Server
	}
	override(&p.config.ServerCA, p.globals.ServerCA)
	return nil
}

// report prints what went wrong and returns its exit code.
func (p *Program) report(ctx context.Context, err error) int {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return ExitFailed
	}
	if errors.Is(err, errDiffers) {
		return ExitFailed
	}
	var own codeError
	if errors.As(err, &own) {
		if own.cause != nil {
			fmt.Fprintln(p.Stderr, "tacho:", own.cause)
		}
		return own.code
	}
	fmt.Fprintln(p.Stderr, "tacho:", p.explain(err))
	var answer *client.Error
	var refused *control.RefusedError
	var wrong usage.Error
	var unfit *collector.RegistrationError
	switch {
	case errors.Is(err, collector.ErrUpdate):
		return ExitUpdate
	case errors.As(err, &wrong):
		return ExitUsage
	case errors.As(err, &answer) && answer.Status == 400, errors.As(err, &refused) && refused.Kind == control.Invalid:
		return ExitUsage
	case errors.As(err, &answer) && answer.Status < 500, errors.As(err, &refused),
		errors.As(err, &unfit), errors.Is(err, eventlog.ErrNameHeld):
		return ExitRefused
	}
	return ExitFailed
}

// explain adds the next step to an error that does not know it.
func (p *Program) explain(err error) error {
	var answer *client.Error
	if errors.As(err, &answer) && answer.Status == http.StatusUnauthorized {
		return errors.New("the token is missing or wrong: set TACHO_TOKEN to the token of the server, or of an account; `tacho up` keeps it in the file token of its data directory")
	}
	var newer *events.NewerError
	if errors.As(err, &newer) {
		return fmt.Errorf("%w: %s", err, newer.Next())
	}
	var gone *client.UnreachableError
	if p.found == nil || !errors.As(err, &gone) {
		return err
	}
	again := "tacho up"
	if p.globals.Data != "" {
		again += " --data " + p.globals.Data
	}
	return fmt.Errorf("nothing answers at %s any more: the Tacho that ran on %s (process %d) was killed or has crashed; start it again with `%s`",
		p.found.URL, p.config.Data, p.found.PID, again)
}

// next adds the next step to an error that says that something was not found.
func next(err error, step string) error {
	var answer *client.Error
	if errors.As(err, &answer) && answer.Status == http.StatusNotFound && answer.Next == "" {
		answer.Next = step
	}
	return err
}
