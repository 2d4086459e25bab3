// Package shell reads the log once for all parts of one process, and carries out what they decide.
//
//	log ──▶ one follower ──▶ ledger ──▶ Decide (pure) ──▶ steps ──▶ log
//
// One goroutine owns the ledger. It takes events and ticks, asks each decider in turn, and never waits for the network.
// Separate goroutines carry out the steps of a decider (steps.go); meanwhile the shell does not ask that decider. It asks
// again once the ledger holds everything that the decider wrote, so nothing is decided twice. It asks no decider before
// the ledger has caught up with the log.
//
// An event of a type that this program does not know ends nothing (newer.go): the ledger stays as it is before that event,
// and no decider is asked, until the event is parked or a newer program runs.
//
// What a crash means: a decision that was not appended never happened. The next start decides it again from the same
// log.
package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/ledger"
)

// batch is how many events the shell takes at once.
const batch = 1000

// Decider decides on the ledger. Only the shell calls it, from one goroutine.
type Decider interface {
	// Told takes each fact that the ledger took. It reports whether the fact may need a decision at once; if not, the
	// shell asks the decider at the next tick.
	Told(f events.Fact) bool
	// Decide returns what to do. It must not ask others or wait.
	Decide(l *ledger.Ledger, now time.Time) []Step
}

// Config is what a Shell needs.
type Config struct {
	Log eventlog.Log
	// Tick is how often deciders are asked without news. 0 means one second.
	Tick   time.Duration
	Clock  func() time.Time
	Logger *slog.Logger
	// InFlight is how many steps of a decider are carried out at once. 0 means 64: beside the appends of others, one after another
	// would each wait behind all of these.
	InFlight int
	// Snapshots keeps copies of the ledger, so that the next start need not read the whole log; nil for none. The shell
	// makes one at a stop and after each Every events; 0 means 100,000.
	Snapshots eventlog.Snapshots
	Every     int
}

// Shell is one follower of the log with its deciders and listeners. Make it with New, and run it once.
type Shell struct {
	Config
	answers chan answer
	// keeper makes snapshots. Only the goroutine that owns the ledger uses it.
	keeper keeper
	// restored is set once the shell has looked for the newest snapshot. Begin sets it before Run.
	restored bool
	// aside is another ledger of the same log that obeys other parks. It takes the place of ledger once it has caught up.
	// The goroutine that owns the ledger owns it, too. told is the last event that the listeners were told of.
	aside *ledger.Ledger
	told  events.Seq
	// stuck says that the next event is not understood: nothing is taken. Only the goroutine that owns the ledger uses it.
	stuck bool

	// mu guards what follows. One goroutine changes ledger, current, newer and moved; many may read.
	mu        sync.RWMutex
	seats     []*seat
	listeners []func(events.Fact)

	ledger  *ledger.Ledger
	current bool
	// newer is the event before which the ledger stopped, until it has caught up again.
	newer *events.NewerError
	// moved is closed and replaced with each batch.
	moved chan struct{}
}

// seat holds the shell's state for one decider. Only the goroutine of the shell uses it.
type seat struct {
	Decider
	// news is set when a fact may need a decision. blind is set when another writer was first but it is unknown what it
	// wrote: the next events may be that.
	news, blind bool
	// busy is set while the decider's steps are carried out.
	busy bool
	// after is the last sequence that the decider wrote, or that another writer wrote first. The shell asks it again
	// once that is read.
	after events.Seq
}

// answer is the outcome of a decider's steps.
type answer struct {
	*seat
	Outcome
}

// New returns a shell without deciders and listeners.
func New(c Config) *Shell {
	c.Tick, c.Every, c.InFlight = cmp.Or(c.Tick, time.Second), cmp.Or(c.Every, 100_000), cmp.Or(c.InFlight, 64)
	return &Shell{Config: c, answers: make(chan answer), ledger: ledger.New(), moved: make(chan struct{})}
}

// Seat adds a decider.
func (s *Shell) Seat(d Decider) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seats = append(s.seats, &seat{Decider: d, news: true})
}

// Tell calls f with each fact that the ledger takes from now on. f must not wait.
func (s *Shell) Tell(f func(events.Fact)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, f)
}

// Run reads and decides until ctx ends. It returns an error only when it cannot continue: the log has a gap.
func (s *Shell) Run(ctx context.Context) error {
	for {
		err := s.follow(ctx)
		switch {
		case ctx.Err() != nil && !fatal(err), err == nil:
			s.keepLast(ctx)
			return nil
		case !errors.Is(err, errParks):
			return fmt.Errorf("follow the log: %w", err)
		}
	}
}

// follow reads and decides until ctx ends, or until other events are parked than the ledger obeys (errParks).
func (s *Shell) follow(ctx context.Context) error {
	s.rise()
	g, running := errgroup.WithContext(ctx)
	batches := make(chan read)
	g.Go(func() error { return s.read(running, batches) })
	g.Go(func() error { return s.loop(running, g, batches) })
	return g.Wait()
}

// fatal reports whether an error of reading the log is not worth a retry.
func fatal(err error) bool {
	var gap *eventlog.GapError
	return errors.As(err, &gap)
}

// read is a batch of events. It is current if it reaches the end that the log had when the reading began.
type read struct {
	stored  []events.Stored
	current bool
}

