package collector

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/spool"
)

// Two ways lead out of an attempt.
//
// Control is what others must know: results, outputs, errors, the end. The goroutine that runs the bench owns the state of
// the attempt. It alone appends control, itself and at once: no queue lies between, so nothing stands in front of it. The
// heartbeat, and the delivery that must be prolonged, have goroutines of their own.
//
// Output is what people may read. Any goroutine puts it into the spool of the attempt. The sender takes it from there,
// also after the end of the attempt, while the next one runs.
//
// The rule by which nothing stands still: the owner waits for the log, for the commands and for those who read what they
// print, and never for the sender. These readers wait for the disk of the spool alone, and the sender for the readers of
// no reader: only for JobLogs, and for the sender before it.
const (
	// outputMemory and outputFile bound the output of an attempt that waits, in memory and then on the disk, in bytes.
	outputMemory = 4 << 20
	outputFile   = 64 << 20
	// sendEvery is the pause between pieces of output, and sendAtOnce how much is sent without one, in bytes of JSON: what an
	// attempt left behind must not disturb what the next one measures, nor look like an attack to the door.
	sendEvery  = 200 * time.Millisecond
	sendAtOnce = 1 << 20
	// sendAgain is the pause before the log is asked again that was not reachable.
	sendAgain = time.Second
	// lastOutput bounds how long a process that ends sends what it has left.
	lastOutput = 2 * time.Second
)

// sender sends the output of one attempt.
type sender struct {
	c       *Collector
	job     events.JobID
	attempt int
	out     *spool.Spool
	// before is the sender of the attempt before, as long as that may still have something to send.
	before *sender
	// over is closed when the attempt has ended, gone when there is nothing more to send, or nothing more will be sent.
	over, gone chan struct{}
	giveUp     context.CancelFunc
}

// send begins to send the output of an attempt. Of the attempts that have ended, only the last one may still be sending.
// Only the goroutine that works calls it.
func (c *Collector) send(ctx context.Context, a *attempt) *sender {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &sender{
		c: c, job: a.spec.ID, attempt: a.number, out: a.sink.out, before: c.sending, giveUp: cancel,
		over: make(chan struct{}), gone: make(chan struct{}),
	}
	if s.before != nil && s.before.before != nil {
		s.before.before.giveUp()
		s.before.before = nil
	}
	c.sending = s
	var first <-chan struct{}
	if s.before != nil && s.before.job == s.job {
		first = s.before.gone // people read the attempts of a job one after the other
	}
	go func() {
		defer close(s.gone)
		defer cancel()
		defer s.out.Discard()
		s.run(ctx, first)
	}()
	return s
}

// end says that the attempt has ended, and returns what it printed: the numbers of all chunks are fixed.
func (s *sender) end() spool.Total {
	total := s.out.Close()
	close(s.over)
	return total
}

func (s *sender) run(ctx context.Context, first <-chan struct{}) {
	if first != nil {
		select {
		case <-first:
		case <-ctx.Done():
			return
		}
	}
	over := s.over
	for {
		for sent := 0; sent < sendAtOnce; {
			chunk, ok := s.out.Next()
			if !ok {
				break
			}
			text := legible(chunk.Text)
			if !s.write(ctx, chunk.Number, text) {
				return
			}
			sent += encoded(text)
		}
		if s.out.Done() {
			return
		}
		select {
		case <-over:
			over = nil // what is left is sent without a wait, once
		case <-time.After(sendEvery):
		case <-ctx.Done():
			return
		}
	}
}

// write stores one chunk, however long that takes. It returns false if ctx ended first. A chunk that is refused is missing
// for good, and its number tells the readers.
func (s *sender) write(ctx context.Context, number int, text string) bool {
	c := eventlog.LogChunk{JobID: s.job, Attempt: s.attempt, Number: number, Time: s.c.Clock().UTC(), Text: text}
	for {
		err := s.c.JobLogs.WriteLog(ctx, s.c.Lane, c)
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		case !errors.Is(err, eventlog.ErrUnavailable):
			s.c.Logger.Debug("output of a job was not stored", "job", s.job, "chunk", c.Number, "bytes", len(c.Text), "error", err)
			return true
		}
		retry.Sleep(ctx, sendAgain)
	}
}

// legible returns a text in UTF-8: it is stored as JSON, which has no other bytes. Each byte that is none becomes U+FFFD.
func legible(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}

// encoded returns about how many bytes of JSON a text becomes.
func encoded(text string) int {
	n := len(text)
	for i := range len(text) {
		switch b := text[i]; {
		case b == '\n', b == '\t', b == '"', b == '\\':
			n++
		case b < ' ', b == '<', b == '>', b == '&':
			n += 5
		}
	}
	return n
}

// stopSending gives up what is not sent in time. Call it when no attempt runs.
func (c *Collector) stopSending() {
	late := time.NewTimer(lastOutput)
	defer late.Stop()
	for s := c.sending; s != nil; s = s.before {
		select {
		case <-s.gone:
		case <-late.C:
			late.Reset(0)
			c.Logger.Info("the process ends, and output of a job was not sent: its page says which is missing", "job", s.job)
			s.giveUp()
			<-s.gone
		}
	}
}
