// Package supervisor keeps a collector running on a machine without an operator: it starts the collector again when it ends,
// and replaces it by the wanted version.
//
// The collector is a process of its own. When it has ended, the supervisor asks the log, with the collector's own
// credentials, whether the collector may run. A drained, deactivated or quarantined collector is not started until a person
// activates it. Then
//
//	it ended with          the supervisor
//	code 75 (ExitUpdate)   gets the wanted version and starts that
//	anything else          starts the same version again, after a pause that grows while it keeps ending
//
// Only code 75 changes the version, because only the collector knows when it is between two requests: a machine that dies in
// the middle of a request continues with the version that it began with. If the wanted version cannot be installed, the
// supervisor starts the old one again, and tells it not to leave for the wanted version for a while. The collector says why
// in CollectorOnline, because its machine can write only to the log. The supervisor fetches and builds nothing while the
// collector runs: that would disturb what is measured.
//
// The directory of versions belongs to one supervisor. Its caller holds a lock on the directory:
//
//	current           the name of the version that runs; missing: the program of the supervisor itself
//	<version>/tacho   the program of a version, complete
//	.new-*            what is being made
//
// A crash is harmless at each step. While a version is fetched, built or asked for its name, it is in .new-*. The next start
// removes that and runs "current", whose collector leaves again. Once a version has its own name it is complete, and is found
// instead of fetched. "current" is replaced as a whole.
package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/job"
)

// Config is what a Supervisor needs.
type Config struct {
	Name events.CollectorName
	// Dir is the directory of versions. The caller holds a lock on it. Empty keeps the collector at the version of Own.
	Dir string
	// Own is the path of the supervisor's own program.
	Own string
	// Arguments start the collector. Environ is its environment, without what the supervisor adds.
	Arguments, Environ []string
	Source             Source
	// Open opens the log as the collector.
	Open func(context.Context) (log eventlog.Aggregates, closed func(), err error)
	// Output takes what the collector and builds print, in whole lines.
	Output io.Writer
	// Bind makes a process end when this one dies; nil leaves it alone.
	Bind   func(*exec.Cmd)
	Pauses Pauses
	Clock  func() time.Time
	Logger *slog.Logger
}

// Pauses are the pauses of a supervisor. Restart and Update grow from try to try, up to their Most, with jitter. Zero is the
// default.
type Pauses struct {
	// Restart is the pause after the collector has ended. Defaults: 1 s, 1 min.
	Restart, RestartMost time.Duration
	// Update is the pause before the next try to install a version. Defaults: 1 min, 1 h.
	Update, UpdateMost time.Duration
	// Look is the pause between two questions to the log whether the collector may run. Default: 10 s.
	Look time.Duration
}

// steadyAfter is how long a collector must run for the pause after its end to be the first one again.
const steadyAfter = time.Minute

// Supervisor keeps one collector running. Run it once.
type Supervisor struct {
	Config
	versions versions
	restart  backoff.BackOff
	// again paces the tries to install failed, the version that could not be installed.
	again  backoff.BackOff
	failed string
}

// New returns a supervisor. It does nothing before Run.
func New(c Config) *Supervisor {
	return &Supervisor{
		Config: c, versions: versions{dir: c.Dir, own: c.Own, bind: c.Bind},
		restart: retry.Pauses(cmp.Or(c.Pauses.Restart, time.Second), cmp.Or(c.Pauses.RestartMost, time.Minute)),
		again:   retry.Pauses(cmp.Or(c.Pauses.Update, time.Minute), cmp.Or(c.Pauses.UpdateMost, time.Hour)),
	}
}

// Run keeps the collector running until ctx ends. Then it interrupts the collector and waits for it. It returns an error
// only if it cannot begin: it cannot use its directory, or there is no program to run.
func (s *Supervisor) Run(ctx context.Context) error {
	program, err := s.begin(ctx)
	if err != nil {
		return fmt.Errorf("supervisor of collector %s: %w", s.Name, err)
	}
	var orders Orders
	for s.awaitWelcome(ctx) {
		s.Logger.Info("starting the collector", "version", program.version, "program", program.path)
		began := s.Clock()
		end := s.run(ctx, program, orders)
		if ctx.Err() != nil {
			break
		}
		if s.Clock().Sub(began) > steadyAfter {
			s.restart.Reset()
		}
		next := program
		if end.code == ExitUpdate && s.Dir != "" {
			next, orders = s.update(ctx, program, orders)
		}
		if next != program {
			program = next
			s.restart.Reset()
			continue
		}
		pause := s.restart.NextBackOff()
		level := slog.LevelWarn
		if end.code == 0 { // it was asked to leave
			level = slog.LevelInfo
		}
		s.Logger.Log(ctx, level, "the collector has ended", "code", end.code, "error", end.err, "last", end.said, "next look in", pause.Round(time.Millisecond))
		retry.Sleep(ctx, pause)
	}
	return nil
}

