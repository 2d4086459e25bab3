// Package jetstream keeps outputs in JetStream, in a stream beside the log.
//
//	tacho.blob.put.<target>.<set>.<digest>.<put>        a put that is under way, or is being removed
//	tacho.blob.chunk.<target>.<set>.<digest>.<put>.<n>  chunk n of a put: written once, never changed
//	tacho.blob.out.<target>.<set>.<digest>              the manifest of a stored output: it names the put that has its chunks
//	tacho.blob.full                                     the last put that did not fit
//
// A put writes its chunks under a random name of its own, in any order and through any process. When all are there, Finish
// reads them again, and only if their digest is the wanted one it writes the manifest. So a reader that finds a manifest finds
// the whole output, and a put that died leaves nothing but chunks without a manifest, which Tidy removes. To remove an
// output the store first notes that the put is to be removed, then removes the manifest, then the chunks.
//
// The time of the manifest is when the output was used last: opening an output writes its manifest again.
//
// The object store of the NATS client was not taken: one process must read and write an object from its beginning to its
// end, and it leaves chunks for ever if that process dies.
package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
)

// The names in JetStream.
const (
	streamName  = "OUTPUTS"
	prefix      = "tacho.blob."
	putPrefix   = prefix + "put."
	chunkPrefix = prefix + "chunk."
	outPrefix   = prefix + "out."
	fullSubject = prefix + "full"
)

const (
	// maxMessage is the default limit of a NATS server, so that the store can be on any cluster.
	maxMessage = 1 << 20
	// perOutput and perChunk are about what the store takes beside the content, in bytes.
	perOutput, perChunk = 4 << 10, 512
	// maxPuts is how many puts of one lane can be under way. One more ends the oldest: it belongs to a collector that died.
	maxPuts = 4
	// refusedFor is how long a put that did not fit is told: its collector would have tried again by then.
	refusedFor = time.Hour
)

// Config says how outputs are kept. Zero values are the defaults.
type Config struct {
	// Replicas is as for the log.
	Replicas int
	// MaxBytes bounds the outputs, 20 GiB by default; UploadBytes and UploadAge bound the uploads, 5 GiB and 30 days by default.
	MaxBytes, UploadBytes int64
	UploadAge             time.Duration
	// Needs returns what tells whether an output must stay: an open graph needs it, or a running job has just stored it. Under
	// way tells whether a put may still be finished. With nil nothing is needed, and every put may be finished.
	Needs    func(ctx context.Context) (func(blob.Kept) bool, error)
	UnderWay func(ctx context.Context) (func(blob.Wish) bool, error)
	Clock    func() time.Time
}

func (c Config) withDefaults() Config {
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.MaxBytes = cmp.Or(c.MaxBytes, 20<<30)
	c.UploadBytes = cmp.Or(c.UploadBytes, 5<<30)
	c.UploadAge = cmp.Or(c.UploadAge, 30*24*time.Hour)
	if c.Needs == nil {
		c.Needs = func(context.Context) (func(blob.Kept) bool, error) { return func(blob.Kept) bool { return false }, nil }
	}
	if c.UnderWay == nil {
		c.UnderWay = func(context.Context) (func(blob.Wish) bool, error) { return func(blob.Wish) bool { return true }, nil }
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}

// stream returns the configuration of the stream with every field that matters. It never removes a message by itself. It
// has no limit of its own: the server would reserve it, also where there are no builds. Begin keeps to the bounds.
func (c Config) stream() natsjs.StreamConfig {
	return natsjs.StreamConfig{
		Name: streamName, Description: "Tacho: outputs of jobs", Subjects: []string{prefix + ">"},
		Storage: natsjs.FileStorage, Replicas: c.Replicas, Retention: natsjs.LimitsPolicy, Discard: natsjs.DiscardNew,
		MaxBytes: -1, MaxMsgs: -1, MaxMsgsPerSubject: 1, MaxMsgSize: maxMessage, MaxConsumers: -1,
		Duplicates: time.Second, AllowDirect: true,
	}
}

// Store is the core's end of the store of outputs. It implements blob.Store and blob.Keeper, and is safe for concurrent
// use, by any number of processes.
type Store struct {
	blob.Whole
	cfg    Config
	stream *jetstream.Beside
	// room lets one put after the other look for room.
	room sync.Mutex

	mu sync.Mutex
	// known are puts that were under way a moment ago.
	known map[string]ticketSeen
}

// ticketSeen is a put that was under way at a time.
type ticketSeen struct {
	ticket
	at time.Time
}

// Open returns the store, and makes its stream if there is none. It returns a *jetstream.DriftError if the stream cannot
// be configured as it must be.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Store, error) {
	s := &Store{cfg: cfg.withDefaults(), known: map[string]ticketSeen{}}
	s.Whole = blob.Whole{Pieces: s}
	var err error
	if s.stream, err = jetstream.OpenBeside(ctx, nc, s.cfg.stream()); err != nil {
		return nil, fmt.Errorf("open the store of outputs: %w", err)
	}
	return s, nil
}

