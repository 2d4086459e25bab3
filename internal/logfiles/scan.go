package logfiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/events"
)

// FullBytes is how much of a log Look reads byte by byte: its end, in which almost all damage happens. Of files before it Look
// reads the first and the last event. The scrub reads all.
const FullBytes = 1 << 30

// piece is a part of a file: events that follow one another, or bytes that hold no event.
type piece struct {
	at, end     int64
	first, last events.Seq
	// why is set if the bytes hold no event; subject is what they may have held.
	why     error
	subject events.Subject
}

// view is what one file holds.
type view struct {
	block
	pieces []piece
	// deletions are events that the server deleted.
	deletions []events.Seq
	// foreign is the number of the file that this one is in the place of; 0 if it is its own.
	foreign int
	read    int64
	id      string
}

// Scan calls f with every event that can be read, in the order of the files. It never changes a file. The server may run, but
// then the end of the log may seem torn. A Record is valid only during the call.
func (s Store) Scan(ctx context.Context, f func(Record) error) (Found, error) {
	found, err := s.begin(0)
	if err != nil {
		return found, err
	}
	blocks, err := s.blocks()
	if err != nil {
		return found, err
	}
	views := make([]view, len(blocks))
	for i, b := range blocks {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		if views[i], err = readAll(b, blocks, 0, nil, f); err != nil {
			return found, err
		}
	}
	found.Whole = true
	found.judge(views)
	return found, nil
}

