package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/events"
)

// inFlight is how many chunks of one output are on their way at once.
const inFlight = 4

// ErrTooLarge says that an output has more than MaxBytes. No store takes it.
var ErrTooLarge = errors.New("the output is too large: one has at most 4 GiB; divide it, or leave out what is not needed")

// Wish is what a put wants to store.
type Wish struct {
	Lane   events.Lane   `json:"lane"`
	Job    events.JobID  `json:"job_id"`
	Output events.Output `json:"output"`
	// Upload is set for what no job uses. Uploads have a bound and an age of their own.
	Upload bool `json:"upload,omitempty"`
}

// Place is where the chunks of one put are. Two puts never have the same, so that no put changes what another one stored.
type Place struct {
	Lane   events.Lane   `json:"lane"`
	Digest events.Digest `json:"digest"`
	Put    string        `json:"put"`
}

// Pieces is a store in pieces, which can be asked one at a time and in any order. Send and Fetch make whole outputs of them.
type Pieces interface {
	// Begin begins a put, and makes room for it. It returns no place if the output is there already. It returns ErrFull and
	// ErrTooLarge.
	Begin(ctx context.Context, w Wish) (Place, bool, error)
	// Chunk stores chunk n of a put, counted from 0. A chunk that is there is never changed.
	Chunk(ctx context.Context, job events.JobID, p Place, n int, data []byte) error
	// Finish checks the next part of what a put stored. Call it until it returns true: then Open finds the output. It returns
	// ErrDamaged, and removes the put, if the content is not what the wish said.
	Finish(ctx context.Context, job events.JobID, p Place) (bool, error)
	// Open finds a stored output, and counts as a use of it. It returns ErrMissing.
	Open(ctx context.Context, lane events.Lane, digest events.Digest) (Place, int64, error)
	// Piece returns chunk n of a stored output. It returns ErrMissing if the output is not there any more.
	Piece(ctx context.Context, p Place, n int) ([]byte, error)
}

// Chunks returns how many chunks an output of that size has.
func Chunks(size int64) int { return int((size + ChunkBytes - 1) / ChunkBytes) }

// ChunkSize returns the size of chunk n of an output, and false if the output has no such chunk.
func ChunkSize(size int64, n int) (int, bool) {
	if n < 0 || n >= Chunks(size) {
		return 0, false
	}
	return int(min(ChunkBytes, size-int64(n)*ChunkBytes)), true
}

// CheckOutput returns why an output cannot be stored: its digest or its size is none.
func CheckOutput(o events.Output) error {
	switch {
	case !IsDigest(o.Digest):
		return fmt.Errorf("%w: the digest %.80q is not a SHA-256 in lower-case hex", ErrDamaged, o.Digest)
	case o.Bytes < 0:
		return fmt.Errorf("%w: it has %d bytes", ErrDamaged, o.Bytes)
	case o.Bytes > MaxBytes:
		return fmt.Errorf("%w: %q has %d bytes", ErrTooLarge, o.Name, o.Bytes)
	}
	return nil
}

