package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/events"
)

// Beside is a stream beside the log, for what is no part of the truth.
type Beside struct {
	nc     *nats.Conn
	stream natsjs.Stream
	cfg    natsjs.StreamConfig
}

// The errors of Beside.
var (
	// ErrMoved says that the last message of a subject is not the expected one.
	ErrMoved = errors.New("the subject has another last message")
	// ErrNoRoom says that the stream is as large as it may become.
	ErrNoRoom = errors.New("the stream is full")
)

// OpenBeside makes a stream, or changes it, so that it has exactly this configuration, else the error is a *DriftError.
func OpenBeside(ctx context.Context, nc *nats.Conn, cfg natsjs.StreamConfig) (*Beside, error) {
	js, err := natsjs.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", cfg.Name, err)
	}
	b := &Beside{nc: nc, cfg: cfg}
	err = Persist(ctx, "open stream "+cfg.Name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, adminTimeout)
		defer cancel()
		b.stream, err = js.CreateOrUpdateStream(ctx, cfg)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := compareConfig(cfg, b.stream.CachedInfo().Config); err != nil {
		return nil, err
	}
	return b, nil
}

// Put stores a message as the last of its subject if the last one has this sequence; 0 means that there must be none.
func (b *Beside) Put(ctx context.Context, subject string, data []byte, last events.Seq) (seq events.Seq, err error) {
	m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{natsjs.ExpectedLastSubjSeqHeader: {strconv.FormatUint(uint64(last), 10)}}}
	err = Persist(ctx, "store "+subject, func(ctx context.Context) error {
		answer, err := request(ctx, b.nc, m)
		if err != nil {
			return err
		}
		var ack struct {
			Seq   events.Seq       `json:"seq"`
			Error *natsjs.APIError `json:"error"`
		}
		if err := json.Unmarshal(answer.Data, &ack); err != nil {
			return fmt.Errorf("acknowledgement %q: %w", answer.Data, err)
		}
		seq = ack.Seq
		switch {
		case ack.Error == nil:
			return nil
		case ack.Error.ErrorCode == codeWrongLast || ack.Error.ErrorCode == codeWrongLastFlying:
			return ErrMoved
		case ack.Error.ErrorCode == codeStoreFailed:
			return fmt.Errorf("%w: %w", ErrNoRoom, ack.Error)
		}
		return ack.Error
	})
	return seq, err
}

// Last returns the last message of a subject.
func (b *Beside) Last(ctx context.Context, subject string) (events.Stored, bool, error) {
	m, ok, err := oneOf(ctx, b.nc, b.cfg.Replicas, b.cfg.Name, query{LastFor: events.Subject(subject)})
	return m.Stored, ok, err
}

// LastOfAny is Last, from any replica if it has one. Use it for messages that never change.
func (b *Beside) LastOfAny(ctx context.Context, subject string) (events.Stored, bool, error) {
	m, ok, err := oneOf(ctx, b.nc, 1, b.cfg.Name, query{LastFor: events.Subject(subject)})
	if err == nil && !ok && b.cfg.Replicas > 1 {
		return b.Last(ctx, subject)
	}
	return m.Stored, ok, err
}

// Count returns how many messages each subject has of those that match a filter, and what the stream holds.
func (b *Beside) Count(ctx context.Context, filter string) (counts map[string]uint64, state natsjs.StreamState, err error) {
	err = Persist(ctx, "look at stream "+b.cfg.Name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, adminTimeout)
		defer cancel()
		info, err := b.stream.Info(ctx, natsjs.WithSubjectFilter(filter))
		if err == nil {
			counts, state = info.State.Subjects, info.State
		}
		return err
	})
	return counts, state, err
}

// Remove removes one message. It is no error if it is gone.
func (b *Beside) Remove(ctx context.Context, seq events.Seq) error {
	return Persist(ctx, "remove a message of stream "+b.cfg.Name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, adminTimeout)
		defer cancel()
		err := b.stream.DeleteMsg(ctx, uint64(seq))
		var api *natsjs.APIError
		if errors.As(err, &api) && (api.ErrorCode == codeNoMessage || api.ErrorCode == codeNoSequence || api.ErrorCode == codeNotRemoved) {
			return nil
		}
		return err
	})
}

// The server's answers when a message to remove is not there.
const (
	codeNoSequence = 10043
	codeNotRemoved = 10057
)

// Purge removes all messages whose subjects match a filter.
func (b *Beside) Purge(ctx context.Context, filter string) error {
	return Persist(ctx, "purge stream "+b.cfg.Name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, adminTimeout)
		defer cancel()
		return b.stream.Purge(ctx, natsjs.WithPurgeSubject(filter))
	})
}