// Look finds damage quickly: it reads the last full bytes of the log, and of the files before them the first and last event. It
// returns the id of the event at a place, if it reads that one.
func (s Store) Look(ctx context.Context, full int64, at events.Seq) (Found, error) {
	found, err := s.begin(at)
	if err != nil {
		return found, err
	}
	blocks, err := s.blocks()
	if err != nil {
		return found, err
	}
	found.Whole = true
	views := make([]view, len(blocks))
	var rooms sync.Pool
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := len(blocks) - 1; i >= 0; i-- {
		look := func(b block) (view, error) { return readAll(b, blocks, at, &rooms, nil) }
		if full -= blocks[i].size; full < 0 && i < len(blocks)-1 {
			look, found.Whole = readEnds, false
		}
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			views[i], err = look(blocks[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return found, err
	}
	found.judge(views)
	return found, nil
}

// Locate returns the file and offset of an event, or of where it should be.
func (s Store) Locate(ctx context.Context, seq events.Seq) (file string, offset int64, err error) {
	found, err := s.Scan(ctx, func(Record) error { return nil })
	if err != nil {
		return "", 0, err
	}
	for _, d := range found.Damage {
		if d.First <= seq && (seq <= d.Last || d.Last == 0) {
			return d.File, d.Offset, nil
		}
	}
	return "", 0, nil
}

func (s Store) begin(at events.Seq) (Found, error) {
	found := Found{At: at}
	exists, err := s.Exists()
	if err != nil || !exists {
		return found, err
	}
	if found.Identity, err = s.Identity(); err != nil {
		found.Damage = append(found.Damage, Damage{First: 1, File: s.path(meta), What: err.Error()})
	}
	return found, nil
}

// readAll reads a file. It looks for the event at a place, and calls f with every event; f may be nil. rooms are buffers for files of
// which f keeps nothing; they may be nil.
func readAll(b block, all []block, at events.Seq, rooms *sync.Pool, f func(Record) error) (view, error) {
	v := view{block: b}
	buf, err := load(b, rooms)
	if err != nil {
		return v, fmt.Errorf("read the log: %w", err)
	}
	if rooms != nil {
		defer rooms.Put(&buf)
	}
	v.read = int64(len(buf))
	checked, err := sumsOf(stream, b.number)
	if err != nil {
		return v, err
	}
	for from := 0; from < len(buf); {
		r, m, end, err := checked.read(buf, from)
		if err != nil {
			end = checked.resume(buf, from)
			v.pieces = append(v.pieces, piece{at: int64(from), end: int64(end), why: err, subject: subjectAt(buf, from)})
			from = end
			continue
		}
		switch m {
		case deletion:
			v.deletions = append(v.deletions, r.Seq)
		case overwritten:
		case event:
			v.add(r.Seq, int64(from), int64(end))
			if r.Seq == at {
				if v.id, err = idOf(r); err != nil {
					return v, err
				}
			}
			if f != nil {
				if err := f(r); err != nil {
					return v, err
				}
			}
		}
		from = end
	}
	if len(v.pieces) == 1 && v.pieces[0].why != nil {
		v.foreign = belongs(buf, all, b.number)
	}
	return v, nil
}

// load reads a file, into a buffer of rooms unless they are nil.
func load(b block, rooms *sync.Pool) ([]byte, error) {
	if rooms == nil {
		return os.ReadFile(b.file)
	}
	room, _ := rooms.Get().(*[]byte)
	if room == nil || cap(*room) < int(b.size) {
		room = new(make([]byte, 0, max(b.size, blockBytes+blockBytes/8)))
	}
	f, err := os.Open(b.file)
	if err != nil {
		return nil, err
	}
	buf := (*room)[:b.size]
	n, err := io.ReadFull(f, buf)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // it was cut a moment ago
	}
	return buf[:n], errors.Join(err, f.Close())
}

func idOf(r Record) (string, error) {
	e, err := r.Event()
	return e.Header[events.HeaderID], err
}

// add adds an event to the last piece, or begins a new one.
func (v *view) add(seq events.Seq, at, end int64) {
	if n := len(v.pieces); n > 0 && v.pieces[n-1].why == nil && v.pieces[n-1].last+1 == seq {
		v.pieces[n-1].last, v.pieces[n-1].end = seq, end
		return
	}
	v.pieces = append(v.pieces, piece{at: at, end: end, first: seq, last: seq})
}

// resume returns where the next record begins that can be read; the end of buf if there is none.
func (s *sums) resume(buf []byte, from int) int {
	for at := from + 1; ; at++ {
		// Every record of the log has a subject that begins like this.
		if at+fixedBytes > len(buf) {
			return len(buf)
		}
		i := bytes.Index(buf[at+fixedBytes:], subjectStart)
		if i < 0 {
			return len(buf)
		}
		at += i
		if _, _, _, err := s.read(buf, at); err == nil {
			return at
		}
	}
}

// belongs returns the number of the file that has the first record of buf; 0 if none has.
func belongs(buf []byte, all []block, own int) int {
	for _, other := range all {
		if other.number == own {
			continue
		}
		theirs, err := sumsOf(stream, other.number)
		if err != nil {
			return 0
		}
		if _, _, _, err := theirs.read(buf, 0); err == nil {
			return other.number
		}
	}
	return 0
}

// readEnds reads the first and the last event of a file.
func readEnds(b block) (v view, err error) {
	v = view{block: b}
	f, err := os.Open(b.file)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	checked, err := sumsOf(stream, b.number)
	if err != nil {
		return v, err
	}
	for window := int64(16 << 10); ; window *= 16 {
		window = min(window, b.size)
		head, tail := make([]byte, window), make([]byte, window)
		if _, err := f.ReadAt(head, 0); err != nil {
			return v, err
		}
		if _, err := f.ReadAt(tail, b.size-window); err != nil {
			return v, err
		}
		v.read += 2 * window
		first, _, _, firstErr := checked.read(head, 0)
		last, ok := checked.final(tail)
		if firstErr == nil && ok {
			v.pieces = []piece{{end: b.size, first: first.Seq, last: last.Seq}}
			return v, nil
		}
		if window == b.size {
			// There is something wrong: find out where.
			return readAll(b, []block{b}, 0, nil, nil)
		}
	}
}

// final returns the record with which buf ends.
func (s *sums) final(buf []byte) (Record, bool) {
	for end := len(buf); end > 0; {
		i := bytes.LastIndex(buf[:end], subjectStart)
		if i < fixedBytes {
			return Record{}, false
		}
		if r, _, to, err := s.read(buf, i-fixedBytes); err == nil && to == len(buf) {
			return r, true
		}
		end = i + len(subjectStart) - 1
	}
	return Record{}, false
}

// judge finds out what is missing between the pieces.
func (f *Found) judge(views []view) {
	next := events.Seq(1)
	var bad *Damage // what came before the piece and cannot be read
	for i, v := range views {
		f.Files++
		f.Read += v.read
		if v.id != "" {
			f.ID = v.id
		}
		for _, p := range v.pieces {
			if p.why != nil {
				if bad == nil {
					bad = &Damage{First: next, Subject: p.subject, File: v.file, Offset: p.at, What: "the record cannot be read: " + p.why.Error()}
					if v.foreign != 0 {
						bad.What = fmt.Sprintf("the file holds what belongs into %d.blk: the files were swapped", v.foreign)
					}
				}
				continue
			}
			f.between(next, p, v, views[:i], bad)
			bad, next = nil, max(next, p.last+1)
		}
		for _, gone := range v.deletions {
			f.Damage = append(f.Damage, Damage{First: gone, Last: gone, File: v.file, What: "somebody deleted it"})
		}
	}
	f.Last = next - 1
	if bad != nil {
		f.Torn = bad
	}
}

// between notes what is wrong between the last event and a piece.
func (f *Found) between(next events.Seq, p piece, v view, before []view, bad *Damage) {
	switch {
	case p.first < next:
		f.Damage = append(f.Damage, Damage{
			First: p.first, Last: min(p.last, next-1), File: v.file, Offset: p.at, What: "it comes a second time: the file is from another time",
		})
	case bad != nil:
		bad.Last = max(p.first-1, bad.First)
		f.Damage = append(f.Damage, *bad)
	case p.first > next:
		d := Damage{First: next, Last: p.first - 1, File: v.file, Offset: p.at, What: "missing before this place"}
		if p.at == 0 {
			d = missingFile(d, v, before)
		}
		f.Damage = append(f.Damage, d)
	}
}

// missingFile says which file is missing or cut before v.
func missingFile(d Damage, v view, before []view) Damage {
	if len(before) == 0 {
		d.What = "missing: the log begins with this file"
		return d
	}
	last := before[len(before)-1]
	if last.number+1 < v.number {
		d.File, d.Offset = filepath.Join(filepath.Dir(v.file), fmt.Sprintf("%d.blk", last.number+1)), 0
		d.What = "the file is missing"
		return d
	}
	d.File, d.Offset, d.What = last.file, last.size, "missing: the file was cut here"
	return d
}