// IsDigest reports whether d is a SHA-256 in lower-case hex.
func IsDigest(d events.Digest) bool {
	if len(d) != 2*sha256.Size {
		return false
	}
	for _, c := range d {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Send stores an output, as Store.Put does.
func Send(ctx context.Context, to Pieces, w Wish, content io.Reader) error {
	if err := CheckOutput(w.Output); err != nil {
		return err
	}
	place, there, err := to.Begin(ctx, w)
	if err != nil || there {
		return err
	}
	checked := Checked(w.Output, content)
	sending, ctxOf := errgroup.WithContext(ctx)
	sending.SetLimit(inFlight)
	for n := range Chunks(w.Output.Bytes) {
		size, _ := ChunkSize(w.Output.Bytes, n)
		data := make([]byte, size)
		if _, err = io.ReadFull(checked, data); err != nil || ctxOf.Err() != nil {
			break
		}
		sending.Go(func() error { return to.Chunk(ctxOf, w.Job, place, n, data) })
	}
	if stopped := sending.Wait(); stopped != nil {
		return stopped
	}
	if err == nil {
		err = atEnd(checked)
	}
	if err != nil {
		return fmt.Errorf("read output %q: %w", w.Output.Name, err)
	}
	for done := false; !done; {
		if done, err = to.Finish(ctx, w.Job, place); err != nil {
			return err
		}
	}
	return nil
}

// atEnd reads the end of content.
func atEnd(content io.Reader) error {
	n, err := content.Read(make([]byte, 1))
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil && n == 0:
		return io.ErrNoProgress
	}
	return err
}

// Fetch writes an output to a writer, and checks it, as Store.Get does.
func Fetch(ctx context.Context, from Pieces, lane events.Lane, o events.Output, to io.Writer) error {
	if err := CheckOutput(o); err != nil {
		return err
	}
	place, size, err := from.Open(ctx, lane, o.Digest)
	if err != nil {
		return err
	}
	if size != o.Bytes {
		return fmt.Errorf("%w: it has %d bytes, not %d", ErrDamaged, size, o.Bytes)
	}
	hash := sha256.New()
	err = Walk(ctx, from, place, size, 0, Chunks(size), func(data []byte) error {
		hash.Write(data)
		_, err := to.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if digest := events.Digest(hex.EncodeToString(hash.Sum(nil))); digest != o.Digest {
		return fmt.Errorf("%w: its digest is %s, not %s", ErrDamaged, digest, o.Digest)
	}
	return nil
}

// Walk calls f with the chunks from first until before end, in order, and fetches the next ones meanwhile.
func Walk(ctx context.Context, from Pieces, place Place, size int64, first, end int, f func([]byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type chunk struct {
		data []byte
		err  error
	}
	chunks := make([]chan chunk, end-first)
	fetch := func(n int) {
		if n >= end {
			return
		}
		c := make(chan chunk, 1)
		chunks[n-first] = c
		go func() {
			data, err := from.Piece(ctx, place, n)
			c <- chunk{data, err}
		}()
	}
	for n := first; n < min(first+inFlight, end); n++ {
		fetch(n)
	}
	for n := first; n < end; n++ {
		c := <-chunks[n-first]
		chunks[n-first] = nil
		if c.err != nil {
			return c.err
		}
		if want, _ := ChunkSize(size, n); len(c.data) != want {
			return fmt.Errorf("%w: chunk %d has %d bytes, not %d", ErrDamaged, n, len(c.data), want)
		}
		fetch(n + inFlight)
		if err := f(c.data); err != nil {
			return err
		}
	}
	return nil
}

// Upload stores what no job uses: a Store that keeps such things apart does so.
func Upload(ctx context.Context, to Store, lane events.Lane, job events.JobID, o events.Output, content io.Reader) error {
	if apart, ok := to.(interface {
		PutUpload(ctx context.Context, lane events.Lane, job events.JobID, o events.Output, content io.Reader) error
	}); ok {
		return apart.PutUpload(ctx, lane, job, o, content)
	}
	return to.Put(ctx, lane, job, o, content)
}

// Whole is the Store that pieces make.
type Whole struct{ Pieces }

// Put implements Store.
func (w Whole) Put(ctx context.Context, lane events.Lane, job events.JobID, o events.Output, content io.Reader) error {
	return Send(ctx, w.Pieces, Wish{Lane: lane, Job: job, Output: o}, content)
}

// PutUpload stores what no job uses.
func (w Whole) PutUpload(ctx context.Context, lane events.Lane, job events.JobID, o events.Output, content io.Reader) error {
	return Send(ctx, w.Pieces, Wish{Lane: lane, Job: job, Output: o, Upload: true}, content)
}

// Get implements Store.
func (w Whole) Get(ctx context.Context, lane events.Lane, o events.Output, to io.Writer) error {
	return Fetch(ctx, w.Pieces, lane, o, to)
}

// Encode and Decode put a chunk behind a short text, so that a chunk is moved as it is.
func Encode(text, data []byte) []byte {
	out := make([]byte, 0, len(text)+1+len(data))
	return append(append(append(out, text...), '\n'), data...)
}

// Decode returns the text and the chunk of Encode.
func Decode(message []byte) (text, data []byte) {
	text, data, _ = bytes.Cut(message, []byte{'\n'})
	return text, data
}
