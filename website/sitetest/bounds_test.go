package sitetest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website"
	"github.com/tachobench/tacho/website/client"
)

// bounded opens a website with the given bounds.
func bounded(t *testing.T, r config.Readers) *story {
	t.Helper()
	s := open(t, func(c *website.Config) { c.Readers = r })
	st := s.story()
	s.machines()
	return st
}

// reach sends a read by a client of an address. The caller calls closed to end it.
func (s *site) reach(c *http.Client, path string, header ...string) (resp *http.Response, closed func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.http.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err = c.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, func() {
		cancel()
		resp.Body.Close()
	}
}

// status sends a read and returns the status of its answer, and the body of a refusal.
func (s *site) status(c *http.Client, path string, header ...string) (int, string, http.Header) {
	s.t.Helper()
	resp, closed := s.reach(c, path, header...)
	defer closed()
	if resp.StatusCode == http.StatusOK {
		return resp.StatusCode, "", resp.Header
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// metric returns the value of a metric as /metrics shows it; empty if it is not there.
func (s *site) metric(name string) string {
	_, body := s.get("/metrics")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestTooManyStreamsOfOneAddressAreRefused(t *testing.T) {
	s := bounded(t, config.Readers{StreamsPerAddress: 2})
	one, other := from(t, "127.0.5.1"), from(t, "127.0.5.2")
	job := "/api/v1/jobs/" + string(s.work.ID) + "/log?follow=1"
	_, closeEvents := s.reach(one, "/api/v1/events/stream?after=0")
	_, closeLog := s.reach(one, job)
	for _, path := range []string{"/api/v1/events/stream", "/events", job} {
		status, body, header := s.status(one, path)
		e := refusal(t, body)
		if status != http.StatusTooManyRequests || header.Get("Retry-After") != "10" ||
			e.Message != "your address has 2 streams under way, and one address may not have more" || e.Next != "close some of them, or try again in 10 s" {
			t.Errorf("%s: %d, after %q: %s", path, status, header.Get("Retry-After"), body)
		}
		if status, body, _ := s.status(other, path); status != http.StatusOK {
			t.Errorf("%s for another address: %d %s", path, status, body)
		}
	}
	if got := s.metric(`tacho_http_refused_total{bound="address",kind="stream"}`); got != "3" {
		t.Errorf("%q refusals are counted", got)
	}
	for _, path := range []string{"/", "/api/v1/events", "/api/v1/queue"} {
		if status, body, _ := s.status(one, path); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	closeLog()
	s.until(func() bool { status, _, _ := s.status(one, "/events"); return status == http.StatusOK })
	closeEvents()
}

func TestAllStreamsTogetherAreBounded(t *testing.T) {
	s := bounded(t, config.Readers{Streams: 8, StreamsPerAddress: 6})
	crowd, other, last := from(t, "127.0.5.1"), from(t, "127.0.5.2"), from(t, "127.0.5.3")
	for range 6 {
		_, closed := s.reach(crowd, "/events")
		defer closed()
	}
	for range 2 {
		_, closed := s.reach(other, "/events")
		defer closed()
	}
	status, body, header := s.status(last, "/events")
	if e := refusal(t, body); status != http.StatusTooManyRequests || header.Get("Retry-After") != "30" || !strings.Contains(e.Message, "all readers together have about 8 streams") {
		t.Errorf("%d, after %q: %s", status, header.Get("Retry-After"), body)
	}
}

// However streams end, and however many come and go at once, their places are free again afterwards.
func TestClosedStreamsGiveTheirPlacesBack(t *testing.T) {
	const each = 5
	s := bounded(t, config.Readers{StreamsPerAddress: each})
	job := "/api/v1/jobs/" + string(s.work.ID) + "/log?follow=1"
	var all sync.WaitGroup
	for a := range 4 {
		visitor := from(t, fmt.Sprintf("127.0.5.%d", a+1))
		for i := range 2 * each {
			all.Go(func() {
				for round := range 10 {
					ctx, leave := context.WithCancel(s.ctx)
					path := []string{"/events", "/api/v1/events/stream?after=0", job, "/api/v1/events/stream?after=x"}[(i+round)%4]
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.http.URL+path, nil)
					if err != nil {
						t.Error(err)
					}
					if round%3 == 0 {
						go leave() // perhaps before it is answered
					}
					if resp, err := visitor.Do(req); err == nil {
						if path != job { // which has no output
							_, _ = resp.Body.Read(make([]byte, 10)) // the stream may be refused, or over
						}
						resp.Body.Close()
					}
					leave()
				}
			})
		}
	}
	all.Wait()
	s.until(func() bool { return s.metric("tacho_http_streams") == "0" })
	for a := range 4 {
		visitor := from(t, fmt.Sprintf("127.0.5.%d", a+1))
		for i := range each {
			// The place is given back just after the stream stops counting as open.
			s.until(func() bool {
				resp, closed := s.reach(visitor, "/events")
				if resp.StatusCode == http.StatusOK {
					t.Cleanup(closed)
					return true
				}
				closed()
				return false
			})
			if t.Failed() {
				t.Fatalf("address %d has no place for its stream %d", a, i)
			}
		}
		if status, _, _ := s.status(visitor, "/events"); status != http.StatusTooManyRequests {
			t.Errorf("address %d has one place more: %d", a, status)
		}
	}
}

func TestTooManyReadsOfOneAddressAreRefused(t *testing.T) {
	s := bounded(t, config.Readers{AnswersPerAddress: 1})
	one, other := from(t, "127.0.5.1"), from(t, "127.0.5.2")
	waits := make(chan int, 1)
	next := s.head() + 1
	go func() {
		status := http.StatusTooManyRequests
		for status == http.StatusTooManyRequests { // until it is the one that has the place
			resp, err := one.Get(fmt.Sprintf("%s/api/v1/queue?wait_for=%d", s.http.URL, next))
			if err != nil {
				t.Error(err)
				break
			}
			resp.Body.Close()
			status = resp.StatusCode
		}
		waits <- status
	}()
	s.until(func() bool {
		status, _, _ := s.status(one, "/api/v1/queue")
		return status == http.StatusTooManyRequests
	})
	status, body, header := s.status(one, "/api/v1/compare?b=x")
	if e := refusal(t, body); status != http.StatusTooManyRequests || header.Get("Retry-After") != "1" || e.Next != "wait for some of them, and read fewer at once, or try again in 1 s" {
		t.Errorf("the API: %d, after %q: %s", status, header.Get("Retry-After"), body)
	}
	status, body, header = s.status(one, "/requests")
	if status != http.StatusTooManyRequests || header.Get("Retry-After") != "1" || !strings.Contains(body, "your address has 1 answer under way") || !strings.Contains(body, "</html>") {
		t.Errorf("a page: %d, after %q: %s", status, header.Get("Retry-After"), body)
	}
	for _, path := range []string{"/events", "/healthz", "/readyz", "/static/live.js"} {
		if status, body, _ := s.status(one, path); status != http.StatusOK {
			t.Errorf("%s is no answer of that kind: %d %s", path, status, body)
		}
	}
	// The place of an answer becomes free a moment after the answer arrived.
	for _, path := range []string{"/", "/requests", "/api/v1/queue"} {
		s.until(func() bool { status, _, _ := s.status(other, path); return status == http.StatusOK })
	}
	s.tell(events.CollectorOffline{Name: "amd-1", Instance: "i2", Reason: "left"})
	if status := <-waits; status != http.StatusOK {
		t.Errorf("the read that waited: %d", status)
	}
	s.until(func() bool { status, _, _ := s.status(one, "/api/v1/queue"); return status == http.StatusOK })
}

func TestATrustedProxyTellsItsClientsApart(t *testing.T) {
	s := bounded(t, config.Readers{StreamsPerAddress: 1, TrustedProxies: []string{"127.0.5.1"}})
	proxy, client := from(t, "127.0.5.1"), from(t, "127.0.5.2")
	const name = "X-Forwarded-For"
	_, closed := s.reach(proxy, "/events", name, "198.51.100.1")
	defer closed()
	_, closed = s.reach(client, "/events", name, "198.51.100.2")
	defer closed()
	for _, c := range []struct {
		by     *http.Client
		says   string
		status int
	}{
		{proxy, "198.51.100.1", http.StatusTooManyRequests},
		{proxy, "203.0.113.1, 198.51.100.1", http.StatusTooManyRequests},
		{proxy, "198.51.100.2", http.StatusOK},
		{client, "198.51.100.3", http.StatusTooManyRequests},
	} {
		if status, body, _ := s.status(c.by, "/events", name, c.says); status != c.status {
			t.Errorf("%s: %d %s", c.says, status, body)
		}
	}
}

// With a filter that selects little, a stream searches a long log in parts, and misses nothing.
func TestAStreamFindsWhatIsRareAndWhatIsNew(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.fill(longLog + longLog/4)
	want := st.tell(events.CollectorOffline{Name: "amd-1", Instance: "i2", Reason: "left"})
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	var got []events.Seq
	zero := events.Seq(0)
	err := s.client.FollowEvents(ctx, client.EventQuery{After: &zero, Type: "collector.offline.v1"}, func(e readmodel.Event) error {
		if got = append(got, e.Seq); len(got) == 2 {
			return errEnough
		}
		s.tell(events.CollectorOffline{Name: "amd-0", Instance: "i1", Reason: "left, too"})
		return nil
	})
	if err == nil || len(got) != 2 || got[0] != want || got[1] != want+1 {
		t.Errorf("%v, want %d and the next: %v", got, want, err)
	}
}

// A browser does not reconnect by itself to a stream that was refused.
func TestThePageIsLiveAgainWhenThereAreFewerReaders(t *testing.T) {
	s := bounded(t, config.Readers{StreamsPerAddress: 1})
	_, closed := s.reach(from(t, "127.0.0.1"), "/events")
	b := browse(t)
	actions := []chromedp.Action[chromedp.Void]{chromedp.Navigate(s.http.URL), chromedp.WaitVisible(chromedp.CSS(".live.off"))}
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
	if text := value[string](t, b, `document.getElementById("live").textContent`); text != "not live: the server has too many readers" {
		t.Errorf("the page says %q", text)
	}
	closed()
	if err := chromedp.Do(b.ctx, chromedp.WaitVisible(chromedp.CSS(".live.on"))); err != nil {
		t.Fatal(err)
	}
}
