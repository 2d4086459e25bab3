// Package logfiles reads and writes the files in which the embedded NATS server keeps the log.
//
// The server checks little of them at its start. It cuts a log at the first record that it cannot read, and gives out the
// sequences after it again; it leaves out events whose record is damaged, and gives no reason. So Tacho reads the files
// itself before the server does: Look finds what is missing or damaged, and names file and offset. A repair reads what is
// intact (Scan) and writes new files (Write) with the sequences and times of the old ones, which no client of the server can
// set.
//
// The form is that of nats-server 2.x without encryption and compression. A test writes files here that the server reads, and
// the other way round.
package logfiles

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/highwayhash"

	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
)

// stream is the name of the log's stream.
const stream = "EVENTS"

// subjectStart begins the subject of every event.
var subjectStart = []byte(events.SubjectPrefix)

// Store is the directory in which a server keeps the log.
type Store string

// In returns the store of a server with this directory.
func In(server string) Store {
	return Store(filepath.Join(server, "jetstream", "$G", "streams", stream))
}

func (s Store) path(parts ...string) string {
	return filepath.Join(append([]string{string(s)}, parts...)...)
}

// Exists reports whether there is anything.
func (s Store) Exists() (bool, error) {
	_, err := os.Stat(string(s))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// meta is the file with the configuration of the stream.
const meta, metaSum = "meta.inf", "meta.sum"

// Identity returns which log it is, in the words of eventlog.Head.
func (s Store) Identity() (string, error) {
	text, err := os.ReadFile(s.path(meta))
	if err != nil {
		return "", fmt.Errorf("what the stream is cannot be read: %w", err)
	}
	sum, err := os.ReadFile(s.path(metaSum))
	if err != nil {
		return "", fmt.Errorf("what the stream is cannot be checked: %w", err)
	}
	// The server passes over a stream with a wrong checksum, and would make a new one in its place.
	if want, err := sumOfMeta(text); err != nil || want != strings.TrimSpace(string(sum)) {
		return "", errors.Join(errors.New("what the stream is has a wrong checksum"), err)
	}
	var is struct {
		Name    string    `json:"name"`
		Created time.Time `json:"created"`
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return "", fmt.Errorf("what the stream is cannot be read: %w", err)
	}
	return is.Name + "@" + is.Created.UTC().Format(time.RFC3339Nano), nil
}

func sumOfMeta(text []byte) (string, error) {
	key := sha256.Sum256([]byte(stream))
	digest, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		return "", err
	}
	_, _ = digest.Write(text) // cannot fail
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// SetIdentity makes the store that of another log. No server may run on it.
func (s Store) SetIdentity(identity string) error {
	name, at, _ := strings.Cut(identity, "@")
	created, err := time.Parse(time.RFC3339Nano, at)
	if err != nil || name != stream {
		return fmt.Errorf("%q does not name a log", identity)
	}
	text, err := os.ReadFile(s.path(meta))
	if err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("%s: %w", s.path(meta), err)
	}
	if fields["created"], err = json.Marshal(created); err != nil {
		return err
	}
	if text, err = json.Marshal(fields); err != nil {
		return err
	}
	sum, err := sumOfMeta(text)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(s.path(meta), text, 0o600), os.WriteFile(s.path(metaSum), []byte(sum), 0o600))
}

// block is one file with events.
type block struct {
	number int
	file   string
	size   int64
}

// blocks returns the files with events, in order.
func (s Store) blocks() ([]block, error) {
	entries, err := os.ReadDir(s.path("msgs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []block
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".blk")
		number, err := strconv.Atoi(name)
		if !is || err != nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // a server that runs removed it
		}
		if err != nil {
			return nil, err
		}
		out = append(out, block{number, s.path("msgs", e.Name()), info.Size()})
	}
	slices.SortFunc(out, func(a, b block) int { return a.number - b.number })
	return out, nil
}

// blockBytes is how large a file becomes before the next one begins.
const blockBytes = 8 << 20

// Writer writes the events of a store.
type Writer struct {
	store  Store
	limit  int
	number int
	sums   *sums
	buf    []byte
	last   events.Seq
	// before has the last event of each subject so far.
	before map[events.Subject]events.Seq
}

// Write removes the events of a store and returns a writer of new ones. No server may run on it. A file ends at limit bytes;
// 0 is what the server takes.
func (s Store) Write(limit int) (*Writer, error) {
	if limit == 0 {
		limit = blockBytes
	}
	err := errors.Join(os.RemoveAll(s.path("msgs")), os.RemoveAll(s.path("obs")))
	if err == nil {
		err = os.Mkdir(s.path("msgs"), 0o750)
	}
	if err != nil {
		return nil, fmt.Errorf("empty the store: %w", err)
	}
	return &Writer{store: s, limit: limit, before: map[events.Subject]events.Seq{}}, nil
}

// Add adds an event, which must be the next one. The file says which event of its subject is before it, as those do that were
// appended: readers go by that.
func (w *Writer) Add(r Record) error {
	if r.Seq != w.last+1 {
		return fmt.Errorf("event %d cannot follow event %d", r.Seq, w.last)
	}
	if len(w.buf) >= w.limit {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if len(w.buf) == 0 {
		w.number++
		var err error
		if w.sums, err = sumsOf(stream, w.number); err != nil {
			return err
		}
	}
	r.Header = jetstream.ExpectedBefore(r.Header, w.before[r.Subject])
	w.before[r.Subject] = r.Seq
	w.buf, w.last = w.sums.appendRecord(w.buf, r), r.Seq
	return nil
}

// Close writes what is left.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	return SyncDir(w.store.path("msgs"))
}

func (w *Writer) flush() (err error) {
	if len(w.buf) == 0 {
		return nil
	}
	f, err := os.OpenFile(w.store.path("msgs", strconv.Itoa(w.number)+".blk"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	_, err = f.Write(w.buf)
	w.buf = w.buf[:0]
	return errors.Join(err, f.Sync(), f.Close())
}

// SyncDir makes renamed and new files of a directory survive a loss of power.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
