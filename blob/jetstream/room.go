package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// takes is what an output takes of the store.
func takes(o events.Output) int64 {
	return o.Bytes + perOutput + perChunk*int64(blob.Chunks(o.Bytes))
}

// inventory is what the store has at a moment.
type inventory struct {
	// outputs are in the order of their last use.
	outputs []blob.Kept
	puts    map[string]entry[ticket]
	// used is what outputs and puts take, by whether they are uploads.
	used map[bool]int64
}

func (s *Store) inventory(ctx context.Context) (out inventory, err error) {
	if out.puts, err = all[ticket](ctx, s, putPrefix); err != nil {
		return out, err
	}
	return out, s.listed(ctx, &out)
}

// listed adds the outputs to an inventory.
func (s *Store) listed(ctx context.Context, out *inventory) (err error) {
	if out.outputs, err = s.List(ctx); err != nil {
		return err
	}
	out.used = map[bool]int64{}
	for _, k := range out.outputs {
		out.used[k.Upload] += takes(k.Output)
	}
	for _, e := range out.puts {
		out.used[e.value.Upload] += takes(e.value.Output)
	}
	return nil
}

// limit returns the bound of outputs or of uploads.
func (c Config) limit(upload bool) int64 {
	if upload {
		return c.UploadBytes
	}
	return c.MaxBytes
}

// makeRoom removes what is not needed until a wish fits; ErrFull if it cannot. The caller holds room.
func (s *Store) makeRoom(ctx context.Context, w blob.Wish) (err error) {
	var have inventory
	if have.puts, err = all[ticket](ctx, s, putPrefix); err != nil {
		return err
	}
	if err := s.endOthers(ctx, w, have.puts); err != nil {
		return err
	}
	limit := s.cfg.limit(w.Upload)
	_, state, err := s.stream.Count(ctx, fullSubject)
	if err != nil {
		return err
	}
	most := int64(state.Bytes) + takes(w.Output)
	for _, e := range have.puts {
		most += takes(e.value.Output)
	}
	if most <= limit { // there is room, however much of it is taken by uploads
		return s.fits(ctx, w)
	}
	if err := s.listed(ctx, &have); err != nil {
		return err
	}
	return s.dropFor(ctx, w, have)
}

