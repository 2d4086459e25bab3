package website

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/client"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// streamPage is how many events a stream reads at once.
const streamPage = 500

// eventFilter reads what selects events.
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

// fromTheBeginning reads the oldest events that f selects. The Reader takes a sequence of 0 for "the newest
// first", so the first event is read by itself.
func (s *Server) fromTheBeginning(ctx context.Context, f readmodel.EventFilter) ([]readmodel.Event, error) {
	list := []readmodel.Event{}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	e, err := s.Reader.Event(ctx, 1)
	if errors.Is(err, readmodel.ErrNotFound) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	if selects(f, e) {
		list = append(list, e)
	}
	if f.After, f.Limit = 1, f.Limit-len(list); f.Limit == 0 {
		return list, nil
	}
	rest, err := s.Reader.Events(ctx, f)
	return append(list, rest...), err
}

func selects(f readmodel.EventFilter, e readmodel.Event) bool {
	return (f.Type == "" || f.Type == e.Type) && (f.Subject == "" || f.Subject == e.Subject) &&
		strings.HasPrefix(string(e.Subject), string(f.SubjectPrefix)) &&
		(f.Root == "" || f.Root == e.Root) && (f.Cause == 0 || f.Cause == e.Cause)
}

// eventStream sends events as they come. A browser that comes back names in Last-Event-ID where it was.
func (s *Server) eventStream(w http.ResponseWriter, r *http.Request, p *params) error {
	f, err := eventFilter(p)
	if err != nil {
		return err
	}
	at, err := s.cursor(r.Context())
	if err != nil {
		return err
	}
	after := at.Seq
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
	f.Limit = streamPage
	if err := s.follow(st, f, after); err != nil && st.ctx.Err() == nil {
		s.fault(r, err) // the answer has begun: the reader sees it break off and comes back
	}
	return nil
}

// follow sends what f selects behind a sequence until the stream ends.
func (s *Server) follow(st *stream, f readmodel.EventFilter, after events.Seq) error {
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		// The cursor is read before the events: what comes between is seen at the next turn.
		at, err := s.cursor(st.ctx)
		if err != nil {
			return err
		}
		list, err := s.streamed(st.ctx, f, after)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := st.message("event", e.Seq, e); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(list) == f.Limit {
			continue
		}
		after = max(after, at.Seq)
		if err := s.waitChanged(st, after, alive.C); err != nil {
			return err
		}
	}
}

func (s *Server) streamed(ctx context.Context, f readmodel.EventFilter, after events.Seq) ([]readmodel.Event, error) {
	if after == 0 {
		return s.fromTheBeginning(ctx, f)
	}
	f.After = after
	return s.Reader.Events(ctx, f)
}

// waitChanged returns when the tables have moved beyond a sequence.
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

// ping is what pages hear when something that they may show has changed.
type ping struct {
	Seq events.Seq `json:"seq"`
}

// pings tells pages that the tables or a heartbeat moved, at most once in PingEvery. The first ping comes at
// once: a page may have been read just before.
func (s *Server) pings(w http.ResponseWriter, r *http.Request) {
	st, closed := s.open(w, r, "text/event-stream")
	defer closed()
	if err := s.pingAll(st); err != nil && st.ctx.Err() == nil {
		s.fault(r, err)
	}
}

func (s *Server) pingAll(st *stream) error {
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		beat, known := s.beats.changed(), s.signature()
		at, err := s.cursor(st.ctx)
		if err != nil {
			return err
		}
		if err := st.message("changed", 0, ping{at.Seq}); err != nil {
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
			case <-s.Reader.Changed(at.Seq):
				moved = true
			case <-beat:
				moved = true
			case <-alive.C:
				moved = s.signature() != known
				if err := st.alive(); err != nil {
					return err
				}
			case <-st.ctx.Done():
				return st.ctx.Err()
			}
		}
	}
}
