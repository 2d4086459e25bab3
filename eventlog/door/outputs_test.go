package door_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

func random(t testing.TB, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return data
}

// take puts a job on the lane of a collector and lets it begin, as the core and the collector do.
func (c *core) take(who collector, client *door.Client, spec events.JobSpec, place uint64) events.Seq {
	c.t.Helper()
	spec.Target, spec.Set, spec.RequestID = who.lane.Target, who.lane.Set, "r1"
	if spec.Artifact.Suite == "" {
		spec.Artifact = events.Artifact{Suite: "go", Tag: "x", Kind: events.Master}
	}
	c.reach(c.append(events.JobDispatched{Place: place, Job: spec}))
	last, _, err := client.Last(context.Background(), events.WorkSubject(who.lane))
	if err != nil {
		c.t.Fatal(err)
	}
	seq, err := client.Append(context.Background(), appendOf(last.Seq, events.JobDequeued{Lane: who.lane, Place: place, Job: spec, Collector: who.name, Instance: "1", Attempt: 1}))
	if err != nil {
		c.t.Fatal(err)
	}
	return seq
}

func (c *core) finish(who collector, client *door.Client, id events.JobID, place uint64, token events.Seq) {
	c.t.Helper()
	_, err := client.Append(context.Background(), appendOf(token, events.JobFinished{
		Lane: who.lane, Place: place, JobID: id, RequestID: "r1", Collector: who.name, Token: token, Attempt: 1, Outcome: events.Success,
	}))
	if err != nil {
		c.t.Fatal(err)
	}
}

