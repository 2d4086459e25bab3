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

// Bounds limit what one collector may ask of the core. A working collector needs a few requests a second; the rest is
// room for the end of an outage. The log keeps everything for ever, so EventBytes is low and EventBurst high: the bytes
// are counted over a long time.
type Bounds struct {
	// Requests is per second, Burst is how many at once.
	Requests, Burst int
	// EventBytes and OutputBytes are per second; each has a burst. That of the output takes all that a job leaves behind.
	EventBytes, EventBurst   int
	OutputBytes, OutputBurst int
	// ReadBytes is how much the door reads out to it per second.
	ReadBytes, ReadBurst int
	// StoreBytes is how much of outputs it may store per second, FetchBytes how much it may fetch. CarriedAtOnce is how many
	// requests with chunks the door works on at the same time: one that is too fast waits in the door.
	StoreBytes, StoreBurst int
	FetchBytes, FetchBurst int
	CarriedAtOnce          int
	// AtOnce is how many requests of one collector the door works on at the same time.
	AtOnce int
	// Excess is how many requests within ExcessWithin, beyond the bounds or refused as an offence, cut a collector off.
	// A client that waits when told to never comes near it.
	Excess       int
	ExcessWithin time.Duration
	// Messages and Bytes are what a connection may send per second, on all subjects.
	Messages, Bytes int64
	// CutFor is how long a collector is cut off the first time. Each further cut doubles it, up to CutAtMost. After
	// CutAtMost without a cut it starts at CutFor again.
	CutFor, CutAtMost time.Duration
	// Quiet is how long a collector must keep the rules before the alert about it is cleared.
	Quiet time.Duration
}

// DefaultBounds returns the bounds of a farm.
func DefaultBounds() Bounds {
	return Bounds{
		Requests: 200, Burst: 1000, EventBytes: 64 << 10, EventBurst: 64 << 20, OutputBytes: 2 << 20, OutputBurst: 80 << 20,
		ReadBytes: 1 << 20, ReadBurst: 256 << 20,
		StoreBytes: 128 << 20, StoreBurst: 32 << 20, FetchBytes: 256 << 20, FetchBurst: 64 << 20, CarriedAtOnce: 8,
		AtOnce: 8, Excess: 500, ExcessWithin: 10 * time.Second, Messages: 5000, Bytes: 32 << 20,
		CutFor: 5 * time.Second, CutAtMost: 10 * time.Minute, Quiet: 10 * time.Minute,
	}
}

// account is what the door knows about the behaviour of one collector. Its mutex guards all of it.
type account struct {
	bounds Bounds

	mu       sync.Mutex
	requests *rate.Limiter
	events   *rate.Limiter
	output   *rate.Limiter
	reads    *rate.Limiter
	stores   *rate.Limiter
	fetches  *rate.Limiter
	busy     int
	// carried counts the requests with chunks that are being worked on.
	carried int
	// excess counts offending requests since the time since. It starts again after ExcessWithin.
	excess int
	since  time.Time
	// cutUntil is the end of the present cut, cutFor the length of the last one.
	cutUntil time.Time
	cutFor   time.Duration
	// offended is when it last did something that a person should know about.
	offended time.Time
	// leave ends the present wait for a job. waiting numbers the waits.
	leave   func()
	waiting uint64
}

func newAccount(b Bounds) *account {
	return &account{
		bounds: b, requests: rate.NewLimiter(rate.Limit(b.Requests), b.Burst),
		events: rate.NewLimiter(rate.Limit(b.EventBytes), b.EventBurst), output: rate.NewLimiter(rate.Limit(b.OutputBytes), b.OutputBurst),
		reads:  rate.NewLimiter(rate.Limit(b.ReadBytes), b.ReadBurst),
		stores: rate.NewLimiter(rate.Limit(b.StoreBytes), b.StoreBurst), fetches: rate.NewLimiter(rate.Limit(b.FetchBytes), b.FetchBurst),
	}
}

// verdict says what the door does with a request.
type verdict int

const (
	admitted verdict = iota
	// later: the door tells the collector to ask again.
	later
	// dropped: the door does not answer.
	dropped
)

