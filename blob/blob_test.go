package blob_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/events"
)

func TestMemoryKeepsWhatItsDigestSays(t *testing.T) {
	s, lane := &blob.Memory{}, events.PoolLane("builders", 1)
	data := []byte("built")
	o := blob.OutputOf("toolchain", data)
	if err := s.Put(t.Context(), lane, "j1", o, bytes.NewReader(data[1:])); !errors.Is(err, blob.ErrDamaged) {
		t.Errorf("too little: %v", err)
	}
	if _, err := blob.Bytes(t.Context(), s, lane, o); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("nothing was stored: %v", err)
	}
	// A store that does not keep uploads apart takes them as outputs.
	if err := blob.Upload(t.Context(), s, lane, "j1", o, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if got, err := blob.Bytes(t.Context(), s, lane, o); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%q, %v", got, err)
	}
	s.Drop(lane, o.Digest)
	if _, err := blob.Bytes(t.Context(), s, lane, o); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("it was dropped: %v", err)
	}
}

// The chunks of an output are its bytes, and a chunk on its way stays as it is, whatever is in it.
func TestChunksAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, sum := rapid.Int64Range(0, blob.MaxBytes).Draw(t, "size"), int64(0)
		for n := range blob.Chunks(size) {
			part, ok := blob.ChunkSize(size, n)
			if !ok || part < 1 || part > blob.ChunkBytes {
				t.Fatalf("chunk %d has %d bytes, %v", n, part, ok)
			}
			sum += int64(part)
		}
		if _, more := blob.ChunkSize(size, blob.Chunks(size)); more || sum != size {
			t.Fatalf("%d of %d bytes, more: %v", sum, size, more)
		}
		chunk := rapid.SliceOf(rapid.Byte()).Draw(t, "chunk")
		if text, data := blob.Decode(blob.Encode([]byte(`{"v":1}`), chunk)); string(text) != `{"v":1}` || !bytes.Equal(data, chunk) {
			t.Fatalf("%q and %q", text, data)
		}
	})
}
