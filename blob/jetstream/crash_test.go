package jetstream_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/blob/jetstream"
	"github.com/tachobench/tacho/eventlog/eventlogtest"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// These variables make this test program a server on a directory, or a core that works on a store and is killed before it
// says something for the nth time.
const (
	serverDir = "TACHO_TEST_SERVER_DIR"
	coreOf    = "TACHO_TEST_CORE_OF"
	killedAt  = "TACHO_TEST_KILLED_AT"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(serverDir) != "":
		serve(os.Getenv(serverDir))
	case os.Getenv(coreOf) != "":
		work(os.Getenv(coreOf), os.Getenv(killedAt))
	default:
		m.Run()
	}
}

func serve(dir string) {
	s, err := natsserver.Start(natsserver.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
}

// spawn starts this program with more variables, and returns its output and what kills it.
func spawn(t *testing.T, env ...string) (*bufio.Reader, func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = stdin.Close()
	}
	t.Cleanup(kill)
	return bufio.NewReader(out), kill
}

func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return strings.TrimSpace(text)
}

// TestKilledServerKeepsOutputs kills the server again and again while outputs are put, fetched and dropped. What was
// stored is there, what was dropped is not, and nothing is half.
func TestKilledServerKeepsOutputs(t *testing.T) {
	t.Parallel()
	const rounds, workers = 2, 3
	dir := t.TempDir()
	stored := make([]map[uint64]bool, workers)
	for w := range stored {
		stored[w] = map[uint64]bool{}
	}
	size := func(n uint64) int { return 1 + int(n%5)*blob.ChunkBytes/2 }
	next := uint64(1)
	for round := range rounds + 1 {
		out, kill := spawn(t, serverDir+"="+dir)
		nc, err := nats.Connect(line(t, out), nats.NoReconnect())
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, nc, jetstream.Config{UnderWay: func(context.Context) (func(blob.Wish) bool, error) {
			return func(blob.Wish) bool { return false }, nil
		}})
		if err := s.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept, sum := 0, int64(8<<10)
		for w := range workers {
			for n, there := range stored[w] {
				data := content(n, size(n))
				o := blob.OutputOf("", data)
				if !there {
					expect(t, s, events.PoolLane("builders", w), o, nil)
					continue
				}
				expect(t, s, events.PoolLane("builders", w), o, data)
				kept, sum = kept+1, sum+o.Bytes+8<<10
			}
		}
		found, err := s.List(t.Context())
		if err != nil || len(found) < kept || len(found) > kept+2*workers {
			t.Fatalf("%d outputs of %d: %v", len(found), kept, err)
		}
		for _, k := range found {
			if got, err := blob.Bytes(t.Context(), s, k.Lane, k.Output); err != nil {
				t.Fatalf("%d bytes of an output: %v", len(got), err)
			}
			sum += k.Output.Bytes
		}
		if u, err := s.Usage(t.Context()); err != nil || u.Disk > sum {
			t.Fatalf("%d bytes, not %d: %v", u.Disk, sum, err)
		}
		if round == rounds {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		var done atomic.Int64
		working := errgroup.Group{}
		for w := range workers {
			working.Go(func() error {
				lane := events.PoolLane("builders", w)
				for n := next; ctx.Err() == nil; n++ {
					data := content(n, size(n))
					o := blob.OutputOf("", data)
					delete(stored[w], n)
					if s.Put(ctx, lane, "j1", o, bytes.NewReader(data)) != nil {
						return nil
					}
					stored[w][n] = true
					if n%3 == 0 {
						delete(stored[w], n) // unless Drop says so, both are right
						if s.Drop(ctx, lane, o.Digest) != nil {
							return nil
						}
						stored[w][n] = false
					}
					done.Add(1)
				}
				return nil
			})
		}
		late, tick := time.After(10*time.Minute), time.NewTicker(time.Millisecond)
		for enough := false; !enough; {
			select {
			case <-tick.C:
				enough = done.Load() > 20
			case <-late:
				t.Fatal("the workers are too slow")
			}
		}
		tick.Stop()
		kill()
		cancel()
		if err := working.Wait(); err != nil {
			t.Fatal(err)
		}
		nc.Close()
		next += 1000
	}
}

