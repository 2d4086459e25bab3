package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/blob/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// room is how much the store of the property has: two outputs of one chunk and a bit.
const room = 2*blob.ChunkBytes + 96<<10

// shelf is what the store must do: the outputs in the order of their last use.
type shelf struct {
	t       *rapid.T
	dir     string
	server  *natsserver.Server
	nc      *nats.Conn
	store   *jetstream.Store
	kept    []blob.Wish
	needed  map[events.Digest]bool
	running map[events.JobID]bool
	// begun are puts that are under way, oldest first; gone are those whose job has ended.
	begun []begunPut
}

type begunPut struct {
	blob.Wish
	place blob.Place
	data  []byte
	sent  map[int]bool
}

// restart ends the server and begins again with what it has on its disk.
func (s *shelf) restart() {
	if s.server != nil {
		s.nc.Close()
		s.server.Shutdown()
	}
	var err error
	if s.server, err = natsserver.Start(natsserver.Config{Dir: s.dir, Unsynced: true}); err != nil {
		s.t.Fatal(err)
	}
	if s.nc, err = s.server.Connect(); err != nil {
		s.t.Fatal(err)
	}
	s.reopen()
}

// anew begins with an empty store.
func (s *shelf) anew(t *rapid.T) {
	s.t, s.kept, s.begun = t, nil, nil
	s.needed, s.running = map[events.Digest]bool{}, map[events.JobID]bool{"j1": true, "j2": true}
	if s.server == nil {
		s.restart()
	}
	js, err := natsjs.New(s.nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(context.Background(), "OUTPUTS")
	if err == nil {
		err = stream.Purge(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	s.reopen()
}

// reopen is another process of the core on the same server.
func (s *shelf) reopen() {
	store, err := jetstream.Open(context.Background(), s.nc, jetstream.Config{
		MaxBytes: room,
		Needs: func(context.Context) (func(blob.Kept) bool, error) {
			return func(k blob.Kept) bool { return s.needed[k.Output.Digest] }, nil
		},
		UnderWay: func(context.Context) (func(blob.Wish) bool, error) {
			return func(w blob.Wish) bool { return s.running[w.Job] }, nil
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.store = store
}

func takes(o events.Output) int64 { return o.Bytes + 4<<10 + 512*int64(blob.Chunks(o.Bytes)) }

func (s *shelf) at(lane events.Lane, o events.Output) int {
	return slices.IndexFunc(s.kept, func(w blob.Wish) bool { return w.Lane == lane && w.Output.Digest == o.Digest })
}

// used notes a use.
func (s *shelf) used(i int) {
	w := s.kept[i]
	s.kept = append(slices.Delete(s.kept, i, i+1), w)
}

// fits drops what the store must drop for a put, and reports whether the put fits.
func (s *shelf) fits(w blob.Wish) bool {
	s.begun = slices.DeleteFunc(s.begun, func(b begunPut) bool { return b.Lane == w.Lane && b.Output.Digest == w.Output.Digest })
	used := takes(w.Output)
	for _, k := range s.kept {
		used += takes(k.Output)
	}
	for _, b := range s.begun {
		used += takes(b.Output)
	}
	least := used
	for _, k := range s.kept {
		if !s.needed[k.Output.Digest] {
			least -= takes(k.Output)
		}
	}
	for i := 0; used > room && least <= room && i < len(s.kept); {
		if s.needed[s.kept[i].Output.Digest] {
			i++
			continue
		}
		used -= takes(s.kept[i].Output)
		s.kept = slices.Delete(s.kept, i, i+1)
	}
	return used <= room
}

func (s *shelf) begin(w blob.Wish, data []byte) (there bool) {
	place, there, err := s.store.Begin(context.Background(), w)
	if i := s.at(w.Lane, w.Output); i >= 0 {
		if err != nil || !there {
			s.t.Fatalf("%s is there: %v, %v", w.Output.Name, there, err)
		}
		s.used(i)
		return true
	}
	if fits := s.fits(w); fits != (err == nil) || !fits && !errors.Is(err, blob.ErrFull) || there {
		s.t.Fatalf("put %s: it fits: %v, there %v, %v", w.Output.Name, fits, there, err)
	}
	if err == nil {
		s.begun = append(s.begun, begunPut{Wish: w, place: place, data: data, sent: map[int]bool{}})
	}
	return false
}

// check compares the store with what it should have.
func (s *shelf) check() {
	found, err := s.store.List(context.Background())
	if err != nil || len(found) != len(s.kept) {
		s.t.Fatalf("the store has %d outputs, and should have %d: %v", len(found), len(s.kept), err)
	}
	for i, k := range found {
		if want := s.kept[i]; k.Output.Digest != want.Output.Digest || k.Lane != want.Lane {
			s.t.Fatalf("output %d is %s of %s, and should be %s of %s", i, k.Output.Name, k.Lane, want.Output.Name, want.Lane)
		}
	}
}

// Whatever is put, half put, fetched, dropped and forgotten, in whatever order, with restarts of the server and of the core
// at any moment: the store has exactly the outputs that were put whole, gives each back byte for byte, keeps what is
// needed, and removes the rest in the order of its last use.
func TestTheStoreIsAsItsModel(t *testing.T) {
	lanes := []events.Lane{events.PoolLane("builders", 1), {Target: "linux", Set: 1}}
	all, names := map[string][]byte{}, []string{"a", "b", "c", "d", "e", "f"}
	for i, name := range names {
		all[name] = content(uint64(i), []int{0, 10, 100_000, blob.ChunkBytes, blob.ChunkBytes + 1, 4 * blob.ChunkBytes}[i])
	}
	s := &shelf{dir: t.TempDir()}
	defer func() { s.nc.Close(); s.server.Shutdown() }()
	rapid.Check(t, func(t *rapid.T) {
		s.anew(t)
		name := func() (string, events.Output) {
			n := rapid.SampledFrom(names).Draw(t, "output")
			return n, blob.OutputOf(n, all[n])
		}
		lane := func() events.Lane { return rapid.SampledFrom(lanes).Draw(t, "lane") }
		jobOf := func() events.JobID { return rapid.SampledFrom([]events.JobID{"j1", "j2"}).Draw(t, "job") }
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { s.check() },
			"put": func(*rapid.T) {
				n, o := name()
				w := blob.Wish{Lane: lane(), Job: jobOf(), Output: o}
				if s.begin(w, all[n]) || len(s.begun) == 0 || s.begun[len(s.begun)-1].Output.Digest != o.Digest {
					return
				}
				s.sendAll(len(s.begun) - 1)
			},
			"begin": func(*rapid.T) {
				n, o := name()
				w := blob.Wish{Lane: lane(), Job: jobOf(), Output: o}
				if same := slices.DeleteFunc(slices.Clone(s.begun), func(b begunPut) bool { return b.Lane != w.Lane }); len(same) < 3 {
					s.begin(w, all[n])
				}
			},
			"chunk": func(*rapid.T) {
				if len(s.begun) == 0 {
					return
				}
				b := s.begun[rapid.IntRange(0, len(s.begun)-1).Draw(t, "put")]
				if n := blob.Chunks(b.Output.Bytes); n > 0 {
					s.send(b, rapid.IntRange(0, n-1).Draw(t, "chunk"))
				}
			},
			"finish": func(*rapid.T) {
				if len(s.begun) > 0 {
					s.finish(rapid.IntRange(0, len(s.begun)-1).Draw(t, "put"))
				}
			},
			"get": func(*rapid.T) {
				n, o := name()
				l := lane()
				i := s.at(l, o)
				got, err := blob.Bytes(context.Background(), s.store, l, o)
				switch {
				case i < 0 && !errors.Is(err, blob.ErrMissing):
					t.Fatalf("%s is missing, and comes as %d bytes: %v", n, len(got), err)
				case i >= 0 && (err != nil || !bytes.Equal(got, all[n])):
					t.Fatalf("%s comes as %d bytes: %v", n, len(got), err)
				case i >= 0:
					s.used(i)
				}
			},
			"drop": func(*rapid.T) {
				_, o := name()
				l := lane()
				if err := s.store.Drop(context.Background(), l, o.Digest); err != nil {
					t.Fatal(err)
				}
				if i := s.at(l, o); i >= 0 {
					s.kept = slices.Delete(s.kept, i, i+1)
				}
			},
			"need": func(*rapid.T) {
				_, o := name()
				s.needed[o.Digest] = !s.needed[o.Digest]
			},
			"end": func(*rapid.T) {
				job := jobOf()
				s.running[job] = !s.running[job]
			},
			"tidy": func(*rapid.T) {
				if err := s.store.Tidy(context.Background()); err != nil {
					t.Fatal(err)
				}
				s.begun = slices.DeleteFunc(s.begun, func(b begunPut) bool { return !s.running[b.Job] })
			},
			"restart": func(*rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "how") == 0 { // a server takes long to start
					s.restart()
				}
			},
			"reopen": func(*rapid.T) { s.reopen() },
		})
		// When all jobs have ended, nothing but the outputs takes any room.
		s.running = nil
		if err := s.store.Tidy(context.Background()); err != nil {
			t.Fatal(err)
		}
		u, err := s.store.Usage(context.Background())
		sum := int64(2 << 10)
		for _, w := range s.kept {
			sum += takes(w.Output)
		}
		if err != nil || u.Disk > sum {
			t.Fatalf("%d bytes for outputs of %d: %v", u.Disk, sum, err)
		}
	})
}

func (s *shelf) send(b begunPut, n int) {
	size, _ := blob.ChunkSize(b.Output.Bytes, n)
	if err := s.store.Chunk(context.Background(), b.Job, b.place, n, b.data[n*blob.ChunkBytes:n*blob.ChunkBytes+size]); err != nil {
		s.t.Fatal(err)
	}
	b.sent[n] = true
}

func (s *shelf) sendAll(i int) {
	for n := range blob.Chunks(s.begun[i].Output.Bytes) {
		s.send(s.begun[i], n)
	}
	s.finish(i)
}

// finish ends a put: as an output if all was sent, and as nothing else.
func (s *shelf) finish(i int) {
	b := s.begun[i]
	done, err := s.store.Finish(context.Background(), b.Job, b.place)
	whole := len(b.sent) == blob.Chunks(b.Output.Bytes)
	if whole != done || whole != (err == nil) || !whole && !errors.Is(err, blob.ErrDamaged) {
		s.t.Fatalf("finish %s, whole %v: done %v, %v", b.Output.Name, whole, done, err)
	}
	s.begun = slices.Delete(s.begun, i, i+1)
	if whole && s.at(b.Lane, b.Output) < 0 {
		s.kept = append(s.kept, b.Wish)
	}
}
