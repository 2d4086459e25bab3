package main

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
	"net/http"
	"net/http/httptest"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/webhook"
	"github.com/tachobench/tacho/website"
)

const (
	rawSixteen   = "raw appends, 16 writers"
	riverInserts = "River, 16 inserters"
	signature    = "the signature's check alone"
	clients      = 16
	token        = "let-me-in"
)

// rowsOfDoors are about what comes in from outside.
func rowsOfDoors() []Row {
	return []Row{
		{
			Name: "submit", Work: "requests submitted by HTTP, 16 clients, synced", Run: submit,
			Figures: []Figure{
				{Name: "requests", Unit: "/s", Better: higher, Goals: []Goal{{rawSixteen, 0.6}}},
				{Name: "without a projector", Unit: "/s", Better: higher, Goals: []Goal{{rawSixteen, 0.45}}},
			},
		},
		{
			Name: "deliveries", Work: "signed deliveries of 10 KB by HTTP, 16 at a time, synced", Run: deliveries,
			Figures: []Figure{{Name: "deliveries", Unit: "/s", Better: higher}},
		},
		{
			Name: "forged", Work: "forged deliveries of 10 KB refused, without the network", Rounds: 5, Run: forged,
			Figures: []Figure{{Name: "refusals", Unit: "/s", Better: higher, Goals: []Goal{{signature, 0.8}}}},
		},
	}
}

// client is an HTTP client that keeps its connections.
func (b *Bed) client() *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	b.onEnd(func() error { transport.CloseIdleConnections(); return nil })
	return &http.Client{Transport: transport}
}

// send sends a request, reads the whole answer, and wants a status.
func send(c *http.Client, r *http.Request, want int) (body []byte, err error) {
	answer, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != want {
		err = fmt.Errorf("%s answers with status %d: %.200s", r.URL.Path, answer.StatusCode, body)
	}
	return body, err
}

// siteLog is a log with all that the website asks of it.
type siteLog interface {
	eventlog.Log
	eventlog.Dispatch
	eventlog.JobLogs
}

// site serves the website over a log and its tables.
func (b *Bed) site(log siteLog, database *Database) (url string, err error) {
	reader, err := readmodel.Open(b.ctx, database.URL)
	if err != nil {
		return "", err
	}
	b.onEnd(func() error { reader.Close(); return nil })
	commands := &control.Control{Log: log, Clock: time.Now}
	website.Inform(commands, reader, log)
	site := website.New(website.Config{Reader: reader, Control: commands, Log: log, JobLogs: log, Token: token, Version: "bench", Logger: silent()})
	b.run("website", site.Run)
	server := httptest.NewServer(site.Handler())
	b.onEnd(func() error { server.Close(); return nil })
	return server.URL, nil
}

// log opens an empty log on a server of its own.
func (b *Bed) log(unsynced bool) (*jetstream.Log, error) {
	_, nc, err := b.nats(natsserver.Config{Unsynced: unsynced})
	if err != nil {
		return nil, err
	}
	return jetstream.Open(b.ctx, nc, jetstream.Config{MaxBytes: 8 << 30})
}

// logAndTables opens an empty log, and a database with empty tables. Both sync.
func (b *Bed) logAndTables() (*jetstream.Log, *Database, error) {
	log, err := b.log(false)
	if err != nil {
		return nil, nil, err
	}
	database, err := b.postgres(false, 4)
	if err == nil {
		err = readmodel.Migrate(b.ctx, database.URL)
	}
	return log, database, err
}

// submits is how many requests a turn of submit sends.
const submits = 800

func submit(ctx context.Context, b *Bed) ([]Side, error) {
	followed, err := b.submitting(ctx, true)
	if err != nil {
		return nil, err
	}
	alone, err := b.submitting(ctx, false)
	if err != nil {
		return nil, err
	}
	const n = submits
	raw, err := b.rawAppends(rawSixteen, false, clients, 4*n*b.Scale, 1)
	if err != nil {
		return nil, err
	}
	river, err := b.river(0, false, false)
	if err != nil {
		return nil, err
	}
	return []Side{
		{"tacho", func(ctx context.Context) ([]float64, error) {
			both, err := followed(ctx)
			if err != nil {
				return nil, err
			}
			website, err := alone(ctx)
			return []float64{both, website}, err
		}},
		{raw.Name, func(ctx context.Context) ([]float64, error) {
			found, err := raw.Turn(ctx)
			if err != nil {
				return nil, err
			}
			return []float64{found[0], found[0]}, nil
		}},
		{riverInserts, func(ctx context.Context) ([]float64, error) {
			took, err := together(ctx, clients, 4*n*b.Scale, func(ctx context.Context, _, i int) error {
				_, err := river.client.Insert(ctx, riverArgs(i), nil)
				return err
			})
			return []float64{perSecond(4*n*b.Scale, took), 0}, err
		}},
	}, nil
}

