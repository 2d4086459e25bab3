package door

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tachobench/tacho/events"
)

// Bounds are what one collector may take of the core. A collector that works needs a few requests a second; the rest
// is room for the end of an outage. The log keeps what it takes for ever, so its bytes are counted over a day.
type Bounds struct {
	// Requests and their Burst are per second and at once.
	Requests, Burst int
	// EventBytes and OutputBytes are per second; each has a burst.
	EventBytes, EventBurst   int
	OutputBytes, OutputBurst int
	// ReadBytes are what it may have read to it.
	ReadBytes, ReadBurst int
	// AtOnce is how many requests of one collector are worked on at once.
	AtOnce int
	// Excess is how many requests beyond the bounds, or refused for what they are, cut a collector off within
	// ExcessWithin. A client that obeys never comes near it.
	Excess       int
	ExcessWithin time.Duration
	// Messages and Bytes are what a connection may send per second, to whatever subject.
	Messages, Bytes int64
	// CutFor is how long a collector is cut off the first time. It doubles up to CutAtMost, and is CutFor again after
	// CutAtMost without a cut.
	CutFor, CutAtMost time.Duration
	// Quiet is how long a collector must keep to the rules before an alert about it is over.
	Quiet time.Duration
}

// DefaultBounds returns the bounds of a farm.
func DefaultBounds() Bounds {
	return Bounds{
		Requests: 200, Burst: 1000, EventBytes: 64 << 10, EventBurst: 64 << 20, OutputBytes: 256 << 10, OutputBurst: 16 << 20,
		ReadBytes: 1 << 20, ReadBurst: 256 << 20,
		AtOnce: 8, Excess: 500, ExcessWithin: 10 * time.Second, Messages: 5000, Bytes: 32 << 20,
		CutFor: 5 * time.Second, CutAtMost: 10 * time.Minute, Quiet: 10 * time.Minute,
	}
}

// account is what the door knows of the manners of one collector. Its mutex guards all of it.
type account struct {
	bounds Bounds

	mu       sync.Mutex
	requests *rate.Limiter
	events   *rate.Limiter
	output   *rate.Limiter
	reads    *rate.Limiter
	busy     int
	// excess counts since; it begins anew after ExcessWithin.
	excess int
	since  time.Time
	// cutUntil ends the present cut; cutFor is how long the last one was.
	cutUntil time.Time
	cutFor   time.Duration
	// offended is when it last did what a person should know of.
	offended time.Time
	// leave takes the wait for a job back; waiting numbers those waits.
	leave   func()
	waiting uint64
}

func newAccount(b Bounds) *account {
	return &account{
		bounds: b, requests: rate.NewLimiter(rate.Limit(b.Requests), b.Burst),
		events: rate.NewLimiter(rate.Limit(b.EventBytes), b.EventBurst), output: rate.NewLimiter(rate.Limit(b.OutputBytes), b.OutputBurst),
		reads: rate.NewLimiter(rate.Limit(b.ReadBytes), b.ReadBurst),
	}
}

// verdict is what becomes of a request.
type verdict int

const (
	admitted verdict = iota
	// later: it is told to ask again.
	later
	// dropped: it is not even answered.
	dropped
)

// admit decides on a request of n bytes. A wait says when to ask again. Every admitted request ends with done.
func (a *account) admit(v Verb, n int, now time.Time) (verdict, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.cutUntil) {
		return dropped, 0
	}
	wait := waitFor(a.requests, 1, now)
	// What is not stored costs no bytes.
	//exhaustive:ignore
	switch v {
	case verbAppend:
		wait = max(wait, waitFor(a.events, n, now))
	case verbOutput:
		wait = max(wait, waitFor(a.output, n, now))
	case verbRead:
		wait = max(wait, waitFor(a.reads, 1, now))
	}
	if wait == 0 && a.busy >= a.bounds.AtOnce && v != verbLeave {
		wait = 10 * time.Millisecond
	}
	if wait > 0 {
		if a.count(now) > a.bounds.Excess/2 {
			return dropped, 0 // an answer would cost more than the request
		}
		return later, wait
	}
	a.requests.AllowN(now, 1)
	//exhaustive:ignore
	switch v {
	case verbAppend:
		a.events.AllowN(now, n)
	case verbOutput:
		a.output.AllowN(now, n)
	}
	a.busy++
	return admitted, 0
}

// waitFor returns how long a limiter wants n to wait, and takes nothing.
func waitFor(l *rate.Limiter, n int, now time.Time) time.Duration {
	missing := float64(min(n, l.Burst())) - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(missing/float64(l.Limit())*float64(time.Second)))
}

