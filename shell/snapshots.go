package shell

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

const (
	// Fold names the ledger among the snapshots.
	Fold = "ledger"
	// keepTimeout bounds how long a stop waits for its snapshot.
	keepTimeout = 5 * time.Second
	// longRead is how many events must be read before the shell tells the operator that a start takes time.
	longRead = 50_000
)

// keeper knows the snapshots of the ledger. Its fields belong to the goroutine that owns the ledger, except the atomic
// ones.
type keeper struct {
	// identity is the identity of the log, last the id of the last event that was taken.
	identity, last string
	// tried is the last event in the last snapshot that the shell tried to store, kept that in the last one that was
	// stored.
	tried events.Seq
	kept  atomic.Uint64
	// busy is set while a snapshot is written.
	busy atomic.Bool
	// began is when the reading began, from the event after which it began.
	began time.Time
	from  events.Seq
}

// Begin loads the newest snapshot that fits, so that Run need not. A start calls it in parallel with the other things
// that it waits for. If it fails, Run tries again.
func (s *Shell) Begin(ctx context.Context) {
	if _, err := s.restore(ctx); err != nil {
		if ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "the snapshots could not be read yet, trying again", "error", err)
		}
		return
	}
	s.restored = true
}

// restore loads the newest snapshot that fits the log, and returns its last event; 0 without a snapshot. It logs a
// snapshot that is damaged or does not fit, and leaves it alone.
func (s *Shell) restore(ctx context.Context) (events.Seq, error) {
	head, err := s.Log.Head(ctx)
	if err != nil {
		return 0, err
	}
	parks, err := s.Log.Parks(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	l, at, head, err := s.newest(ctx, head, parks)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeper.identity, s.keeper.began, s.keeper.from = head.Identity, began, at.Seq
	if l != nil {
		s.ledger, s.keeper.tried, s.keeper.last = l, at.Seq, at.EventID
		s.keeper.kept.Store(uint64(at.Seq))
	}
	s.ledger.Obey(parks)
	if left := head.Last - at.Seq; left > longRead {
		s.Logger.WarnContext(ctx, "the log is being read; nothing is decided and no collector is let in meanwhile", "events", left, "snapshot", at.Seq)
	}
	return at.Seq, nil
}

// newest returns the ledger of the newest snapshot that fits the log and the parks, nil when there is none, and the newest
// head of the log.
func (s *Shell) newest(ctx context.Context, head eventlog.Head, parks events.Parks) (*ledger.Ledger, eventlog.Snapshot, eventlog.Head, error) {
	if s.Snapshots == nil {
		return nil, eventlog.Snapshot{}, head, nil
	}
	whole, damaged, err := s.Snapshots.ReadSnapshots(ctx, Fold, ledger.Shape())
	if errors.Is(err, eventlog.ErrUnavailable) || ctx.Err() != nil {
		return nil, eventlog.Snapshot{}, head, err
	}
	if err != nil {
		damaged = append(damaged, err)
	}
	for _, why := range damaged {
		s.Logger.WarnContext(ctx, "a snapshot of the ledger cannot be read and is ignored", "error", why)
	}
	for _, one := range whole {
		var l *ledger.Ledger
		if head, err = eventlog.HeadAt(ctx, s.Log, one.Seq); err == nil {
			l, err = s.fits(ctx, one, head)
		}
		if errors.Is(err, eventlog.ErrUnavailable) || ctx.Err() != nil {
			return nil, eventlog.Snapshot{}, head, err
		}
		if err == nil && passed(parks, l) {
			s.Logger.InfoContext(ctx, "a snapshot of the ledger obeys other parks and is not used", "event", one.Seq)
			continue
		}
		if err == nil {
			s.Logger.InfoContext(ctx, "the ledger goes on from a snapshot", "event", one.Seq, "log_ends_at", head.Last)
			return l, one, head, nil
		}
		s.Logger.WarnContext(ctx, "a snapshot of the ledger does not fit and is ignored", "event", one.Seq, "error", err)
	}
	return nil, eventlog.Snapshot{}, head, nil
}

// fits returns the ledger of a snapshot if the log holds the last event in it.
func (s *Shell) fits(ctx context.Context, one eventlog.Snapshot, head eventlog.Head) (*ledger.Ledger, error) {
	switch {
	case one.Identity != head.Identity:
		return nil, fmt.Errorf("it belongs to log %s, but this is log %s", one.Identity, head.Identity)
	case one.Seq == 0 || one.Seq > head.Last:
		return nil, fmt.Errorf("the log ends at event %d: it was cut", head.Last)
	}
	cursor, err := s.Log.Follow(ctx, one.Seq-1)
	if err != nil {
		return nil, err
	}
	defer cursor.Close()
	at, err := cursor.Next(ctx, 1)
	if err != nil {
		return nil, err
	}
	if id := at[0].Header[events.HeaderID]; id != one.EventID {
		return nil, fmt.Errorf("its last event is %s, but the log has %s there", one.EventID, id)
	}
	l, err := ledger.Restore(one.Data)
	if err == nil && l.Seq != one.Seq {
		err = fmt.Errorf("it holds the ledger of event %d", l.Seq)
	}
	return l, err
}

// caughtUp logs how long the reading took, if the operator was told to wait. The caller holds mu.
func (s *Shell) caughtUp() {
	if read := s.ledger.Seq - s.keeper.from; read > longRead {
		s.Logger.Warn("the log was read", "events", read, "took", time.Since(s.keeper.began).Round(time.Millisecond))
	}
}

// keepSome makes a snapshot when one is due. Decisions wait only while the ledger is copied: the snapshot of a large one takes seconds.
func (s *Shell) keepSome(ctx context.Context, workers *errgroup.Group) {
	if s.Snapshots == nil || !s.current || s.ledger.Seq-s.keeper.tried < events.Seq(s.Every) || s.keeper.busy.Swap(true) {
		return
	}
	still, err := s.freeze()
	if err != nil {
		s.keeper.busy.Store(false)
		s.notMade(ctx, err)
		return
	}
	s.keeper.tried = still.Seq
	workers.Go(func() error {
		defer s.keeper.busy.Store(false)
		s.keep(ctx, still, 0)
		return nil
	})
}

// keepLast makes a snapshot at a stop, so that the next start does not read events again.
func (s *Shell) keepLast(ctx context.Context) {
	if s.Snapshots == nil || !s.current || s.ledger.Seq == events.Seq(s.keeper.kept.Load()) {
		return
	}
	still, err := s.freeze()
	if err != nil {
		s.notMade(ctx, err)
		return
	}
	s.keep(context.WithoutCancel(ctx), still, keepTimeout)
}

// frozen is a snapshot without its data, and the ledger of which that is still to be made.
type frozen struct {
	eventlog.Snapshot
	ledger ledger.Frozen
}

func (s *Shell) freeze() (frozen, error) {
	still, err := s.ledger.Freeze()
	return frozen{eventlog.Snapshot{
		Fold: Fold, Shape: ledger.Shape(), Identity: s.keeper.identity, Seq: s.ledger.Seq, EventID: s.keeper.last,
	}, still}, err
}

// keep makes a snapshot and stores it within a time; 0 for no bound.
func (s *Shell) keep(ctx context.Context, one frozen, within time.Duration) {
	var err error
	if one.Data, err = one.ledger.Snapshot(); err != nil {
		s.notMade(ctx, err)
		return
	}
	if within > 0 {
		soon, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		ctx = soon
	}
	if err = s.Snapshots.KeepSnapshot(ctx, one.Snapshot); err == nil {
		s.keeper.kept.Store(uint64(one.Seq))
	} else if ctx.Err() == nil {
		s.Logger.WarnContext(ctx, "a snapshot of the ledger could not be kept; the next start reads more of the log", "error", err)
	}
}

func (s *Shell) notMade(ctx context.Context, err error) {
	s.Logger.WarnContext(ctx, "no snapshot of the ledger could be made", "error", err)
}
