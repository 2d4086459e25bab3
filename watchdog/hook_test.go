package watchdog

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/posting"
)

// patience bounds each wait of a test.
const patience = 2 * time.Minute

// receiver is the other end of a webhook, which may fail a number of times.
type receiver struct {
	*httptest.Server
	notices chan Notice

	mu      sync.Mutex
	answers []int // to the next posts; later ones get 204
	posts   int
}

func receive(t *testing.T, answers ...int) *receiver {
	r := &receiver{notices: make(chan Notice, 100), answers: answers}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// slow is an answer that never comes.
const slow = 0

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.posts++
	answer := http.StatusNoContent
	if len(r.answers) > 0 {
		answer, r.answers = r.answers[0], r.answers[1:]
	}
	r.mu.Unlock()
	var n Notice
	if err := json.NewDecoder(req.Body).Decode(&n); err != nil || req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/json" {
		answer = http.StatusBadRequest
	}
	if answer == slow {
		<-req.Context().Done()
		return
	}
	w.WriteHeader(answer)
	if answer == http.StatusNoContent {
		r.notices <- n
	}
}

// got returns the next notice that the receiver took.
func (r *receiver) got(t *testing.T) Notice {
	t.Helper()
	select {
	case n := <-r.notices:
		return n
	case <-time.After(patience):
		t.Fatal("the webhook was not told")
		return Notice{}
	}
}

// box is a log with a hook.
type box struct {
	t     *testing.T
	log   *memory.Log
	place string
	out   *strings.Builder // read it after the hook has ended
}

func newBox(t *testing.T) *box {
	return &box{t: t, log: memory.New(memory.Config{}), place: filepath.Join(t.TempDir(), "data", "webhook.place"), out: &strings.Builder{}}
}

// hook starts a hook; the returned function ends it.
func (b *box) hook(url string) (h *Hook, stop func()) {
	h = NewHook(url, "https://tacho.example", b.place)
	h.timeout, h.pause = 200*time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var task sync.WaitGroup
	task.Go(func() {
		if err := h.run(ctx, b.log, slog.New(slog.NewTextHandler(b.out, nil)), NewMetrics(nil), nil); err != nil {
			b.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); task.Wait() })
	b.t.Cleanup(stop)
	return h, stop
}

// begun waits until the hook has found its place.
func (b *box) begun() {
	b.t.Helper()
	deadline := time.After(patience)
	for {
		if _, err := os.Stat(b.place); err == nil {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			b.t.Fatal("the hook does not begin")
		}
	}
}

func (b *box) control() *control.Control { return &control.Control{Log: b.log, Clock: time.Now} }

var someone = control.By{Actor: "test", Source: "test", Root: "test"}

func (b *box) raise(message string) {
	b.t.Helper()
	_, err := b.control().RaiseAlert(b.t.Context(), someone, events.AlertRaised{
		Kind: events.AlertSource, About: "rust", Message: message, Action: "look",
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) clear(reason string) {
	b.t.Helper()
	if _, err := b.control().ClearAlert(b.t.Context(), someone, "source-rust", reason); err != nil {
		b.t.Fatal(err)
	}
}

func words(n Notice) string { return n.State + " " + n.Message + " " + n.Reason }

func TestTheWebhookIsToldInOrderWhateverItAnswers(t *testing.T) {
	b := newBox(t)
	b.raise("years ago")
	r := receive(t, 500, 503, slow, 404, 429, http.StatusNoContent, 500)
	_, stop := b.hook(r.URL + "/secret-token")
	b.begun()
	b.raise("down")
	b.raise("still down")
	b.clear("it answers")
	first := r.got(t)
	want := Notice{
		Key: "source-rust", Kind: events.AlertSource, About: "rust", Message: "down", Action: "look", State: "raised", Seq: 2, URL: "https://tacho.example",
	}
	if since := time.Since(first.Time); since < 0 || since > patience {
		t.Errorf("it was raised at %s", first.Time)
	}
	first.Time = time.Time{}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	if got := words(r.got(t)); got != "raised still down " {
		t.Errorf("second: %s", got)
	}
	last := r.got(t)
	if words(last) != "cleared still down it answers" || last.Seq != 4 || last.Kind != events.AlertSource || last.About != "rust" {
		t.Errorf("third: %+v", last)
	}
	stop()
	if out := b.out.String(); strings.Contains(out, "secret-token") || !strings.Contains(out, "500") {
		t.Errorf("the output is:\n%s", out)
	}
}

func TestTheWebhookGoesOnWhereItWas(t *testing.T) {
	b := newBox(t)
	r := receive(t)
	_, stop := b.hook(r.URL)
	b.begun()
	b.raise("one")
	if got := words(r.got(t)); got != "raised one " {
		t.Error(got)
	}
	stop()
	b.raise("while it was away")
	b.clear("over")
	_, stop = b.hook(r.URL)
	// A notice may come twice, if the end came between the answer and the writing of the file.
	next := r.got(t)
	if words(next) == "raised one " {
		next = r.got(t)
	}
	if words(next) != "raised while it was away " || words(r.got(t)) != "cleared while it was away over" {
		t.Errorf("next %+v", next)
	}
	stop()

	// Another log begins at its end.
	b.log = memory.New(memory.Config{})
	b.raise("in another log")
	_, stop = b.hook(r.URL)
	deadline := time.After(patience)
	for p := (posting.Place{}); p.Seq != 1; {
		var err error
		if p, err = posting.ReadPlace(b.place); err != nil {
			t.Fatal(err)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Fatal("it does not begin anew")
		}
	}
	b.raise("new")
	if got := words(r.got(t)); got != "raised new " {
		t.Error(got)
	}
	stop()
}

func TestAWebhookThatIsDownIsToldWhenItIsBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b := newBox(t)
	h, stop := b.hook("http://" + address + "/secret-token")
	b.begun()
	b.raise("one")
	h.tell(newNotice(events.AlertRaised{Key: "unreachable", Kind: events.AlertUnreachable, Message: "away"}, time.Now()))
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	r := &receiver{notices: make(chan Notice, 10)}
	server := &http.Server{Handler: r}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	got := map[string]bool{words(r.got(t)): true, words(r.got(t)): true}
	if !got["raised one "] || !got["raised away "] {
		t.Errorf("got %v", got)
	}
	stop()
	_ = server.Close()
	serving.Wait()
	if strings.Contains(b.out.String(), "secret-token") {
		t.Errorf("the output is:\n%s", b.out)
	}
}

func TestAPlaceThatCannotBeReadIsNotForgotten(t *testing.T) {
	b := newBox(t)
	if err := os.MkdirAll(filepath.Dir(b.place), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.place, []byte(`{"identity":`), 0o600); err != nil {
		t.Fatal(err)
	}
	err := NewHook("http://127.0.0.1:1", "", b.place).run(t.Context(), b.log, slog.New(slog.NewTextHandler(io.Discard, nil)), NewMetrics(nil), nil)
	if err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("got %v", err)
	}
}
