package website

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/tachobench/tacho/events"
)

// writeTimeout bounds the sending of one message. A reader that does not read is dropped.
const writeTimeout = 30 * time.Second

// stream is an answer that continues until its reader leaves or the server stops.
type stream struct {
	w  http.ResponseWriter
	to *http.ResponseController
	// ctx ends when the reader leaves or the server stops.
	ctx context.Context
}

// untilStopped returns a context that ends when the reader leaves or the server stops.
func (s *Server) untilStopped(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := make(chan struct{})
	go func() { // ends with cancel
		defer close(stop)
		select {
		case <-s.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-stop }
}

// open begins a stream. The caller must call closed at its end.
func (s *Server) open(w http.ResponseWriter, r *http.Request, contentType string) (st *stream, closed func()) {
	ctx, cancel := context.WithCancel(r.Context())
	released := make(chan struct{})
	watched := make(chan struct{})
	go func() { // ends with the stream, which waits for it
		defer close(watched)
		select {
		case <-s.stopped:
			cancel()
		case <-released:
		}
	}()
	if r.Method == http.MethodHead {
		cancel() // the header is the whole answer, and the next call on the same connection waits for its end
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the messages back
	w.WriteHeader(http.StatusOK)
	s.metrics.streams.Inc()
	to := http.NewResponseController(w)
	return &stream{w: w, to: to, ctx: ctx}, func() {
		s.metrics.streams.Dec()
		close(released)
		<-watched
		cancel()
		// The connection may carry other answers later. An error means that it has no deadlines.
		_ = to.SetWriteDeadline(time.Time{})
	}
}

// send writes text and flushes it. An error means that the reader has left or does not read.
func (st *stream) send(text []byte) error {
	if err := st.to.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := st.w.Write(text); err != nil {
		return err
	}
	return st.to.Flush()
}

// message writes one server-sent event. It leaves id out if it is 0.
func (st *stream) message(name string, id events.Seq, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	text := "event: " + name + "\n"
	if id > 0 {
		text += fmt.Sprintf("id: %d\n", id)
	}
	return st.send([]byte(text + "data: " + string(data) + "\n\n"))
}

// alive sends a comment, which readers skip.
func (st *stream) alive() error { return st.send([]byte(": alive\n\n")) }
