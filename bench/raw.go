package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// eventBytes is about as large as an event of the path of a job.
const eventBytes = 600

// rawAppends publishes to a stream on a server of its own. A turn returns how many are stored in a second, after per of
// them are counted as one.
func (b *Bed) rawAppends(name string, unsynced bool, writers, n, per int) (Side, error) {
	js, stream, err := b.stream(unsynced)
	if err != nil {
		return Side{}, err
	}
	payload := make([]byte, eventBytes)
	return Side{Name: name, Turn: func(ctx context.Context) ([]float64, error) {
		found, err := costs(n/per, func() (time.Duration, error) {
			return together(ctx, writers, n, func(ctx context.Context, w, _ int) error {
				_, err := js.Publish(ctx, fmt.Sprintf("raw.%d", w), payload)
				return err
			})
		})
		if err != nil {
			return nil, err
		}
		return found, stream.Purge(ctx)
	}}, nil
}

// rawTrips publishes messages one after another, and returns how long each took to a consumer that waits, with what is done then;
// nil is nothing.
func (b *Bed) rawTrips(n int, then func(context.Context) error) (func(ctx context.Context) ([]time.Duration, error), error) {
	js, stream, err := b.stream(false)
	if err != nil {
		return nil, err
	}
	// One that is not durable would be removed while the others have their turns.
	consumer, err := stream.CreateConsumer(b.ctx, natsjs.ConsumerConfig{Durable: "raw", AckPolicy: natsjs.AckExplicitPolicy, MaxAckPending: 1})
	if err != nil {
		return nil, err
	}
	payload := make([]byte, eventBytes)
	return func(ctx context.Context) (trips []time.Duration, err error) {
		messages, err := consumer.Messages(natsjs.WithMessagesErrOnMissingHeartbeat(false))
		if err != nil {
			return nil, err
		}
		defer messages.Stop()
		for range n {
			began := time.Now()
			if _, err := js.Publish(ctx, "raw.a", payload); err != nil {
				return nil, err
			}
			m, err := messages.Next()
			if err != nil {
				return nil, err
			}
			if then != nil {
				if err := then(ctx); err != nil {
					return nil, err
				}
			}
			trips = append(trips, time.Since(began))
			if err := m.DoubleAck(ctx); err != nil {
				return nil, err
			}
		}
		return trips, nil
	}, nil
}

// rawRow returns what stores one row and waits until another connection has heard of it, with as little as that needs: one
// statement that inserts, one that notifies, and one commit that does not wait for the disk.
func (b *Bed) rawRow(ctx context.Context, url string) (func(context.Context) error, error) {
	var conns [2]*pgx.Conn
	for i := range conns {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return nil, err
		}
		b.onEnd(func() error { return conn.Close(context.WithoutCancel(ctx)) })
		conns[i] = conn
	}
	writer, listener := conns[0], conns[1]
	if _, err := listener.Exec(ctx, "LISTEN raw"); err != nil {
		return nil, err
	}
	if _, err := writer.Exec(ctx, "SET synchronous_commit = off; CREATE TABLE raw_row (seq bigserial PRIMARY KEY, data bytea NOT NULL)"); err != nil {
		return nil, err
	}
	data := make([]byte, eventBytes)
	return func(ctx context.Context) error {
		rows := &pgx.Batch{}
		rows.Queue("INSERT INTO raw_row (data) VALUES ($1)", data)
		rows.Queue("SELECT pg_notify('raw', '')")
		if err := writer.SendBatch(ctx, rows).Close(); err != nil {
			return err
		}
		_, err := listener.WaitForNotification(ctx)
		return err
	}, nil
}
