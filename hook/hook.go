// Package hook posts the events of the log to programs of others: each one as the log holds it, in order, at least once.
//
//	log ──▶ types that it is on ──▶ facts that count ──▶ queue and account ──▶ POST, signed ──▶ receiver
//
// The body is the data of the event, byte for byte. The envelope is in the headers, as the HTTP binding of CloudEvents
// says (binary mode). The receiver knows an event that comes twice by its id, and where it comes from by the signature.
//
// # Facts that count
//
// Collectors write a part of the log themselves. Litter, and facts about a job that the lane does not hold, change
// nothing on the farm, so they are not posted. The ledger knows them, and the request of each job: a hook looks at an
// event once the ledger has taken it.
//
// # A receiver that fails
//
// No event is skipped: a hook posts the same event again until the receiver answers 2xx. The events behind it wait in
// the log, which forgets nothing. If an event is a day old and posts fail, an alert stands until a post succeeds. Package
// internal/posting has the cursor and says what a crash means.
package hook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/posting"
	"github.com/tachobench/tacho/rules/ledger"
)

const (
	// maxPause bounds the pauses between posts that fail.
	maxPause = 5 * time.Minute
	// alertAfter is the age of an event that still cannot be delivered at which a person is told.
	alertAfter = 24 * time.Hour
)

// HeaderSignature is the header with the signature: "sha256=" and the HMAC-SHA256 of the body in lower-case hex, as
// GitHub signs its deliveries.
const HeaderSignature = "X-Tacho-Signature-256"

// Ledger is the state of the farm that the facts make.
type Ledger interface {
	// View calls look with the ledger. look must not wait for anything.
	View(look func(*ledger.Ledger))
	// Wait returns nil once the ledger holds everything up to seq and has caught up with the log, or the error of
	// ctx.
	Wait(ctx context.Context, seq events.Seq) error
}

// Config is what a Hook needs.
type Config struct {
	// Name names the hook in alerts, metrics and messages.
	Name string
	// URL is where to post. It may hold a token, and is never logged. Secret is the key of the signature.
	URL    string
	Secret []byte
	Filter Filter
	// Place is the file that holds how far the hook has come.
	Place  string
	Log    eventlog.Follower
	Ledger Ledger
	// Failing takes the outcome of posts: each failure with an event that is a day old, and each success as nil.
	Failing func(error)
	// Newer is told of an event that the hook does not understand and waits at, and with nil that it goes on; it may be nil.
	Newer   func(*events.NewerError)
	Clock   func() time.Time
	Logger  *slog.Logger
	Metrics *Metrics

	// firstPause is the pause after the first failed post, and timeout bounds one; 0 means those of package posting.
	firstPause, timeout time.Duration
}

// Hook posts to one receiver. Run it once.
type Hook struct {
	Config
	// failing is since when posts fail; zero while they succeed. Only the goroutine that posts uses it.
	failing time.Time
}

// New returns a hook. It does nothing before Run.
func New(c Config) *Hook {
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	c.Metrics.begin(c.Name)
	return &Hook{Config: c}
}

// Run posts until ctx ends. It returns an error only when it cannot continue: the place cannot be read, or the log has a
// gap. It waits at an event that it is on and whose type this program does not know. An event that is parked is not
// posted, and not either if it is parked no more once the hook has passed it.
func (h *Hook) Run(ctx context.Context) error {
	return posting.New(posting.Config{
		What: "hook " + h.Name, URL: h.URL, Agent: "tacho-hook", Place: h.Place, Log: h.Log, Take: h.take, Note: h.note, Newer: h.Newer,
		Timeout: h.timeout, FirstPause: h.firstPause, MaxPause: maxPause, Logger: h.Logger,
	}, nil).Run(ctx)
}

// take returns the post of an event; false when the hook is not on it.
func (h *Hook) take(ctx context.Context, m events.Stored) (p posting.Post, ok bool, err error) {
	if !h.Filter.on(events.NameOf(m)) {
		return p, false, nil
	}
	e, err := events.DecodeOne(m)
	if err != nil || e.Fact == nil {
		return p, false, err
	}
	if err := h.Ledger.Wait(ctx, m.Seq); err != nil {
		return p, false, err
	}
	h.Ledger.View(func(l *ledger.Ledger) { ok = counts(l, e) && h.Filter.passes(l, e.Fact) })
	if !ok {
		return p, false, nil
	}
	header := envelope(m)
	header.Set(HeaderSignature, Sign(h.Secret, m.Data))
	return posting.Post{Seq: m.Seq, StoredAt: m.StoredAt, Header: header, Body: m.Data}, true, nil
}

// Sign returns the signature of a body.
func Sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// note takes the outcome of a post.
func (h *Hook) note(_ context.Context, p posting.Post, outcome error) {
	now := h.Clock()
	switch {
	case outcome == nil:
		h.failing = time.Time{}
	case h.failing.IsZero():
		h.failing = now
	}
	h.Metrics.note(h.Name, p.Seq, h.failing, outcome)
	if outcome == nil {
		h.Failing(nil)
	} else if now.Sub(p.StoredAt) >= alertAfter {
		h.Failing(fmt.Errorf("hook %s cannot deliver event %d of %s: %s. Later events wait behind it in the log, none is lost",
			h.Name, p.Seq, p.StoredAt.UTC().Format(time.RFC3339), reason(outcome)))
	}
}

// Action returns what a person can do about a hook that fails. place is the file with its place.
func Action(place string) string {
	return fmt.Sprintf("Make the receiver answer 2xx within 10 s: then all that wait come in order. To leave the event out, stop Tacho, write its number as `seq` into `%s` "+
		"in the data directory, and start again. To give the hook up, remove its [[hook]] and the file.", filepath.Base(place))
}

// reason says why a post failed, in words that are the same for the same failure: each other text of an alert is an event.
func reason(outcome error) string {
	var refused *posting.RefusedError
	switch {
	case errors.As(outcome, &refused):
		return refused.Error()
	case errors.Is(outcome, context.DeadlineExceeded):
		return "it does not answer in time"
	}
	return "it cannot be reached; the messages of Tacho say why"
}

// envelope returns the attributes of an event as headers. The sequence has leading zeros: in CloudEvents it must sort as
// text.
func envelope(m events.Stored) http.Header {
	header := http.Header{}
	for name, value := range map[string]string{
		"ce-specversion": m.Header[events.HeaderSpecVersion], "ce-id": m.Header[events.HeaderID], "ce-type": m.Header[events.HeaderType],
		"ce-source": m.Header[events.HeaderSource], "ce-time": m.Header[events.HeaderTime], "ce-subject": m.Header[events.HeaderSubject],
		"ce-actor": m.Header[events.HeaderActor], "ce-cause": m.Header[events.HeaderCause], "ce-root": m.Header[events.HeaderRoot],
		"ce-sequence": fmt.Sprintf("%020d", m.Seq),
	} {
		if value != "" {
			header.Set(name, escape(value))
		}
	}
	return header
}

// escape writes the value of an attribute as the HTTP binding of CloudEvents wants it: in printable ASCII, with spaces,
// quotes, percent signs and all else as percent and two digits.
func escape(value string) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(value))
	for _, c := range []byte(value) {
		if c <= ' ' || c > '~' || c == '"' || c == '%' {
			out = append(out, '%', digits[c>>4], digits[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}
