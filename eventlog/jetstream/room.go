package jetstream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// narrow is how much room there must be: with less the log counts as full, even if an event of a few bytes would fit.
const narrow = 64 << 10

// reserve is what batches leave of the room under a limit, for events that are stored alone and for what others store before the next
// look: a server alone that has no room in the middle of a batch tears it. Of a small limit it is a twentieth.
const reserve = 64 << 20

// room remembers that the server had no room for an append, and how much there was at the last look.
type room struct {
	// ask returns why the server stores nothing; it may be nil.
	ask func() *eventlog.FullError

	mu sync.Mutex
	// full is why the last append was refused that did not fit, and size how large it was; nil after a larger one was taken.
	full *eventlog.FullError
	size int64
	// near is the bound that batches reach first; without a kind none is known.
	near bound
}

// bound is a limit that this process sees.
type bound struct {
	// kind says what is full when it is reached; nil for no limit.
	kind *eventlog.FullError
	// left is the room under it, less what was appended since the last look. Batches leave the reserve.
	left, reserve int64
}

func boundOf(kind *eventlog.FullError, used, most int64) bound {
	if most <= 0 {
		return bound{left: 1 << 62}
	}
	return bound{kind: kind, left: most - used, reserve: min(reserve, most/20)}
}

func (b bound) forBatches() int64 { return b.left - b.reserve }

// sees takes the bounds at a look.
func (r *room) sees(bounds ...bound) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.near = slices.MinFunc(bounds, func(a, b bound) int { return cmp.Compare(a.forBatches(), b.forBatches()) })
}

// tooNarrow returns why a batch is not sent: the room that is known would not hold it and leave the reserve. It notes that as a refusal.
func (r *room) tooNarrow(size int64) *eventlog.FullError {
	r.mu.Lock()
	near := r.near
	r.mu.Unlock()
	if near.kind == nil || size <= near.forBatches() {
		return nil
	}
	r.refuse(size+near.reserve, near.kind)
	return near.kind
}

func (r *room) stopped() *eventlog.FullError {
	if r.ask == nil {
		return nil
	}
	return r.ask()
}

func (r *room) refuse(size int64, full *eventlog.FullError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full == nil || size < r.size {
		r.full, r.size = full, size
	}
}

func (r *room) took(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.near.left -= size
	if size >= r.size {
		r.full, r.size = nil, 0
	}
}

// left takes how many bytes there is room for, and returns the refusal that still holds. A refusal by a limit that this
// process sees is over when what was refused would fit; another one, when an append was taken.
func (r *room) left(bytes int64) *eventlog.FullError {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full != nil && r.full.Why != whyServer && bytes >= r.size {
		r.full, r.size = nil, 0
	}
	return r.full
}

// What is full in words. Only the server's own operator sees how full a server is.
const (
	whyLimit  = "it has reached its limit in bytes"
	whyServer = "its NATS server has stored all that it may"
)

const (
	nextLimit   = "make room on its disk and raise nats.max_bytes; on a cluster its operator raises the limit of the stream"
	nextAccount = "have the operator of NATS give the account more storage"
)

// fullBy returns what an answer of the server says about room; nil if it is about something else.
func fullBy(said *natsjs.APIError) *eventlog.FullError {
	switch {
	case said.ErrorCode == codeStoreFailed && strings.Contains(said.Description, "maximum"):
		return &eventlog.FullError{Why: whyLimit, Next: nextLimit}
	case said.ErrorCode == codeStoreFailed && strings.Contains(said.Description, "no space left"):
		return &eventlog.FullError{Why: "the disk of its server is full", Next: "free some of that disk"}
	case said.ErrorCode == codeServerFull:
		return &eventlog.FullError{Why: whyServer, Next: "give the server more room (max_file_store), after making room on its disk"}
	case said.ErrorCode == codeAccountFull:
		return &eventlog.FullError{Why: "its NATS account has stored all that it may", Next: nextAccount}
	}
	return nil
}

// sizeOf is about what the server counts for an append.
func sizeOf(staged []events.Stored) (size int64) {
	for _, s := range staged {
		size += int64(storedSize(s))
	}
	return size
}

// account adds what the log's account has stored and may store. One without a limit is asked again after a minute: a limit that
// somebody sets meanwhile shows in the refusal of an append.
func (l *Log) account(ctx context.Context, r *eventlog.Room) {
	if since := l.unlimited.Load(); since != nil && time.Since(*since) < time.Minute {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	account, err := l.js.AccountInfo(ctx)
	if err != nil {
		return // the account may be closed to this process, which is no fault
	}
	r.AccountBytes, r.AccountLimit = int64(account.Store), max(0, account.Limits.MaxStore)
	if now := time.Now(); r.AccountLimit == 0 {
		l.unlimited.Store(&now)
	}
}

// Room returns how full the log is, or was up to two seconds ago. Call it regularly: batches go by the room that it saw last, and an
// append that was torn counts until it sees the rest.
func (l *Log) Room(ctx context.Context) (eventlog.Room, error) {
	info, err := l.lately(ctx)
	if err != nil {
		return eventlog.Room{}, err
	}
	r := eventlog.Room{Bytes: int64(info.State.Bytes), Limit: max(0, info.Config.MaxBytes)}
	l.account(ctx, &r)
	stream := boundOf(&eventlog.FullError{Why: "it has almost reached its limit in bytes", Next: nextLimit}, r.Bytes, r.Limit)
	account := boundOf(&eventlog.FullError{Why: "its NATS account has stored almost all that it may", Next: nextAccount}, r.AccountBytes, r.AccountLimit)
	l.room.sees(stream, account)
	r.Full = l.room.stopped()
	if torn := l.standing(ctx); torn != nil && r.Full == nil {
		r.Full = torn.Full()
	}
	if refused := l.room.left(min(stream.left, account.left)); r.Full == nil {
		r.Full = refused
	}
	if r.Full == nil && r.Limit > 0 && r.Limit-r.Bytes < min(narrow, r.Limit/100) {
		r.Full = &eventlog.FullError{Why: whyLimit, Next: nextLimit}
	}
	return r, nil
}

// LimitError says that the wanted limit is below what the log holds.
type LimitError struct{ Used, Wanted int64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("nats.max_bytes is %d, and the log holds %s (%d bytes) and never forgets: the smallest limit that works is %d, and it leaves no room",
		e.Wanted, phrase.Bytes(e.Used), e.Used, e.Used)
}

// limit sets the limit of the log to the wanted one.
func (l *Log) limit(ctx context.Context) error {
	info, err := l.events.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.cfg.Name, err)
	}
	before, used := info.Config.MaxBytes, int64(info.State.Bytes)
	switch {
	case before == l.cfg.MaxBytes:
		return nil
	case used > l.cfg.MaxBytes:
		return &LimitError{Used: used, Wanted: l.cfg.MaxBytes}
	}
	changed := info.Config
	changed.MaxBytes = l.cfg.MaxBytes
	if err := compareConfig(l.cfg.eventsStream(), changed); err != nil {
		return err // the limit is not all that differs: change nothing
	}
	if _, err := l.js.UpdateStream(ctx, changed); err != nil {
		return fmt.Errorf("stream %s: set its limit to %d bytes: %w", l.cfg.Name, l.cfg.MaxBytes, err)
	}
	if l.cfg.Limited != nil {
		l.cfg.Limited(before, l.cfg.MaxBytes)
	}
	return nil
}
