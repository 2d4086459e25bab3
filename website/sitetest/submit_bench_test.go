package sitetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/internal/ratio"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website"
)

// submitters is how many clients submit at once.
const submitters = 16

// desk is a website over a synced log of one node, beside a bare stream of the same server.
type desk struct {
	b   *testing.B
	log *jetstream.Log
	nc  *nats.Conn
	js  natsjs.JetStream
	url string
	// least is a server that reads the body of a command and publishes a message.
	least string
	// like is what it publishes.
	like *nats.Msg
	// http is one client that keeps a connection for each submitter.
	http *http.Client
	made int
}

func openDesk(b *testing.B) *desk {
	b.Helper()
	server, err := natsserver.Start(natsserver.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Shutdown)
	nc, err := server.Connect()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	d := &desk{b: b, nc: nc, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: submitters}}}
	if d.log, err = jetstream.Open(b.Context(), nc, jetstream.Config{MaxBytes: 4 << 30}); err != nil {
		b.Fatal(err)
	}
	if d.js, err = natsjs.New(nc); err != nil {
		b.Fatal(err)
	}
	if _, err := d.js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}, AllowDirect: true, AllowAtomicPublish: true}); err != nil {
		b.Fatal(err)
	}
	reader, err := readmodel.OpenPools(b.Context(), pgtest.New(b, "migrated", readmodel.Migrate), readmodel.Patient(patience))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(reader.Close)
	c := &control.Control{Log: d.log, Clock: time.Now, MaxPending: 1 << 30}
	website.Inform(c, reader, d.log)
	for _, d := range []suite.Definitions{definitions(b), shipped(b)} {
		if _, err := c.Publish(b.Context(), control.By{Actor: "bench", Source: "bench", Root: "bench"}, d); err != nil {
			b.Fatal(err)
		}
	}
	front := httptest.NewServer(website.New(website.Config{Reader: reader, Control: c, Log: d.log, Token: token}).Handler())
	b.Cleanup(front.Close)
	d.url = front.URL
	least := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			b.Error(err)
		}
		m := *d.like
		m.Subject = "raw." + r.URL.Path[1:]
		if _, err := d.js.PublishMsg(r.Context(), &m); err != nil {
			b.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
	}))
	b.Cleanup(least.Close)
	d.least = least.URL + "/"
	return d
}

