package website

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// jobLog writes the output of a job as text. A separate line shows where another attempt begins.
func (s *Server) jobLog(w http.ResponseWriter, r *http.Request, p *params) error {
	follow := p.flag("follow")
	if p.err != nil {
		return p.err
	}
	who := visitOf(r.Context()).who
	job, err := s.jobNow(r.Context(), who, r.PathValue("job"))
	if err != nil {
		return err
	}
	if s.JobLogs == nil {
		return wrong(http.StatusNotFound, "ask the process that is connected to the log", "this process has no output of jobs")
	}
	st, closed := s.open(w, r, "text/plain; charset=utf-8")
	defer closed()
	out := &logWriter{st: st}
	if err := st.to.Flush(); err != nil {
		return nil // the reader has left
	}
	if follow && !job.State.Terminal() {
		err = s.followLog(st, who, job.Job, out)
	}
	if err == nil {
		err = s.restOfLog(st.ctx, job.Job, out)
	}
	if err != nil && st.ctx.Err() == nil {
		s.fault(r, err)
		// The answer has begun: the error can only be told at its end.
		_ = st.send([]byte("\n--- the rest of the output cannot be read: see the log of the server ---\n"))
	}
	return nil
}

// followLog writes chunks as they come until the job has ended.
func (s *Server) followLog(st *stream, who netip.Addr, job readmodel.Job, out *logWriter) error {
	ctx, cancel := context.WithCancel(st.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { // waited for below
		defer cancel()
		ended <- s.jobEnded(ctx, who, job.ID)
	}()
	err := s.JobLogs.ReadLog(ctx, job.Lane(), job.ID, true, out.chunk)
	if ctx.Err() == nil {
		cancel() // reading the log failed, not the wait
		<-ended
		return err
	}
	if err := <-ended; err != nil && st.ctx.Err() == nil {
		return err
	}
	return st.ctx.Err()
}

// jobNow reads a job for a stream of its output. There may be many such streams, so it does not use the connections of
// the pages.
func (s *Server) jobNow(ctx context.Context, who netip.Addr, name string) (job readmodel.JobHistory, err error) {
	err = s.readPart(ctx, who, func(tables *readmodel.Reader) (err error) {
		job, err = tables.FindJob(ctx, name)
		return err
	})
	return job, err
}

// jobEnded waits until the tables say that the job has ended.
func (s *Server) jobEnded(ctx context.Context, who netip.Addr, id events.JobID) error {
	for {
		at := s.Reader.Heard()
		job, err := s.jobNow(ctx, who, string(id))
		if err != nil || job.State.Terminal() {
			return err
		}
		select {
		case <-s.Reader.Changed(at):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// restOfLog writes the stored output that was not written yet.
func (s *Server) restOfLog(ctx context.Context, job readmodel.Job, out *logWriter) error {
	skip := out.chunks
	return s.JobLogs.ReadLog(ctx, job.Lane(), job.ID, false, func(c eventlog.LogChunk) error {
		if skip > 0 {
			skip--
			return nil
		}
		return out.chunk(c)
	})
}

// logWriter writes chunks to a stream and counts them.
type logWriter struct {
	st      *stream
	chunks  int
	attempt int
	// open says that the last line has no end yet.
	open bool
}

func (l *logWriter) chunk(c eventlog.LogChunk) error {
	l.chunks++
	text := c.Text
	if c.Attempt != l.attempt && c.Attempt > 1 {
		if text = fmt.Sprintf("--- attempt %d ---\n", c.Attempt) + text; l.open {
			text = "\n" + text
		}
	}
	l.attempt = c.Attempt
	if text == "" {
		return nil
	}
	l.open = text[len(text)-1] != '\n'
	return l.st.send([]byte(text))
}
