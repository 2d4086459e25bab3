package door

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/internal/retry"
)

// GiveUp is how long a collector keeps trying when its key is refused: a key that was rotated during a job may reach
// the machine some minutes later.
const GiveUp = 10 * time.Minute

// line is a connection that is made again when the server has closed it for good, as it does when a key becomes
// invalid.
type line struct {
	dial Dial
	// ctx ends with close, which waits for redialling to stop.
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu sync.Mutex
	nc *nats.Conn
	// up ends when the connection is lost. What was asked over it is answered no more.
	up context.Context
	// broken is why there is no connection. It is final once done is set.
	broken error
	done   bool
}

func newLine(ctx context.Context, dial Dial) (*line, error) {
	nc, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	l := &line{dial: dial}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.use(nc)
	return l, nil
}

// use makes the line use a new connection. The caller must not hold mu.
func (l *line) use(nc *nats.Conn) {
	up, lost := context.WithCancel(l.ctx)
	l.mu.Lock()
	l.nc, l.broken, l.up = nc, nil, up
	l.mu.Unlock()
	changed := nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	l.tasks.Go(func() {
		defer nc.RemoveStatusListener(changed)
		for {
			select {
			case status := <-changed:
				lost()
				if status == nats.CLOSED || nc.IsClosed() {
					l.redial(nc)
					return
				}
				up, lost = context.WithCancel(l.ctx)
				l.mu.Lock()
				l.up = up
				l.mu.Unlock()
			case <-l.ctx.Done():
				lost()
				return
			}
		}
	})
	if nc.IsClosed() { // it closed before the listener was set
		l.tasks.Go(func() { l.redial(nc) })
	}
}

// redial connects again until it succeeds, the line is closed, or it has failed for GiveUp.
func (l *line) redial(closed *nats.Conn) {
	l.mu.Lock()
	if l.nc != closed || l.broken != nil { // another call redials or has redialled already
		l.mu.Unlock()
		return
	}
	l.broken = nats.ErrConnectionClosed
	if why := closed.LastError(); why != nil {
		l.broken = why
	}
	l.mu.Unlock()
	began := time.Now()
	for l.ctx.Err() == nil {
		nc, err := l.dial(l.ctx)
		if err == nil {
			if l.ctx.Err() != nil {
				nc.Close()
				return
			}
			l.use(nc)
			return
		}
		l.mu.Lock()
		l.broken = err
		l.done = !errors.Is(err, eventlog.ErrUnavailable) && time.Since(began) > GiveUp
		over := l.done
		l.mu.Unlock()
		if over {
			return
		}
		retry.Sleep(l.ctx, time.Second)
	}
}

// conn returns the connection, or why there is none.
func (l *line) conn() (*nats.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.done:
		return nil, l.broken
	case l.broken != nil:
		return nil, fmt.Errorf("%w: %w", nats.ErrDisconnected, l.broken)
	}
	return l.nc, nil
}

// bound returns a context that ends after a while, and when the connection that is in use now is lost.
func (l *line) bound(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, within)
	l.mu.Lock()
	defer l.mu.Unlock()
	stop := context.AfterFunc(l.up, cancel)
	return ctx, func() { stop(); cancel() }
}

// failed returns why the line is closed for good; nil while it is not.
func (l *line) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return l.broken
	}
	return nil
}

// explain turns the error of a closed connection into one that is worth another try: the line makes a new connection.
func (l *line) explain(err error) error {
	if errors.Is(err, nats.ErrConnectionClosed) && l.ctx.Err() == nil {
		return fmt.Errorf("%w: %w", nats.ErrDisconnected, err)
	}
	return err
}

func (l *line) close() {
	l.cancel()
	l.mu.Lock()
	nc := l.nc
	if l.broken == nil {
		l.broken = nats.ErrConnectionClosed
	}
	l.done = true
	l.mu.Unlock()
	nc.Close()
	l.tasks.Wait()
}
