package website

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// eventFilter reads which events are wanted.
func eventFilter(p *params) (readmodel.EventFilter, error) {
	f := readmodel.EventFilter{
		After: p.seq("after"), Before: p.seq("before"), Type: p.text("type"), Root: p.text("root"), Cause: p.seq("cause"), Limit: p.limit(),
	}
	if p.text("after") != "" && f.Before > 0 {
		p.fail("give after or before, not both")
	}
	subject := events.Subject(p.text("subject"))
	if subject != "" && !strings.HasPrefix(string(subject), events.SubjectPrefix) {
		subject = events.SubjectPrefix + subject
	}
	if strings.HasSuffix(string(subject), ".") {
		f.SubjectPrefix = subject
	} else {
		f.Subject = subject
	}
	return f, p.err
}

// eventStream sends events as they come. A browser that reconnects says in Last-Event-ID where it was.
func (s *Server) eventStream(w http.ResponseWriter, r *http.Request, p *params) error {
	f, err := eventFilter(p)
	if err != nil {
		return err
	}
	var after events.Seq
	who := visitOf(r.Context()).who
	if after, err = s.now(r); err != nil { // even if a place is named: without tables there is nothing to follow
		return err
	}
	if p.text("after") != "" {
		after = f.After
	}
	if last, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 63); err == nil {
		after = events.Seq(last)
	}
	st, closed := s.open(w, r, "text/event-stream")
	defer closed()
	if err := st.message("start", 0, client.StreamStart{Seq: after}); err != nil {
		return nil // the reader has left
	}
	f.After, f.Limit = after, stretchEvents
	if err := s.follow(st, who, f); err != nil && st.ctx.Err() == nil {
		s.fault(r, err) // the answer has begun: the reader sees it break off, and reconnects
	}
	return nil
}

// follow sends the events that f selects until the stream ends, a bounded part at a time. It has a turn only while it
// reads a part, not while it sends the part or waits for more.
func (s *Server) follow(st *stream, who netip.Addr, f readmodel.EventFilter) error {
	alive := time.NewTicker(s.AliveEvery)
	defer alive.Stop()
	for {
		part, err := s.stretch(st.ctx, who, f)
		if err != nil {
			return err
		}
		if len(part.text) > 0 {
			if err := st.send(part.text); err != nil {
				return err
			}
		}
		f.After = part.next
		if !part.ended {
			continue
		}
		if err := s.waitChanged(st, f.After, alive.C); err != nil {
			return err
		}
	}
}

// stretch returns the next part of the events that f selects: a part that another stream read a moment ago, or one read
// from the tables.
func (s *Server) stretch(ctx context.Context, who netip.Addr, f readmodel.EventFilter) (part *stretch, err error) {
	if part = s.recent.find(f, s.Reader.Heard()); part != nil {
		return part, nil
	}
	err = s.readPart(ctx, who, func(tables *readmodel.Reader) error {
		// heard is read before the events: events that come between the two are read the next time.
		heard := s.Reader.Heard()
		if part = s.recent.find(f, heard); part != nil {
			return nil // read while this one waited for its turn
		}
		list, full, err := tables.Page(ctx, f, readmodel.Extent{Bytes: stretchBytes, Span: stretchSpan})
		if err != nil {
			return err
		}
		if part, err = newStretch(list); err != nil {
			return err
		}
		if part.heard = heard; !full {
			part.next = max(f.After, part.next, min(f.After+stretchSpan, heard))
			part.ended = part.next >= heard
		}
		s.recent.keep(f, part)
		return nil
	})
	return part, err
}

// waitChanged waits until the tables have moved beyond a sequence.
func (s *Server) waitChanged(st *stream, seq events.Seq, alive <-chan time.Time) error {
	changed := s.Reader.Changed(seq)
	for {
		select {
		case <-changed:
			return nil
		case <-alive:
			if err := st.alive(); err != nil {
				return err
			}
		case <-st.ctx.Done():
			return st.ctx.Err()
		}
	}
}

// ping is sent to pages when something that they may show has changed, and every AliveEvery. A page that hears
// nothing for longer shows that it is not live.
type ping struct {
	Seq     events.Seq `json:"seq"`
	AliveMS int64      `json:"alive_ms"`
}

// pings tells pages that the tables or a heartbeat moved, at most once in PingEvery. The first ping comes at
// once, because something may have changed since the page was read.
func (s *Server) pings(w http.ResponseWriter, r *http.Request) {
	st, closed := s.open(w, r, "text/event-stream")
	defer closed()
	if err := s.pingAll(st); err != nil && st.ctx.Err() == nil {
		s.fault(r, err)
	}
}

func (s *Server) pingAll(st *stream) error {
	alive := time.NewTicker(s.AliveEvery)
	defer alive.Stop()
	for {
		beat, known := s.Hearing.Changed(), s.signature()
		at := s.Reader.Heard()
		now := ping{at, s.AliveEvery.Milliseconds()}
		if err := st.message("changed", 0, now); err != nil {
			return err
		}
		pause := time.NewTimer(s.PingEvery)
		select {
		case <-pause.C:
		case <-st.ctx.Done():
			pause.Stop()
			return st.ctx.Err()
		}
		for moved := false; !moved; {
			select {
			case <-s.Reader.Changed(at):
				moved = true
			case <-beat:
				moved = true
			case <-alive.C:
				moved = s.signature() != known
				if err := st.message("alive", 0, now); err != nil { // the page would not see a comment
					return err
				}
			case <-st.ctx.Done():
				return st.ctx.Err()
			}
		}
	}
}