// shipped returns the largest definitions that come with Tacho.
func shipped(b *testing.B) suite.Definitions {
	b.Helper()
	data, err := os.ReadFile("../../collector/definitions/rustc.toml")
	if err != nil {
		b.Fatal(err)
	}
	d, err := suite.Load("rustc.toml", data, nil)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// call sends the body of a command as the operator and reads the answer.
func (d *desk) call(url string, body []byte) error {
	req, err := http.NewRequestWithContext(d.b.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	answer, err := d.http.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusCreated {
		err = fmt.Errorf("status %d: %s", answer.StatusCode, text)
	}
	return err
}

// bodies returns the bodies of n new requests.
func (d *desk) bodies(n int, of func(int) control.NewRequest) [][]byte {
	d.b.Helper()
	out := make([][]byte, n)
	for i := range out {
		d.made++
		var err error
		if out[i], err = json.Marshal(of(d.made)); err != nil {
			d.b.Fatal(err)
		}
	}
	return out
}

// raw publishes n messages with the bytes of the last event of the log, by as many writers, and returns what that took. With
// pairs, it publishes n times two of them in one atomic batch.
func (d *desk) raw(n int, pairs bool) ratio.Spent {
	d.b.Helper()
	head, err := d.log.Head(d.b.Context())
	if err != nil {
		d.b.Fatal(err)
	}
	stream, err := d.js.Stream(d.b.Context(), "EVENTS")
	if err != nil {
		d.b.Fatal(err)
	}
	like, err := stream.GetMsg(d.b.Context(), uint64(head.Last))
	if err != nil {
		d.b.Fatal(err)
	}
	for name := range like.Header { // what was for the server
		if strings.HasPrefix(name, "Nats-") {
			delete(like.Header, name)
		}
	}
	d.like = &nats.Msg{Header: like.Header, Data: like.Data}
	return d.together(n, func(i int) error {
		m := &nats.Msg{Subject: fmt.Sprintf("raw.%d.%d", d.made, i), Header: like.Header, Data: like.Data}
		if pairs {
			return d.pair(m)
		}
		_, err := d.js.PublishMsg(d.b.Context(), m)
		return err
	})
}

// pair publishes a message twice in one atomic batch.
func (d *desk) pair(like *nats.Msg) error {
	batch := nats.NewInbox()
	for i := 1; i <= 2; i++ {
		m := &nats.Msg{Subject: fmt.Sprintf("%s.%d", like.Subject, i), Header: nats.Header{}, Data: like.Data}
		maps.Copy(m.Header, like.Header)
		m.Header.Set("Nats-Batch-Id", batch)
		m.Header.Set("Nats-Batch-Sequence", fmt.Sprint(i))
		if i == 2 {
			m.Header.Set("Nats-Batch-Commit", "1")
		}
		answer, err := d.nc.RequestMsgWithContext(d.b.Context(), m)
		if err != nil {
			return err
		}
		if bytes.Contains(answer.Data, []byte(`"error"`)) {
			return errors.New(string(answer.Data))
		}
	}
	return nil
}

// together does n things, shared by all submitters, and returns how long that took.
func (d *desk) together(n int, do func(int) error) ratio.Spent {
	d.b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	began := ratio.Now(d.b)
	for range submitters {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					d.b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return ratio.Since(d.b, began)
}

// BenchmarkSubmit compares requests over HTTP with bare publishes of the same bytes by as many writers, all synced. of-least is
// their share of what a server reaches that only reads the body and publishes: the rest is HTTP itself.
func BenchmarkSubmit(b *testing.B) {
	for _, tc := range []struct {
		name  string
		of    func(int) control.NewRequest
		pairs bool
	}{
		{"master", func(i int) control.NewRequest {
			return control.NewRequest{Suite: "go", Kind: events.Master, Tag: hash(i), Parent: hash(i - 1)}
		}, false},
		{"large-suite", func(i int) control.NewRequest {
			return control.NewRequest{Suite: "rustc", Kind: events.Master, Tag: hash(i), Parent: hash(i - 1)}
		}, false},
		{"release", func(i int) control.NewRequest {
			return control.NewRequest{Suite: "go", Kind: events.Release, Tag: events.Tag(fmt.Sprintf("v1.%d", i)), ReleasedOn: "2026-11-24"}
		}, false},
		{"try", func(i int) control.NewRequest {
			return control.NewRequest{Suite: "go", Kind: events.Try, Tag: hash(i)}
		}, false},
		// It is recorded with the fact that it is the newest of its pull request.
		{"try-of-pull-request", func(i int) control.NewRequest {
			return control.NewRequest{Suite: "go", Kind: events.Try, Tag: hash(i), PR: i}
		}, true},
	} {
		b.Run(tc.name, func(b *testing.B) {
			d := openDesk(b)
			const round = 64
			var ours, raw, least ratio.Spent
			n := 0
			for b.Loop() {
				bodies := d.bodies(round, tc.of)
				ours = ours.Plus(d.together(round, func(i int) error { return d.call(d.url+"/api/v1/requests", bodies[i]) }))
				raw = raw.Plus(d.raw(round, tc.pairs))
				least = least.Plus(d.together(round, func(i int) error { return d.call(fmt.Sprint(d.least, "least.", n, ".", i), bodies[i]) }))
				n += round
			}
			ratio.Rates(b, n, ours, raw, 0.6)
			b.ReportMetric(float64(least.CPU.Microseconds())/float64(n), "least-cpu-µs")
			b.ReportMetric(least.Time.Seconds()/ours.Time.Seconds(), "of-least")
		})
	}
}

// BenchmarkSubmitBatch compares 1,000 requests in one call with as many bare publishes of the same bytes, all synced.
func BenchmarkSubmitBatch(b *testing.B) {
	d := openDesk(b)
	const batch = 1000
	var ours, raw ratio.Spent
	n := 0
	for b.Loop() {
		list := control.Batch{Each: true}
		for range batch {
			d.made++
			list.Requests = append(list.Requests, control.NewRequest{Suite: "go", Kind: events.Master, Tag: hash(d.made), Parent: hash(d.made - 1)})
		}
		body, err := json.Marshal(list)
		if err != nil {
			b.Fatal(err)
		}
		began := ratio.Now(b)
		if err := d.call(d.url+"/api/v1/requests/batch", body); err != nil {
			b.Fatal(err)
		}
		ours = ours.Plus(ratio.Since(b, began))
		raw = raw.Plus(d.raw(batch, false))
		n += batch
	}
	ratio.Rates(b, n, ours, raw, 0.6)
}

// hash returns the full hash of a commit.
func hash(n int) events.Tag { return events.Tag(fmt.Sprintf("%040x", n)) }
