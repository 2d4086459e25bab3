package website

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/website/client"
)

// maxBody bounds the body of a command; maxDefinitions, that of definitions.
const (
	maxBody        = 64 << 10
	maxDefinitions = 4 << 20
)

// wrong returns an error with a status and with words for the caller.
func wrong(status int, next, format string, args ...any) error {
	return &client.Error{Status: status, Message: fmt.Sprintf(format, args...), Next: next}
}

// explain turns any error into what the caller is told. known is false for an error that has to be logged as a fault:
// the caller is not told its details.
func explain(err error) (e *client.Error, known bool) {
	var refused *control.RefusedError
	var notConnected *pgconn.ConnectError
	var network net.Error
	var retired *readmodel.RetiredError
	var incomparable *comparison.Error
	var several *readmodel.AmbiguousError
	var busy *eventlog.BusyError
	var full *eventlog.FullError
	var newer *events.NewerError
	var away *readmodel.AwayError
	var untried *control.NotTriedError
	var tooLong *readmodel.TooLongError
	switch {
	case errors.As(err, &e):
		return e, true
	case errors.As(err, &untried):
		cause, _ := explain(untried.Cause)
		return &client.Error{Status: cause.Status, Message: "it was not tried, because the log failed at another request of the batch: " + cause.Message, Next: cause.Next}, true
	case errors.As(err, &incomparable):
		status := http.StatusNotFound
		if incomparable.Wrong {
			status = http.StatusBadRequest
		}
		return &client.Error{Status: status, Message: incomparable.Message, Next: incomparable.Next}, true
	case errors.As(err, &refused):
		return &client.Error{Status: refusalStatus(refused.Kind), Message: refused.Reason}, true
	case errors.As(err, &several):
		next := "say which: " + strings.Join(several.Candidates, ", ")
		if several.More {
			next += " and others"
		}
		return &client.Error{Status: http.StatusConflict, Message: several.Error(), Next: next}, true
	case errors.As(err, &retired):
		return &client.Error{
			Status: http.StatusGone, Message: retired.Error(), JobID: retired.JobID, RequestID: retired.RequestID,
			Next: fmt.Sprintf("its results stay, and the log tells its story: `tacho trace %s`, `tacho events tail`", retired.JobID),
		}, true
	case errors.Is(err, readmodel.ErrNotFound):
		return &client.Error{Status: http.StatusNotFound, Message: err.Error()}, true
	case errors.As(err, &newer):
		return &client.Error{
			Status: http.StatusServiceUnavailable, Message: fmt.Sprintf("a newer version of Tacho wrote event %d (%s) on %s, and this program does not understand it; nothing was recorded",
				newer.Seq, newer.Type, newer.Subject), Next: newer.Next(),
		}, true
	case errors.Is(err, eventlog.ErrBatchTooLarge):
		return &client.Error{Status: http.StatusRequestEntityTooLarge, Message: err.Error(), Next: "ask for less, or in several calls"}, true
	case errors.As(err, &busy):
		return &client.Error{Status: http.StatusServiceUnavailable, Message: "others change the same at this moment, and each time they were first; nothing was recorded", Next: "ask again"}, true
	case errors.As(err, &full):
		return &client.Error{
			Status: http.StatusInsufficientStorage, Message: full.Said(),
			Next: full.Next + "; then ask again: what was recorded already is not recorded twice",
		}, true
	case noRoom(err):
		return &client.Error{Status: http.StatusInsufficientStorage, Message: "the disk of Postgres is full", Next: "make room on it; then ask again"}, false
	case errors.Is(err, eventlog.ErrUnavailable):
		return &client.Error{
			Status: http.StatusServiceUnavailable, Message: "the log is not reachable; it is unknown whether this was recorded",
			Next: "ask again: what was recorded already is not recorded twice",
		}, false
	case errors.As(err, &away):
		return &client.Error{
			Status: http.StatusServiceUnavailable, Message: away.Error() + ", so pages and the API have nothing to show; the log takes all events, and jobs go on",
			Next: "try again in a few seconds; if it lasts, look at Postgres, and see /readyz", RetryAfter: 2 * time.Second,
		}, true
	case errors.Is(err, readmodel.ErrLocked):
		return &client.Error{
			Status: http.StatusServiceUnavailable, Message: "somebody has locked a table in Postgres",
			Next: "try again in a few seconds; if it lasts, see pg_stat_activity for who holds the lock", RetryAfter: 2 * time.Second,
		}, false
	case errors.As(err, &tooLong):
		message, next := tookTooLong(tooLong.Query)
		return &client.Error{Status: http.StatusGatewayTimeout, Message: message, Next: next}, true
	case errors.Is(err, context.DeadlineExceeded):
		return &client.Error{Status: http.StatusGatewayTimeout, Message: "this took too long", Next: "see /readyz for what is slow"}, false
	case errors.As(err, &notConnected), errors.As(err, &network), hungUp(err), errors.Is(err, readmodel.ErrNotMigrated):
		return &client.Error{Status: http.StatusServiceUnavailable, Message: "Postgres cannot be reached, so pages and the API have nothing to show; the log takes all events, and jobs go on", Next: "try again in a few seconds; if it lasts, see /readyz, and the log of the server"}, false
	}
	return &client.Error{Status: http.StatusInternalServerError, Message: "a fault of Tacho", Next: "see the log of the server"}, false
}

