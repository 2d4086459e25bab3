package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

const (
	// pullExpires is how long one request for a job waits at the server, pullBeat how often the server meanwhile says
	// that it is still there.
	pullExpires = 30 * time.Second
	pullBeat    = 5 * time.Second
	// pullPause is the pause before asking again when the server or the lane is not there.
	pullPause = 250 * time.Millisecond
	// giveBack bounds the return of a job that arrived while its taker left.
	giveBack = 2 * time.Second
)

// LaneConsumer returns the name of a lane's consumer.
func LaneConsumer(lane events.Lane) string {
	return "lane-" + string(lane.Target) + "-" + strconv.Itoa(int(lane.Set))
}

// EnsureLane implements eventlog.Dispatch. One delivery at a time (MaxAckPending 1) keeps the strict order, through
// redeliveries too. The number of deliveries is unlimited, because the budget of attempts is kept in events.
//
// The server keeps the consumer in memory: with a file it would write what it delivers and what is answered beside the log, several
// times for each job, and a synced log waits for the same disk. It is lost with its server, and then begins where the log says.
func (l *Log) EnsureLane(ctx context.Context, lane events.Lane, from events.Seq) error {
	want := natsjs.ConsumerConfig{
		Durable: LaneConsumer(lane), Description: "Tacho: jobs of lane " + lane.String(),
		FilterSubject: string(events.LaneSubject(lane)), DeliverPolicy: natsjs.DeliverByStartSequencePolicy, OptStartSeq: max(uint64(from), 1),
		AckPolicy: natsjs.AckExplicitPolicy, AckWait: l.cfg.AckWait, MaxDeliver: -1, MaxAckPending: 1, MemoryStorage: true,
	}
	return Persist(ctx, "make the consumer of lane "+lane.String(), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, adminTimeout)
		defer cancel()
		_, err := l.js.CreateConsumer(ctx, l.cfg.Name, want)
		if !errors.Is(err, natsjs.ErrConsumerExists) {
			return err
		}
		there, err := l.js.Consumer(ctx, l.cfg.Name, want.Durable)
		if errors.Is(err, natsjs.ErrConsumerNotFound) {
			return fmt.Errorf("%w: %w", ErrAgain, err)
		}
		if err != nil {
			return err
		}
		info := there.CachedInfo()
		has, at := info.Config, max(info.Delivered.Stream, info.Config.OptStartSeq)
		if has.MemoryStorage && uint64(from) <= at+eventlog.FarBehind {
			if has.AckWait != want.AckWait {
				has.AckWait = want.AckWait
				_, err = l.js.UpdateConsumer(ctx, l.cfg.Name, has)
			}
			return err
		}
		// An earlier version of Tacho made it, or it is far behind.
		if err := l.js.DeleteConsumer(ctx, l.cfg.Name, want.Durable); err != nil && !errors.Is(err, natsjs.ErrConsumerNotFound) {
			return err
		}
		_, err = l.js.CreateConsumer(ctx, l.cfg.Name, want)
		return err
	})
}

// puller takes jobs from the consumers of lanes.
type puller struct {
	nc     *nats.Conn
	stream string
}

// NextJob implements eventlog.Dispatch. A request for one job always waits at the server, so that the server sends a
// job as soon as it is stored.
func (p puller) NextJob(ctx context.Context, lane events.Lane) (eventlog.Delivery, error) {
	w := wait{puller: p, lane: lane, inbox: p.nc.NewInbox(), answers: make(chan *nats.Msg, 16)}
	sub, err := p.nc.ChanSubscribe(w.inbox, w.answers)
	if err != nil {
		return nil, fmt.Errorf("next job of %s: %w: %w", lane, eventlog.ErrUnavailable, err)
	}
	w.reconnected = p.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer p.nc.RemoveStatusListener(w.reconnected)
	for {
		d, err := w.pull(ctx)
		switch {
		case err == nil:
			return d, sub.Unsubscribe()
		case ctx.Err() != nil:
			w.leave(sub)
			return nil, fmt.Errorf("next job of %s: %w", lane, ctx.Err())
		case errors.Is(err, eventlog.ErrNoLane):
			return nil, errors.Join(fmt.Errorf("next job of %s: %w", lane, err), sub.Unsubscribe())
		case p.nc.IsClosed():
			return nil, fmt.Errorf("next job of %s: %w: %w", lane, eventlog.ErrUnavailable, err)
		case !errors.Is(err, ErrAgain) && !transient(err):
			return nil, errors.Join(fmt.Errorf("next job of %s: %w", lane, err), sub.Unsubscribe())
		}
	}
}

// wait is one wait for a job.
type wait struct {
	puller
	lane        events.Lane
	inbox       string
	answers     chan *nats.Msg
	reconnected chan nats.Status
}

