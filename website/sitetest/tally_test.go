package sitetest

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// tally counts statements and the rows that they return.
type tally struct{ statements, rows atomic.Int64 }

func (a *tally) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (a *tally) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	a.statements.Add(1)
	a.rows.Add(data.CommandTag.RowsAffected())
}

func (a *tally) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (a *tally) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	a.statements.Add(1)
	a.rows.Add(data.CommandTag.RowsAffected())
}

func (a *tally) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
