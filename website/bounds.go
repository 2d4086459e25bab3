package website

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// effort says how much of the server a route takes, and so which bounds it has.
type effort int

const (
	// quick reads a few rows, over the connections of the pages.
	quick effort = iota
	// long reads much, or the log, over connections of its own.
	long
	// common is read once for all who ask at the same time.
	common
	// lasting continues until its reader leaves.
	lasting
	// unbounded is for commands, which need a token, and for answers that cost nothing.
	unbounded
)

const (
	// memoryForAll bounds the bytes of large answers that are held until slow readers have taken them; memoryForOne,
	// those of one address. An answer larger than largeAnswer counts as large.
	memoryForAll = 256 << 20
	memoryForOne = 64 << 20
	largeAnswer  = 64 << 10
	// slowest is the least pace, in bytes a second, for reading a large answer. A slower reader is dropped.
	slowest = 64 << 10
	// fewPlaces is how many places an address may have once three quarters of all places are taken.
	fewPlaces = 4
)

// bounds is what all readers may have at once. See config.Readers.
type bounds struct {
	config.Readers
	trusted []netip.Prefix
	// answers and streams count those under way; memory, the bytes of large answers that are being sent.
	answers, streams, memory *places
	// quick, long and parts are the turns of reading: for pages, for long reads, and for the parts of the log that
	// streams read. Parts are small and would wait long behind the long reads. The last two load the processors more
	// than Postgres, so each leaves one processor to the pages.
	quick, long, parts *turns
	// tokens are the turns of looking up a token: anybody may send something that looks like one.
	tokens *turns
	// previews are the turns of dry runs: each looks through the jobs of a request, and holds up the decisions of this process.
	previews *turns
	// guesses counts the wrong tokens of the last minute that were meant to log in (see guess).
	guesses *places
}

// tokensAtOnce is how many tokens are looked up at once.
const tokensAtOnce = 4

// previewsAtOnce is how many dry runs are under way at once.
const previewsAtOnce = 2

// guessesOfAll and guessesOfOne are how many wrong tokens may come in a minute, from all addresses and from one.
const guessesOfAll, guessesOfOne = 600, 10

// newBounds returns the bounds of a configuration. It panics if the configuration is wrong: it should have been checked.
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
		quick:  newTurns(max(r.Connections()-1, 1)), // one connection is for common reads
		long:   newTurns(atOnce), parts: newTurns(atOnce), tokens: newTurns(tokensAtOnce), previews: newTurns(previewsAtOnce),
		guesses: newPlaces(guessesOfAll, guessesOfOne, 2),
	}
	b.long.yieldTo, b.parts.yieldTo = b.quick, b.quick
	return b
}

// errNoTurn is the cause when the wait of a read for its turn ends.
var errNoTurn = errors.New("no turn came")

// visit is one request and what it has taken of the bounds.
type visit struct {
	who netip.Addr
	// line is where it takes its turn; nil if it needs none.
	line *turns
	// done ends its turn; nil while it has no turn.
	done func()
}

type visitKey struct{}

// visitOf returns the visit of a request; nil if the route has no bounds.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// bounded keeps a route within what its visitors may have at once. A visitor that asks for more is told when to come
// back; refuse says so in the form of the route.
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

// begin waits until a request has its turn to read, for a bounded time. The turn ends before the answer is sent (see
// deliver).
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

// dryRunKind is what a refused dry run is counted as.
const dryRunKind = "dry run"

// dryRun waits until a dry run has its turn, for a bounded time. The caller ends the turn by calling done, once.
func (s *Server) dryRun(r *http.Request) (done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.bounds.Wait.Std(), errNoTurn)
	defer cancel()
	done, err = s.bounds.previews.take(ctx, visitor(r, s.bounds.trusted))
	if errors.Is(err, errNoTurn) {
		return nil, s.tooMany(dryRunKind, ofTurn)
	}
	return done, err
}

// rest ends the turn of a visit.
func (v *visit) rest() {
	if v.done != nil {
		v.done()
		v.done = nil
	}
}

// readPart does one read of a stream when it has its turn. It waits for the turn until ctx ends.
func (s *Server) readPart(ctx context.Context, who netip.Addr, read func(*readmodel.Reader) error) error {
	done, err := s.bounds.parts.take(ctx, who)
	if err != nil {
		return err
	}
	defer done()
	return read(s.long)
}

// tooMany returns the error that refuses a reader. It says which bound is reached and what to do.
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
		e.Message = fmt.Sprintf("your address has %s under way, and one address may not have more", phrase.Count(most, kind))
	case ofAll:
		most := s.bounds.Answers
		e.Status, e.RetryAfter = http.StatusServiceUnavailable, 5*time.Second
		if kind == "stream" {
			most, e.Status, e.RetryAfter = s.bounds.Streams, http.StatusTooManyRequests, 30*time.Second
		}
		e.Message = fmt.Sprintf("all readers together have about %s under way, and there may not be more", phrase.Count(most, kind))
	case ofTurn:
		e.Status, e.RetryAfter = http.StatusServiceUnavailable, 5*time.Second
		does := "read"
		if kind == dryRunKind {
			does = "ask for dry runs"
		}
		e.Message = fmt.Sprintf("too many %s at this moment: your turn did not come within %s", does, s.bounds.Wait.Std())
	case ofMemory:
		e.Status, e.RetryAfter = http.StatusServiceUnavailable, 10*time.Second
		e.Message = "too many large answers wait for slow readers"
		e.Next = "ask for less with limit=…"
	}
	again := fmt.Sprintf("try again in %d s", int(e.RetryAfter.Seconds()))
	if e.Next != "" {
		again = e.Next + ", or " + again
	}
	e.Next = again
	return e
}

// later tells a refused reader when to come back, in a header.
func later(h http.Header, e *client.Error) {
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
}

// deliver ends the turn of a request and sends its answer. The turn ends first, so a slow reader keeps no other
// from reading. An answer that is not taken within half a minute, or longer if it is large, is given up.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, status int, contentType string, text []byte) {
	text, how := s.packed(r, contentType, text)
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
	maps.Copy(h, how)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	// An error means that the connection has no deadlines, as in tests.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout + time.Duration(len(text)/slowest)*time.Second))
	w.WriteHeader(status)
	_, _ = w.Write(text) // the reader may have left
}

// unhurried removes the deadline that the previous answer on the same connection had set.
func unhurried(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // an error means that there are no deadlines
		next.ServeHTTP(w, r)
	})
}
