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
		job, err = s.followLog(st, who, job, out)
	}
	if err == nil {
		err = s.restOfLog(st.ctx, lastLane(job), job.ID, out)
	}
	if err != nil && st.ctx.Err() == nil {
		s.fault(r, err)
		// The answer has begun: the error can only be told at its end.
		_ = st.send([]byte("\n--- the rest of the output cannot be read: see the log of the server ---\n"))
	}
	return nil
}

// lastLane returns the lane that the job is on, or was last before a move; the zero lane if it never had one.
func lastLane(job readmodel.JobHistory) events.Lane {
	lane := job.Lane()
	if n := len(job.AttemptList); lane == (events.Lane{}) && n > 0 {
		lane = events.Lane{Target: job.AttemptList[n-1].Target, Set: job.AttemptList[n-1].Set}
	}
	return lane
}

// followLog writes chunks as they come until the job has ended, on whatever lanes it is. It returns the job as it ended.
func (s *Server) followLog(st *stream, who netip.Addr, job readmodel.JobHistory, out *logWriter) (readmodel.JobHistory, error) {
	for !job.State.Terminal() {
		next, err := s.followLane(st, who, job, out)
		if err != nil || next == nil {
			return job, err
		}
		if lane := job.Lane(); next.Lane() != lane && lane != (events.Lane{}) {
			if err := s.restOfLog(st.ctx, lane, job.ID, out); err != nil {
				return job, err
			}
			out.chunks = 0
		}
		job = *next
	}
	return job, nil
}

// followLane writes chunks as they come until the job has ended or left its lane. It returns the job as it is then; nil if
// the output ended before.
func (s *Server) followLane(st *stream, who netip.Addr, job readmodel.JobHistory, out *logWriter) (*readmodel.JobHistory, error) {
	ctx, cancel := context.WithCancel(st.ctx)
	defer cancel()
	var next readmodel.JobHistory
	left := make(chan error, 1)
	go func() { // waited for below
		defer cancel()
		var err error
		next, err = s.jobLeft(ctx, who, job)
		left <- err
	}()
	var err error
	if job.Lane() == (events.Lane{}) {
		<-ctx.Done() // there is nothing to read while it waits for a machine
	} else {
		err = s.JobLogs.ReadLog(ctx, job.Lane(), job.ID, true, out.chunk)
	}
	if ctx.Err() == nil {
		cancel() // reading the log failed, not the wait
		<-left
		return nil, err
	}
	if err := <-left; err != nil && st.ctx.Err() == nil {
		return nil, err
	}
	return &next, st.ctx.Err()
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

// jobLeft waits until the tables say that the job has ended, or is on another lane, and returns it.
func (s *Server) jobLeft(ctx context.Context, who netip.Addr, job readmodel.JobHistory) (readmodel.JobHistory, error) {
	for {
		at := s.Reader.Heard()
		now, err := s.jobNow(ctx, who, string(job.ID))
		if err != nil || now.State.Terminal() || now.Lane() != job.Lane() {
			return now, err
		}
		select {
		case <-s.Reader.Changed(at):
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// restOfLog writes the stored output of a job on a lane that was not written yet.
func (s *Server) restOfLog(ctx context.Context, lane events.Lane, id events.JobID, out *logWriter) error {
	if lane == (events.Lane{}) {
		return nil
	}
	skip := out.chunks
	return s.JobLogs.ReadLog(ctx, lane, id, false, func(c eventlog.LogChunk) error {
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