// dropFor removes the oldest outputs that are not needed until a wish fits.
func (s *Store) dropFor(ctx context.Context, w blob.Wish, have inventory) (err error) {
	limit, used, needed := s.cfg.limit(w.Upload), have.used[w.Upload], func(blob.Kept) bool { return false }
	if !w.Upload { // no job uses an upload
		if needed, err = s.cfg.Needs(ctx); err != nil {
			return err
		}
	}
	unused := slices.DeleteFunc(have.outputs, func(k blob.Kept) bool { return k.Upload != w.Upload || needed(k) })
	least := used + takes(w.Output)
	for _, k := range unused {
		least -= takes(k.Output)
	}
	for _, k := range unused {
		if used+takes(w.Output) <= limit || least > limit { // what is dropped in vain would be built again in vain
			break
		}
		gone, err := s.dropUnused(ctx, k)
		if err != nil {
			return err
		}
		if gone {
			used -= takes(k.Output)
		}
	}
	if used+takes(w.Output) <= limit {
		return s.fits(ctx, w)
	}
	if !w.Upload {
		if err := s.note(ctx, w); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s of %s are in use, and output %q has %s", blob.ErrFull, phrase.Bytes(used), phrase.Bytes(limit), w.Output.Name, phrase.Bytes(w.Output.Bytes))
}

// dropUnused removes an output, unless it was used after it was listed.
func (s *Store) dropUnused(ctx context.Context, k blob.Kept) (bool, error) {
	m, at, err := read[manifest](ctx, s, outSubject(k.Lane, k.Output.Digest))
	if err != nil || at.Seq == 0 || !at.StoredAt.Equal(k.UsedAt) {
		return at.Seq == 0, err
	}
	return true, s.remove(ctx, m, at.Seq)
}

// endOthers ends the puts that a new one replaces: an earlier one of the same output, whose answer was lost, and the oldest
// ones of a lane that has too many. It takes them out of puts.
func (s *Store) endOthers(ctx context.Context, w blob.Wish, puts map[string]entry[ticket]) error {
	var others []string
	for subject, e := range puts {
		if e.value.Lane == w.Lane && !e.value.Removing {
			others = append(others, subject)
		}
	}
	slices.SortFunc(others, func(a, b string) int { return cmp.Compare(puts[a].seq, puts[b].seq) })
	left := len(others)
	for _, subject := range others {
		t := puts[subject].value
		if left < maxPuts && t.Output.Digest != w.Output.Digest {
			continue
		}
		if err := s.end(ctx, placeOf(subject, t)); err != nil {
			return err
		}
		delete(puts, subject)
		left--
	}
	return nil
}

// placeOf returns the place of a put.
func placeOf(subject string, t ticket) blob.Place {
	return blob.Place{Lane: t.Lane, Digest: t.Output.Digest, Put: subject[strings.LastIndexByte(subject, '.')+1:]}
}

// note tells that a put did not fit.
func (s *Store) note(ctx context.Context, w blob.Wish) error {
	_, at, err := read[blob.Refused](ctx, s, fullSubject)
	if err != nil {
		return err
	}
	_, err = s.write(ctx, fullSubject, blob.Refused{Wish: w, At: s.cfg.Clock().UTC()}, at.Seq)
	if errors.Is(err, jetstream.ErrMoved) || errors.Is(err, jetstream.ErrNoRoom) { // another one is told, or none can be
		return nil
	}
	return err
}

// fits tells that there is room again, if what did not fit is not larger than what does now.
func (s *Store) fits(ctx context.Context, w blob.Wish) error {
	if w.Upload {
		return nil
	}
	r, at, err := read[blob.Refused](ctx, s, fullSubject)
	if err != nil || at.Seq == 0 || takes(r.Output) > takes(w.Output) {
		return err
	}
	return s.stream.Remove(ctx, at.Seq)
}

// Usage implements blob.Keeper.
func (s *Store) Usage(ctx context.Context) (blob.Usage, error) {
	have, err := s.inventory(ctx)
	if err != nil {
		return blob.Usage{}, fmt.Errorf("look at the outputs: %w", err)
	}
	needed, err := s.cfg.Needs(ctx)
	if err != nil {
		return blob.Usage{}, err
	}
	u := blob.Usage{
		Bytes: have.used[false], Uploads: have.used[true], Limit: s.cfg.MaxBytes, UploadLimit: s.cfg.UploadBytes,
	}
	for _, k := range have.outputs {
		if k.Upload {
			continue
		}
		u.Outputs++
		if needed(k) {
			u.Needed += takes(k.Output)
		}
	}
	r, at, err := read[blob.Refused](ctx, s, fullSubject)
	if err != nil {
		return u, err
	}
	if at.Seq > 0 {
		u.Refused = &r
	}
	_, state, err := s.stream.Count(ctx, fullSubject)
	u.Disk = int64(state.Bytes)
	return u, err
}

// Tidy implements blob.Keeper.
func (s *Store) Tidy(ctx context.Context) error {
	have, err := s.inventory(ctx)
	if err != nil {
		return err
	}
	underWay, err := s.cfg.UnderWay(ctx)
	if err != nil {
		return err
	}
	for subject, e := range have.puts {
		if e.value.Removing || !underWay(e.value.Wish) {
			if err := s.end(ctx, placeOf(subject, e.value)); err != nil {
				return err
			}
		}
	}
	now := s.cfg.Clock()
	for _, k := range have.outputs {
		if k.Upload && now.Sub(k.StoredAt) > s.cfg.UploadAge {
			if err := s.Drop(ctx, k.Lane, k.Output.Digest); err != nil {
				return err
			}
		}
	}
	if err := s.forgetRefused(ctx); err != nil {
		return err
	}
	if len(have.puts) > 0 {
		return nil
	}
	return s.sweep(ctx, have.outputs)
}

// forgetRefused takes back that a put did not fit, when there is room for it or it is not tried any more.
func (s *Store) forgetRefused(ctx context.Context) error {
	r, at, err := read[blob.Refused](ctx, s, fullSubject)
	if err != nil || at.Seq == 0 {
		return err
	}
	u, err := s.Usage(ctx)
	if err != nil || u.Needed+takes(r.Output) > u.Limit && s.cfg.Clock().Sub(r.At) < refusedFor {
		return err
	}
	return s.stream.Remove(ctx, at.Seq)
}

// sweep removes chunks that belong to no output: they were on their way when their put was removed. It looks for them only
// if there are more messages than outputs have.
func (s *Store) sweep(ctx context.Context, outputs []blob.Kept) error {
	_, state, err := s.stream.Count(ctx, fullSubject)
	if err != nil {
		return err
	}
	expected, known := uint64(1), map[string]bool{}
	for _, k := range outputs {
		expected += 1 + uint64(blob.Chunks(k.Output.Bytes))
		known[under(chunkPrefix, k.Place())] = true
	}
	if state.Msgs <= expected {
		return nil
	}
	chunks, _, err := s.stream.Count(ctx, chunkPrefix+">")
	if err != nil {
		return err
	}
	lost := map[string]bool{}
	for subject := range chunks {
		if put := subject[:strings.LastIndexByte(subject, '.')]; !known[put] {
			lost[put] = true
		}
	}
	for put := range lost {
		// A put that began meanwhile has a ticket.
		_, at, err := read[ticket](ctx, s, putPrefix+strings.TrimPrefix(put, chunkPrefix))
		if err != nil {
			return err
		}
		m, out, err := read[manifest](ctx, s, outPrefix+strings.TrimPrefix(put[:strings.LastIndexByte(put, '.')], chunkPrefix))
		if err != nil {
			return err
		}
		if at.Seq > 0 || out.Seq > 0 && under(chunkPrefix, m.place()) == put {
			continue
		}
		if err := s.stream.Purge(ctx, put+".>"); err != nil {
			return err
		}
	}
	return nil
}
