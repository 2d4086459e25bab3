package website

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"time"

	"github.com/tachobench/tacho/client"
	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
)

// effort says what a route takes of the server, and so which bounds it has.
type effort int

const (
	// quick reads a few rows, by the connections of the pages.
	quick effort = iota
	// long reads much, or the log, by connections of its own.
	long
	// common is read once for all who ask at the same time.
	common
	// lasting goes on until its reader leaves.
	lasting
	// unbounded is for commands, which have a token, and for what costs nothing.
	unbounded
)

const (
	// memoryForAll bounds the large answers that are held until slow readers have taken them, memoryForOne those of
	// one address, and largeAnswer is what counts as one.
	memoryForAll = 256 << 20
	memoryForOne = 64 << 20
	largeAnswer  = 64 << 10
	// slowest is the pace, in bytes a second, below which a reader of a large answer is left.
	slowest = 64 << 10
	// fewPlaces is what an address may always have when others have three quarters of everything.
	fewPlaces = 4
)

// bounds is what all readers may have at once. See Readers of package config.
type bounds struct {
	config.Readers
	trusted []netip.Prefix
	// answers and streams are what is under way, memory the bytes of large answers that are being sent.
	answers, streams, memory *places
	// quick, long and parts are the turns of reading: for pages, for what takes long, and for the parts of the log that
	// streams read, which are small and would wait long behind the long ones. The last two cost more of the processors
	// than of Postgres, so each leaves one processor to the pages.
	quick, long, parts *turns
}

// newBounds panics when the configuration was never checked.
func newBounds(c config.Readers, r *readmodel.Reader) *bounds {
	trusted, err := c.Trusted()
	if err != nil {
		panic("website: " + err.Error())
	}
	atOnce := min(c.Connections, r.Long().Connections(), max(runtime.GOMAXPROCS(0)-1, 1))
	b := &bounds{
		Readers: c, trusted: trusted,
		answers: newPlaces(c.Answers, c.AnswersPerAddress, fewPlaces), streams: newPlaces(c.Streams, c.StreamsPerAddress, fewPlaces),
		memory: newPlaces(memoryForAll, memoryForOne, memoryForOne/16),
		quick:  newTurns(max(r.Connections()-1, 1)), // common reads have one
		long:   newTurns(atOnce), parts: newTurns(atOnce),
	}
	b.long.after, b.parts.after = b.quick, b.quick
	return b
}

// errNoTurn ends the wait of a read for its turn.
var errNoTurn = errors.New("no turn came")

// visit is one request with what it has of the bounds.
type visit struct {
	who netip.Addr
	// line is where it takes its turn; nil needs none.
	line *turns
	// done ends its turn; nil while it has none.
	done func()
}

type visitKey struct{}

// visitOf returns the visit of a request; one without bounds has none.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// bounded keeps a route within what its visitors may have at once. Whoever asks for more is told to come back; refuse
// says so in the form of the route.
func (s *Server) bounded(e effort, refuse func(http.ResponseWriter, *http.Request, error), next http.Handler) http.Handler {
	kind, of := "answer", s.bounds.answers
	var line *turns
	switch e {
	case unbounded:
		return next
	case quick:
		line = s.bounds.quick
	case long:
		line = s.bounds.long
	case common:
	case lasting:
		kind, of = "stream", s.bounds.streams
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{who: visitor(r, s.bounds.trusted), line: line}
		if reached, ok := of.take(v.who, 1); !ok {
			refuse(w, r, s.tooMany(kind, reached))
			return
		}
		defer of.give(v.who, 1)
		defer v.rest()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
	})
}

// begin waits until it is the turn of a request to read, for a bounded time. The turn ends when its answer is sent.
func (s *Server) begin(r *http.Request) error {
	v := visitOf(r.Context())
	if v == nil || v.line == nil || v.done != nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.bounds.Wait.Std(), errNoTurn)
	defer cancel()
	done, err := v.line.take(ctx, v.who)
	v.done = done
	if errors.Is(err, errNoTurn) {
		return s.tooMany("answer", ofTurn)
	}
	return err
}

// rest ends the turn of a visit.
func (v *visit) rest() {
	if v.done != nil {
		v.done()
		v.done = nil
	}
}

// readPart does one read of a stream, when it is its turn. Streams wait for it as long as they last.
func (s *Server) readPart(ctx context.Context, who netip.Addr, read func(*readmodel.Reader) error) error {
	done, err := s.bounds.parts.take(ctx, who)
	if err != nil {
		return err
	}
	defer done()
	return read(s.long)
}

// tooMany says no to a reader, what is reached, and what to do.
func (s *Server) tooMany(kind string, reached bound) error {
	s.metrics.refused.WithLabelValues(kind, string(reached)).Inc()
	e := &client.Error{Status: http.StatusTooManyRequests, RetryAfter: time.Second}
	switch reached {
	case ofAddress:
		most := s.bounds.AnswersPerAddress
		e.Next = "wait for some of them, and read fewer at once"
		if kind == "stream" {
			most, e.RetryAfter = s.bounds.StreamsPerAddress, 10*time.Second
			e.Next = "close some of them"
		}
		e.Message = fmt.Sprintf("your address has %s under way, which is all that one address may have", phrase.Count(most, kind))
	case ofAll:
		most := s.bounds.Answers
		e.Status, e.RetryAfter = http.StatusServiceUnavailable, 5*time.Second
		if kind == "stream" {
			most, e.Status, e.RetryAfter = s.bounds.Streams, http.StatusTooManyRequests, 30*time.Second
		}
		e.Message = fmt.Sprintf("all readers together have about %s under way, which is all that there may be", phrase.Count(most, kind))
	case ofTurn:
		e.Status, e.RetryAfter = http.StatusServiceUnavailable, 5*time.Second
		e.Message = fmt.Sprintf("too many read at this moment: your turn did not come within %s", s.bounds.Wait.Std())
	case ofMemory:
		e.Status, e.RetryAfter = http.StatusServiceUnavailable, 10*time.Second
		e.Message = "too many large answers wait for readers who take them slowly"
		e.Next = "ask for less with limit=…"
	}
	again := fmt.Sprintf("come again in %d s", int(e.RetryAfter.Seconds()))
	if e.Next != "" {
		again = e.Next + ", or " + again
	}
	e.Next = again
	return e
}

// later tells a reader who was refused when to come back.
func later(h http.Header, e *client.Error) {
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
}

// deliver sends an answer that is made, and ends the turn in which it was made: whoever reads slowly keeps nobody
// from reading. An answer that is not taken within half a minute, or more if it is large, is given up.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, status int, contentType string, text []byte) {
	if v := visitOf(r.Context()); v != nil {
		v.rest()
		if len(text) > largeAnswer {
			if _, ok := s.bounds.memory.take(v.who, len(text)); !ok {
				s.refuse(w, r, s.tooMany("answer", ofMemory))
				return
			}
			defer s.bounds.memory.give(v.who, len(text))
		}
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	// Where there are no deadlines, nobody is slow.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin + time.Duration(len(text)/slowest)*time.Second))
	w.WriteHeader(status)
	_, _ = w.Write(text) // whoever asked may have left
}

// unhurried takes the deadline back that the answer before on the same connection had.
func unhurried(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // where there are none, there is nothing to take back
		next.ServeHTTP(w, r)
	})
}
