package memory

import (
	"context"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// logKey names the log of one job.
type logKey struct {
	lane events.Lane
	job  events.JobID
}

// WriteLog implements eventlog.JobLogs.
func (l *Log) WriteLog(_ context.Context, lane events.Lane, c eventlog.LogChunk) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := logKey{lane, c.JobID}
	l.chunks[k] = append(l.chunks[k], c)
	l.announce()
	return nil
}

// ReadLog implements eventlog.JobLogs.
func (l *Log) ReadLog(ctx context.Context, lane events.Lane, job events.JobID, follow bool, f func(eventlog.LogChunk) error) error {
	for next := 0; ; {
		l.mu.Lock()
		rest, changed := l.chunks[logKey{lane, job}][next:], l.changed
		l.mu.Unlock()
		for _, c := range rest {
			if err := f(c); err != nil {
				return err
			}
		}
		next += len(rest)
		if len(rest) > 0 {
			continue
		}
		if !follow {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
