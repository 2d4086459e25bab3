package jetstream

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// heardWithin is how lately a leader must have heard the majority of its followers. Followers answer its heartbeat each
// second. No other server is elected before a follower has heard nothing for 4 s. So within this time a leader that had its
// majority is still the only one, and its end of the log is the end of the log.
const heardWithin = 2500 * time.Millisecond

// Head implements eventlog.Log. On a cluster the leader answers, and shows that it has heard the majority lately.
func (l *Log) Head(ctx context.Context) (eventlog.Head, error) {
	info, err := l.info(ctx)
	if err != nil {
		return eventlog.Head{}, err
	}
	return l.headOf(info), nil
}

func (l *Log) headOf(info *natsjs.StreamInfo) eventlog.Head {
	h := eventlog.Head{
		Identity: info.Config.Name + "@" + info.Created.UTC().Format(time.RFC3339Nano),
		First:    events.Seq(info.State.FirstSeq), Last: events.Seq(info.State.LastSeq), Sole: l.cfg.Replicas == 1,
	}
	if h.Last == 0 {
		h.First = 0
	}
	return h
}

func (l *Log) info(ctx context.Context, opts ...natsjs.StreamInfoOpt) (info *natsjs.StreamInfo, err error) {
	err = Persist(ctx, "look at the log", func(ctx context.Context) error {
		info, err = l.look(ctx, opts...)
		return err
	})
	return info, err
}

// look asks once, and believes only a leader that has its majority.
func (l *Log) look(ctx context.Context, opts ...natsjs.StreamInfoOpt) (*natsjs.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	info, err := l.events.Info(ctx, opts...)
	if err == nil && l.cfg.Replicas > 1 {
		err = led(info.Cluster)
	}
	return info, err
}

// looked is what Takes found at its look, and when.
type looked struct {
	info *natsjs.StreamInfo
	at   time.Time
}

// lookLasts is how long that look serves those who only watch. The watchdog calls Takes each second.
const lookLasts = 2 * time.Second

// lately returns how the log was at most lookLasts ago.
func (l *Log) lately(ctx context.Context) (*natsjs.StreamInfo, error) {
	if one := l.looked.Load(); one != nil && time.Since(one.at) < lookLasts {
		return one.info, nil
	}
	return l.info(ctx)
}

// led returns nil if the answer comes from a leader that has heard the majority lately. While there is no leader, any server
// may answer; one that led the log, and stood still or was cut off, answers as if it still led.
func led(c *natsjs.ClusterInfo) error {
	if c == nil || c.Leader == "" {
		return fmt.Errorf("%w: the log has no leader at this moment", ErrAgain)
	}
	var quiet []time.Duration
	for _, r := range c.Replicas {
		quiet = append(quiet, r.Active)
	}
	slices.Sort(quiet)
	if most := (len(quiet) + 1) / 2; most > 0 && quiet[most-1] > heardWithin {
		return fmt.Errorf("%w: %w", ErrAgain, &eventlog.QuorumError{Quiet: quiet[most-1]})
	}
	return nil
}

// probeSubject is where Takes asks to append. Nothing is ever stored there.
const probeSubject = events.SubjectPrefix + "probe"

// Takes implements eventlog.Follower. The leader shows that it has its majority. Then it gets an append with an impossible
// expectation. That goes the way of all appends, up to the look at the subject's last sequence, and leaves nothing behind.
func (l *Log) Takes(ctx context.Context) (eventlog.Head, error) {
	info, err := l.look(ctx)
	if err != nil {
		return eventlog.Head{}, fmt.Errorf("ask whether the log takes appends: %w: %w", eventlog.ErrUnavailable, err)
	}
	l.looked.Store(&looked{info, time.Now()})
	m := &nats.Msg{Subject: probeSubject, Header: nats.Header{headerExpected: {seqText(math.MaxInt64)}}}
	_, err = l.answer(request(ctx, l.nc, m))
	if _, refused := refusedAt(err); refused {
		return l.headOf(info), nil
	}
	if err == nil {
		err = fmt.Errorf("the server took an append that it had to refuse")
	}
	return eventlog.Head{}, fmt.Errorf("ask whether the log takes appends: %w", err)
}
