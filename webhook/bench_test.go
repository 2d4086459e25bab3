package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	natsjs "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/ratio"
)

// writers is how many deliveries are sent at once.
const writers = 16

// tenKB returns a body of the size of a comment's delivery.
func tenKB(n int) []byte {
	return fmt.Appendf(nil, `{"action":"created","n":%d,"comment":{"body":"%s"}}`, n, bytes.Repeat([]byte("0123456789abcdef"), 640))
}

// synced starts a log that syncs each append, and a webhook that writes to it.
func synced(t testing.TB) (*jetstream.Log, natsjs.JetStream, string) {
	t.Helper()
	server, err := natsserver.Start(natsserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	nc, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	log, err := jetstream.Open(t.Context(), nc, jetstream.Config{MaxBytes: 4 << 30})
	if err != nil {
		t.Fatal(err)
	}
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(newReceiver(t, log))
	t.Cleanup(front.Close)
	return log, js, front.URL
}

func client() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}
}

func deliver(c *http.Client, url string, n int) error {
	return send(c, post(url, fmt.Sprintf("d%d", n), tenKB(n)), http.StatusAccepted)
}

func send(c *http.Client, req *http.Request, want int) error {
	answer, err := c.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != want {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	return nil
}

// inParallel does n things, shared by all writers.
func inParallel(t testing.TB, n int, do func(int) error) {
	t.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := do(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// spentOn returns what it took to do n things in parallel.
func spentOn(b *testing.B, n int, do func(int) error) ratio.Spent {
	b.Helper()
	began := ratio.Now(b)
	inParallel(b, n, do)
	return ratio.Since(b, began)
}

// round is how many deliveries are sent before it is the turn of their peer.
const round = 64

// BenchmarkDeliveries compares signed deliveries of 10 KB over loopback with bare publishes of the same bytes by
// as many writers, all synced. of-least is their share of what a server reaches that reads the body, checks the signature and
// publishes the bytes: that is as far as a receiver over HTTP can get on these processors.
func BenchmarkDeliveries(b *testing.B) {
	_, js, url := synced(b)
	if _, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}, AllowDirect: true}); err != nil {
		b.Fatal(err)
	}
	least := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, good := onlySigned(w, req)
		if !good {
			return
		}
		if _, err := js.Publish(req.Context(), "raw."+req.Header.Get("X-GitHub-Delivery"), body); err != nil {
			b.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	b.Cleanup(least.Close)
	c, n := client(), 0
	var ours, raw, simple ratio.Spent
	for b.Loop() {
		// GitHub's part is done before: making the bodies and signing them.
		bodies, requests, others := make([][]byte, round), make([]*http.Request, round), make([]*http.Request, round)
		for i := range round {
			bodies[i] = tenKB(n + i)
			requests[i] = post(url, fmt.Sprintf("d%d", n+i), bodies[i])
			others[i] = post(least.URL, fmt.Sprintf("d%d", n+i), bodies[i])
		}
		raw = raw.Plus(spentOn(b, round, func(i int) error {
			_, err := js.Publish(b.Context(), fmt.Sprintf("raw.%d", n+i), bodies[i-1])
			return err
		}))
		ours = ours.Plus(spentOn(b, round, func(i int) error { return send(c, requests[i-1], http.StatusAccepted) }))
		simple = simple.Plus(spentOn(b, round, func(i int) error { return send(c, others[i-1], http.StatusAccepted) }))
		n += round
	}
	ratio.Rates(b, n, ours, raw, 0.75)
	b.ReportMetric(float64(simple.CPU.Microseconds())/float64(n), "least-cpu-µs")
	ratio.AtLeast(b, "of-least", simple.Time.Seconds()/ours.Time.Seconds(), 0.85)
}

// BenchmarkForgeries compares the refusal of wrongly signed deliveries with a server that reads the body, checks the signature,
// and does nothing else. Both are asked over loopback.
func BenchmarkForgeries(b *testing.B) {
	for _, size := range []int{1 << 10, 10 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r, err := NewReceiver(memory.New(memory.Config{}), []byte(secret), false, time.Now, slog.New(slog.NewTextHandler(io.Discard, nil)), NewMetrics(prometheus.NewRegistry()))
			if err != nil {
				b.Fatal(err)
			}
			ours := httptest.NewServer(r)
			b.Cleanup(ours.Close)
			bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { onlySigned(w, req) }))
			b.Cleanup(bare.Close)
			body := bytes.Repeat([]byte("x"), size)
			wrong := sign([]byte("another body"))
			c, n := client(), 0
			forge := func(url string) ratio.Spent {
				requests := make([]*http.Request, 10*round)
				for i := range requests {
					requests[i] = post(url, "d", body)
					requests[i].Header.Set("X-Hub-Signature-256", wrong)
				}
				return spentOn(b, len(requests), func(i int) error { return send(c, requests[i-1], http.StatusUnauthorized) })
			}
			var refused, checked ratio.Spent
			for b.Loop() {
				checked = checked.Plus(forge(bare.URL))
				refused = refused.Plus(forge(ours.URL))
				n += 10 * round
			}
			ratio.Rates(b, n, refused, checked, 0.8)
		})
	}
}

// onlySigned is the least that a receiver of deliveries can do. It returns the body of one that is rightly signed.
func onlySigned(w http.ResponseWriter, req *http.Request) (body []byte, good bool) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return nil, false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	sent, err := hex.DecodeString(strings.TrimPrefix(req.Header.Get("X-Hub-Signature-256"), "sha256="))
	if err != nil || !hmac.Equal(sent, mac.Sum(nil)) {
		w.WriteHeader(http.StatusUnauthorized)
		return nil, false
	}
	return body, true
}

// BenchmarkDeliveriesAt500 reports how long answers take at 500 deliveries a second.
func BenchmarkDeliveriesAt500(b *testing.B) {
	_, _, url := synced(b)
	c, n := client(), 0
	pace := rate.NewLimiter(500, 1)
	var mu sync.Mutex
	var took []time.Duration
	for b.Loop() {
		first := n
		inParallel(b, 500, func(i int) error {
			if err := pace.Wait(b.Context()); err != nil {
				return err
			}
			began := time.Now()
			err := deliver(c, url, first+i)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(began))
			return err
		})
		n += 500
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
}

// Every answered delivery is in the log, once, however many come at once and again.
func TestManyDeliveriesAtOnce(t *testing.T) {
	log, _, url := synced(t)
	c := client()
	const n = 400
	for range 2 {
		inParallel(t, n, func(i int) error { return deliver(c, url, i) })
	}
	head, err := log.Head(t.Context())
	if err != nil || head.Last != n {
		t.Fatalf("%d events (%v)", head.Last, err)
	}
	for i := 1; i <= n; i++ {
		if found := read(t, log, fmt.Sprintf("d%d", i)); len(found) != 1 || found[0].Fact.(events.DeliveryReceived).Size != len(tenKB(i)) {
			t.Fatalf("delivery %d: %d events", i, len(found))
		}
	}
}