func TestOutputsThroughTheDoor(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider, teal := k.register("eider", 1), k.register("teal", 2)
	builds, measures := k.client(eider), k.client(teal)
	data := random(t, 5*blob.ChunkBytes+3)
	o := blob.OutputOf("toolchain", data)
	var notNow *job.Refusal
	if err := builds.Put(t.Context(), eider.lane, "j1", o, bytes.NewReader(data)); !errors.As(err, &notNow) {
		t.Errorf("a put without a job: %v", err)
	}
	token := k.take(eider, builds, events.JobSpec{ID: "j1"}, 1)
	for name, err := range map[string]error{
		"another lane": builds.Put(t.Context(), teal.lane, "j1", o, bytes.NewReader(data)),
		"a pool":       builds.Put(t.Context(), events.PoolLane("builders", 1), "j1", o, bytes.NewReader(data)),
	} {
		if !errors.Is(err, door.ErrNotPermitted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := builds.Put(t.Context(), eider.lane, "j2", o, bytes.NewReader(data)); !errors.As(err, &notNow) {
		t.Errorf("a put of another job: %v", err)
	}
	if err := builds.Put(t.Context(), eider.lane, "j1", o, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	k.finish(eider, builds, "j1", 1, token)
	if got, err := blob.Bytes(t.Context(), builds, eider.lane, o); err != nil || !bytes.Equal(got, data) {
		t.Errorf("what its own lane has put: %d bytes, %v", len(got), err)
	}
	if _, err := blob.Bytes(t.Context(), measures, eider.lane, o); !errors.Is(err, door.ErrNotPermitted) {
		t.Errorf("an output that is no input: %v", err)
	}
	other := blob.OutputOf("x", random(t, 10))
	spec := events.JobSpec{ID: "j3", Inputs: []events.Input{{Output: o, JobID: "j1", Kind: "build", Lane: eider.lane}, {Output: other, JobID: "j1", Kind: "build", Lane: eider.lane}}}
	token = k.take(teal, measures, spec, 1)
	if got, err := blob.Bytes(t.Context(), measures, eider.lane, o); err != nil || !bytes.Equal(got, data) {
		t.Errorf("an input: %d bytes, %v", len(got), err)
	}
	if _, err := blob.Bytes(t.Context(), measures, eider.lane, other); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("an input that is gone: %v", err)
	}
	if _, err := blob.Bytes(t.Context(), measures, teal.lane, o); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("what the own lane has not put: %v", err)
	}
	if _, err := blob.Bytes(t.Context(), measures, events.PoolLane("builders", 1), o); !errors.Is(err, door.ErrNotPermitted) {
		t.Errorf("the same from another lane: %v", err)
	}
	k.finish(teal, measures, "j3", 1, token)
	if _, err := blob.Bytes(t.Context(), measures, eider.lane, o); !errors.Is(err, door.ErrNotPermitted) {
		t.Errorf("an input of a job that has ended: %v", err)
	}
}

// ask asks the door with raw bytes, as a hostile collector can, and returns the kind of refusal.
func ask(t *testing.T, nc *nats.Conn, name events.CollectorName, verb string, body []byte) (answer struct {
	Place   blob.Place `json:"place"`
	Refusal struct {
		Kind, Reason string
	} `json:"refusal"`
},
) {
	t.Helper()
	m, err := nc.Request(door.Prefix+"."+string(name)+"."+verb, body, 20*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", verb, err)
	}
	text, _ := blob.Decode(m.Data)
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestHostilePuts(t *testing.T) {
	k := newCore(t, door.DefaultBounds())
	k.open()
	eider := k.register("eider", 1)
	client := k.client(eider)
	k.take(eider, client, events.JobSpec{ID: "j1"}, 1)
	nc, err := k.dial(eider.key)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	data := random(t, 3*blob.ChunkBytes)
	o := blob.OutputOf("out", data)
	begin := func(o events.Output, lane events.Lane) []byte {
		return encode(t, map[string]any{"v": 1, "wish": blob.Wish{Lane: lane, Job: "j1", Output: o}})
	}
	for what, body := range map[string][]byte{
		"nothing": encode(t, map[string]any{"v": 1}), "no digest": begin(events.Output{Digest: "*", Bytes: 1}, eider.lane),
		"a negative size": begin(events.Output{Digest: o.Digest, Bytes: -1}, eider.lane), "5 GiB": begin(events.Output{Digest: o.Digest, Bytes: 5 << 30}, eider.lane),
		"a long name": begin(events.Output{Name: strings.Repeat("x", 1000), Digest: o.Digest, Bytes: 1}, eider.lane),
		"a wild lane": begin(o, events.Lane{Target: "*", Set: 1}), "another lane": begin(o, events.Lane{Target: "linux", Set: 2}),
	} {
		if a := ask(t, nc, eider.name, "begin", body); a.Refusal.Kind == "" || a.Refusal.Kind == "again" {
			t.Errorf("%s: %+v", what, a)
		}
	}
	place := ask(t, nc, eider.name, "begin", begin(o, eider.lane)).Place
	chunk := func(p blob.Place, job string, n int, data []byte) string {
		return ask(t, nc, eider.name, "chunk", blob.Encode(encode(t, map[string]any{"v": 1, "job_id": job, "place": p, "n": n}), data)).Refusal.Kind
	}
	elsewhere, forged := place, place
	elsewhere.Lane.Set, forged.Put = 2, strings.Repeat("f", 32)
	for what, got := range map[string]string{
		"another lane": chunk(elsewhere, "j1", 0, data[:blob.ChunkBytes]), "a forged put": chunk(forged, "j1", 0, data[:blob.ChunkBytes]),
		"another job": chunk(place, "j2", 0, data[:blob.ChunkBytes]), "too many bytes": chunk(place, "j1", 0, data[:blob.ChunkBytes+1]),
		"beyond the end": chunk(place, "j1", 3, data[:blob.ChunkBytes]), "a negative one": chunk(place, "j1", -1, data[:blob.ChunkBytes]), "no content": chunk(place, "j1", 0, nil),
	} {
		if got == "" || got == "again" {
			t.Errorf("%s: %q", what, got)
		}
	}
	// Chunks come in any order, and what was stored once stays as it is.
	for _, n := range []int{2, 0, 0} {
		if got := chunk(place, "j1", n, data[n*blob.ChunkBytes:(n+1)*blob.ChunkBytes]); got != "" {
			t.Errorf("chunk %d: %q", n, got)
		}
	}
	if got := chunk(place, "j1", 0, make([]byte, blob.ChunkBytes)); got != "" {
		t.Errorf("chunk 0 again: %q", got)
	}
	early, err := blob.Bytes(t.Context(), client, eider.lane, o)
	if !errors.Is(err, blob.ErrMissing) {
		t.Errorf("half an output: %d bytes, %v", len(early), err)
	}
	if got := chunk(place, "j1", 1, data[blob.ChunkBytes:2*blob.ChunkBytes]); got != "" {
		t.Errorf("chunk 1: %q", got)
	}
	finish := encode(t, map[string]any{"v": 1, "job_id": "j1", "place": place})
	for range 2 { // the answer to the first one may be lost
		if a := ask(t, nc, eider.name, "finish", finish); a.Refusal.Kind != "" {
			t.Errorf("finish: %+v", a)
		}
	}
	if got, err := blob.Bytes(t.Context(), client, eider.lane, o); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	// The digest of something else.
	wrong := blob.OutputOf("out", random(t, blob.ChunkBytes))
	place = ask(t, nc, eider.name, "begin", begin(wrong, eider.lane)).Place
	if got := chunk(place, "j1", 0, data[:blob.ChunkBytes]); got != "" {
		t.Fatal(got)
	}
	if a := ask(t, nc, eider.name, "finish", encode(t, map[string]any{"v": 1, "job_id": "j1", "place": place})); a.Refusal.Kind != "damaged" {
		t.Errorf("a wrong digest: %+v", a)
	}
	if _, err := blob.Bytes(t.Context(), client, eider.lane, wrong); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("what has a wrong digest: %v", err)
	}
	if u, err := k.outputs.Usage(t.Context()); err != nil || u.Outputs != 1 {
		t.Errorf("%+v, %v", u, err)
	}
}

// A collector that sends many chunks at once is slowed, and cut off if it does not stop. One that obeys is neither.
func TestFloodsOfOutputs(t *testing.T) {
	b := door.DefaultBounds()
	b.CutFor = 200 * time.Millisecond
	k := newCore(t, b)
	k.open()
	eider, teal := k.register("eider", 1), k.register("teal", 2)
	client := k.client(eider)
	k.take(eider, client, events.JobSpec{ID: "j1"}, 1)
	for i := range 3 {
		data := random(t, 40*blob.ChunkBytes)
		if err := client.Put(t.Context(), eider.lane, "j1", blob.OutputOf(fmt.Sprint(i), data), bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	loud, err := k.dial(teal.key, nats.NoReconnect())(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(loud.Close)
	garbage := make([]byte, 2000) // many small ones are faster than the door, also where everything is slow
	await(t, "the cut", func() bool {
		for range 50 {
			_ = loud.PublishRequest(door.Prefix+".teal.chunk", "x", garbage)
		}
		return loud.IsClosed()
	})
	k.mu.Lock()
	quiet := k.alerts[eider.name]
	k.mu.Unlock()
	if quiet != "" {
		t.Errorf("the other was told of: %s", quiet)
	}
}
