package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

// Jobs hands jobs out.
type Jobs interface {
	eventlog.Dispatch
	// Delivered returns the delivery of a job of the lane that a token names. Another process may have received it.
	Delivered(lane events.Lane, token string) (eventlog.Delivery, error)
}

// Config is what a door needs.
type Config struct {
	// NC is a connection of the core, on which the requests of collectors arrive.
	NC       *nats.Conn
	Log      eventlog.Log
	Jobs     Jobs
	Presence eventlog.Presence
	JobLogs  eventlog.JobLogs
	// Outputs is the store of outputs; nil if this core has none.
	Outputs blob.Pieces
	// Guard knows the collectors. The caller feeds it (Learn, Told).
	Guard *Guard
	// BeatTTL is how long a heartbeat lives.
	BeatTTL time.Duration
	// Wall cuts connections; nil when the door has no control over the server.
	Wall Wall
	// Alert and AllClear tell a person about a collector. An error is tried again.
	Alert    func(ctx context.Context, about events.CollectorName, message, action string) error
	AllClear func(ctx context.Context, about events.CollectorName, reason string) error
	Metrics  *Metrics
	// Version is this program's version, for the answer to collectors that are too old.
	Version string
	Logger  *slog.Logger
}

// Door answers collectors.
type Door struct {
	Config
	working *hands
	// lanes says what the consumers of lanes have passed that this process made, or found. Nothing passed means that it could not make
	// one, and said so.
	lanes sync.Map
	// self is the subject on which only this door answers.
	self string
	// carrying has a token for each request with a chunk that is being worked on.
	carrying chan struct{}
	// complaints are the reasons for alerts, by collector; mu guards them.
	mu         sync.Mutex
	complaints map[events.CollectorName]complaint
}

// New returns a door. It answers nothing before Run.
func New(c Config) *Door {
	return &Door{Config: c, working: newHands(), self: nats.NewInbox(), carrying: make(chan struct{}, carriedInAll), complaints: map[events.CollectorName]complaint{}}
}

// maxWaiting bounds the requests that wait for the door in this process. Taking one takes microseconds.
const maxWaiting = 100_000

// Run answers collectors until ctx ends, and returns its error, or until the connection is closed
// (eventlog.ErrUnavailable).
func (d *Door) Run(ctx context.Context) (err error) {
	closed := d.NC.StatusChanged(nats.CLOSED)
	defer d.NC.RemoveStatusListener(closed)
	// Finish the requests that are being answered.
	defer d.working.end()
	for v, s := range Verbs("*") {
		group := queueGroup
		if v == verbLeave {
			group = "" // it must reach every door: any of them may hold the wait
		}
		take := func(m *nats.Msg) { d.take(ctx, v, m) }
		sub, err := d.NC.QueueSubscribe(s, group, take)
		if group == "" {
			sub, err = d.NC.Subscribe(s, take)
		}
		if err != nil {
			return fmt.Errorf("open the door for %s: %w: %w", v, eventlog.ErrUnavailable, err)
		}
		// An error means that the connection is closed: then there is nothing to unsubscribe.
		defer func() { _ = sub.Unsubscribe() }()
		if err := sub.SetPendingLimits(maxWaiting, -1); err != nil {
			return fmt.Errorf("open the door for %s: %w: %w", v, eventlog.ErrUnavailable, err)
		}
	}
	here, err := d.NC.Subscribe(d.self, func(m *nats.Msg) { _ = m.Respond(nil) }) // who asked asks again
	if err != nil {
		return fmt.Errorf("open the door: %w: %w", eventlog.ErrUnavailable, err)
	}
	defer func() { _ = here.Unsubscribe() }()
	watched := make(chan struct{})
	watching, stop := context.WithCancel(ctx)
	go func() {
		defer close(watched)
		d.watch(watching)
	}()
	defer func() { stop(); <-watched }()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-closed:
		return fmt.Errorf("the door: %w", eventlog.ErrUnavailable)
	}
}