// tookTooLong says what took too long, by the query that was ended, and what to do then.
func tookTooLong(query string) (message, next string) {
	const ended = " took Postgres too long, so it was ended"
	first, _, _ := strings.Cut(query, "_")
	switch first {
	case "event", "events":
		return "this read looks through too much of the log", "name a subject or a root, or begin later with after=…"
	case "graph", "graphs", "sample", "sampled", "diagnosed":
		return "this read of the graphs of a request" + ended, "ask again in a few seconds; the jobs alone come page by page from /api/v1/jobs?request=…"
	case "waits":
		return "this read of how long jobs waited" + ended, "ask for less: name a lane, or a shorter window such as 24h"
	case "results", "measured", "history", "spreads", "blocks", "forced", "durations":
		return "this read of what was measured" + ended, "ask again in a few seconds, or for less: one suite, one metric"
	}
	return "this read" + ended, "ask again in a few seconds; if it lasts, see /readyz for what is slow"
}

// noRoom reports whether Postgres has no room for what a question needs.
func noRoom(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && said.Code == "53100" // disk_full
}

// hungUp reports whether Postgres left in the middle of a query, as it does when it stops or restarts.
func hungUp(err error) bool {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return strings.HasPrefix(said.Code, "57P") // an operator intervened
	}
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

func refusalStatus(kind control.RefusalKind) int {
	switch kind {
	case control.Invalid:
		return http.StatusBadRequest
	case control.NotFound:
		return http.StatusNotFound
	case control.Conflict:
		return http.StatusConflict
	case control.Forbidden:
		return http.StatusForbidden
	case control.TooMany:
		return http.StatusTooManyRequests
	case control.Full, control.Impossible:
		return http.StatusUnprocessableEntity
	}
	return http.StatusBadRequest
}

// fault logs an error of which the caller is told only a part.
func (s *Server) fault(r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the caller has left
	}
	s.Logger.ErrorContext(r.Context(), "a call of the website failed", "method", r.Method, "path", r.URL.Path, "error", err)
}

// challenge is the header that goes with the status 401.
const challenge = `Bearer realm="tacho"`

// blamed returns the error of a read that broke off, with the reason if Postgres does not answer: the error itself says
// only that a connection was closed.
func (s *Server) blamed(err error) error {
	away := s.Reader.Away()
	if away == nil {
		return err
	}
	if _, known := explain(err); known || errors.Is(err, eventlog.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", away, err)
}

// refuse answers an error as JSON.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	err = s.blamed(err)
	e, known := explain(err)
	if !known {
		s.fault(r, err)
	}
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	later(w.Header(), e)
	s.write(w, r, e.Status, e)
}

// write answers with one JSON value and a line feed.
func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		s.fault(r, err)
		status, data = http.StatusInternalServerError, []byte(`{"error":"a fault of Tacho","next":"see the log of the server"}`)
	}
	s.deliver(w, r, status, "application/json; charset=utf-8", append(data, '\n'))
}

// body reads the one JSON value of a command into v, strictly. An empty body leaves v as it is.
func body(w http.ResponseWriter, r *http.Request, v any) error {
	data, err := rawBody(w, r, maxBody)
	if err != nil || len(data) == 0 {
		return err
	}
	return decodeStrict(data, v)
}

// rawBody reads a body of JSON, at most limit bytes.
func rawBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	return declared(w, r, "application/json", "JSON", limit)
}

// declared reads a body that is declared to be of a type, at most limit bytes.
func declared(w http.ResponseWriter, r *http.Request, kind, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, wrong(http.StatusRequestEntityTooLarge, "send less at once, or in several calls", "the body is larger than %d bytes", large.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, wrong(http.StatusRequestTimeout, "send it again", "the body did not arrive in time")
	}
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "send it again", "the body broke off")
	}
	// The command may take longer than its body took to arrive.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if said, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); len(data) > 0 && (err != nil || said != kind) {
		return nil, wrong(http.StatusUnsupportedMediaType, "send the header Content-Type: "+kind, "the body is not declared as %s", name)
	}
	return data, nil
}
