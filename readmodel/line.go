package readmodel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/internal/retry"
)

// AwayError says that the database does not answer. Nothing was asked: a question before was not answered.
type AwayError struct {
	// Since is when the first question without an answer was asked.
	Since time.Time
}

func (e *AwayError) Error() string {
	return "Postgres does not answer since " + e.Since.UTC().Format(time.RFC3339)
}

// Line makes the connections to one database, and asks it twice a second for a sign of life. A server that stands still, or
// that a cut cable separates, closes no connection: a question to it is never answered. When no sign came for a while, the
// Line closes all its connections, so that everybody who waits gets an error, and refuses to make new ones, so that the next
// ones get it at once. It makes connections again with the next sign, half a second after the server is back.
//
// While nobody waits for an answer it asks less often.
//
// A server that refuses connections, or ends them, needs none of that: its clients notice by themselves.
type Line struct {
	config   *pgx.ConnConfig
	dialed   pgconn.DialFunc
	patience int
	stop     context.CancelFunc
	pulse    sync.WaitGroup
	// asked is set when somebody asks something, and woken wakes the loop that waits for that.
	asked atomic.Bool
	woken chan struct{}

	// mu guards the rest.
	mu    sync.Mutex
	open  map[*lineConn]struct{}
	since time.Time
	// up ends when the server is found away: whoever dials stops then.
	up   context.Context
	fall context.CancelFunc
}

const (
	// pulseEvery is the pause between two signs of life, and the unit in which patience is counted. A process that stood still
	// loses one unit at most: the answer may have come meanwhile.
	pulseEvery = 500 * time.Millisecond
	// busyPulses is for how many pulses a question may last: every pulse is a question for a sign of life until it is answered, or
	// until then. No read of people takes longer (longWithin). Otherwise each idlePulses-th pulse is one.
	busyPulses = int(longWithin / pulseEvery)
	idlePulses = 10
	// connectWithin bounds one try to connect, unless the URL says less.
	connectWithin = 2500 * time.Millisecond
)

// NewLine makes the configuration connect through a new Line, which takes patience for the time without an answer. Call Close at
// the end.
func NewLine(config *pgx.ConnConfig, patience time.Duration) *Line {
	if config.ConnectTimeout == 0 || config.ConnectTimeout > max(connectWithin, patience) {
		config.ConnectTimeout = max(connectWithin, patience)
	}
	run, stop := context.WithCancel(context.Background())
	l := &Line{dialed: config.DialFunc, patience: max(1, int(patience/pulseEvery)), stop: stop, open: map[*lineConn]struct{}{}, woken: make(chan struct{}, 1)}
	l.up, l.fall = context.WithCancel(run)
	l.config = config.Copy()
	l.config.Tracer, l.config.RuntimeParams = nil, map[string]string{}
	l.config.DialFunc = l.dialed
	config.DialFunc = l.dial
	l.pulse.Go(func() { l.run(run) })
	return l
}

// Close ends the signs of life.
func (l *Line) Close() {
	l.stop()
	l.pulse.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fall()
}

// Away returns since when the database does not answer; nil while it does.
func (l *Line) Away() *AwayError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return nil
	}
	return &AwayError{l.since}
}

// lineConn is a connection that its Line can close.
type lineConn struct {
	net.Conn
	line *Line
	// waits says that something was asked and its answer has not ended.
	waits atomic.Bool
}

func (c *lineConn) Write(b []byte) (int, error) {
	c.waits.Store(true)
	if !c.line.asked.Swap(true) {
		select {
		case c.line.woken <- struct{}{}:
		default:
		}
	}
	return c.Conn.Write(b)
}

// Read notes the end of an answer: the server is ready for the next question. In an encrypted connection nobody sees that, so the
// Line asks for signs of life as if the answer had not come.
func (c *lineConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if ready(b[:n]) {
		c.waits.Store(false)
	}
	return n, err
}

// ready reports whether bytes of the server end with its message ReadyForQuery: Z, its length, and a state of the transaction.
func ready(b []byte) bool {
	const message = "Z\x00\x00\x00\x05"
	end := len(b) - 1
	return end >= len(message) && string(b[end-len(message):end]) == message
}

func (c *lineConn) Close() error {
	c.line.mu.Lock()
	delete(c.line.open, c)
	c.line.mu.Unlock()
	return c.Conn.Close()
}

func (l *Line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if away := l.Away(); away != nil {
		return nil, away
	}
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(up, cancel)()
	conn, err := l.dialed(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &lineConn{Conn: conn, line: l}
	l.mu.Lock()
	l.open[c] = struct{}{}
	l.mu.Unlock()
	if up.Err() != nil { // it was found away at this moment
		return nil, errors.Join(fmt.Errorf("connect: %w", net.ErrClosed), c.Close())
	}
	return c, nil
}

// run asks for signs of life until ctx ends.
func (l *Line) run(ctx context.Context) {
	var conn *pgx.Conn
	for idle := 0; ; idle++ {
		if l.asked.Swap(false) || l.Away() != nil {
			idle = 0
		}
		asked := time.Now()
		answered := l.patiently(ctx, func(ctx context.Context) (err error) {
			if conn == nil || conn.IsClosed() {
				if conn, err = pgx.ConnectConfig(ctx, l.config); err != nil {
					return err
				}
			}
			return conn.Ping(ctx)
		})
		if ctx.Err() == nil {
			l.note(asked, answered)
		}
		if busy := l.Away() != nil || idle < busyPulses && l.waits(); busy && !retry.Together(ctx, pulseEvery) || !busy && !l.rest(ctx) {
			break
		}
	}
	if conn != nil {
		_ = conn.Close(ctx) // ctx has ended, so it closes at once
	}
}

// waits reports whether somebody waits for an answer.
func (l *Line) waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if c.waits.Load() {
			return true
		}
	}
	return false
}

// rest waits for idlePulses, or until a question has no answer at the next pulse. It returns false if ctx ended first.
func (l *Line) rest(ctx context.Context) bool {
	quiet := time.NewTimer(retry.Next(idlePulses * pulseEvery))
	defer quiet.Stop()
	for {
		select {
		case <-quiet.C:
			return true
		case <-l.woken:
			if !retry.Together(ctx, pulseEvery) {
				return false
			}
			l.asked.Store(false)
			if l.waits() {
				l.asked.Store(true)
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// patiently asks, and reports whether an answer came in time. An error is an answer, too.
func (l *Line) patiently(ctx context.Context, ask func(context.Context) error) bool {
	ctx, cancel := context.WithCancel(ctx)
	answer := make(chan error, 1)
	var asking sync.WaitGroup
	asking.Go(func() { answer <- ask(ctx) })
	defer asking.Wait()
	defer cancel()
	for range l.patience {
		select {
		case <-answer:
			return true
		case <-time.After(pulseEvery):
		case <-ctx.Done():
			return true
		}
	}
	return false
}

// note takes whether the server answered what was asked at a time.
func (l *Line) note(asked time.Time, answered bool) {
	l.mu.Lock()
	before := !l.since.IsZero()
	var cut []*lineConn
	switch {
	case answered:
		l.since = time.Time{}
		if before {
			l.up, l.fall = context.WithCancel(context.Background())
		}
	case !before:
		l.since = asked
		l.fall()
		for c := range l.open {
			cut = append(cut, c)
		}
	}
	l.mu.Unlock()
	for _, c := range cut {
		_ = c.Close() // whoever uses it gets an error
	}
}

// Connect is pgx.Connect for a server that may take connections and answer nothing.
func Connect(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 2 * connectWithin
	}
	return pgx.ConnectConfig(ctx, config)
}