// Answers returns nil if this door answers collectors now: it has read the log, and what is asked by way of the server
// arrives here.
func (d *Door) Answers(ctx context.Context) error {
	if err := d.Guard.Ready(ctx); err != nil {
		return fmt.Errorf("the door has not read the log: %w", err)
	}
	if _, err := d.NC.RequestWithContext(ctx, d.self, nil); err != nil {
		return fmt.Errorf("the door is not reached through NATS: %w", err)
	}
	return nil
}

// perEvent is about how many bytes an event takes in the log besides its data. Without this charge, empty events would
// be a cheap way to fill the log.
const perEvent = 512

// asker is the header that says who asks. Only the server writes it, and only for a request from another account.
const asker = "Nats-Request-Info"

// senderOf returns who asks. The last value counts, because the server adds its own after those that a client has sent.
func senderOf(all []string) events.CollectorName {
	if len(all) == 0 {
		return ""
	}
	var info struct {
		Account events.CollectorName `json:"acc"`
	}
	if json.Unmarshal([]byte(all[len(all)-1]), &info) != nil {
		return ""
	}
	return info.Account
}

// take decides at once whether to admit a request, and lets another goroutine answer an admitted one.
func (d *Door) take(ctx context.Context, v Verb, m *nats.Msg) {
	name := senderOf(m.Header[asker])
	if m.Subject != subject(string(name), v) && v != verbOld || events.CheckToken("collector", string(name)) != nil {
		// The client is in the core's own account, which may do everything anyway, or the server's configuration does
		// not tie names to accounts.
		d.respond(m, answer{Refusal: forbid("collectors ask from an account of their own, as `tacho collector add` prints it: the server says that this one has account %q", name)})
		return
	}
	if v == verbOld {
		d.turnAway(m)
		return
	}
	who, now := d.Guard.of(name), d.Guard.clock()
	what, wait := who.admit(v, len(m.Data), now)
	if what == admitted && carries(v) && !d.carry() {
		who.done(v)
		what, wait = later, carryAgain
	}
	switch what {
	case dropped:
		d.Metrics.dropped.WithLabelValues(string(name)).Inc()
		d.cutIfOverdue(name, who, now)
	case later:
		d.Metrics.refused.WithLabelValues(string(name), string(slower)).Inc()
		d.respond(m, answer{Refusal: &refusal{Kind: slower, Reason: "faster than the bounds of one collector", Wait: wait}})
	case admitted:
		over := func() {
			who.done(v)
			if carries(v) {
				<-d.carrying
			}
		}
		begun := d.working.do(func() {
			defer over()
			if carries(v) {
				retry.Sleep(ctx, wait)
			}
			d.serve(ctx, v, name, who, m)
		})
		if !begun { // the door has ended: who asked asks again
			over()
		}
	}
}

// turnAway tells a collector of an earlier version that it must be updated. It answers like a NATS server that refuses
// a read, which such a collector understands.
func (d *Door) turnAway(m *nats.Msg) {
	if m.Reply == "" {
		return
	}
	text := "this collector's program is older than the core: install tacho " + d.Version + " on this machine; its credentials stay"
	// If the answer is lost, the collector asks again.
	_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"400"}, "Description": {text}}})
}

// serve answers one request.
func (d *Door) serve(ctx context.Context, v Verb, name events.CollectorName, who *account, m *nats.Msg) {
	var req request
	var out answer
	switch err := unmarshal(v, m.Data, &req); {
	case err != nil:
		out.Refusal = misshapen("the request cannot be read: %v", err)
	case req.Version != version:
		out.Refusal = &refusal{Kind: outdated, Reason: fmt.Sprintf("the core speaks version %d of the door and the collector version %d: update the older of the two", version, req.Version)}
	default:
		out = d.judge(ctx, v, name, who, req, m)
	}
	if r := out.Refusal; r != nil {
		d.refused(name, who, v, *r)
	}
	if v != verbLeave && (v != verbRead || out.Refusal != nil) {
		d.respond(m, out)
	}
}

// maxQuestion bounds in bytes the requests that bring no data to store.
const maxQuestion = 16 << 10

