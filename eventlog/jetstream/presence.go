package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// headerOperation marks a deletion in a key-value bucket; its value for a delete is operationDelete.
const (
	headerOperation = "KV-Operation"
	operationDelete = "DEL"
	headerMarker    = "Nats-Marker-Reason"
)

// claims keeps names for processes. It uses the messages of the bucket directly.
//
// The newest beat of a name is the last message of the name's subject. A write expects the sequence of the beat that it
// replaces. So only one of two processes that want the name gets it.
type claims struct {
	nc *nats.Conn

	mu *sync.Mutex
	// own holds the newest beat that this process wrote for each name.
	own map[events.CollectorName]ownClaim
}

type ownClaim struct {
	instance string
	at       events.Seq
}

func newClaims(nc *nats.Conn) claims {
	return claims{nc: nc, mu: new(sync.Mutex), own: map[events.CollectorName]ownClaim{}}
}

// Claim implements eventlog.Presence.
func (c claims) Claim(ctx context.Context, b eventlog.Beat, replaces string) (holder eventlog.Beat, err error) {
	err = Persist(ctx, "claim the name "+string(b.Name), func(ctx context.Context) error {
		var at events.Seq
		holder, at, err = c.current(ctx, b.Name)
		if err != nil {
			return err
		}
		if held := holder.Instance; held != "" && held != b.Instance && held != replaces {
			return c.refuse(ctx, b.Name, at)
		}
		return c.put(ctx, b, at)
	})
	if err != nil {
		return holder, err
	}
	return b, nil
}

// Beat implements eventlog.Presence.
func (c claims) Beat(ctx context.Context, b eventlog.Beat) (eventlog.News, error) {
	return nil, Persist(ctx, "heartbeat of "+string(b.Name), func(ctx context.Context) error {
		c.mu.Lock()
		mine := c.own[b.Name]
		c.mu.Unlock()
		if mine.instance == b.Instance {
			err := c.put(ctx, b, mine.at)
			if !errors.Is(err, ErrAgain) {
				return err
			}
		}
		// The beat is not at the expected place: it expired, its answer was lost, or another process has the name now.
		holder, at, err := c.current(ctx, b.Name)
		if err != nil {
			return err
		}
		if holder.Instance != "" && holder.Instance != b.Instance {
			return c.refuse(ctx, b.Name, at)
		}
		return c.put(ctx, b, at)
	})
}

// Release implements eventlog.Presence.
func (c claims) Release(ctx context.Context, b eventlog.Beat) error {
	return Persist(ctx, "release the name "+string(b.Name), func(ctx context.Context) error {
		holder, at, err := c.current(ctx, b.Name)
		if err != nil {
			return err
		}
		if holder.Instance != b.Instance {
			return c.confirm(ctx, b.Name, at)
		}
		m := &nats.Msg{Subject: beatsPrefix + string(b.Name), Header: nats.Header{headerOperation: {operationDelete}}}
		_, err = c.publish(ctx, m, at)
		return err
	})
}

// current returns the newest beat of a name and its sequence. The beat is zero when no process holds the name.
func (c claims) current(ctx context.Context, name events.CollectorName) (b eventlog.Beat, at events.Seq, err error) {
	m, err := request(ctx, c.nc, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + beatsStream + "." + beatsPrefix + string(name)})
	if err != nil {
		return b, 0, err
	}
	s, ok, err := decodeDirect(m)
	if err != nil || !ok {
		return b, 0, err
	}
	if s.Header[headerOperation] != "" || m.Header.Get(headerMarker) != "" {
		return b, s.Seq, nil
	}
	if err := json.Unmarshal(s.Data, &b); err != nil {
		return b, 0, fmt.Errorf("heartbeat of %s: %w", name, err)
	}
	return b, s.Seq, nil
}

// confirm checks with the leader that the newest message of a name is at the given sequence; ErrAgain when it is not.
// The read came from any replica and may be stale. A write that expects the sequence would notice that, but a refusal
// would not. So confirm sends a write with an impossible expectation: the leader refuses it and names the real
// sequence.
func (c claims) confirm(ctx context.Context, name events.CollectorName, at events.Seq) error {
	probe := &nats.Msg{Subject: beatsPrefix + string(name), Header: nats.Header{}}
	_, err := c.publish(ctx, probe, math.MaxInt64)
	if found, ok := refusedAt(err); ok && found == at {
		return nil
	}
	return fmt.Errorf("%w: the newest heartbeat may be another one: %w", ErrAgain, err)
}

// refuse returns eventlog.ErrNameHeld once the leader has confirmed the sequence.
func (c claims) refuse(ctx context.Context, name events.CollectorName, at events.Seq) error {
	if err := c.confirm(ctx, name, at); err != nil {
		return err
	}
	return eventlog.ErrNameHeld
}

// put replaces the beat at the given sequence; ErrAgain when another message is the newest.
func (c claims) put(ctx context.Context, b eventlog.Beat, at events.Seq) error {
	data, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	seq, err := c.publish(ctx, &nats.Msg{Subject: beatsPrefix + string(b.Name), Header: nats.Header{}, Data: data}, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		delete(c.own, b.Name)
		return err
	}
	c.own[b.Name] = ownClaim{instance: b.Instance, at: seq}
	return nil
}

func (c claims) publish(ctx context.Context, m *nats.Msg, at events.Seq) (events.Seq, error) {
	m.Header.Set(headerExpected, seqText(at))
	return ackOf(request(ctx, c.nc, m))
}

// ackOf reads the acknowledgement of a message of the bucket, which is its sequence there.
func ackOf(answer *nats.Msg, err error) (events.Seq, error) {
	if err != nil {
		return 0, err
	}
	var ack struct {
		Error *natsjs.APIError `json:"error"`
		Seq   events.Seq       `json:"seq"`
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return 0, fmt.Errorf("acknowledgement %q: %w", answer.Data, err)
	}
	if ack.Error != nil {
		if code := ack.Error.ErrorCode; code == codeWrongLast || code == codeWrongLastFlying {
			return 0, fmt.Errorf("%w: %w", ErrAgain, ack.Error)
		}
		return 0, ack.Error
	}
	return ack.Seq, nil
}
