package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
)

const (
	// checkAtOnce is how many chunks one call of Finish reads: 64 MiB, far below the time that an answer may take.
	checkAtOnce = 256
	// trustFor is how long a put that was under way is taken to be so without another look.
	trustFor = time.Second
)

// Begin implements blob.Pieces.
func (s *Store) Begin(ctx context.Context, w blob.Wish) (p blob.Place, there bool, err error) {
	if err := blob.CheckOutput(w.Output); err != nil {
		return p, false, err
	}
	if err := events.CheckToken("target", string(w.Lane.Target)); err != nil {
		return p, false, err
	}
	m, seq, err := s.found(ctx, w.Lane, w.Output.Digest)
	switch {
	case err != nil:
		return p, false, err
	case seq > 0 && m.Output.Bytes != w.Output.Bytes:
		return p, false, fmt.Errorf("%w: what has the digest %s has %d bytes, not %d", blob.ErrDamaged, w.Output.Digest, m.Output.Bytes, w.Output.Bytes)
	case seq > 0:
		m.Upload = m.Upload && w.Upload
		m.Job = w.Job
		return p, true, s.use(ctx, m, seq)
	}
	// One after the other: two that look at the same time would both find the same room.
	s.room.Lock()
	defer s.room.Unlock()
	if err := s.makeRoom(ctx, w); err != nil {
		return p, false, err
	}
	p = blob.Place{Lane: w.Lane, Digest: w.Output.Digest, Put: newPut()}
	_, err = s.write(ctx, under(putPrefix, p), ticket{Wish: w}, 0)
	if errors.Is(err, jetstream.ErrMoved) { // the name is random: it is ours, and the answer was lost
		err = nil
	}
	return p, false, full(err)
}

// full turns the refusal of the stream into that of the store.
func full(err error) error {
	if errors.Is(err, jetstream.ErrNoRoom) {
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	}
	return err
}

// underWay returns a put that is under way. It may have ended within trustFor.
func (s *Store) underWay(ctx context.Context, p blob.Place) (ticket, error) {
	if err := checkPlace(p); err != nil {
		return ticket{}, err
	}
	subject, now := under(putPrefix, p), s.cfg.Clock()
	s.mu.Lock()
	seen, ok := s.known[subject]
	s.mu.Unlock()
	if ok && now.Sub(seen.at) < trustFor && now.Sub(seen.at) >= 0 {
		return seen.ticket, nil
	}
	t, at, err := read[ticket](ctx, s, subject)
	switch {
	case err != nil:
		return t, err
	case at.Seq == 0 || t.Removing:
		return t, fmt.Errorf("%w: the put is over", blob.ErrMissing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, old := range s.known {
		if now.Sub(old.at) >= trustFor {
			delete(s.known, k)
		}
	}
	s.known[subject] = ticketSeen{t, now}
	return t, nil
}

// Chunk implements blob.Pieces.
func (s *Store) Chunk(ctx context.Context, job events.JobID, p blob.Place, n int, data []byte) error {
	t, err := s.underWay(ctx, p)
	if err != nil {
		return err
	}
	size, ok := blob.ChunkSize(t.Output.Bytes, n)
	switch {
	case t.Job != job:
		return fmt.Errorf("%w: the put belongs to job %s", blob.ErrMissing, t.Job)
	case !ok || size != len(data):
		return fmt.Errorf("%w: chunk %d of an output of %d bytes has not %d bytes", blob.ErrDamaged, n, t.Output.Bytes, len(data))
	}
	_, err = s.stream.Put(ctx, chunkSubject(p, n), data, 0)
	if errors.Is(err, jetstream.ErrMoved) { // it is there, and its answer was lost
		return nil
	}
	return full(err)
}

// Finish implements blob.Pieces.
func (s *Store) Finish(ctx context.Context, job events.JobID, p blob.Place) (bool, error) {
	if err := checkPlace(p); err != nil {
		return false, err
	}
	t, at, err := read[ticket](ctx, s, under(putPrefix, p))
	switch {
	case err != nil:
		return false, err
	case at.Seq == 0 || t.Removing:
		return s.finished(ctx, p)
	case t.Job != job:
		return false, fmt.Errorf("%w: the put belongs to job %s", blob.ErrMissing, t.Job)
	}
	sum, err := t.check(ctx, s, p)
	switch {
	case errors.Is(err, blob.ErrMissing), errors.Is(err, blob.ErrDamaged):
		why := fmt.Errorf("%w: %w", blob.ErrDamaged, err)
		return false, errors.Join(why, s.end(ctx, p))
	case err != nil:
		return false, err
	}
	if t.Checked < blob.Chunks(t.Output.Bytes) {
		_, err := s.write(ctx, under(putPrefix, p), t, at.Seq)
		if errors.Is(err, jetstream.ErrMoved) { // another process checks it, too
			err = nil
		}
		return false, err
	}
	if digest := events.Digest(hex.EncodeToString(sum.Sum(nil))); digest != t.Output.Digest {
		why := fmt.Errorf("%w: its digest is %s, not %s", blob.ErrDamaged, digest, t.Output.Digest)
		return false, errors.Join(why, s.end(ctx, p))
	}
	return true, s.publish(ctx, t, p)
}

// finished reports whether a put without a ticket is stored: the answer to an earlier Finish may have been lost.
func (s *Store) finished(ctx context.Context, p blob.Place) (bool, error) {
	_, seq, err := s.found(ctx, p.Lane, p.Digest)
	if err == nil && seq == 0 {
		err = fmt.Errorf("%w: the put is over", blob.ErrMissing)
	}
	return err == nil, err
}

// check reads the next chunks, and returns the hash of all that were read.
func (t *ticket) check(ctx context.Context, s *Store, p blob.Place) (hash.Hash, error) {
	sum := sha256.New()
	if t.Checked > 0 {
		if err := sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(t.Sum); err != nil {
			return nil, fmt.Errorf("continue the check of a put: %w", err)
		}
	}
	end := min(t.Checked+checkAtOnce, blob.Chunks(t.Output.Bytes))
	err := blob.Walk(ctx, s, p, t.Output.Bytes, t.Checked, end, func(data []byte) error {
		sum.Write(data)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.Checked = end
	t.Sum, err = sum.(encoding.BinaryMarshaler).MarshalBinary()
	return sum, err
}

// publish writes the manifest of a put whose content is right, and ends the put.
func (s *Store) publish(ctx context.Context, t ticket, p blob.Place) error {
	had, seq, err := s.found(ctx, p.Lane, p.Digest)
	if err != nil {
		return err
	}
	if seq == 0 {
		m := manifest{Wish: t.Wish, Put: p.Put, Chunks: blob.Chunks(t.Output.Bytes), At: s.cfg.Clock().UTC()}
		_, err := s.write(ctx, outSubject(p.Lane, p.Digest), m, 0)
		if err != nil && !errors.Is(err, jetstream.ErrMoved) { // when it moved, another put of the same was first
			return full(err)
		}
	} else if had.Upload && !t.Upload {
		had.Upload, had.Job = false, t.Job
		if err := s.use(ctx, had, seq); err != nil {
			return err
		}
	}
	return s.end(ctx, p)
}