// ticket is a put that is under way.
type ticket struct {
	blob.Wish
	// Checked is how many chunks Finish has read, and Sum the state of their hash.
	Checked int    `json:"checked,omitempty"`
	Sum     []byte `json:"sum,omitempty"`
	// Removing is set if the output was stored, and is being removed.
	Removing bool `json:"removing,omitempty"`
}

// manifest is a stored output.
type manifest struct {
	blob.Wish
	Put    string    `json:"put"`
	Chunks int       `json:"chunks"`
	At     time.Time `json:"at"`
}

func (m manifest) place() blob.Place {
	return blob.Place{Lane: m.Lane, Digest: m.Output.Digest, Put: m.Put}
}

func laneToken(l events.Lane) string { return string(l.Target) + "." + strconv.Itoa(int(l.Set)) }

func outSubject(lane events.Lane, digest events.Digest) string {
	return outPrefix + laneToken(lane) + "." + string(digest)
}

func under(prefix string, p blob.Place) string {
	return prefix + laneToken(p.Lane) + "." + string(p.Digest) + "." + p.Put
}

func chunkSubject(p blob.Place, n int) string { return under(chunkPrefix, p) + "." + strconv.Itoa(n) }

// checkPlace returns an error for a place that no put has: what it names becomes part of a subject.
func checkPlace(p blob.Place) error {
	id, err := hex.DecodeString(p.Put)
	if err != nil || len(id) != putBytes || !blob.IsDigest(p.Digest) || events.CheckToken("target", string(p.Lane.Target)) != nil || p.Lane.Set < 0 {
		return fmt.Errorf("%w: there is no put %.80q", blob.ErrMissing, p.Put)
	}
	return nil
}

// putBytes is the length of the random name of a put.
const putBytes = 16

func newPut() string {
	id := make([]byte, putBytes)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// read returns the last message of a subject as JSON, and its sequence; 0 if there is none.
func read[T any](ctx context.Context, s *Store, subject string) (v T, m events.Stored, err error) {
	m, ok, err := s.stream.Last(ctx, subject)
	if err != nil || !ok {
		return v, events.Stored{}, err
	}
	if err := json.Unmarshal(m.Data, &v); err != nil {
		return v, m, fmt.Errorf("the store of outputs has %s, which cannot be read: %w", subject, err)
	}
	return v, m, nil
}

// write stores v as the last message of a subject.
func (s *Store) write(ctx context.Context, subject string, v any, last events.Seq) (events.Seq, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("store %s: %w", subject, err)
	}
	return s.stream.Put(ctx, subject, data, last)
}

// all returns the last messages of all subjects below a prefix.
func all[T any](ctx context.Context, s *Store, prefix string) (out map[string]entry[T], err error) {
	subjects, _, err := s.stream.Count(ctx, prefix+">")
	if err != nil {
		return nil, err
	}
	out = make(map[string]entry[T], len(subjects))
	for subject := range subjects {
		v, m, err := read[T](ctx, s, subject)
		if err != nil {
			return nil, err
		}
		if m.Seq > 0 {
			out[subject] = entry[T]{v, m.Seq, m.StoredAt}
		}
	}
	return out, nil
}

// entry is a message with its sequence and its time.
type entry[T any] struct {
	value T
	seq   events.Seq
	at    time.Time
}

