package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/blob/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

var builders = events.PoolLane("builders", 1)

func start(t testing.TB, dir string) *nats.Conn {
	t.Helper()
	s, err := natsserver.Start(natsserver.Config{Dir: dir, Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func open(t testing.TB, nc *nats.Conn, cfg jetstream.Config) *jetstream.Store {
	t.Helper()
	ctx, cancel := patient()
	defer cancel()
	s, err := jetstream.Open(ctx, nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// patient bounds a call that has nothing to do with time. Without a bound the store would give up after some seconds.
func patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Minute)
}

// content returns bytes that differ for each seed.
func content(seed uint64, size int) []byte {
	out := make([]byte, size)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

func put(t testing.TB, s blob.Store, lane events.Lane, data []byte) events.Output {
	t.Helper()
	o := blob.OutputOf("out", data)
	ctx, cancel := patient()
	defer cancel()
	if err := s.Put(ctx, lane, "j1", o, bytes.NewReader(data)); err != nil {
		t.Fatalf("put %d bytes: %v", len(data), err)
	}
	return o
}

// expect checks what Get returns; nil data means that the output is missing.
func expect(t testing.TB, s blob.Store, lane events.Lane, o events.Output, data []byte) {
	t.Helper()
	ctx, cancel := patient()
	defer cancel()
	got, err := blob.Bytes(ctx, s, lane, o)
	switch {
	case data == nil && !errors.Is(err, blob.ErrMissing):
		t.Fatalf("an output that should be missing: %d bytes, %v", len(got), err)
	case data != nil && (err != nil || !bytes.Equal(got, data)):
		t.Fatalf("%d bytes instead of %d, %v", len(got), len(data), err)
	}
}

func TestOutputsOfAllSizes(t *testing.T) {
	s := open(t, start(t, t.TempDir()), jetstream.Config{})
	for i, size := range []int{0, 1, blob.ChunkBytes - 1, blob.ChunkBytes, blob.ChunkBytes + 1, 9*blob.ChunkBytes + 7} {
		data := content(uint64(i), size)
		o := put(t, s, builders, data)
		expect(t, s, builders, o, data)
		expect(t, s, events.PoolLane("builders", 2), o, nil)
	}
}

func TestWhatIsThereIsNotSentAgain(t *testing.T) {
	s := open(t, start(t, t.TempDir()), jetstream.Config{})
	data := content(1, blob.ChunkBytes+5)
	o := put(t, s, builders, data)
	unread := iotest.ErrReader(errors.New("it was read"))
	if err := s.Put(t.Context(), builders, "j2", o, unread); err != nil {
		t.Fatalf("put again: %v", err)
	}
	if err := s.Put(t.Context(), events.PoolLane("builders", 2), "j2", o, unread); err == nil {
		t.Error("another lane took what it did not send")
	}
	expect(t, s, builders, o, data)
}

func TestABrokenPutLeavesNothing(t *testing.T) {
	s := open(t, start(t, t.TempDir()), jetstream.Config{})
	data := content(1, 3*blob.ChunkBytes)
	o := blob.OutputOf("out", data)
	wrong := bytes.Clone(data)
	wrong[2*blob.ChunkBytes]++
	for what, r := range map[string][]byte{"short": data[:len(data)-1], "long": append(bytes.Clone(data), 1), "wrong": wrong} {
		if err := s.Put(t.Context(), builders, "j1", o, bytes.NewReader(r)); !errors.Is(err, blob.ErrDamaged) {
			t.Errorf("%s content: %v", what, err)
		}
		expect(t, s, builders, o, nil)
	}
	for _, o := range []events.Output{{Digest: "x"}, {Digest: o.Digest, Bytes: -1}, {Digest: events.Digest(strings.Repeat("A", 64))}} {
		if err := s.Put(t.Context(), builders, "j1", o, bytes.NewReader(nil)); !errors.Is(err, blob.ErrDamaged) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	o.Bytes = blob.MaxBytes + 1
	if err := s.Put(t.Context(), builders, "j1", o, bytes.NewReader(nil)); !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("more than 4 GiB: %v", err)
	}
	// The store checks the digest itself: it does not believe what it is told.
	o = blob.OutputOf("out", data)
	p, _, err := s.Begin(t.Context(), blob.Wish{Lane: builders, Job: "j1", Output: o})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if err := s.Chunk(t.Context(), "j1", p, n, wrong[n*blob.ChunkBytes:(n+1)*blob.ChunkBytes]); err != nil {
			t.Fatal(err)
		}
	}
	// What was stored once is not changed.
	if err := s.Chunk(t.Context(), "j1", p, 2, data[2*blob.ChunkBytes:]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(t.Context(), "j1", p); !errors.Is(err, blob.ErrDamaged) {
		t.Errorf("finish with wrong content: %v", err)
	}
	expect(t, s, builders, o, nil)
	put(t, s, builders, data)
	expect(t, s, builders, o, data)
}

// dirBytes is what the files below a directory take.
func dirBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // it was removed meanwhile
		}
		if info, err := os.Stat(path); err == nil {
			n += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestADroppedOutputFreesTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, start(t, dir), jetstream.Config{})
	small := content(1, blob.ChunkBytes)
	kept := put(t, s, builders, small)
	large := put(t, s, builders, content(2, 80*blob.ChunkBytes))
	if n := dirBytes(t, dir); n < 20<<20 {
		t.Fatalf("%d bytes on the disk", n)
	}
	if err := s.Drop(t.Context(), builders, large.Digest); err != nil {
		t.Fatal(err)
	}
	expect(t, s, builders, large, nil)
	expect(t, s, builders, kept, small)
	late, tick := time.After(10*time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for n := dirBytes(t, dir); n > 10<<20; n = dirBytes(t, dir) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%d bytes are still on the disk", n)
		}
	}
	u, err := s.Usage(t.Context())
	if err != nil || u.Outputs != 1 || u.Disk > 1<<20 {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestTheOldestUnusedGo(t *testing.T) {
	needed := map[events.Digest]bool{}
	s := open(t, start(t, t.TempDir()), jetstream.Config{
		MaxBytes: 4<<20 + 64<<10,
		Needs: func(context.Context) (func(blob.Kept) bool, error) {
			return func(k blob.Kept) bool { return needed[k.Output.Digest] }, nil
		},
	})
	var all [][]byte
	var outputs []events.Output
	for i := range 4 {
		all = append(all, content(uint64(i), 1<<20))
		outputs = append(outputs, put(t, s, builders, all[i]))
	}
	needed[outputs[0].Digest] = true
	expect(t, s, builders, outputs[1], all[1]) // a use
	fifth := content(5, 1<<20)
	put(t, s, builders, fifth)
	for i, want := range [][]byte{all[0], all[1], nil, all[3]} {
		expect(t, s, builders, outputs[i], want)
	}
	// An upload has a bound of its own, and takes nothing from the others.
	if err := s.PutUpload(t.Context(), builders, "j1", blob.OutputOf("core", all[2]), bytes.NewReader(all[2])); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{1, 3} {
		needed[outputs[i].Digest] = true
	}
	needed[blob.OutputOf("", fifth).Digest] = true
	sixth := content(6, 1<<20)
	o := blob.OutputOf("sixth", sixth)
	err := s.Put(t.Context(), builders, "j9", o, bytes.NewReader(sixth))
	if !errors.Is(err, blob.ErrFull) || !strings.Contains(err.Error(), "of 4.1 MiB are in use") {
		t.Fatalf("a put into a store full of needed outputs: %v", err)
	}
	u, err := s.Usage(t.Context())
	if err != nil || u.Refused == nil || u.Refused.Job != "j9" || u.Needed < 4<<20 || u.Outputs != 4 || u.Uploads < 1<<20 {
		t.Fatalf("%+v, %v", u, err)
	}
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u, err = s.Usage(t.Context()); err != nil || u.Refused == nil {
		t.Fatalf("nothing has changed, and it is forgotten: %+v, %v", u, err)
	}
	delete(needed, outputs[3].Digest)
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u, err = s.Usage(t.Context()); err != nil || u.Refused != nil {
		t.Fatalf("there is room, and it is still told: %+v, %v", u, err)
	}
	if err := s.Put(t.Context(), builders, "j9", o, bytes.NewReader(sixth)); err != nil {
		t.Fatal(err)
	}
	expect(t, s, builders, outputs[3], nil)
	expect(t, s, builders, outputs[0], all[0])
}

func TestUploadsHaveABoundAndAnAge(t *testing.T) {
	now := time.Now()
	s := open(t, start(t, t.TempDir()), jetstream.Config{UploadBytes: 1 << 20, UploadAge: time.Hour, Clock: func() time.Time { return now }})
	upload := func(seed uint64, size int) (events.Output, []byte) {
		t.Helper()
		data := content(seed, size)
		o := blob.OutputOf("up", data)
		if err := s.PutUpload(t.Context(), builders, "j1", o, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		return o, data
	}
	first, _ := upload(1, 600<<10)
	second, data := upload(2, 600<<10)
	expect(t, s, builders, first, nil)
	expect(t, s, builders, second, data)
	// What becomes an output has no age.
	put(t, s, builders, data)
	third, _ := upload(3, 10)
	now = now.Add(2 * time.Hour)
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, s, builders, second, data)
	expect(t, s, builders, third, nil)
	large := content(4, 2<<20)
	if err := s.PutUpload(t.Context(), builders, "j1", blob.OutputOf("up", large), bytes.NewReader(large)); !errors.Is(err, blob.ErrFull) {
		t.Errorf("an upload above the bound: %v", err)
	}
	if u, err := s.Usage(t.Context()); err != nil || u.Refused != nil {
		t.Errorf("an upload raises no alert: %+v, %v", u, err)
	}
}

// A put that is never finished gives its room back, and what its chunks are worth nothing to anybody.
func TestAnUnfinishedPutGivesItsRoomBack(t *testing.T) {
	goesOn := true
	nc := start(t, t.TempDir())
	s := open(t, nc, jetstream.Config{MaxBytes: 3 << 20, UnderWay: func(context.Context) (func(blob.Wish) bool, error) {
		return func(blob.Wish) bool { return goesOn }, nil
	}})
	data := content(1, 2<<20)
	o := blob.OutputOf("out", data)
	begin := func() blob.Place {
		t.Helper()
		p, _, err := s.Begin(t.Context(), blob.Wish{Lane: builders, Job: "j1", Output: o})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := begin()
	if err := s.Chunk(t.Context(), "j1", p, 3, data[3*blob.ChunkBytes:4*blob.ChunkBytes]); err != nil {
		t.Fatal(err)
	}
	other := content(2, 2<<20)
	if err := s.Put(t.Context(), events.PoolLane("builders", 2), "j2", blob.OutputOf("", other), bytes.NewReader(other)); !errors.Is(err, blob.ErrFull) {
		t.Fatalf("the room is reserved: %v", err)
	}
	for name, err := range map[string]error{
		"another job":      s.Chunk(t.Context(), "j2", p, 0, data[:blob.ChunkBytes]),
		"another put":      s.Chunk(t.Context(), "j1", blob.Place{Lane: builders, Digest: o.Digest, Put: strings.Repeat("0", 32)}, 0, data[:blob.ChunkBytes]),
		"a name":           s.Chunk(t.Context(), "j1", blob.Place{Lane: builders, Digest: o.Digest, Put: "*"}, 0, data[:blob.ChunkBytes]),
		"too long":         s.Chunk(t.Context(), "j1", p, 0, data[:blob.ChunkBytes+1]),
		"too short":        s.Chunk(t.Context(), "j1", p, 0, data[:1]),
		"beyond the end":   s.Chunk(t.Context(), "j1", p, 8, data[:blob.ChunkBytes]),
		"before the begin": s.Chunk(t.Context(), "j1", p, -1, data[:blob.ChunkBytes]),
	} {
		if err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	expect(t, s, builders, o, nil)
	goesOn = false
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u, err := s.Usage(t.Context()); err != nil || u.Bytes != 0 || u.Disk > 1<<10 {
		t.Fatalf("it still takes %+v, %v", u, err)
	}
	// Chunks that arrive later are found by their number.
	goesOn = true
	p = begin()
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(t.Context(), builders, o.Digest); err != nil {
		t.Fatal(err)
	}
	goesOn = false
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if _, err := js.Publish(t.Context(), "tacho.blob.chunk.pool_builders.1."+string(o.Digest)+"."+p.Put+"."+string(rune('0'+n)), data[:9]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u, err := s.Usage(t.Context()); err != nil || u.Disk > 1<<10 {
		t.Fatalf("late chunks stay: %+v, %v", u, err)
	}
	// A fifth put ends the oldest one, and one of the same output ends that of which it is a repetition.
	goesOn = true
	var puts []blob.Place
	for i := range 6 {
		o = blob.OutputOf("out", content(uint64(max(1, i)), 10))
		puts = append(puts, begin())
	}
	for i, p := range puts {
		err := s.Chunk(t.Context(), "j1", p, 0, content(uint64(max(1, i)), 10))
		if over := i < 2; errors.Is(err, blob.ErrMissing) != over {
			t.Errorf("put %d: %v", i, err)
		}
	}
}

func TestAClusterKeepsOutputs(t *testing.T) {
	t.Parallel()
	c, err := natsserver.StartCluster(t.Context(), [3]string{t.TempDir(), t.TempDir(), t.TempDir()}, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Shutdown)
	nc, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s := open(t, nc, jetstream.Config{Replicas: 3})
	data := content(1, 10*blob.ChunkBytes+1)
	o := put(t, s, builders, data)
	expect(t, s, builders, o, data)
	c.Servers[0].Shutdown()
	expect(t, open(t, nc, jetstream.Config{Replicas: 3}), builders, o, data)
	second := content(2, 10*blob.ChunkBytes+1)
	expect(t, s, builders, put(t, s, builders, second), second)
	ctx, cancel := patient()
	defer cancel()
	if err := s.Drop(ctx, builders, o.Digest); err != nil {
		t.Fatal(err)
	}
	expect(t, s, builders, o, nil)
}

// A bound that was changed in the configuration counts at the next start, and nothing is lost by it.
func TestTheBoundCanBeChanged(t *testing.T) {
	nc := start(t, t.TempDir())
	s := open(t, nc, jetstream.Config{MaxBytes: 4 << 20})
	data := content(1, 3<<20)
	o := put(t, s, builders, data)
	for _, most := range []int64{8 << 20, 1 << 20} {
		s = open(t, nc, jetstream.Config{MaxBytes: most})
		expect(t, s, builders, o, data)
	}
	small := content(2, 1000)
	put(t, s, builders, small)
	expect(t, s, builders, o, nil)
}
