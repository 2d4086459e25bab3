// Package blob is the port of the store of outputs: what builds yield, until those that measure it have fetched it.
package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/tachobench/tacho/events"
)

// ChunkBytes is how much of an output is moved at once, and MaxBytes how large one can be.
const (
	ChunkBytes = 256 << 10
	MaxBytes   = 4 << 30
)

// What can be wrong with an output. ErrMissing and ErrDamaged stay true: the job that yielded it must run again. ErrFull
// may end when others are not needed any more.
var (
	ErrMissing = errors.New("the output is not in the store")
	ErrDamaged = errors.New("the output is not what its digest says")
	ErrFull    = errors.New("the store of outputs is full, and all that it holds is needed")
)

// Store is a collector's end of the store. Outputs are kept by lane and digest.
type Store interface {
	// Put stores an output of the lane's job, whole or not at all: a broken one leaves nothing that Get finds. One that is
	// there already is not sent again. It returns ErrDamaged if the content is not what o says, and ErrFull.
	Put(ctx context.Context, lane events.Lane, job events.JobID, o events.Output, content io.Reader) error
	// Get writes an output to a file or the like, and checks it on its way: what was written before an error is worth
	// nothing. It returns ErrMissing or ErrDamaged if a later try cannot help.
	Get(ctx context.Context, lane events.Lane, o events.Output, to io.Writer) error
}

// Checked returns a reader of content that ends with ErrDamaged instead of io.EOF if what was read is not what o says.
func Checked(o events.Output, content io.Reader) io.Reader {
	return &checked{o: o, content: content, hash: sha256.New()}
}

type checked struct {
	o       events.Output
	content io.Reader
	hash    hash.Hash
	read    int64
}

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.content.Read(p)
	c.hash.Write(p[:n])
	c.read += int64(n)
	if c.read > c.o.Bytes {
		return 0, fmt.Errorf("%w: it has more than %d bytes", ErrDamaged, c.o.Bytes)
	}
	if errors.Is(err, io.EOF) {
		digest := events.Digest(hex.EncodeToString(c.hash.Sum(nil)))
		if c.read != c.o.Bytes || digest != c.o.Digest {
			return 0, fmt.Errorf("%w: %d bytes with the digest %s, not %d with %s", ErrDamaged, c.read, digest, c.o.Bytes, c.o.Digest)
		}
	}
	return n, err
}

// OutputOf returns the output of a name that has this content.
func OutputOf(name string, content []byte) events.Output {
	sum := sha256.Sum256(content)
	return events.Output{Name: name, Digest: events.Digest(hex.EncodeToString(sum[:])), Bytes: int64(len(content))}
}

// Bytes returns an output that fits into memory.
func Bytes(ctx context.Context, from Store, lane events.Lane, o events.Output) ([]byte, error) {
	var out bytes.Buffer
	err := from.Get(ctx, lane, o, &out)
	return out.Bytes(), err
}