// The outputs of the core that is killed: old is stored before, and needed; gone is dropped; mine is put.
var (
	oldData, goneData, mineData = content(1, 2*blob.ChunkBytes), content(2, blob.ChunkBytes+9), content(3, 2*blob.ChunkBytes)
	old, gone, mine             = blob.OutputOf("old", oldData), blob.OutputOf("gone", goneData), blob.OutputOf("mine", mineData)
)

const coreRoom = 4*blob.ChunkBytes + 96<<10

// work puts an output that needs the room of another one, and is killed at some moment.
func work(url, at string) {
	n, err := strconv.Atoi(at)
	left := &atomic.Int64{}
	left.Store(int64(n) + 2) // not while it opens the store: it asks for the stream, and may change it
	var nc *nats.Conn
	if err == nil {
		nc, err = nats.Connect(url, nats.SetCustomDialer(eventlogtest.Mortal{Left: left}))
	}
	var s *jetstream.Store
	if err == nil {
		s, err = jetstream.Open(context.Background(), nc, jetstream.Config{MaxBytes: coreRoom, Needs: needsOld})
	}
	if err == nil {
		err = s.Put(context.Background(), builders, "j1", mine, bytes.NewReader(mineData))
	}
	if err == nil {
		_, err = blob.Bytes(context.Background(), s, builders, old)
	}
	if err == nil {
		err = s.Drop(context.Background(), builders, mine.Digest)
	}
	if err == nil {
		err = s.Tidy(context.Background())
	}
	fmt.Println("done", err)
}

func needsOld(context.Context) (func(blob.Kept) bool, error) {
	return func(k blob.Kept) bool { return k.Output.Digest == old.Digest }, nil
}

// TestKilledCoreLeavesNothingHalf kills a core before each thing that it says to the server: while it makes room, stores
// an output, uses another one and drops the first. The next core finds what is needed, nothing half, and all the room.
func TestKilledCoreLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	server, err := natsserver.Start(natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s := open(t, nc, jetstream.Config{MaxBytes: coreRoom, Needs: needsOld, UnderWay: func(context.Context) (func(blob.Wish) bool, error) {
		return func(blob.Wish) bool { return false }, nil
	}})
	kills := 0
	for over := false; !over; kills++ {
		for o, data := range map[events.Output][]byte{gone: goneData, old: oldData} {
			if err := s.Put(t.Context(), builders, "j0", o, bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
		}
		out, _ := spawn(t, coreOf+"="+server.URL(), killedAt+"="+strconv.Itoa(kills))
		said := line(t, out)
		if over = said != ""; over && said != "done <nil>" {
			t.Fatalf("after %d: %s", kills, said)
		}
		sum := int64(12 << 10)
		for o, data := range map[events.Output][]byte{gone: goneData, mine: mineData, old: oldData} {
			got, err := blob.Bytes(t.Context(), s, builders, o)
			switch {
			case err == nil && bytes.Equal(got, data):
				sum += o.Bytes
			case o == old || !errors.Is(err, blob.ErrMissing):
				t.Fatalf("killed at %d: %s comes as %d bytes, %v", kills, o.Name, len(got), err)
			}
		}
		if err := s.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if u, err := s.Usage(t.Context()); err != nil || u.Disk > sum {
			t.Fatalf("killed at %d: %d bytes, not %d: %v", kills, u.Disk, sum, err)
		}
		if err := s.Put(t.Context(), builders, "j2", mine, bytes.NewReader(mineData)); err != nil {
			t.Fatalf("killed at %d: put again: %v", kills, err)
		}
		expect(t, s, builders, mine, mineData)
		if err := s.Drop(t.Context(), builders, mine.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if kills < 20 {
		t.Errorf("it was killed %d times only", kills)
	}
	t.Logf("killed %d times", kills)
}
