package projector

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
)

// Hash is one link of the chain: a SHA-256 over all events up to one of them.
type Hash [sha256.Size]byte

// Chain returns the link of an event, given the link before it; the first event follows the zero Hash. The link
// covers everything that the log keeps of the event: sequence, subject, time to the microsecond, headers by
// name, data. The length of each part is hashed too, so that no two events give the same bytes.
func Chain(before Hash, s events.Stored) Hash {
	return chain(nil, before, s, slices.Sorted(maps.Keys(s.Header)))
}

// chain is Chain with a buffer to work in and with the sorted names of the headers.
func chain(room []byte, before Hash, s events.Stored, names []string) Hash {
	b := append(room[:0], before[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(s.StoredAt.UnixMicro()))
	b = appendPart(b, string(s.Subject))
	b = binary.BigEndian.AppendUint64(b, uint64(len(names)))
	for _, name := range names {
		b = appendPart(b, name)
		b = appendPart(b, s.Header[name])
	}
	b = binary.BigEndian.AppendUint64(b, uint64(len(s.Data)))
	b = append(b, s.Data...)
	return sha256.Sum256(b)
}

func appendPart(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

// String returns the hash in lower-case hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }
