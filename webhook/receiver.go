package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

const (
	// maxBody is the largest body that GitHub sends: https://docs.github.com/webhooks/webhook-events-and-payloads.
	maxBody = 25 << 20
	// inline is the largest body that is stored in one event. Larger ones are cut into parts of this size.
	inline = 256 << 10
	// appendWithin is how long the receiver waits for the log. After 10 seconds GitHub hangs up and counts the
	// delivery as failed; the Redeliverer then asks for it again.
	appendWithin = 8 * time.Second

	source = "webhook"
	// sender is the actor of events that GitHub causes.
	sender events.Actor = "github"
)

// ErrNoSecret says that the webhook has no secret, so that anyone could pretend to be GitHub.
var ErrNoSecret = errors.New("the webhook has no secret: set TACHO_WEBHOOK_SECRET to the one that GitHub knows, or start with --insecure-dev where nobody else can reach it")

// Receiver takes deliveries. It answers 202 when a delivery is in the log, and never before.
type Receiver struct {
	log      eventlog.Log
	insecure bool
	clock    func() time.Time
	logger   *slog.Logger
	metrics  *Metrics
	forged   forged
	// macs holds hashes that begin with the secret, and bodies the memory of bodies that were turned away.
	macs, bodies sync.Pool
	// refusal is the answer to a wrong signature, and unsigned counts them. Anybody can send many, so both are made once.
	refusal  []byte
	unsigned prometheus.Counter
}

// NewReceiver returns a receiver of deliveries that are signed with secret. Without a secret it returns ErrNoSecret,
// unless insecure is set: then it believes every delivery.
func NewReceiver(log eventlog.Log, secret []byte, insecure bool, clock func() time.Time, logger *slog.Logger, m *Metrics) (*Receiver, error) {
	if len(secret) == 0 && !insecure {
		return nil, ErrNoSecret
	}
	refusal, err := json.Marshal(Answer{Error: "X-Hub-Signature-256 is not the signature of this body: check that GitHub and Tacho have the same secret"})
	if err != nil {
		return nil, err
	}
	return &Receiver{
		refusal: append(refusal, '\n'), unsigned: m.Received.WithLabelValues(strconv.Itoa(http.StatusUnauthorized)),
		log: log, insecure: len(secret) == 0, clock: clock, logger: logger, metrics: m,
		macs: sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}, bodies: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}, nil
}

// ServeHTTP takes one delivery.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	began := r.clock()
	status, answer := r.receive(w, req)
	if status == http.StatusUnauthorized {
		r.unsigned.Inc()
	} else {
		r.metrics.Received.WithLabelValues(strconv.Itoa(status)).Inc()
	}
	r.metrics.Seconds.Observe(r.clock().Sub(began).Seconds())
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
	}
	w.WriteHeader(status)
	// GitHub keeps the answer for people who look at the delivery. If GitHub has hung up, the answer is lost, and
	// that is all right.
	if status == http.StatusUnauthorized {
		_, _ = w.Write(r.refusal)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// Answer is the body of the answer to a delivery.
type Answer struct {
	// Seq is the delivery's sequence in the log.
	Seq events.Seq `json:"seq,omitempty"`
	// Known is set when the delivery had been received before.
	Known bool   `json:"known,omitempty"`
	Error string `json:"error,omitempty"`
}

func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) (int, Answer) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, Answer{Error: "deliveries are sent with POST"}
	}
	read := r.bodies.Get().(*bytes.Buffer)
	err := readAll(read, http.MaxBytesReader(w, req.Body, maxBody), req.ContentLength)
	if err != nil {
		r.reuse(read)
		if large := new(http.MaxBytesError); errors.As(err, &large) {
			return http.StatusRequestEntityTooLarge, Answer{Error: fmt.Sprintf("a delivery has at most %d bytes", maxBody)}
		}
		return http.StatusBadRequest, Answer{Error: "the body breaks off"}
	}
	// What is recorded keeps its memory: the log may still need it.
	body := read.Bytes()
	if !r.signed(body, req.Header.Get("X-Hub-Signature-256")) {
		r.reuse(read)
		if more, say := r.forged.say(r.clock()); say {
			r.logger.Warn("a delivery without the right signature was turned away", "remote", req.RemoteAddr, "event", req.Header.Get("X-GitHub-Event"), "others_since", more)
		}
		return http.StatusUnauthorized, Answer{}
	}
	seq, known, err := r.record(req.Context(), req.Header, body)
	if full := new(eventlog.FullError); errors.As(err, &full) {
		r.logger.Error("a delivery could not be recorded: the log is full", "delivery", req.Header.Get("X-GitHub-Delivery"), "error", err)
		return http.StatusInsufficientStorage, Answer{Error: full.Said() + ": make room (" + full.Next + "), then deliver it again"}
	}
	if err != nil {
		r.logger.Error("a delivery could not be recorded; GitHub is asked for it again", "delivery", req.Header.Get("X-GitHub-Delivery"), "error", err)
		return http.StatusServiceUnavailable, Answer{Error: "the log cannot be reached: deliver it again"}
	}
	return http.StatusAccepted, Answer{Seq: seq, Known: known}
}

