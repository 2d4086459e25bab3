package door_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/eventlogtest"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// These variables make this test program a collector that stores an output and says so, and is killed before it says
// something to the core for the nth time.
const (
	builderAt   = "TACHO_TEST_BUILDER_AT"
	builderSeed = "TACHO_TEST_BUILDER_SEED"
	builderDies = "TACHO_TEST_BUILDER_DIES"
)

var (
	builtLane = events.Lane{Target: "linux", Set: 1}
	built     = bytes.Repeat([]byte("built "), blob.ChunkBytes/2)
	builtOut  = blob.OutputOf("toolchain", built)
)

func TestMain(m *testing.M) {
	if url := os.Getenv(builderAt); url != "" {
		fmt.Println("done", buildAt(url))
		return
	}
	m.Run()
}

// buildAt stores the output of the job in hand.
func buildAt(url string) error {
	key, err := nkeys.FromSeed([]byte(os.Getenv(builderSeed)))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Getenv(builderDies))
	if err != nil {
		return err
	}
	left := &atomic.Int64{}
	left.Store(int64(n))
	c, err := door.Open(context.Background(), func(context.Context) (*nats.Conn, error) {
		return nats.Connect(url, natsserver.KeyOption(key), nats.SetCustomDialer(eventlogtest.Mortal{Left: left}))
	}, "eider", builtLane)
	if err != nil {
		return err
	}
	defer c.Close()
	last, _, err := c.Last(context.Background(), events.WorkSubject(builtLane))
	if err != nil {
		return err
	}
	if err := c.Put(context.Background(), builtLane, "j1", builtOut, bytes.NewReader(built)); err != nil {
		return err
	}
	_, err = c.Append(context.Background(), appendOf(0, events.OutputStored{
		Lane: builtLane, JobID: "j1", Collector: "eider", Token: last.Seq, Attempt: 1, Output: builtOut,
	}))
	return err
}

// TestKilledBuilder kills a collector before each thing that it says while it stores an output: half of it is stored, it
// is stored and not said, it is said. What the log says is stored is whole, and what is not can be stored by the next.
func TestKilledBuilder(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := newCore(t, generous())
	k.open()
	eider := k.register("eider", 1)
	client := k.client(eider)
	k.take(eider, client, events.JobSpec{ID: "j1"}, 1)
	seed, err := eider.key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]int{}
	for n, over := 3, false; !over; n++ {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), builderAt+"="+k.server.URL(), builderSeed+"="+string(seed), builderDies+"="+strconv.Itoa(n))
		out, err := cmd.Output()
		over = err == nil
		if over && string(out) != "done <nil>\n" {
			t.Fatalf("dies at %d: %s", n, out)
		}
		_, said, err := k.log.Last(t.Context(), events.ResultSubject(builtLane, "j1"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := blob.Bytes(t.Context(), client, builtLane, builtOut)
		whole := err == nil && bytes.Equal(got, built)
		if !whole && (said || !errors.Is(err, blob.ErrMissing)) {
			t.Fatalf("dies at %d: it is said: %v, and comes as %d bytes: %v", n, said, len(got), err)
		}
		states[fmt.Sprintf("stored %v, said %v", whole, said)]++
		if over {
			break
		}
		// The next attempt stores it whatever was left.
		if err := client.Put(t.Context(), builtLane, "j1", builtOut, bytes.NewReader(built)); err != nil {
			t.Fatalf("dies at %d: store it again: %v", n, err)
		}
		if got, err := blob.Bytes(t.Context(), client, builtLane, builtOut); err != nil || !bytes.Equal(got, built) {
			t.Fatalf("dies at %d: %d bytes, %v", n, len(got), err)
		}
		if err := k.outputs.Drop(t.Context(), builtLane, builtOut.Digest); err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range []string{"stored false, said false", "stored true, said false", "stored true, said true"} {
		if states[state] == 0 {
			t.Errorf("never %s: %v", state, states)
		}
	}
}