func unmarshal(v Verb, data []byte, req *request) error {
	if v == verbChunk {
		data, req.chunk = blob.Decode(data)
	}
	if len(data) > maxQuestion && v != verbAppend && v != verbOutput {
		return fmt.Errorf("%d bytes, at most %d", len(data), maxQuestion)
	}
	return json.Unmarshal(data, req)
}

// judge waits until the ledger has caught up with the log, checks the collector's standing, and carries out its
// request.
func (d *Door) judge(ctx context.Context, v Verb, name events.CollectorName, who *account, req request, m *nats.Msg) answer {
	soon, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	stopped := d.Guard.books.stopped()
	switch {
	case stopped != nil:
		if why := d.mayGoOn(soon, v, name, stopped); why != nil {
			return answer{Refusal: why}
		}
	case d.Guard.books.wait(soon, 0) != nil:
		return answer{Refusal: &refusal{Kind: again, Reason: ErrReading.Error(), Wait: time.Second}}
	}
	standing := d.Guard.books.standing(name)
	if standing.Registered == nil {
		// It may have been registered a moment ago, on a server that admits it without asking this ledger.
		if head, err := d.Log.Head(soon); err != nil || d.Guard.books.wait(soon, head.Last) != nil {
			return answer{Refusal: &refusal{Kind: again, Reason: "the core has not read the end of the log yet", Wait: 100 * time.Millisecond}}
		}
		standing = d.Guard.books.standing(name)
	}
	switch {
	case standing.Registered == nil:
		return answer{Refusal: &refusal{Kind: revoked, Reason: fmt.Sprintf("collector %s is not registered: register it with `tacho collector add %s`", name, name)}}
	case standing.Removed:
		return answer{Refusal: &refusal{Kind: revoked, Reason: fmt.Sprintf("collector %s was removed: register another one with `tacho collector add`", name)}}
	}
	lane := standing.Registered.Lane()
	switch v {
	case verbAppend:
		return d.append(ctx, name, who, lane, req)
	case verbLast:
		return d.last(ctx, *standing.Registered, req)
	case verbNext:
		return d.next(ctx, name, who, lane)
	case verbLeave:
		who.stopWaiting()
	case verbAnswer:
		return d.answerDelivery(ctx, lane, req)
	case verbBeat:
		return d.beat(ctx, *standing.Registered, req)
	case verbOutput:
		return d.output(ctx, lane, req)
	case verbBegin, verbChunk, verbFinish, verbOpen, verbPiece:
		return d.outputs(ctx, v, name, lane, req)
	case verbDone:
		return d.done(ctx, name, lane, req)
	case verbOld: // take has turned it away
	case verbRead:
		return d.read(ctx, *standing.Registered, who, req, m)
	}
	return answer{}
}

// mayGoOn returns why a collector must wait while the ledger stays at an event; nil for what it may do: end what it does. It
// begins nothing more. If the log says something new about it since, that may be that it was removed.
func (d *Door) mayGoOn(ctx context.Context, v Verb, name events.CollectorName, stopped *events.NewerError) *refusal {
	wait := &refusal{Kind: again, Reason: fmt.Sprintf("the core does not understand event %d and begins nothing: an operator must update it, or park the event", stopped.Seq), Wait: time.Second}
	if v == verbNext {
		return wait
	}
	if last, _, err := d.Log.Last(ctx, events.RegistrySubject(name)); err != nil || last.Seq > d.Guard.books.position() {
		return wait
	}
	return nil
}

const (
	// catchUp bounds how long the door waits for its ledger to catch up.
	catchUp = 2 * time.Second
	// behindFor is how long it waits before it asks whether there is so much to read.
	behindFor = 50 * time.Millisecond
)

