package measure

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// output is a writer that keeps the first and the last bytes written to it, within a bound.
type output struct {
	head, tail []byte
	headLimit  int
	tailLimit  int
	// next is the place of the next byte in a full tail, which is a ring.
	next    int
	dropped int64
	// taken is how many bytes were written and passed on.
	taken atomic.Int64
	// lines gets everything; nil if no one listens.
	lines *lines
}

// newOutputs returns the writers for stdout and stderr of a command.
func newOutputs(c Cmd) (stdout, stderr *output) {
	turn, limit := &sync.Mutex{}, c.outputLimit()
	one := func() *output {
		o := &output{headLimit: limit - limit/2, tailLimit: limit / 2}
		if c.Lines != nil {
			o.lines = &lines{turn: turn, to: c.Lines}
		}
		return o
	}
	return one(), one()
}

// end is to be called when nothing more is written.
func (o *output) end() {
	if o.lines != nil {
		o.lines.end()
	}
}

// Write never fails. It counts the bytes that do not fit.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	if o.lines != nil {
		_, _ = o.lines.Write(p) // never fails
	}
	o.taken.Add(int64(n))
	room := min(o.headLimit-len(o.head), len(p))
	o.head = append(o.head, p[:room]...)
	p = p[room:]
	if skip := len(p) - o.tailLimit; skip > 0 {
		// Everything in the ring, and the start of p, is older than the last tailLimit bytes.
		o.dropped += int64(len(o.tail) + skip)
		o.tail, o.next = o.tail[:0], 0
		p = p[skip:]
	}
	room = min(o.tailLimit-len(o.tail), len(p))
	o.tail = append(o.tail, p[:room]...)
	for p = p[room:]; len(p) > 0; {
		k := copy(o.tail[o.next:], p)
		o.next = (o.next + k) % o.tailLimit
		o.dropped += int64(k)
		p = p[k:]
	}
	return n, nil
}

// ReadFrom reads until the end, in large pieces: it wakes as rarely as it can beside a command that is measured.
func (o *output) ReadFrom(r io.Reader) (n int64, err error) {
	piece := make([]byte, 256<<10)
	for {
		read, err := r.Read(piece)
		n += int64(read)
		_, _ = o.Write(piece[:read]) // never fails
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// Bytes returns the kept bytes, with a note where bytes are left out.
func (o *output) Bytes() []byte {
	last := slices.Concat(o.tail[o.next:], o.tail[:o.next])
	if o.dropped == 0 {
		return slices.Concat(o.head, last)
	}
	return slices.Concat(o.head, fmt.Appendf(nil, "\n[%d bytes left out]\n", o.dropped), last)
}
