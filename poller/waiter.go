package poller

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

const (
	// firstPause and lastPause are the first and the longest pause between two questions for one artifact; the pause
	// doubles in between.
	firstPause = 30 * time.Second
	lastPause  = 10 * time.Minute
	// lookEvery is how often the waiter checks whether a question is due.
	lookEvery = 5 * time.Second
)

// Ledger is the ledger of this process, which another goroutine keeps up to date with the log.
type Ledger interface {
	// View calls look with the ledger. look must not wait for anything.
	View(look func(*ledger.Ledger))
	// Wait returns nil once the ledger holds everything up to seq and has caught up with the log, or the error of
	// ctx.
	Wait(ctx context.Context, seq events.Seq) error
}

// WaiterConfig is what a Waiter needs.
type WaiterConfig struct {
	Ledger    Ledger
	Control   *control.Control
	Artifacts artifact.Ready
	Clock     func() time.Time
	Logger    *slog.Logger
}

// Waiter looks for the artifacts of masters that were missing when the commit was polled, and records when they
// exist. The scheduler decides how long a request waits. The log is the only memory: any number of waiters may run.
type Waiter struct {
	WaiterConfig
	// questions holds the next question about each waiting request. Only the goroutine of Run uses it.
	questions map[events.RequestID]question
}

// question is when to look for the artifact of a request next, and the pause after that.
type question struct {
	next  time.Time
	pause time.Duration
}

// awaited is a request whose artifact is missing.
type awaited struct {
	request.Request
	root string
}

// NewWaiter returns a waiter; it does nothing before Run.
func NewWaiter(c WaiterConfig) *Waiter {
	return &Waiter{WaiterConfig: c, questions: map[events.RequestID]question{}}
}

// Run looks for artifacts until ctx ends.
func (w *Waiter) Run(ctx context.Context) error {
	for w.Ledger.Wait(ctx, 0) == nil {
		w.look(ctx)
		if !retry.Together(ctx, lookEvery) {
			break
		}
	}
	return nil
}

// waiting returns the waiting masters, sorted by id.
func (w *Waiter) waiting() (out []awaited) {
	w.Ledger.View(func(l *ledger.Ledger) {
		for _, id := range slices.Sorted(maps.Keys(l.Waiting)) {
			if r := l.Requests[id]; r.Kind == events.Master && r.Artifact.Tag != "" {
				out = append(out, awaited{*r, l.Roots[id]})
			}
		}
		maps.DeleteFunc(w.questions, func(id events.RequestID, _ question) bool { return !l.Waiting[id] })
	})
	return out
}

// look looks for the artifacts whose question is due.
func (w *Waiter) look(ctx context.Context) {
	for _, a := range w.waiting() {
		now, q := w.Clock(), w.questions[a.ID]
		if now.Before(q.next) {
			continue
		}
		pause := cmp.Or(q.pause, firstPause)
		w.questions[a.ID] = question{now.Add(pause), min(2*pause, lastPause)}
		if err := w.ask(ctx, a); err != nil && ctx.Err() == nil {
			w.Logger.Warn("an artifact could not be looked for, trying again", "request", a.ID, "tag", a.Artifact.Tag, "error", err)
		}
	}
}

func (w *Waiter) ask(ctx context.Context, a awaited) error {
	missing, err := Missing(ctx, w.Control, w.Artifacts, a.Artifact.Suite, a.Choice().Branch, a.Pins().Definitions, a.Artifact.Tag)
	if err != nil || missing != "" {
		return err
	}
	by := control.By{Actor: source, Source: source, Root: a.root}
	if _, _, err := w.Control.ArtifactsReady(ctx, by, a.ID, a.Artifact.Tag, a.Parent); err != nil {
		return err
	}
	w.Logger.Info("the artifact is there", "request", a.ID, "tag", a.Artifact.Tag)
	return nil
}

// Missing returns a target whose artifact is missing; empty if it exists for all targets that the suite measures by
// default on a branch, or with the definitions that are named. Only an artifact server can be asked from here. Artifacts that collectors have on their machines or build
// there count as existing.
func Missing(ctx context.Context, c *control.Control, store artifact.Ready, name events.SuiteName, branch string, named events.Digest, tag events.Tag) (events.Target, error) {
	d, err := c.DefinitionsOf(ctx, name, branch, named)
	if err != nil {
		return "", err
	}
	if d.Artifact.Kind != suite.ArtifactURL {
		return "", nil
	}
	return artifact.FirstMissing(ctx, store, d, tag, events.Parameters{})
}
