package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Statements are what a reader sends to Postgres for one answer. It is a tracer: it notes the batches of a reader while it listens.
type Statements struct {
	config  *pgx.ConnConfig
	batches [][]*pgx.QueuedQuery
	deaf    bool
}

// TraceQueryStart implements pgx.QueryTracer.
func (*Statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*Statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (s *Statements) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	if !s.deaf {
		s.config, s.batches = conn.Config(), append(s.batches, data.Batch.QueuedQueries)
	}
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (*Statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (*Statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// connect ends the listening, and returns what sends the same batches on a connection of its own and takes the rows without a look at
// them.
func (s *Statements) connect(ctx context.Context) (*pgx.Conn, func(context.Context) error, error) {
	s.deaf = true
	if len(s.batches) == 0 {
		return nil, nil, errors.New("the reader sent no batch")
	}
	config := s.config.Copy()
	config.Tracer = nil
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	return conn, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			for _, queries := range s.batches {
				var b pgx.Batch
				for _, q := range queries {
					b.Queue(q.SQL, q.Arguments...).Query(func(rows pgx.Rows) error {
						for rows.Next() {
						}
						return rows.Err()
					})
				}
				if err := tx.SendBatch(ctx, &b).Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}, nil
}