// admit decides on a request of n bytes. For later it returns how long to wait, and for admitted how long the door waits
// before it works on it. Call done at the end of every admitted request.
func (a *account) admit(v Verb, n int, now time.Time) (verdict, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.cutUntil) {
		return dropped, 0
	}
	if carries(v) {
		return a.carry(v, now)
	}
	wait := waitFor(a.requests, 1, now)
	// Other requests store nothing, so they cost no bytes.
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

// waitFor returns how long n tokens must wait for the limiter. It takes none.
func waitFor(l *rate.Limiter, n int, now time.Time) time.Duration {
	missing := float64(min(n, l.Burst())) - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(missing/float64(l.Limit())*float64(time.Second)))
}

// charge takes n bytes that are known only after a request was admitted: the collector's next request waits for them.
// Charge before you send: a collector that has its answer asks again at once.
func charge(l *rate.Limiter, n int, now time.Time) { l.ReserveN(now, min(n, l.Burst())) }

func (a *account) done(v Verb) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if carries(v) {
		a.carried--
		return
	}
	a.busy--
}

// count counts an offending request and returns how many there were within ExcessWithin. The caller holds mu.
func (a *account) count(now time.Time) int {
	if now.Sub(a.since) > a.bounds.ExcessWithin {
		a.since, a.excess = now, 0
	}
	a.excess++
	return a.excess
}

// offend counts a request that was refused as an offence.
func (a *account) offend(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count(now)
	a.offended = now
}

// overdue cuts the collector off if it has offended too often. It returns the length of the cut and whether it began
// one.
func (a *account) overdue(now time.Time) (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.excess <= a.bounds.Excess || now.Before(a.cutUntil) {
		return 0, false
	}
	return a.cutLocked(now), true
}

// cut begins a cut and returns its length; 0 if a cut is already in effect.
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

// quiet returns for how long the collector has kept the rules.
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

// Guard knows the keys and the behaviour of all collectors. It exists before the door, because the server asks it for
// the account of each key.
type Guard struct {
	books  *books
	bounds Bounds
	clock  func() time.Time

	mu  sync.Mutex
	all map[events.CollectorName]*account
}

// NewGuard returns a guard that knows no collector until Learn gives it a ledger.
func NewGuard(b Bounds, clock func() time.Time) *Guard {
	return &Guard{books: newBooks(), bounds: b, clock: clock, all: map[events.CollectorName]*account{}}
}

// Learn gives the guard the ledger with the collectors. The owner of the ledger must pass each fact to Told.
func (g *Guard) Learn(from Ledger) { g.books.from.Store(&from) }

// Told takes each fact that the ledger took.
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

// The reasons why a key is refused.
var (
	// ErrReading says that the ledger has not read the whole log yet.
	ErrReading    = errors.New("the core is still reading the log")
	errUnknownKey = errors.New("no collector has this key")
	errCutOff     = errors.New("the collector is cut off for a while")
)

// Account returns the account of a public key: it has the name of the collector. If the key is unknown while the log is
// still being read, the rest of the log may have it: then the error is ErrReading.
func (g *Guard) Account(publicKey string) (string, error) {
	// Ask this first: only a key that is missing after the end was reached is really unknown.
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

// Ready waits until the guard has read everything that was in the log at the start: until then the door is closed. It is
// open for what goes on while the ledger stays at an event that is not understood.
func (g *Guard) Ready(ctx context.Context) error {
	for {
		soon, cancel := context.WithTimeout(ctx, lookEvery)
		err := g.books.wait(soon, 0)
		cancel()
		if err == nil || errors.Is(err, events.ErrUnknownType) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

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

// each calls f for every collector that has sent something.
func (g *Guard) each(f func(events.CollectorName, *account)) {
	g.mu.Lock()
	all := maps.Clone(g.all)
	g.mu.Unlock()
	for name, known := range all {
		f(name, known)
	}
}

// tooFast says in words how a collector exceeds its bounds.
func tooFast(b Bounds) string {
	return fmt.Sprintf("it was told to wait, but keeps asking faster than %d requests a second, or with more than %d KiB a second for the log",
		b.Requests, b.EventBytes>>10)
}