// reach waits until the ledger has read up to a sequence that the collector knows. It refuses a sequence beyond the end
// of the log.
func (d *Door) reach(ctx context.Context, seq events.Seq) *refusal {
	if seq <= d.Guard.books.position() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	// Almost always the ledger is only a moment behind. The end of the log is more to ask for.
	moment, stop := context.WithTimeout(ctx, behindFor)
	defer stop()
	if d.Guard.books.wait(moment, seq) == nil {
		return nil
	}
	head, err := eventlog.HeadAt(ctx, d.Log, seq)
	switch {
	case err != nil:
		return &refusal{Kind: again, Reason: "the log is not reachable"}
	case seq > head.Last:
		return misshapen("the collector knows event %d, but the log ends at event %d: the collector belongs to another log", seq, head.Last)
	case d.Guard.books.wait(ctx, seq) != nil:
		return &refusal{Kind: again, Reason: "the core has not yet read the log as far as the collector", Wait: 100 * time.Millisecond}
	}
	return nil
}

// append checks the parts and appends them. It also ends the delivery of the job that they end.
func (d *Door) append(ctx context.Context, name events.CollectorName, who *account, lane events.Lane, req request) answer {
	now := d.Guard.clock()
	for _, p := range req.Parts {
		charge(who.events, perEvent*len(p.Events), now)
	}
	parts, why := understand(name, req.Parts, now)
	if why != nil {
		return answer{Refusal: why}
	}
	if why := d.may(ctx, name, parts, req.After, now); why != nil {
		return answer{Refusal: why}
	}
	ctx, cancel := context.WithTimeout(ctx, appendWithin)
	defer cancel()
	ends := d.ends(lane, parts, req.Delivery)
	seq, err := d.Log.Append(ctx, parts...)
	if err != nil {
		return answer{Refusal: explain(err)}
	}
	return answer{Seq: seq, Done: ends != nil && ends.Ack(ctx) == nil}
}

// ends returns the delivery that a token names, if the parts end its job; else nil.
func (d *Door) ends(lane events.Lane, parts []eventlog.Append, token string) eventlog.Delivery {
	if token == "" {
		return nil
	}
	delivery, err := d.Jobs.Delivered(lane, token)
	if err != nil {
		return nil
	}
	for _, p := range parts {
		for _, e := range p.Events {
			f, ends := e.Fact.(events.JobFinished)
			if ends && f.Lane == lane && d.Guard.books.dispatched(lane, f.Place) == delivery.Stored().Seq {
				return delivery
			}
		}
	}
	return nil
}

// may returns why a collector may not append; nil when it may. The ledger is behind for a moment after each append. may
// waits for it only when that matters.
func (d *Door) may(ctx context.Context, name events.CollectorName, parts []eventlog.Append, after events.Seq, now time.Time) *refusal {
	v := d.Guard.books.view(name)
	if behind := v.behind(parts); behind > 0 {
		if why := d.reach(ctx, behind); why != nil {
			return why
		}
		v = d.Guard.books.view(name)
	}
	// A collector repeats an append whose answer was lost. The log refuses the repetition for its version, finds the
	// events stored, and returns success. So it does not matter here what the collector may do now.
	if v.passed(parts) {
		return nil
	}
	why := check(name, v, parts, now)
	if why == nil || v.at >= after {
		return why
	}
	if why := d.reach(ctx, after); why != nil {
		return why
	}
	if v = d.Guard.books.view(name); v.passed(parts) {
		return nil
	}
	return check(name, v, parts, now)
}

// appendWithin bounds an append. The client waits a little longer before it asks again.
const appendWithin = 4 * time.Second

// explain turns an error of the log into a refusal.
func explain(err error) *refusal {
	var moved *eventlog.ConflictError
	switch {
	case errors.As(err, &moved):
		return &refusal{Kind: conflict, Reason: err.Error(), Subject: moved.Subject, Expected: moved.Expected, Actual: moved.Actual}
	case errors.Is(err, eventlog.ErrBatchTooLarge):
		return &refusal{Kind: tooLarge, Reason: err.Error()}
	case errors.Is(err, eventlog.ErrNameHeld):
		return &refusal{Kind: held, Reason: err.Error()}
	case errors.Is(err, blob.ErrFull):
		return &refusal{Kind: full, Reason: err.Error()}
	case errors.Is(err, blob.ErrDamaged):
		return &refusal{Kind: damaged, Reason: err.Error()}
	case errors.Is(err, blob.ErrMissing):
		return &refusal{Kind: missing, Reason: err.Error()}
	case errors.Is(err, blob.ErrTooLarge):
		return misshapen("%v", err)
	}
	return &refusal{Kind: again, Reason: err.Error(), Wait: 100 * time.Millisecond}
}