// charge takes n bytes that are known only when a request has been read or answered: the collector pays for them before
// its next one.
func charge(l *rate.Limiter, n int, now time.Time) { l.ReserveN(now, min(n, l.Burst())) }

func (a *account) done() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy--
}

// count counts a request beyond the bounds and returns how many there were lately. The caller holds mu.
func (a *account) count(now time.Time) int {
	if now.Sub(a.since) > a.bounds.ExcessWithin {
		a.since, a.excess = now, 0
	}
	a.excess++
	return a.excess
}

// offend counts a request that was refused for what it is.
func (a *account) offend(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count(now)
	a.offended = now
}

// overdue reports whether the collector is to be cut off now, which begins the cut.
func (a *account) overdue(now time.Time) (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.excess <= a.bounds.Excess || now.Before(a.cutUntil) {
		return 0, false
	}
	return a.cutLocked(now), true
}

// cut begins a cut and returns how long it is; 0 while one goes on.
func (a *account) cut(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.cutUntil) {
		return 0
	}
	return a.cutLocked(now)
}

func (a *account) cutLocked(now time.Time) time.Duration {
	if now.Sub(a.cutUntil) > a.bounds.CutAtMost {
		a.cutFor = 0
	}
	a.cutFor = min(max(2*a.cutFor, a.bounds.CutFor), a.bounds.CutAtMost)
	a.cutUntil, a.excess = now.Add(a.cutFor), 0
	a.offended = now
	return a.cutFor
}

// quiet returns for how long the collector has kept to the rules.
func (a *account) quiet(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.Sub(a.offended)
}

func (a *account) isCut(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.Before(a.cutUntil)
}

// Guard knows the keys and the manners of all collectors. It exists before the door does, because the server asks it
// for the account of each key.
type Guard struct {
	books  *books
	bounds Bounds
	clock  func() time.Time

	mu  sync.Mutex
	all map[events.CollectorName]*account
}

// NewGuard returns a guard that knows nobody until it is given a ledger.
func NewGuard(b Bounds, clock func() time.Time) *Guard {
	return &Guard{books: newBooks(), bounds: b, clock: clock, all: map[events.CollectorName]*account{}}
}

// Learn gives the guard the ledger that it knows the collectors from. Whoever feeds the ledger tells the guard of each
// fact.
func (g *Guard) Learn(from Ledger) { g.books.from.Store(&from) }

// Told is given each fact that the ledger took.
func (g *Guard) Told(f events.Fact) {
	// The others change no key.
	//exhaustive:ignore
	switch f.(type) {
	case events.RegistryCopied, events.CollectorKeyRotated, events.CollectorRemoved:
		select {
		case g.books.changed <- struct{}{}:
		default:
		}
	}
}

// Why a key opens nothing.
var (
	// ErrReading says that nothing is known yet of what the rest of the log says.
	ErrReading    = errors.New("the core is still reading the log")
	errUnknownKey = errors.New("no collector has this key")
	errCutOff     = errors.New("the collector is cut off for a while")
)

// Account returns the account that a public key opens now: the collector's own, which has its name. A key that is not known
// while the log is being read may stand in the rest of it (ErrReading).
func (g *Guard) Account(publicKey string) (string, error) {
	// This comes first: a key that is not known although the end was reached is unknown.
	reading := g.books.reading()
	name, ok := g.books.account(publicKey)
	switch {
	case !ok && reading != nil:
		return "", reading
	case !ok:
		return "", errUnknownKey
	case g.of(name).isCut(g.clock()):
		return "", errCutOff
	}
	return string(name), nil
}

// At returns how far the guard has read the log.
func (g *Guard) At() events.Seq { return g.books.position() }

// Ready waits until the guard has read all that was in the log when it began: before that the door is closed.
func (g *Guard) Ready(ctx context.Context) error { return g.books.wait(ctx, 0) }

func (g *Guard) of(name events.CollectorName) *account {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.all[name]
	if known == nil {
		known = newAccount(g.bounds)
		g.all[name] = known
	}
	return known
}

// each calls f for every collector that was heard of.
func (g *Guard) each(f func(events.CollectorName, *account)) {
	g.mu.Lock()
	all := maps.Clone(g.all)
	g.mu.Unlock()
	for name, known := range all {
		f(name, known)
	}
}

// tooFast says in words what a collector does beyond its bounds.
func tooFast(b Bounds) string {
	return fmt.Sprintf("it goes on asking faster than %d requests a second, or with more than %d KiB a second for the log, after it was told to wait",
		b.Requests, b.EventBytes>>10)
}
