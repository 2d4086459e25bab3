package sitetest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website"
	"github.com/tachobench/tacho/website/client"
)

const (
	token    = "let-me-in"
	patience = 2 * time.Minute
)

// clock is the time of a story: it moves when the story does.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// site is a website over the tables of a log in memory.
type site struct {
	t       testing.TB
	ctx     context.Context
	clock   *clock
	log     *memory.Log
	control *control.Control
	suite   suite.Definitions
	server  *website.Server
	http    *httptest.Server
	client  *client.Client

	// url is that of the tables.
	url string
	// stopProjector lets a test look at tables that do not move.
	stopProjector func()
	// reads counts what the website asks of the tables.
	reads tally
}

// open starts a website; change may alter its configuration.
func open(t testing.TB, change func(*website.Config)) *site {
	t.Helper()
	return openPools(t, readmodel.Patient(patience), change)
}

// openPools is open with other bounds of the reads.
func openPools(t testing.TB, p readmodel.Pools, change func(*website.Config)) *site {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	url := pgtest.New(t, "migrated", readmodel.Migrate)
	s := &site{t: t, ctx: ctx, url: url, clock: &clock{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}}
	s.log = memory.New(memory.Config{BeatTTL: time.Hour, Clock: s.clock.read})
	s.suite = definitions(t)
	s.control = &control.Control{Log: s.log, Clock: s.clock.read, Suites: func(context.Context) ([]events.SuiteName, error) { return []events.SuiteName{s.suite.Name}, nil }}
	p.Tracer = &s.reads
	reader, err := readmodel.OpenPools(ctx, url, p)
	if err != nil {
		t.Fatal(err)
	}
	website.Inform(s.control, reader, s.log)
	hearing := newEars(s.clock)
	config := website.Config{
		Reader: reader, Control: s.control, Log: s.log, Hearing: hearing, JobLogs: s.log, Token: token, Version: "v1.2.3",
		Clock: s.clock.read, WaitFor: patience, PingEvery: 50 * time.Millisecond,
	}
	if change != nil {
		change(&config)
	}
	s.server = website.New(config)

	projecting, stop := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	run := func(name string, ctx context.Context, f func(context.Context) error) *sync.WaitGroup {
		var one sync.WaitGroup
		task := func() {
			if err := f(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		one.Go(task)
		tasks.Go(one.Wait)
		return &one
	}
	projected := run("projector", projecting, projector.New(projector.Config{Log: s.log, URL: url}).Run)
	run("website", ctx, s.server.Run)
	run("ears", ctx, func(ctx context.Context) error {
		if err := s.log.Watch(ctx, hearing.take); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	s.stopProjector = func() { stop(); projected.Wait() }

	s.http = httptest.NewServer(s.server.Handler())
	t.Cleanup(func() {
		cancel()
		s.http.Close()
		tasks.Wait()
		reader.Close()
		stop()
	})
	if s.client, err = client.New(s.http.URL, token); err != nil {
		t.Fatal(err)
	}
	s.client.Actor = "cli:tester"
	return s
}

func definitions(t testing.TB) suite.Definitions {
	t.Helper()
	data, err := os.ReadFile("testdata/go.toml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := suite.Load("go.toml", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tell appends facts in one batch, each aggregate at its version, and returns the sequence of the first fact.
func (s *site) tell(facts ...events.Fact) events.Seq {
	s.t.Helper()
	var parts []eventlog.Append
	for _, f := range facts {
		e := eventlog.NewEvent(f, eventlog.Meta{Source: "story", Actor: "story", Root: "story"}, s.clock.read())
		if n := len(parts); n > 0 && parts[n-1].Subject == f.Subject() {
			parts[n-1].Events = append(parts[n-1].Events, e)
			continue
		}
		last, _, err := s.log.Last(s.ctx, f.Subject())
		if err != nil {
			s.t.Fatal(err)
		}
		parts = append(parts, eventlog.Append{Subject: f.Subject(), Expected: last.Seq, Events: []events.Event{e}})
	}
	last, err := s.log.Append(s.ctx, parts...)
	if err != nil {
		s.t.Fatal(err)
	}
	return last - events.Seq(len(facts)) + 1
}

// head returns the last sequence of the log.
func (s *site) head() events.Seq {
	s.t.Helper()
	h, err := s.log.Head(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return h.Last
}

// now returns a client whose reads see all that was told.
func (s *site) now() *client.Client { return s.client.After(s.head()) }

// do sends one request as it is, and returns the response and its body.
func (s *site) do(method, path, body string, header map[string]string) (*http.Response, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(text)
}

func (s *site) get(path string) (*http.Response, string) {
	s.t.Helper()
	return s.do(http.MethodGet, path, "", nil)
}

// permitted are the headers of a write.
func permitted() map[string]string {
	return map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}
}

// refusal reads the body of a refusal.
func refusal(t *testing.T, body string) client.Error {
	t.Helper()
	var e client.Error
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	return e
}
