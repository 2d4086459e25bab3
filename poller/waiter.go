package poller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/request"
	"github.com/tachobench/tacho/suite"
)

const (
	// firstPause and lastPause are between two questions for one artifact: they double from the one to the other.
	firstPause = 30 * time.Second
	lastPause  = 10 * time.Minute
	// lookEvery is how often it is looked whether a question is due.
	lookEvery = 5 * time.Second
)

// WaiterConfig is what a Waiter needs.
type WaiterConfig struct {
	Log       eventlog.Log
	Control   *control.Control
	Artifacts artifact.Ready
	Clock     func() time.Time
	Logger    *slog.Logger
}

// Waiter asks for the artifacts of masters that were not there when they were polled, and says so once they are. Until
// when a request waits the scheduler decides. The log is its memory: any number of waiters may run.
type Waiter struct {
	WaiterConfig
	// mu guards what follows: one goroutine folds the log, another asks.
	mu      sync.Mutex
	reader  events.Reader
	waiting map[events.RequestID]*awaited
	current bool
}

// awaited is a request whose artifact is not there yet.
type awaited struct {
	request.Request
	root  string
	next  time.Time
	pause time.Duration
}

// NewWaiter returns a waiter; it does nothing before Run.
func NewWaiter(c WaiterConfig) *Waiter {
	return &Waiter{WaiterConfig: c, waiting: map[events.RequestID]*awaited{}}
}

// Run asks until ctx ends. It returns an error only when it cannot go on: the log has a gap, or holds a type of event
// that this program does not know.
func (w *Waiter) Run(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return eventlog.Fold(running, w.Log, w.take) })
	g.Go(func() error {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-running.Done():
				return nil
			case <-tick.C:
				w.look(running)
			}
		}
	})
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("waiter: %w", err)
	}
	return nil
}

// take folds events: the life of masters that wait.
func (w *Waiter) take(stored []events.Stored, current bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range stored {
		if m.Subject.Family() != "request" {
			continue
		}
		e, litter, err := w.reader.Understand(m)
		if err != nil {
			return err
		}
		f, ok := e.Fact.(events.RequestFact)
		if litter != "" || !ok {
			continue
		}
		w.fold(f, e)
	}
	w.current = w.current || current
	return nil
}

func (w *Waiter) fold(f events.RequestFact, e events.Recorded) {
	if created, ok := f.(events.RequestCreated); ok && w.waiting[created.RequestID] == nil {
		if created.Kind == events.Master && created.State == events.WaitingForArtifacts && created.Tag != "" {
			w.waiting[created.RequestID] = &awaited{Request: request.Evolve(request.Request{}, f, e.Time), root: e.Root, pause: firstPause}
		}
		return
	}
	if a, ok := w.waiting[f.Whose()]; ok {
		if a.Request = request.Evolve(a.Request, f, e.Time); a.State != events.WaitingForArtifacts {
			delete(w.waiting, f.Whose())
		}
	}
}

// look asks for the artifacts whose time has come.
func (w *Waiter) look(ctx context.Context) {
	w.mu.Lock()
	now := w.Clock()
	var due []awaited
	for _, id := range slices.Sorted(maps.Keys(w.waiting)) {
		if a := w.waiting[id]; w.current && !now.Before(a.next) {
			a.next, a.pause = now.Add(a.pause), min(2*a.pause, lastPause)
			due = append(due, *a)
		}
	}
	w.mu.Unlock()
	for _, a := range due {
		if err := w.ask(ctx, a); err != nil && ctx.Err() == nil {
			w.Logger.Warn("an artifact could not be looked for, trying again", "request", a.ID, "tag", a.Artifact.Tag, "error", err)
		}
	}
}

func (w *Waiter) ask(ctx context.Context, a awaited) error {
	missing, err := Missing(ctx, w.Control, w.Artifacts, a.Artifact.Suite, a.Artifact.Tag)
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

// Missing returns a target that an artifact is not there for, empty when it is there for all that the suite measures
// by itself. Only a server of artifacts can be asked from here: what the machines of collectors have, and what they build,
// is there when they look.
func Missing(ctx context.Context, c *control.Control, store artifact.Ready, name events.SuiteName, tag events.Tag) (events.Target, error) {
	d, err := c.Definitions(ctx, name)
	if err != nil {
		return "", err
	}
	if d.Artifact.Kind != suite.ArtifactURL {
		return "", nil
	}
	return artifact.FirstMissing(ctx, store, d, tag, events.Parameters{})
}