// begin returns the program that runs first.
func (s *Supervisor) begin(ctx context.Context) (program, error) {
	if s.Dir == "" {
		return program{path: s.Own}, nil
	}
	if err := s.versions.begin(); err != nil {
		return program{}, err
	}
	return s.versions.current(ctx)
}

// awaitWelcome waits until the log says that the collector may run. It returns false when ctx ends first.
func (s *Supervisor) awaitWelcome(ctx context.Context) bool {
	look := s.Pauses.Look
	if look == 0 {
		look = 10 * time.Second
	}
	said := ""
	for ctx.Err() == nil {
		var standing job.Standing
		err := s.ask(ctx, func(log eventlog.Aggregates) error {
			registry, err := log.Read(ctx, events.RegistrySubject(s.Name))
			if err != nil {
				return err
			}
			own, err := log.Read(ctx, events.CollectorSubject(s.Name))
			standing = job.StandOn(registry, own)
			return err
		})
		why := unwelcome(s.Name, standing)
		if err != nil {
			why = err.Error()
		}
		if why == "" {
			return true
		}
		if why != said && ctx.Err() == nil {
			s.Logger.Warn("the collector is not started: waiting", "reason", why)
			said = why
		}
		retry.Sleep(ctx, look)
	}
	return false
}

// unwelcome says why a collector may not run now; empty when it may.
func unwelcome(name events.CollectorName, s job.Standing) string {
	what := ""
	switch {
	case s.Takes():
		return ""
	case s.Removed:
		return fmt.Sprintf("it was removed: register this machine under another name with `tacho collector add`, and end this supervisor of %s", name)
	case s.Registered == nil:
		return fmt.Sprintf("it is not registered: register it with `tacho collector add %s`", name)
	case s.Quarantined:
		what = "quarantined"
	case !s.Active:
		what = "deactivated"
	case s.Draining:
		what = "drained"
	}
	if s.Reason != "" {
		what += " (" + s.Reason + ")"
	}
	return fmt.Sprintf("it was %s: let it run again with `tacho collector activate %s`", what, name)
}

// ask opens the log, asks one question and closes the log.
func (s *Supervisor) ask(ctx context.Context, question func(eventlog.Aggregates) error) error {
	log, closed, err := s.Open(ctx)
	if err != nil {
		return err
	}
	defer closed()
	return question(log)
}

// update gets the wanted version. It returns the program to run next, and its orders.
func (s *Supervisor) update(ctx context.Context, running program, orders Orders) (program, Orders) {
	var wanted events.VersionWanted
	err := s.ask(ctx, func(log eventlog.Aggregates) error {
		last, ok, err := log.Last(ctx, events.VersionSubject())
		if ok {
			wanted = last.Fact.(events.VersionWanted)
		}
		return err
	})
	if err != nil || wanted.Version == "" || wanted.Version == running.version {
		s.Logger.Warn("the log names no other version for the collector that left for one", "wanted", wanted.Version, "error", err)
		return running, orders
	}
	began := s.Clock()
	next, err := s.get(ctx, wanted.Version)
	if err == nil {
		s.Logger.Info("the wanted version is here", "version", wanted.Version, "took", s.Clock().Sub(began).Round(time.Millisecond))
		s.failed = ""
		return next, Orders{}
	}
	if ctx.Err() != nil {
		return running, orders
	}
	if s.failed != wanted.Version {
		s.failed = wanted.Version
		s.again.Reset()
	}
	pause := s.again.NextBackOff()
	s.Logger.Error("the wanted version could not be installed: the old one continues", "wanted", wanted.Version, "error", err, "again in", pause.Round(time.Second))
	return running, Orders{
		Hold: wanted.Version, Until: s.Clock().Add(pause),
		Failed: fmt.Sprintf("version %s cannot be had: %v", wanted.Version, err),
	}
}

// get makes a version the current one. If the version is not here, the source makes it first.
func (s *Supervisor) get(ctx context.Context, version string) (program, error) {
	if err := events.CheckVersion(version); err != nil {
		return program{}, err
	}
	found, err := s.versions.find(ctx, version)
	if err == nil {
		return found, s.versions.use(found)
	}
	if s.Source == nil {
		return program{}, errors.New("no source of versions was named: start the supervisor with --git or --download")
	}
	if err := s.versions.sweep(); err != nil {
		return program{}, err
	}
	work, done, err := s.versions.workshop()
	if err != nil {
		return program{}, err
	}
	defer done()
	s.Logger.Info("fetching the wanted version", "version", version, "from", s.Source)
	path, err := s.Source.Get(ctx, version, work)
	if err != nil {
		return program{}, err
	}
	found, err = s.versions.install(ctx, version, path)
	if err != nil {
		return program{}, err
	}
	return found, s.versions.use(found)
}
