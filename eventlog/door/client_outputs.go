package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

const (
	// carriedWithin is how long the client waits for one answer about an output: the door may let it wait, too.
	carriedWithin = AnswerWithin - 500*time.Millisecond
	// outputPatience is how long a put or a fetch goes on while the core is away. An output is worth some minutes.
	outputPatience = 5 * time.Minute
)

// said returns an error with the core's words.
func said(err error, reason string) error { return fmt.Errorf("%w; the core says: %s", err, reason) }

// Put implements blob.Store.
func (c *Client) Put(ctx context.Context, lane events.Lane, job events.JobID, o events.Output, content io.Reader) error {
	return blob.Whole{Pieces: carrier{c}}.Put(ctx, lane, job, o, content)
}

// PutUpload stores what no job uses.
func (c *Client) PutUpload(ctx context.Context, lane events.Lane, job events.JobID, o events.Output, content io.Reader) error {
	return blob.Whole{Pieces: carrier{c}}.PutUpload(ctx, lane, job, o, content)
}

// Get implements blob.Store.
func (c *Client) Get(ctx context.Context, lane events.Lane, o events.Output, to io.Writer) error {
	return blob.Whole{Pieces: carrier{c}}.Get(ctx, lane, o, to)
}

// carrier moves outputs through the door.
type carrier struct{ c *Client }

func (k carrier) ask(ctx context.Context, operation string, v Verb, req request) (out answer, err error) {
	began := time.Now()
	for {
		out, err = k.c.ask(ctx, operation, v, req, carriedWithin)
		if !errors.Is(err, eventlog.ErrUnavailable) || ctx.Err() != nil || k.c.line.failed() != nil || time.Since(began) > outputPatience {
			return out, err
		}
	}
}

// Begin implements blob.Pieces.
func (k carrier) Begin(ctx context.Context, w blob.Wish) (blob.Place, bool, error) {
	a, err := k.ask(ctx, "store output "+w.Output.Name, verbBegin, request{Wish: &w})
	if err != nil || a.Place == nil {
		return blob.Place{}, false, err
	}
	return *a.Place, a.There, nil
}

// Chunk implements blob.Pieces.
func (k carrier) Chunk(ctx context.Context, job events.JobID, p blob.Place, n int, data []byte) error {
	_, err := k.ask(ctx, "store an output", verbChunk, request{JobID: job, Place: &p, N: n, chunk: data})
	return err
}

// Finish implements blob.Pieces.
func (k carrier) Finish(ctx context.Context, job events.JobID, p blob.Place) (bool, error) {
	a, err := k.ask(ctx, "store an output", verbFinish, request{JobID: job, Place: &p})
	return a.Done, err
}

// Open implements blob.Pieces.
func (k carrier) Open(ctx context.Context, lane events.Lane, digest events.Digest) (blob.Place, int64, error) {
	a, err := k.ask(ctx, "fetch an output", verbOpen, request{Place: &blob.Place{Lane: lane, Digest: digest}})
	if err != nil || a.Place == nil {
		return blob.Place{}, 0, err
	}
	return *a.Place, a.Bytes, nil
}

// Piece implements blob.Pieces.
func (k carrier) Piece(ctx context.Context, p blob.Place, n int) ([]byte, error) {
	a, err := k.ask(ctx, "fetch an output", verbPiece, request{Place: &p, N: n})
	return a.chunk, err
}
