package webhook

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
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
	return send(c, post(url, fmt.Sprintf("d%d", n), tenKB(n)))
}

func send(c *http.Client, req *http.Request) error {
	answer, err := c.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusAccepted {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	return nil
}

// inParallel does n things, shared by all writers, and returns how long that took.
func inParallel(t testing.TB, n int, do func(int) error) time.Duration {
	t.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
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
	return time.Since(began)
}

// BenchmarkDeliveries compares signed deliveries of 10 KB over loopback with bare publishes of the same bytes by
// as many writers, all synced. A share of 1 is the rate of the bare stream.
func BenchmarkDeliveries(b *testing.B) {
	_, js, url := synced(b)
	if _, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}, AllowDirect: true}); err != nil {
		b.Fatal(err)
	}
	c, n := client(), 0
	const round = 400
	var ours, raw time.Duration
	for b.Loop() {
		// GitHub's part is done before: making the bodies and signing them.
		bodies, requests := make([][]byte, round), make([]*http.Request, round)
		for i := range round {
			bodies[i] = tenKB(n + i)
			requests[i] = post(url, fmt.Sprintf("d%d", n+i), bodies[i])
		}
		raw += inParallel(b, round, func(i int) error {
			_, err := js.Publish(b.Context(), fmt.Sprintf("raw.%d", n+i), bodies[i-1])
			return err
		})
		ours += inParallel(b, round, func(i int) error { return send(c, requests[i-1]) })
		n += round
	}
	b.ReportMetric(float64(n)/ours.Seconds(), "deliveries/s")
	b.ReportMetric(float64(n)/raw.Seconds(), "bare/s")
	b.ReportMetric(raw.Seconds()/ours.Seconds(), "share")
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