// read sends the events of the log, then new ones as they come. If the cursor breaks, it makes a new one at the same
// place.
func (s *Shell) read(ctx context.Context, batches chan<- read) error {
	var at events.Seq
	begun := false
	pause := retry.Pauses(50*time.Millisecond, s.Tick)
	return backoff.RetryNotify(func() (err error) {
		if !begun {
			if at, err = s.begin(ctx); err != nil {
				return err
			}
			begun = true
		}
		err = s.readFrom(ctx, at, func(b read) error {
			pause.Reset()
			if n := len(b.stored); n > 0 {
				at = b.stored[n-1].Seq
			}
			select {
			case batches <- b:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if fatal(err) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(pause, ctx), func(err error, _ time.Duration) {
		s.Logger.WarnContext(ctx, "the log cannot be followed, trying again", "error", err)
	})
}

func (s *Shell) readFrom(ctx context.Context, at events.Seq, give func(read) error) error {
	cursor, err := s.Log.Follow(ctx, at)
	if err != nil {
		return err
	}
	defer cursor.Close()
	head, err := s.Log.Head(ctx)
	if err != nil {
		return err
	}
	if head.Last <= at {
		if err := give(read{current: true}); err != nil {
			return err
		}
	}
	for {
		stored, err := cursor.Next(ctx, batch)
		if err != nil {
			return err
		}
		if err := give(read{stored, stored[len(stored)-1].Seq >= head.Last}); err != nil {
			return err
		}
	}
}

// loop owns the ledger.
func (s *Shell) loop(ctx context.Context, workers *errgroup.Group, batches <-chan read) error {
	tick := time.NewTimer(retry.Next(s.Tick))
	defer tick.Stop()
	parked, asking := make(chan bool), false
	for {
		ticked, more := false, batches
		if s.stuck {
			more = nil // nothing behind that event is taken
		}
		select {
		case <-ctx.Done():
			return nil
		case changed := <-parked:
			if asking = false; changed {
				return errParks
			}
		case b := <-more:
			if err := s.take(b); err != nil {
				return err
			}
		case a := <-s.answers:
			a.busy, a.after, a.news, a.blind = false, max(a.after, a.After), a.news || a.First && !a.Unknown, a.Unknown
		case <-tick.C:
			ticked = true
			tick.Reset(retry.Next(s.Tick))
			if s.stuck && !asking {
				asking = true
				obeyed := s.folded().Parks
				workers.Go(func() error { s.askParks(ctx, obeyed, parked); return nil })
			}
		}
		s.keepSome(ctx, workers)
		for _, seat := range s.ready() {
			if seat.busy || s.ledger.Seq < seat.after || !seat.news && !ticked {
				continue
			}
			seat.news = false
			if steps := seat.Decide(s.ledger, s.Clock()); len(steps) > 0 {
				seat.busy = true
				workers.Go(func() error {
					select {
					case s.answers <- answer{seat, CarryOut(ctx, steps, s.InFlight, s.Logger)}:
					case <-ctx.Done():
					}
					return nil
				})
			}
		}
	}
}

// ready returns the deciders that may be asked: none before the ledger has caught up.
func (s *Shell) ready() []*seat {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.current {
		return nil
	}
	return slices.Clone(s.seats)
}

// take folds a batch into the ledger. It stops before an event that this program does not understand. The error is
// errParks when the batch says that other events are parked than the ledger obeys.
func (s *Shell) take(b read) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		for _, seat := range s.seats {
			seat.news, seat.blind = seat.news || seat.blind, false
		}
		close(s.moved)
		s.moved = make(chan struct{})
	}()
	into := s.folded()
	for _, m := range b.stored {
		if m.Subject == events.ParkSubject() && m.Seq > into.Parks {
			return errParks
		}
		fact, err := into.Take(m)
		var newer *events.NewerError
		if errors.As(err, &newer) {
			s.stop(newer)
			s.stuck = true
			return nil
		}
		if err != nil {
			return err
		}
		s.keeper.last = m.Header[events.HeaderID]
		s.tell(m.Seq, fact)
	}
	if b.current {
		s.arrive()
	}
	return nil
}

// tell tells deciders and listeners of a fact, unless they know it from the ledger before. The caller holds mu.
func (s *Shell) tell(seq events.Seq, fact events.Fact) {
	if seq <= s.told {
		return
	}
	s.told = seq
	if fact == nil {
		return
	}
	for _, seat := range s.seats {
		seat.news = seat.Told(fact) || seat.news
	}
	for _, tell := range s.listeners {
		tell(fact)
	}
}

// arrive notes that the ledger holds all that the log held when the reading began. The caller holds mu.
func (s *Shell) arrive() {
	if s.aside != nil {
		s.ledger, s.aside = s.aside, nil
		s.keeper.tried = min(s.keeper.tried, s.ledger.Seq)
	}
	if s.newer != nil {
		s.Logger.Warn("the log is understood again: decisions go on", "event", s.ledger.Seq)
		s.newer = nil
	}
	if !s.current {
		s.caughtUp()
	}
	s.current = true
}

// View calls look with the ledger. look must only read, and must not wait.
func (s *Shell) View(look func(*ledger.Ledger)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	look(s.ledger)
}

// Position returns the last event in the ledger, and whether the ledger has caught up with the log. A ledger that has
// stopped (Newer) has not.
func (s *Shell) Position() (at events.Seq, current bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ledger.Seq, s.current
}

// Wait returns nil once the ledger holds everything up to seq and has caught up with the log, or else the error of ctx.
func (s *Shell) Wait(ctx context.Context, seq events.Seq) error {
	for {
		s.mu.RLock()
		there, moved := s.current && s.ledger.Seq >= seq, s.moved
		s.mu.RUnlock()
		if there {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