// found returns the manifest of an output, if its chunks are there; sequence 0 if there is no such output.
func (s *Store) found(ctx context.Context, lane events.Lane, digest events.Digest) (m manifest, seq events.Seq, err error) {
	subject := outSubject(lane, digest)
	m, at, err := read[manifest](ctx, s, subject)
	if err != nil || at.Seq == 0 {
		return m, 0, err
	}
	for _, n := range []int{0, m.Chunks - 1} {
		if m.Chunks == 0 {
			break
		}
		_, there, err := s.stream.LastOfAny(ctx, chunkSubject(m.place(), n))
		if err != nil {
			return m, 0, err
		}
		if !there { // the disk has lost it
			return m, 0, s.remove(ctx, m, at.Seq)
		}
	}
	return m, at.Seq, nil
}

// use notes that an output is used now.
func (s *Store) use(ctx context.Context, m manifest, seq events.Seq) error {
	_, err := s.write(ctx, outSubject(m.Lane, m.Output.Digest), m, seq)
	if errors.Is(err, jetstream.ErrMoved) { // another process uses it, or removes it
		return nil
	}
	return err
}

// Open implements blob.Pieces.
func (s *Store) Open(ctx context.Context, lane events.Lane, digest events.Digest) (blob.Place, int64, error) {
	if !blob.IsDigest(digest) || events.CheckToken("target", string(lane.Target)) != nil {
		return blob.Place{}, 0, blob.ErrMissing
	}
	m, seq, err := s.found(ctx, lane, digest)
	if err == nil && seq == 0 {
		err = blob.ErrMissing
	}
	if err == nil {
		err = s.use(ctx, m, seq)
	}
	return m.place(), m.Output.Bytes, err
}

// Piece implements blob.Pieces.
func (s *Store) Piece(ctx context.Context, p blob.Place, n int) ([]byte, error) {
	if err := checkPlace(p); err != nil {
		return nil, err
	}
	m, ok, err := s.stream.LastOfAny(ctx, chunkSubject(p, n))
	if err == nil && !ok {
		err = blob.ErrMissing
	}
	return m.Data, err
}

// List implements blob.Keeper.
func (s *Store) List(ctx context.Context) ([]blob.Kept, error) {
	found, err := all[manifest](ctx, s, outPrefix)
	if err != nil {
		return nil, fmt.Errorf("list the outputs: %w", err)
	}
	out := make([]blob.Kept, 0, len(found))
	for _, e := range found {
		out = append(out, blob.Kept{Wish: e.value.Wish, Put: e.value.Put, StoredAt: e.value.At, UsedAt: e.at})
	}
	slices.SortFunc(out, func(a, b blob.Kept) int {
		return cmp.Or(a.UsedAt.Compare(b.UsedAt), strings.Compare(string(a.Output.Digest), string(b.Output.Digest)), strings.Compare(a.Lane.String(), b.Lane.String()))
	})
	return out, nil
}

// Drop implements blob.Keeper.
func (s *Store) Drop(ctx context.Context, lane events.Lane, digest events.Digest) error {
	for {
		m, at, err := read[manifest](ctx, s, outSubject(lane, digest))
		if err != nil || at.Seq == 0 {
			return err
		}
		if err := s.remove(ctx, m, at.Seq); err != nil {
			return err
		}
	}
}

// remove removes an output, unless it was used after its manifest had this sequence.
func (s *Store) remove(ctx context.Context, m manifest, seq events.Seq) error {
	p := m.place()
	now, at, err := read[ticket](ctx, s, under(putPrefix, p))
	if err != nil {
		return err
	}
	if at.Seq == 0 || !now.Removing {
		_, err = s.write(ctx, under(putPrefix, p), ticket{Wish: m.Wish, Removing: true}, at.Seq)
		if err != nil && !errors.Is(err, jetstream.ErrMoved) && !errors.Is(err, jetstream.ErrNoRoom) {
			return err
		}
	}
	if err := s.stream.Remove(ctx, seq); err != nil {
		return err
	}
	return s.end(ctx, p)
}

// end removes what a put has stored, unless a manifest names it.
func (s *Store) end(ctx context.Context, p blob.Place) error {
	m, at, err := read[manifest](ctx, s, outSubject(p.Lane, p.Digest))
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.known, under(putPrefix, p))
	s.mu.Unlock()
	if at.Seq == 0 || m.Put != p.Put {
		if err := s.stream.Purge(ctx, under(chunkPrefix, p)+".>"); err != nil {
			return err
		}
	}
	return s.stream.Purge(ctx, under(putPrefix, p))
}