// submitting starts a website, and returns what submits requests to it and how many it takes in a second. Its projector follows, as on
// every farm, or there is none: then the processors are the website's and the log's.
func (b *Bed) submitting(ctx context.Context, projects bool) (func(context.Context) (float64, error), error) {
	log, database, err := b.logAndTables()
	if err != nil {
		return nil, err
	}
	if _, err := (&control.Control{Log: log, Clock: time.Now}).Publish(ctx, by, jobsOf(8, 10)); err != nil {
		return nil, err
	}
	if projects {
		b.project(log, database)
	}
	url, err := b.site(log, database)
	if err != nil {
		return nil, err
	}
	c, asked := b.client(), counter{}
	return func(ctx context.Context) (float64, error) {
		took, err := together(ctx, clients, submits*b.Scale, func(ctx context.Context, _, _ int) error {
			body, err := json.Marshal(control.NewRequest{Suite: noop, Kind: events.Master, Tag: events.Tag(fmt.Sprintf("%040d", asked.take()))})
			if err != nil {
				return err
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/requests", bytes.NewReader(body))
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", "application/json")
			_, err = send(c, r, http.StatusCreated)
			return err
		})
		return perSecond(submits*b.Scale, took), err
	}, nil
}

// secret signs the deliveries.
const secret = "it is a secret"

// tenKB returns a body of the size of a comment's delivery.
func tenKB(n int) []byte {
	return fmt.Appendf(nil, `{"action":"created","n":%d,"comment":{"body":"%s"}}`, n, bytes.Repeat([]byte("0123456789abcdef"), 640))
}

func signed(body []byte, with string) string {
	mac := hmac.New(sha256.New, []byte(with))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func delivery(ctx context.Context, url, id string, body []byte, with string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-GitHub-Delivery", id)
	r.Header.Set("X-GitHub-Event", "issue_comment")
	r.Header.Set("X-GitHub-Hook-ID", "7")
	r.Header.Set("X-Hub-Signature-256", signed(body, with))
	return r, nil
}

func deliveries(_ context.Context, b *Bed) ([]Side, error) {
	n := 800 * b.Scale
	log, err := b.log(false)
	if err != nil {
		return nil, err
	}
	receiver, err := webhook.NewReceiver(log, []byte(secret), false, time.Now, silent(), webhook.NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(receiver)
	b.onEnd(func() error { server.Close(); return nil })
	js, stream, err := b.stream(false)
	if err != nil {
		return nil, err
	}
	c, asked := b.client(), 0
	return []Side{
		{"tacho", func(ctx context.Context) ([]float64, error) {
			// The part of GitHub is done before.
			all := make([]*http.Request, n)
			for i := range all {
				asked++
				if all[i], err = delivery(ctx, server.URL, fmt.Sprintf("d%d", asked), tenKB(asked), secret); err != nil {
					return nil, err
				}
			}
			took, err := together(ctx, clients, n, func(_ context.Context, _, i int) error {
				_, err := send(c, all[i], http.StatusAccepted)
				return err
			})
			return []float64{perSecond(n, took)}, err
		}},
		{rawSixteen, func(ctx context.Context) ([]float64, error) {
			body := tenKB(0)
			took, err := together(ctx, clients, n, func(ctx context.Context, _, i int) error {
				_, err := js.Publish(ctx, fmt.Sprintf("raw.%d", i), body, natsjs.WithExpectLastSequencePerSubject(0))
				return err
			})
			return []float64{perSecond(n, took)}, errors.Join(err, stream.Purge(ctx))
		}},
	}, nil
}

// answer is the part of a response that a handler needs, without the network.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header            { return a.header }
func (a *answer) Write(text []byte) (int, error) { return len(text), nil }
func (a *answer) WriteHeader(status int)         { a.status = status }

func forged(_ context.Context, b *Bed) ([]Side, error) {
	n := 20_000 * b.Scale
	receiver, err := webhook.NewReceiver(memory.New(memory.Config{}), []byte(secret), false, time.Now, silent(), webhook.NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		return nil, err
	}
	body := tenKB(1)
	forgery := signed(body, "another secret")
	header := http.Header{
		"X-Github-Delivery": {"d1"}, "X-Github-Event": {"issue_comment"}, "X-Github-Hook-Id": {"7"}, "X-Hub-Signature-256": {forgery},
	}
	// The part of the forger is done before.
	prepared, err := http.NewRequest(http.MethodPost, "http://localhost/webhook", nil)
	if err != nil {
		return nil, err
	}
	prepared.Header, prepared.ContentLength = header, int64(len(body))
	return []Side{
		{"tacho", func(ctx context.Context) ([]float64, error) {
			took, err := together(ctx, clients, n, func(ctx context.Context, _, _ int) error {
				r := prepared.WithContext(ctx)
				r.Body = io.NopCloser(bytes.NewReader(body))
				a := answer{header: http.Header{}}
				receiver.ServeHTTP(&a, r)
				if a.status != http.StatusUnauthorized {
					return fmt.Errorf("a forged delivery is answered with status %d", a.status)
				}
				return nil
			})
			return []float64{perSecond(n, took)}, err
		}},
		{signature, func(ctx context.Context) ([]float64, error) {
			took, err := together(ctx, clients, n, func(context.Context, int, int) error {
				if hmac.Equal([]byte(signed(body, secret)), []byte(forgery)) {
					return errors.New("the forged signature is right")
				}
				return nil
			})
			return []float64{perSecond(n, took)}, err
		}},
	}, nil
}