// readAll reads a body that announces its length into an empty buffer. It takes no more memory on the strength of an announcement
// than a usual delivery needs: what was read so far says more.
func readAll(into *bytes.Buffer, from io.Reader, announced int64) error {
	into.Grow(int(min(max(announced, 0), inline)) + bytes.MinRead)
	_, err := into.ReadFrom(from)
	return err
}

// reuse keeps the memory of a body that was turned away for the next one, unless it is larger than that of a usual delivery.
func (r *Receiver) reuse(read *bytes.Buffer) {
	if read.Cap() <= 2*inline {
		read.Reset()
		r.bodies.Put(read)
	}
}

// forged bounds what the log of this program says about deliveries with a wrong signature: anybody can send many. The metrics
// count them all.
type forged struct {
	mu    sync.Mutex
	said  time.Time
	since int
}

// sayForged is how often a wrong signature is told at most.
const sayForged = time.Second

// say reports whether this one is to be told, and how many were not told since the last one that was.
func (f *forged) say(now time.Time) (more int, say bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if since := now.Sub(f.said); since >= 0 && since < sayForged {
		f.since++
		return 0, false
	}
	more, f.since, f.said = f.since, 0, now
	return more, true
}

// signed checks the signature in constant time. It accepts only SHA-256, whatever other signatures are sent.
func (r *Receiver) signed(body []byte, signature string) bool {
	if r.insecure {
		return true
	}
	sent, err := hex.DecodeString(strings.TrimPrefix(signature, "sha256="))
	if err != nil || !strings.HasPrefix(signature, "sha256=") {
		return false
	}
	mac := r.macs.Get().(hash.Hash)
	defer r.macs.Put(mac)
	mac.Reset()
	mac.Write(body)
	return hmac.Equal(sent, mac.Sum(nil))
}

// record appends the delivery, once for ever: a redelivery has the same subject, which then already exists.
func (r *Receiver) record(ctx context.Context, header http.Header, body []byte) (seq events.Seq, known bool, err error) {
	// Record the delivery even if GitHub hangs up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendWithin)
	defer cancel()
	facts := delivery(header, body)
	received := facts[0].(events.DeliveryReceived)
	meta := eventlog.Meta{Source: source, Actor: sender, Root: events.DeliveryRoot(received.Delivery)}
	part := eventlog.Append{Subject: received.Subject()}
	for _, f := range facts {
		part.Events = append(part.Events, eventlog.NewEvent(f, meta, r.clock()))
	}
	seq, err = r.log.Append(ctx, part)
	var conflict *eventlog.ConflictError
	if errors.As(err, &conflict) {
		return conflict.Actual, true, nil
	}
	return seq, false, err
}

// delivery turns headers and body into facts, without interpreting them.
func delivery(header http.Header, body []byte) []events.Fact {
	digest := sha256.Sum256(body)
	f := events.DeliveryReceived{
		Hook: events.NewHookID(header.Get("X-GitHub-Hook-ID")), Delivery: events.NewDeliveryID(header.Get("X-GitHub-Delivery")),
		Event: header.Get("X-GitHub-Event"), Size: len(body), Digest: events.Digest(hex.EncodeToString(digest[:])),
	}
	if header.Get("X-GitHub-Delivery") == "" {
		f.Delivery = events.NewDeliveryID("body-" + string(f.Digest[:32]))
	}
	if kind, _, err := mime.ParseMediaType(header.Get("Content-Type")); err == nil && kind == "application/x-www-form-urlencoded" {
		if form, err := url.ParseQuery(string(body)); err == nil && form.Has("payload") {
			body = []byte(form.Get("payload"))
		}
	}
	switch {
	case len(body) <= inline && json.Valid(body):
		f.Payload = body
		return []events.Fact{f}
	case len(body) <= inline:
		f.Raw = body
		return []events.Fact{f}
	}
	facts := []events.Fact{f}
	for n := 1; len(body) > 0; n++ {
		size := min(inline, len(body))
		facts = append(facts, events.DeliveryPart{Hook: f.Hook, Delivery: f.Delivery, Part: n, Raw: body[:size]})
		body = body[size:]
	}
	f.Parts = len(facts) - 1
	facts[0] = f
	return facts
}

// Body returns the body of a delivery, from its first event or from its parts.
func Body(facts []events.Recorded) []byte {
	var body []byte
	for _, e := range facts {
		// Only these hold parts of the body.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.DeliveryReceived:
			body = append(body, f.Body()...)
		case events.DeliveryPart:
			body = append(body, f.Raw...)
		}
	}
	return body
}
