package jetstream

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

const (
	snapshotsName  = "SNAPSHOTS"
	snapshotPrefix = "tacho.snapshot."
	// snapshotSlots is how many snapshots of one fold and shape are kept.
	snapshotSlots = 2
	snapshotChunk = 512 << 10
	// snapshotAge is how long to keep the snapshots of a program version that no longer runs.
	snapshotAge = 90 * 24 * time.Hour
	// snapshotMost bounds the unpacked size of one snapshot.
	snapshotMost = 4 << 30
)

// snapshotsStream returns the configuration of the stream of snapshots: it keeps the newest message of each subject.
// Snapshots may be lost.
func (c Config) snapshotsStream() natsjs.StreamConfig {
	return natsjs.StreamConfig{
		Name: snapshotsName, Description: "Tacho: snapshots of folds", Subjects: []string{snapshotPrefix + ">"},
		Storage: natsjs.FileStorage, Replicas: c.Replicas, Retention: natsjs.LimitsPolicy, Discard: natsjs.DiscardOld,
		MaxMsgsPerSubject: 1, MaxAge: snapshotAge, MaxMsgSize: maxMessage, AllowDirect: true,
	}
}

// manifest describes the snapshot in a slot. It is written after the chunks: without it they are no snapshot.
//
//	tacho.snapshot.<fold>.<shape>.<slot>      manifest
//	tacho.snapshot.<fold>.<shape>.<slot>.<n>  chunk n; a header names its snapshot
//
// A writer that dies leaves chunks of a new snapshot under the old manifest: this slot is damaged, but the other one is
// whole.
type manifest struct {
	ID       string     `json:"id"`
	Identity string     `json:"identity"`
	Seq      events.Seq `json:"seq"`
	EventID  string     `json:"event_id"`
	Chunks   int        `json:"chunks"`
	// Sum is the SHA-256 of the unpacked data.
	Sum string `json:"sha256"`
}

// headerSnapshot names the snapshot that a chunk belongs to.
const headerSnapshot = "tacho-snapshot"

func slotSubject(fold, shape string, slot int) string {
	return fmt.Sprintf("%s%s.%s.%d", snapshotPrefix, fold, shape, slot)
}

func chunkSubject(fold, shape string, slot, n int) string {
	return fmt.Sprintf("%s.%d", slotSubject(fold, shape, slot), n)
}

// KeepSnapshot implements eventlog.Snapshots.
func (l *Log) KeepSnapshot(ctx context.Context, s eventlog.Snapshot) error {
	if err := eventlog.CheckSnapshot(s); err != nil {
		return err
	}
	slot, err := l.oldestSlot(ctx, s.Fold, s.Shape)
	if err != nil {
		return fmt.Errorf("keep a snapshot: %w", err)
	}
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		return fmt.Errorf("keep a snapshot: %w", err)
	}
	packed := packer.EncodeAll(s.Data, nil)
	sum := sha256.Sum256(s.Data)
	m := manifest{ID: uuid.NewString(), Identity: s.Identity, Seq: s.Seq, EventID: s.EventID, Sum: hex.EncodeToString(sum[:])}
	for chunk := range slices.Chunk(packed, snapshotChunk) {
		if err := l.put(ctx, chunkSubject(s.Fold, s.Shape, slot, m.Chunks), m.ID, chunk); err != nil {
			return fmt.Errorf("keep a snapshot: %w", err)
		}
		m.Chunks++
	}
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("keep a snapshot: %w", err)
	}
	if err := l.put(ctx, slotSubject(s.Fold, s.Shape, slot), m.ID, text); err != nil {
		return fmt.Errorf("keep a snapshot: %w", err)
	}
	return nil
}

// put stores one message of a snapshot.
func (l *Log) put(ctx context.Context, subject, id string, data []byte) error {
	return store(ctx, l.nc, "store", &nats.Msg{Subject: subject, Header: nats.Header{headerSnapshot: {id}}, Data: data})
}

// oldestSlot returns a slot without a readable manifest, else the one with the oldest snapshot.
func (l *Log) oldestSlot(ctx context.Context, fold, shape string) (int, error) {
	best, oldest := 0, events.Seq(0)
	for slot := range snapshotSlots {
		m, _, found, err := l.slot(ctx, fold, shape, slot)
		if err != nil {
			return 0, err
		}
		if !found {
			return slot, nil
		}
		if slot == 0 || m.Seq < oldest {
			best, oldest = slot, m.Seq
		}
	}
	return best, nil
}

// slot returns the manifest of a slot. An unreadable one counts as not found, and wrong says why.
func (l *Log) slot(ctx context.Context, fold, shape string, slot int) (m manifest, wrong error, found bool, err error) {
	s, ok, err := l.oneOf(ctx, snapshotsName, query{LastFor: events.Subject(slotSubject(fold, shape, slot))})
	if err != nil || !ok {
		return m, nil, false, err
	}
	if err := json.Unmarshal(s.Data, &m); err != nil {
		return m, fmt.Errorf("slot %d: %w", slot, err), false, nil
	}
	return m, nil, true, nil
}

// ReadSnapshots implements eventlog.Snapshots.
func (l *Log) ReadSnapshots(ctx context.Context, fold, shape string) (whole []eventlog.Snapshot, damaged []error, err error) {
	for slot := range snapshotSlots {
		m, wrong, found, err := l.slot(ctx, fold, shape, slot)
		if err != nil {
			return nil, nil, fmt.Errorf("read the snapshots: %w", err)
		}
		if wrong != nil {
			damaged = append(damaged, wrong)
		}
		if !found {
			continue
		}
		data, wrong, err := l.chunks(ctx, fold, shape, slot, m)
		if err != nil {
			return nil, nil, fmt.Errorf("read the snapshots: %w", err)
		}
		if wrong != nil {
			damaged = append(damaged, fmt.Errorf("the snapshot at event %d: %w", m.Seq, wrong))
			continue
		}
		whole = append(whole, eventlog.Snapshot{Fold: fold, Shape: shape, Identity: m.Identity, Seq: m.Seq, EventID: m.EventID, Data: data})
	}
	slices.SortStableFunc(whole, func(a, b eventlog.Snapshot) int { return cmp.Compare(b.Seq, a.Seq) })
	return whole, damaged, nil
}

// chunks returns the data of a snapshot. wrong says why the snapshot is damaged.
func (l *Log) chunks(ctx context.Context, fold, shape string, slot int, m manifest) (data []byte, wrong, err error) {
	var packed bytes.Buffer
	for n := range m.Chunks {
		s, ok, err := l.oneOf(ctx, snapshotsName, query{LastFor: events.Subject(chunkSubject(fold, shape, slot, n))})
		if err != nil {
			return nil, nil, err
		}
		if !ok || s.Header[headerSnapshot] != m.ID {
			return nil, fmt.Errorf("chunk %d of %d is missing: it was not written to its end", n+1, m.Chunks), nil
		}
		packed.Write(s.Data)
	}
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(snapshotMost))
	if err != nil {
		return nil, nil, err
	}
	defer unpacker.Close()
	if data, wrong = unpacker.DecodeAll(packed.Bytes(), nil); wrong != nil {
		return nil, fmt.Errorf("it cannot be unpacked: %w", wrong), nil
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != m.Sum {
		return nil, fmt.Errorf("its SHA-256 is %x and must be %.64s", sum, m.Sum), nil
	}
	return data, nil, nil
}
