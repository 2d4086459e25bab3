package blob

import (
	"context"
	"time"

	"github.com/tachobench/tacho/events"
)

// Keeper is the core's end of the store.
type Keeper interface {
	Pieces
	// List returns what the store has, first what was not used for the longest time.
	List(ctx context.Context) ([]Kept, error)
	// Drop removes an output at once, also one that is needed.
	Drop(ctx context.Context, lane events.Lane, digest events.Digest) error
	// Usage returns how full the store is.
	Usage(ctx context.Context) (Usage, error)
	// Tidy removes puts that will never be finished, and uploads that are too old.
	Tidy(ctx context.Context) error
}

// Kept is an output in the store.
type Kept struct {
	Wish
	// Put is the put that stored it.
	Put      string
	StoredAt time.Time
	// UsedAt is when it was put or opened last.
	UsedAt time.Time
}

// Place returns where its chunks are.
func (k Kept) Place() Place { return Place{Lane: k.Lane, Digest: k.Output.Digest, Put: k.Put} }

// Usage is how full a store is, in bytes.
type Usage struct {
	// Bytes are all outputs, with the puts that are under way; Needed those that open graphs need; Limit is the bound.
	Bytes, Needed, Limit int64
	Outputs              int
	// Uploads are beside them.
	Uploads, UploadLimit int64
	// Disk is what the store takes on the disk, uploads included.
	Disk int64
	// Refused is the last put that did not fit; nil if there is room for it now.
	Refused *Refused
}

// Refused is a put that did not fit.
type Refused struct {
	Wish
	At time.Time `json:"at"`
}
