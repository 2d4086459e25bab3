package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/internal/natsserver"
)

// rawSame is the peer that tells what JetStream alone takes of Tacho's time.
const rawSame = "the same messages, raw"

// Least is a queue of jobs that sends the messages of Tacho and does nothing else: no rules, no door, no accounts. A request is
// one message, then an atomic batch of three; a job is a dispatch, a begin, a result and an end. Who would build Tacho on
// JetStream with as little as possible would have this.
//
// One goroutine follows the log and decides, as the core does. Each worker has a TCP connection and the consumer of its lane.
type Least struct {
	Times
	js   natsjs.JetStream
	nc   *nats.Conn
	each int // jobs of a lane in each request
	// done counts the jobs that ended.
	done counter

	// lanes are how many dispatches each lane still needs, and the last sequence of its subject. Only the follower uses them.
	lanes []leastLane
}

type leastLane struct {
	owed int
	last uint64
}

const (
	leastStream   = "LEAST"
	leastRequest  = "least.request"
	leastDispatch = "least.lane."
	leastEnd      = "least.end."
)

// least starts a queue with some lanes. A request has each jobs for each of them.
func (b *Bed) least(lanes, each int, unsynced bool) (*Least, error) {
	server, nc, err := b.nats(natsserver.Config{Listen: "127.0.0.1:0", Unsynced: unsynced})
	if err != nil {
		return nil, err
	}
	l := &Least{nc: nc, each: each, lanes: make([]leastLane, lanes)}
	refused := natsjs.WithPublishAsyncErrHandler(func(_ natsjs.JetStream, _ *nats.Msg, err error) { b.fail("the least dispatch", err) })
	if l.js, err = natsjs.New(nc, refused); err != nil {
		return nil, err
	}
	stream, err := l.js.CreateStream(b.ctx, natsjs.StreamConfig{Name: leastStream, Subjects: []string{"least.>"}, AllowDirect: true, AllowAtomicPublish: true})
	if err != nil {
		return nil, err
	}
	if err := l.follow(b, stream); err != nil {
		return nil, err
	}
	for lane := range lanes {
		if err := l.worker(b, server.URL(), lane); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// follow decides on each message of the log: a request gets its jobs, and a lane whose job ended its next one.
func (l *Least) follow(b *Bed, stream natsjs.Stream) error {
	all, err := stream.OrderedConsumer(b.ctx, natsjs.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	// Where the disk stands still for seconds, the server sends no heartbeat, and goes on later.
	messages, err := all.Messages(natsjs.WithMessagesErrOnMissingHeartbeat(false))
	if err != nil {
		return err
	}
	b.run("the least core", func(ctx context.Context) error {
		defer context.AfterFunc(ctx, messages.Stop)()
		for {
			m, err := messages.Next()
			if err != nil {
				return err
			}
			if err := l.hear(ctx, m); err != nil {
				return err
			}
		}
	})
	return nil
}

// hear takes a message of the log.
func (l *Least) hear(ctx context.Context, m natsjs.Msg) error {
	kind, lane := m.Subject(), 0
	if at := strings.LastIndexByte(kind, '.') + 1; kind != leastRequest {
		var err error
		if lane, err = strconv.Atoi(kind[at:]); err != nil {
			return err
		}
		kind = kind[:at]
	}
	switch kind {
	case leastRequest:
		return l.start(ctx)
	case leastDispatch:
		place, err := m.Metadata()
		if err != nil {
			return err
		}
		l.lanes[lane].last = place.Sequence.Stream
	case leastEnd:
		l.done.add(1)
		return l.dispatch(lane)
	}
	return nil
}

// start admits a request by an atomic batch of three, and gives each lane its first job.
func (l *Least) start(ctx context.Context) error {
	batch := nats.NewInbox()
	for i := range 3 {
		m := nats.NewMsg("least.start." + strconv.Itoa(i))
		m.Data = make([]byte, eventBytes)
		m.Header.Set("Nats-Batch-Id", batch[len(nats.InboxPrefix):])
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if i < 2 {
			if err := l.nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header.Set("Nats-Batch-Commit", "1")
		answer, err := l.nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			return err
		}
		if strings.Contains(string(answer.Data), `"error"`) {
			return fmt.Errorf("the batch was refused: %s", answer.Data)
		}
	}
	for lane := range l.lanes {
		l.lanes[lane].owed += l.each
		if err := l.dispatch(lane); err != nil {
			return err
		}
	}
	return nil
}

// dispatch sends a lane its next job, if it has one, and does not wait for the answer: lanes do not wait for one another.
func (l *Least) dispatch(lane int) error {
	of := &l.lanes[lane]
	if of.owed == 0 {
		return nil
	}
	of.owed--
	_, err := l.js.PublishAsync(leastDispatch+strconv.Itoa(lane), make([]byte, eventBytes), natsjs.WithExpectLastSequencePerSubject(of.last))
	return err
}

// worker takes the jobs of a lane.
func (l *Least) worker(b *Bed, url string, lane int) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	b.onEnd(func() error { nc.Close(); return nil })
	js, err := natsjs.New(nc)
	if err != nil {
		return err
	}
	name := strconv.Itoa(lane)
	consumer, err := js.CreateConsumer(b.ctx, leastStream, natsjs.ConsumerConfig{
		Durable: "lane-" + name, FilterSubject: leastDispatch + name, MemoryStorage: true, AckPolicy: natsjs.AckExplicitPolicy, MaxAckPending: 1,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(natsjs.PullMaxMessages(1), natsjs.WithMessagesErrOnMissingHeartbeat(false))
	if err != nil {
		return err
	}
	b.run("a least worker", func(ctx context.Context) error {
		defer context.AfterFunc(ctx, messages.Stop)()
		for ctx.Err() == nil {
			if err := l.work(ctx, js, messages, name); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// work takes one job: it begins, has a result, and ends.
func (l *Least) work(ctx context.Context, js natsjs.JetStream, messages natsjs.MessagesContext, lane string) error {
	m, err := messages.Next()
	if err != nil {
		return err
	}
	l.note(&l.received)
	publish := func(kind string) error {
		_, err := js.Publish(ctx, kind+lane, make([]byte, eventBytes))
		return err
	}
	if err := publish("least.begin."); err != nil {
		return err
	}
	l.note(&l.begun)
	if err := publish("least.result."); err != nil {
		return err
	}
	l.note(&l.measured)
	if err := publish(leastEnd); err != nil {
		return err
	}
	return m.Ack()
}

// finish asks for a request and waits for the end of its jobs.
func (l *Least) finish(ctx context.Context) (time.Duration, error) {
	began, want := time.Now(), l.done.now()+len(l.lanes)*l.each
	if _, err := l.js.Publish(ctx, leastRequest, make([]byte, eventBytes)); err != nil {
		return 0, err
	}
	err := l.done.await(ctx, want)
	return time.Since(began), err
}

// whole measures from a request to the end of its jobs.
func (l *Least) whole(ctx context.Context) ([]float64, error) {
	return costs(len(l.lanes)*l.each, func() (time.Duration, error) { return l.finish(ctx) })
}
