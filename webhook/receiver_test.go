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
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

const secret = "it is a secret"

func newReceiver(t testing.TB, log eventlog.Log) *Receiver {
	t.Helper()
	r, err := NewReceiver(log, []byte(secret), false, time.Now, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func post(url, id string, body []byte) *http.Request {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("X-GitHub-Delivery", id)
	req.Header.Set("X-GitHub-Event", "issue_comment")
	req.Header.Set("X-GitHub-Hook-ID", "7")
	req.Header.Set("X-Hub-Signature-256", sign(body))
	return req
}

func serve(r http.Handler, req *http.Request) (*http.Response, Answer) {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	var a Answer
	_ = json.Unmarshal(w.Body.Bytes(), &a)
	return w.Result(), a
}

func read(t testing.TB, log eventlog.Log, id string) []events.Recorded {
	t.Helper()
	found, err := log.Read(t.Context(), events.DeliverySubject("7", events.NewDeliveryID(id)))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestASignedDeliveryIsInTheLogWhenItIsAnswered(t *testing.T) {
	log := memory.New(memory.Config{})
	r := newReceiver(t, log)
	body := []byte(`{"action":"created"}`)
	answer, a := serve(r, post("/", "5B2B-0a3e", body))
	if answer.StatusCode != http.StatusAccepted || a.Seq != 1 || a.Known {
		t.Fatalf("%d %+v", answer.StatusCode, a)
	}
	found := read(t, log, "5b2b-0A3E")
	if len(found) != 1 || !bytes.Equal(Body(found), body) {
		t.Fatalf("%+v", found)
	}
	if f := found[0].Fact.(events.DeliveryReceived); f.Event != "issue_comment" || f.Size != len(body) || found[0].Root != "delivery:5b2b-0a3e" {
		t.Errorf("%+v %s", f, found[0].Root)
	}
	for range 4 {
		if answer, a := serve(r, post("/", "5b2b-0a3e", body)); answer.StatusCode != http.StatusAccepted || !a.Known || a.Seq != 1 {
			t.Errorf("redelivered: %d %+v", answer.StatusCode, a)
		}
	}
	if head, err := log.Head(t.Context()); err != nil || head.Last != 1 {
		t.Errorf("%d events (%v)", head.Last, err)
	}
}

func TestWhatIsNotSignedIsTurnedAway(t *testing.T) {
	log := memory.New(memory.Config{})
	r := newReceiver(t, log)
	body := []byte(`{}`)
	sha1 := hmac.New(sha256.New, nil)
	sha1.Write(body)
	for name, signature := range map[string]string{
		"none": "", "empty": "sha256=", "of another body": sign([]byte(`{"a":1}`)), "without its name": strings.TrimPrefix(sign(body), "sha256="),
		"of the empty secret": "sha256=" + hex.EncodeToString(sha1.Sum(nil)), "no hex": "sha256=zz", "of SHA-1": "sha1=" + strings.Repeat("0", 40),
		"cut": sign(body)[:40], "with more": sign(body) + "00",
	} {
		t.Run(name, func(t *testing.T) {
			req := post("/", "x", body)
			req.Header.Set("X-Hub-Signature-256", signature)
			if answer, a := serve(r, req); answer.StatusCode != http.StatusUnauthorized || a.Error == "" {
				t.Errorf("%d %+v", answer.StatusCode, a)
			}
		})
	}
	if head, err := log.Head(t.Context()); err != nil || head.Last != 0 {
		t.Errorf("%d events (%v)", head.Last, err)
	}
}

// A flood of forgeries is told once a second, with the number of those that were not told; the metrics count each.
func TestAFloodOfForgeriesIsTold(t *testing.T) {
	var told bytes.Buffer
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	registry := prometheus.NewRegistry()
	r, err := NewReceiver(memory.New(memory.Config{}), []byte(secret), false, func() time.Time { return now }, slog.New(slog.NewTextHandler(&told, nil)), NewMetrics(registry))
	if err != nil {
		t.Fatal(err)
	}
	forge := func() {
		req := post("/", "x", []byte(`{}`))
		req.Header.Set("X-Hub-Signature-256", "sha256=00")
		if answer, _ := serve(r, req); answer.StatusCode != http.StatusUnauthorized {
			t.Fatal(answer.StatusCode)
		}
	}
	for range 3 {
		for range 100 {
			forge()
		}
		now = now.Add(time.Second)
	}
	lines := strings.Split(strings.TrimSpace(told.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "others_since=0") || !strings.Contains(lines[2], "others_since=99") {
		t.Errorf("%q", lines)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			counted += m.GetCounter().GetValue()
		}
	}
	if counted != 300 {
		t.Errorf("%v were counted", counted)
	}
}

// The memory of what was turned away is used again, and never that of what was recorded.
func TestForgeriesLeaveWhatWasRecorded(t *testing.T) {
	log := memory.New(memory.Config{})
	r := newReceiver(t, log)
	for n := range 50 {
		id, body := fmt.Sprintf("d%d", n), fmt.Appendf(nil, `{"n":%d}`, n)
		forgery := post("/", id, []byte(`{"forged":"by somebody"}`))
		forgery.Header.Set("X-Hub-Signature-256", "sha256=00")
		if answer, _ := serve(r, forgery); answer.StatusCode != http.StatusUnauthorized {
			t.Fatal(answer.StatusCode)
		}
		if answer, _ := serve(r, post("/", id, body)); answer.StatusCode != http.StatusAccepted {
			t.Fatal(answer.StatusCode)
		}
	}
	for n := range 50 {
		if got, want := Body(read(t, log, fmt.Sprintf("d%d", n))), fmt.Sprintf(`{"n":%d}`, n); string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A body that is longer or shorter than it announces is read as it is.
func TestABodyIsReadAsItIs(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, inline, inline + 1, 1 << 20} {
		want := bytes.Repeat([]byte("x"), size)
		for _, announced := range []int64{-1, 0, 1, int64(size), 1 << 40} {
			var got bytes.Buffer
			if err := readAll(&got, bytes.NewReader(want), announced); err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d bytes of %d (announced %d): %v", got.Len(), size, announced, err)
			}
		}
	}
}

func TestAReceiverNeedsASecret(t *testing.T) {
	log := memory.New(memory.Config{})
	if _, err := NewReceiver(log, nil, false, time.Now, nil, nil); !errors.Is(err, ErrNoSecret) {
		t.Errorf("got %v", err)
	}
	r, err := NewReceiver(log, nil, true, time.Now, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	req := post("/", "x", []byte(`{}`))
	req.Header.Del("X-Hub-Signature-256")
	if answer, _ := serve(r, req); answer.StatusCode != http.StatusAccepted {
		t.Errorf("insecure: %d", answer.StatusCode)
	}
}

func TestWhatCannotBeUnderstoodIsRecordedAllTheSame(t *testing.T) {
	log := memory.New(memory.Config{})
	r := newReceiver(t, log)
	form := url.Values{"payload": {`{"action":"created"}`}}.Encode()
	for name, tc := range map[string]struct {
		body, contentType, want string
	}{
		"no-json":   {"\x00\xff not json", "", "\x00\xff not json"},
		"empty":     {"", "", ""},
		"half":      {`{"action":`, "application/json", `{"action":`},
		"form":      {form, "application/x-www-form-urlencoded", `{"action":"created"}`},
		"no-form":   {"a=b", "application/x-www-form-urlencoded", "a=b"},
		"scalar":    {"12", "application/json", "12"},
		"odd-media": {"{}", "; ;", "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			req := post("/", name, []byte(tc.body))
			req.Header.Set("Content-Type", tc.contentType)
			if answer, a := serve(r, req); answer.StatusCode != http.StatusAccepted {
				t.Fatalf("%d %+v", answer.StatusCode, a)
			}
			if got := Body(read(t, log, name)); string(got) != tc.want {
				t.Errorf("recorded %q", got)
			}
		})
	}
	// Without an id, the delivery gets one from its body.
	req := post("/", "", []byte(`{"n":1}`))
	if answer, a := serve(r, req); answer.StatusCode != http.StatusAccepted || a.Known {
		t.Errorf("%d %+v", answer.StatusCode, a)
	}
	if _, a := serve(r, post("/", "", []byte(`{"n":1}`))); !a.Known {
		t.Errorf("the same body again: %+v", a)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	server, err := natsserver.Start(natsserver.Config{Dir: t.TempDir(), Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	nc, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	log, err := jetstream.Open(t.Context(), nc, jetstream.Config{MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	r := newReceiver(t, log)
	// The largest body that GitHub sends is recorded in parts, all or none.
	body := append(append([]byte(`{"x":"`), bytes.Repeat([]byte("y"), maxBody-8)...), `"}`...)
	answer, a := serve(r, post("/", "large", body))
	for range 10 { // on a busy host, the log may take longer than GitHub waits
		if answer.StatusCode == http.StatusServiceUnavailable {
			answer, a = serve(r, post("/", "large", body))
		}
	}
	if answer.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %+v", answer.StatusCode, a)
	}
	found := read(t, log, "large")
	if f := found[0].Fact.(events.DeliveryReceived); f.Parts != len(found)-1 || f.Size != len(body) || !bytes.Equal(Body(found), body) {
		t.Errorf("%d parts of %d, %d bytes", len(found)-1, f.Parts, f.Size)
	}
	if answer, _ := serve(r, post("/", "larger", append(body, ' '))); answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("one byte more: %d", answer.StatusCode)
	}
	if answer, _ := serve(r, httptest.NewRequest(http.MethodGet, "/", nil)); answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", answer.StatusCode)
	}
}

// away is a log that cannot be reached.
type away struct{ eventlog.Log }

// Append implements eventlog.Log.
func (away) Append(context.Context, ...eventlog.Append) (events.Seq, error) {
	return 0, eventlog.ErrUnavailable
}

func TestWithoutTheLogNothingIsAccepted(t *testing.T) {
	answer, a := serve(newReceiver(t, away{}), post("/", "x", []byte(`{}`)))
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || a.Error == "" {
		t.Errorf("%d %+v", answer.StatusCode, a)
	}
	req := post("/", "x", []byte(`{}`))
	req.Body = io.NopCloser(&broken{})
	if answer, _ := serve(newReceiver(t, away{}), req); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a body that breaks off: %d", answer.StatusCode)
	}
}

// crowded is a log without room.
type crowded struct{ eventlog.Log }

// Append implements eventlog.Log.
func (crowded) Append(context.Context, ...eventlog.Append) (events.Seq, error) {
	return 0, fmt.Errorf("append: %w", &eventlog.FullError{Why: "its disk is full", Next: "free some"})
}

func TestAFullLogIsSaidToGitHub(t *testing.T) {
	answer, a := serve(newReceiver(t, crowded{}), post("/", "x", []byte(`{}`)))
	if answer.StatusCode != http.StatusInsufficientStorage || !strings.Contains(a.Error, "its disk is full: make room (free some), then deliver it again") {
		t.Errorf("%d %+v", answer.StatusCode, a)
	}
}

type broken struct{}

// Read implements io.Reader.
func (*broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// For any request, the answer is one of these, and only signed deliveries are in the log.
func FuzzReceiver(f *testing.F) {
	f.Add([]byte(`{"action":"created"}`), "issue_comment", "5b2b", "7", "application/json", true)
	f.Add([]byte(`payload=%7B%7D`), "push", "", "", "application/x-www-form-urlencoded", true)
	f.Add([]byte{0xff}, "\n", "ü", "../..", "multipart/form-data", false)
	f.Fuzz(func(t *testing.T, body []byte, event, id, hook, kind string, signed bool) {
		log := memory.New(memory.Config{})
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		req.Header = http.Header{"X-Github-Event": {event}, "X-Github-Delivery": {id}, "X-Github-Hook-Id": {hook}, "Content-Type": {kind}}
		if signed {
			req.Header.Set("X-Hub-Signature-256", sign(body))
		}
		answer, _ := serve(newReceiver(t, log), req)
		head, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if signed != (answer.StatusCode == http.StatusAccepted) || signed != (head.Last > 0) {
			t.Errorf("%d, %d events", answer.StatusCode, head.Last)
		}
	})
}