// pull asks once and waits for the answer; ErrAgain means that it is time to ask again.
func (w wait) pull(ctx context.Context) (eventlog.Delivery, error) {
	body, err := json.Marshal(map[string]any{"batch": 1, "expires": pullExpires, "idle_heartbeat": pullBeat})
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	if err := w.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+w.stream+"."+LaneConsumer(w.lane), w.inbox, body); err != nil {
		return nil, errors.Join(err, w.pause(ctx))
	}
	silence := time.NewTimer(2*pullBeat + time.Second)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-silence.C:
			return nil, fmt.Errorf("%w: the server fell silent", ErrAgain)
		case <-w.reconnected: // the server forgot the request with the connection
			return nil, fmt.Errorf("%w: reconnected", ErrAgain)
		case m := <-w.answers:
			silence.Reset(2*pullBeat + time.Second)
			switch m.Header.Get("Status") {
			case "":
				return w.delivery(m)
			case "100":
			case "404", "408": // the request expired
				return nil, ErrAgain
			case "503": // nobody answers for the lane
				return nil, eventlog.ErrNoLane
			default: // a change of leader, a server that stops
				return nil, errors.Join(ErrAgain, w.pause(ctx))
			}
		}
	}
}

// pause waits a moment, less when the connection comes back.
func (w wait) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.reconnected:
	case <-time.After(pullPause):
	}
	return nil
}

// leave ends the request. It gives back at once a job that is just on its way; otherwise the lane would stand still
// until the job is delivered again.
func (w wait) leave(sub *nats.Subscription) {
	if sub.Drain() != nil || w.nc.FlushTimeout(giveBack) != nil {
		return // the connection is gone, and the request with it
	}
	ctx, cancel := context.WithTimeout(context.Background(), giveBack)
	defer cancel()
	for {
		select {
		case m := <-w.answers:
			if m.Header.Get("Status") != "" {
				continue
			}
			if d, err := w.delivery(m); err == nil {
				_ = d.Nak(ctx, 0) // if it is lost, the job comes again after the wait
			}
		default:
			return
		}
	}
}

func (w wait) delivery(m *nats.Msg) (*delivery, error) {
	place, err := parseReply(m.Reply)
	if err != nil {
		return nil, err
	}
	return &delivery{nc: w.nc, reply: m.Reply, stored: Stored(events.Subject(m.Subject), place.seq, place.at, m.Header, m.Data)}, nil
}

// delivery implements eventlog.Delivery.
type delivery struct {
	nc     *nats.Conn
	reply  string
	stored events.Stored
}

// Delivered returns the delivery of a job of the lane that a token names. Another process may have received it. It
// knows only the sequence of the event. It returns an error if the token is not one of that lane.
func (l *Log) Delivered(lane events.Lane, token string) (eventlog.Delivery, error) {
	place, err := parseReply(token)
	if err != nil {
		return nil, err
	}
	if place.stream != l.cfg.Name || place.consumer != LaneConsumer(lane) || strings.ContainsAny(token, "*> \t\r\n") {
		return nil, fmt.Errorf("%w: %q", errReply, token)
	}
	return &delivery{nc: l.nc, reply: token, stored: events.Stored{Seq: place.seq}}, nil
}

// Token names the delivery for Delivered.
func (d *delivery) Token() string { return d.reply }

// Stored implements eventlog.Delivery.
func (d *delivery) Stored() events.Stored { return d.stored }

// InProgress implements eventlog.Delivery.
func (d *delivery) InProgress(ctx context.Context) error { return d.answer(ctx, "+WPI") }

// Ack implements eventlog.Delivery.
func (d *delivery) Ack(ctx context.Context) error { return d.answer(ctx, "+ACK") }

// Nak implements eventlog.Delivery.
func (d *delivery) Nak(ctx context.Context, delay time.Duration) error {
	return d.answer(ctx, fmt.Sprintf(`-NAK {"delay": %d}`, delay.Nanoseconds()))
}

// answer tells the server what to do with the delivery and waits for its confirmation. If the consumer is gone, there is nothing to
// tell: a new one knows of no delivery.
func (d *delivery) answer(ctx context.Context, what string) error {
	return Persist(ctx, fmt.Sprintf("answer %s for job event %d", what[:4], d.stored.Seq), func(ctx context.Context) error {
		_, err := request(ctx, d.nc, &nats.Msg{Subject: d.reply, Data: []byte(what)})
		if errors.Is(err, nats.ErrNoResponders) && d.gone(ctx) {
			return nil
		}
		return err
	})
}

// gone reports whether the consumer of the delivery is no more. While it has no leader, nobody answers for it either.
func (d *delivery) gone(ctx context.Context) bool {
	place, err := parseReply(d.reply)
	if err != nil {
		return false
	}
	said, err := request(ctx, d.nc, nats.NewMsg("$JS.API.CONSUMER.INFO."+place.stream+"."+place.consumer))
	if err != nil {
		return false
	}
	var info struct {
		Error *natsjs.APIError `json:"error"`
	}
	return json.Unmarshal(said.Data, &info) == nil && info.Error != nil && info.Error.ErrorCode == natsjs.JSErrCodeConsumerNotFound
}
