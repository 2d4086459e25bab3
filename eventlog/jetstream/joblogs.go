package jetstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// logSubject returns the subject with the output of one job.
func logSubject(lane events.Lane, job events.JobID) string {
	return fmt.Sprintf("%s%s.%d.%s", logPrefix, lane.Target, lane.Set, job)
}

// logWriter writes the output of jobs.
type logWriter struct {
	nc *nats.Conn
}

// WriteLog implements eventlog.JobLogs. A chunk whose answer is lost may be stored twice.
func (w logWriter) WriteLog(ctx context.Context, lane events.Lane, c eventlog.LogChunk) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("log of job %s: %w", c.JobID, err)
	}
	if len(data) > maxMessage-256 {
		return fmt.Errorf("log of job %s: a chunk of %d bytes: write it in pieces below %d", c.JobID, len(data), maxMessage/2)
	}
	return store(ctx, w.nc, "log of job "+string(c.JobID), &nats.Msg{Subject: logSubject(lane, c.JobID), Data: data})
}

// store publishes a message and waits until it is stored. It may be stored twice.
func store(ctx context.Context, nc *nats.Conn, operation string, m *nats.Msg) error {
	return Persist(ctx, operation, func(ctx context.Context) error {
		answer, err := request(ctx, nc, m)
		if err != nil {
			return err
		}
		var ack struct {
			Error *natsjs.APIError `json:"error"`
		}
		if err := json.Unmarshal(answer.Data, &ack); err != nil {
			return fmt.Errorf("acknowledgement %q: %w", answer.Data, err)
		}
		if ack.Error != nil {
			return ack.Error
		}
		return nil
	})
}

// ReadLog implements eventlog.JobLogs.
func (l *Log) ReadLog(ctx context.Context, lane events.Lane, job events.JobID, follow bool, f func(eventlog.LogChunk) error) error {
	operation := "read the log of job " + string(job)
	last, err := l.lastChunk(ctx, lane, job)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if last == 0 && !follow {
		return nil
	}
	consumer, err := l.js.OrderedConsumer(ctx, logsName, natsjs.OrderedConsumerConfig{
		FilterSubjects: []string{logSubject(lane, job)}, DeliverPolicy: natsjs.DeliverAllPolicy,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(natsjs.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
		var c eventlog.LogChunk
		if err := json.Unmarshal(m.Data(), &c); err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
		if err := f(c); err != nil {
			return err
		}
		place, err := parseReply(m.Reply())
		if err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
		if !follow && place.seq >= last {
			return nil
		}
	}
}

// lastChunk returns the sequence of the last chunk that a job has now; 0 when it has none.
func (l *Log) lastChunk(ctx context.Context, lane events.Lane, job events.JobID) (events.Seq, error) {
	s, _, err := l.oneOf(ctx, logsName, query{LastFor: events.Subject(logSubject(lane, job))})
	return s.Seq, err
}