// last answers with the last event of an aggregate, or only with its version if that event does not count.
func (d *Door) last(ctx context.Context, r events.CollectorRegistered, req request) answer {
	lane := r.Lane()
	if why := mayRead(r, req.Subject, false); why != nil {
		return answer{Refusal: why}
	}
	e, ok, err := d.Log.Last(ctx, req.Subject)
	if err != nil {
		return answer{Refusal: explain(err)}
	}
	if !ok {
		return answer{}
	}
	if req.Subject == events.WorkSubject(lane) {
		soon, cancel := context.WithTimeout(ctx, catchUp)
		defer cancel()
		if d.Guard.books.wait(soon, e.Seq) != nil {
			return answer{Refusal: &refusal{Kind: again, Reason: "the core has not read the end of the lane's work yet"}}
		}
	}
	if e.Fact == nil || !d.Guard.books.counts(lane, req.Subject, e.Seq) {
		return answer{At: e.Seq}
	}
	s, err := events.Encode(e.Event)
	if err != nil {
		return answer{Refusal: explain(err)}
	}
	s.Seq = e.Seq
	return answer{At: e.Seq, Event: show(s)}
}

func show(s events.Stored) *shown {
	return &shown{Seq: s.Seq, Subject: s.Subject, StoredAt: s.StoredAt, Header: s.Header, Data: s.Data}
}

// read answers with all events of an aggregate, one message each, and then one that marks the end.
func (d *Door) read(ctx context.Context, r events.CollectorRegistered, who *account, req request, m *nats.Msg) answer {
	lane := r.Lane()
	if why := mayRead(r, req.Subject, true); why != nil {
		return answer{Refusal: why}
	}
	found, err := d.Log.Read(ctx, req.Subject)
	if err != nil {
		return answer{Refusal: explain(err)}
	}
	n := 0
	for _, e := range found {
		out := &nats.Msg{Subject: m.Reply, Header: nats.Header{headerSeq: {strconv.FormatUint(uint64(e.Seq), 10)}}}
		if e.Fact != nil && d.Guard.books.counts(lane, req.Subject, e.Seq) {
			s, err := events.Encode(e.Event)
			if err != nil {
				return answer{Refusal: explain(err)}
			}
			for k, v := range s.Header {
				out.Header[k] = []string{v}
			}
			out.Data = s.Data
		}
		charge(who.reads, perEvent+len(out.Data), d.Guard.clock())
		if d.NC.PublishMsg(out) != nil {
			return answer{}
		}
		n++
	}
	// If the connection is closed, the collector asks again.
	_ = d.NC.PublishMsg(&nats.Msg{Subject: m.Reply, Header: nats.Header{headerEnd: {strconv.Itoa(n)}, headerBeatTTL: {d.BeatTTL.String()}}})
	return answer{}
}

// The headers of answers to a read.
const (
	headerSeq = "Tacho-Seq"
	headerEnd = "Tacho-End" // the number of events
	// headerBeatTTL comes with the end and says how long a heartbeat lives.
	headerBeatTTL = "Tacho-Beat-TTL"
)

// respond sends an answer. If it is lost, the collector asks again.
func (d *Door) respond(m *nats.Msg, a answer) {
	if m.Reply == "" {
		return
	}
	data, err := json.Marshal(a)
	if err != nil {
		d.Logger.Error("an answer to a collector could not be written", "subject", m.Subject, "error", err)
		return
	}
	if a.chunk != nil {
		data = blob.Encode(data, a.chunk)
	}
	_ = m.Respond(data)
}
