package website

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// comingFor is how long a reader who follows waits, after the end of the job, for output that is still coming.
const comingFor = 10 * time.Second

// jobLog writes the output of a job as text. A separate line shows where another attempt begins, and where pieces are
// missing. A trailer says whether the output is complete, if the end of the job tells how much there is.
func (s *Server) jobLog(w http.ResponseWriter, r *http.Request, p *params) error {
	follow, tell := p.flag("follow"), p.flag("tell")
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
	out := &logWriter{st: st, last: map[int]int{}}
	if err := st.to.Flush(); err != nil {
		return nil // the reader has left
	}
	if follow && !job.State.Terminal() {
		job, err = s.followLog(st, who, job, out)
	}
	if err == nil {
		err = s.restOfLog(st.ctx, lastLane(job), job.ID, out)
	}
	if err == nil && follow {
		err = s.lateLog(st.ctx, job, out)
	}
	if state, words := out.state(job); err == nil && state != "" {
		w.Header().Set(http.TrailerPrefix+client.OutputTrailer, string(state))
		if tell || state != client.OutputComplete {
			err = out.note("the output is " + words)
		}
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

// lateLog follows the output of a job that has ended until it is complete, or nothing comes for a while.
func (s *Server) lateLog(ctx context.Context, job readmodel.JobHistory, out *logWriter) error {
	lane := lastLane(job)
	if state, _ := out.state(job); state != client.OutputComing || lane == (events.Lane{}) {
		return nil
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	nothing := time.AfterFunc(comingFor, stop)
	defer nothing.Stop()
	skip := out.chunks
	err := s.JobLogs.ReadLog(waiting, lane, job.ID, true, func(c eventlog.LogChunk) error {
		if skip > 0 {
			skip--
			return nil
		}
		nothing.Reset(comingFor)
		err := out.chunk(c)
		if state, _ := out.state(job); state != client.OutputComing {
			stop()
		}
		return err
	})
	if ctx.Err() == nil && waiting.Err() != nil {
		return nil
	}
	return err
}

// logWriter writes chunks to a stream and counts them.
type logWriter struct {
	st      *stream
	chunks  int
	attempt int
	// last is the number of the last chunk of each attempt whose chunks have numbers, and gaps says that some were missing.
	last map[int]int
	gaps bool
	// open says that the last line has no end yet.
	open bool
}

func (l *logWriter) chunk(c eventlog.LogChunk) error {
	l.chunks++
	if c.Number > 0 && c.Number <= l.last[c.Attempt] {
		return nil // it was stored twice
	}
	if c.Attempt != l.attempt && c.Attempt > 1 {
		if err := l.note(fmt.Sprintf("attempt %d", c.Attempt)); err != nil {
			return err
		}
	}
	l.attempt = c.Attempt
	if c.Number > 0 {
		if err := l.missing(l.last[c.Attempt]+1, c.Number-1); err != nil {
			return err
		}
		l.last[c.Attempt] = c.Number
	}
	return l.send(c.Text)
}

// missing notes that the chunks between two numbers are not there.
func (l *logWriter) missing(first, last int) error {
	if first > last {
		return nil
	}
	l.gaps = true
	if first == last {
		return l.note(fmt.Sprintf("a gap: piece %d is missing", first))
	}
	return l.note(fmt.Sprintf("a gap: pieces %d to %d are missing", first, last))
}

// note writes a line that is no output.
func (l *logWriter) note(words string) error {
	text := "--- " + words + " ---\n"
	if l.open {
		text = "\n" + text
	}
	return l.send(text)
}

func (l *logWriter) send(text string) error {
	if text == "" {
		return nil
	}
	l.open = text[len(text)-1] != '\n'
	return l.st.send([]byte(text))
}

// state says whether all output of a job was written, also in words; empty if the job has not ended, or its end does not
// tell how much there is.
func (l *logWriter) state(job readmodel.JobHistory) (client.OutputState, string) {
	if !job.State.Terminal() {
		return "", ""
	}
	newest, told := 0, false
	for _, a := range job.AttemptList {
		if a.Attempt >= newest {
			newest, told = a.Attempt, a.Printed != nil
		}
		if a.Printed == nil { // it was lost, and its last piece is not known
			continue
		}
		if have := l.last[a.Attempt]; have < a.Printed.Last {
			return client.OutputComing, fmt.Sprintf("still coming: %d of %s are here; if its collector has stopped, the others are lost", have, phrase.Count(a.Printed.Last, "piece"))
		}
	}
	switch {
	case !told:
		return "", ""
	case l.gaps:
		return client.OutputGaps, "not complete: it has gaps, because old output is not kept for ever"
	}
	return client.OutputComplete, "complete"
}
