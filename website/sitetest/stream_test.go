package sitetest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

var errEnough = errors.New("enough")

func TestEventsAreFollowedInOrderFromAnyPlace(t *testing.T) {
	s := open(t, nil)
	s.story()
	old := s.head()
	told := make(chan struct{})
	go func() { // while the stream is read
		defer close(told)
		for _, name := range []events.CollectorName{"x", "y"} {
			if _, err := s.control.AddCollector(s.ctx, teller(), control.NewCollector{Name: name, Target: machine, Standby: true}); err != nil {
				t.Error(err)
			}
		}
	}()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	var next events.Seq = 1
	zero := events.Seq(0)
	err := s.client.FollowEvents(ctx, client.EventQuery{After: &zero}, func(e readmodel.Event) error {
		if e.Seq != next {
			t.Fatalf("event %d, want %d", e.Seq, next)
		}
		if next++; next == old+5 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Errorf("%v", err)
	}
	<-told

	var names []string
	err = s.client.FollowEvents(ctx, client.EventQuery{After: &old, Subject: "registry."}, func(e readmodel.Event) error {
		if names = append(names, string(e.Subject)); len(names) == 2 {
			return errEnough
		}
		return nil
	})
	if diff := cmp.Diff([]string{"tacho.ev.registry.x", "tacho.ev.registry.y"}, names); diff != "" || !errors.Is(err, errEnough) {
		t.Errorf("%v\n%s", err, diff)
	}
}

// stream opens a stream and returns its lines.
func (s *site) stream(path string, header map[string]string) (*http.Response, *bufio.Scanner) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.http.URL+path, nil)
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
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp, bufio.NewScanner(resp.Body)
}

// nextLine returns the next line that begins with a text.
func nextLine(t *testing.T, lines *bufio.Scanner, begins string) string {
	t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), begins) {
			return lines.Text()
		}
	}
	t.Fatalf("the stream ended before %q: %v", begins, lines.Err())
	return ""
}

func TestABrowserThatComesBackMissesNothing(t *testing.T) {
	s := open(t, nil)
	s.story()
	s.machines()
	resp, lines := s.stream("/api/v1/events/stream", map[string]string{"Last-Event-ID": "3"})
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	if id := nextLine(t, lines, "id: "); id != "id: 4" {
		t.Errorf("began with %q", id)
	}
}

func TestPagesHearOfChangesAndHeartbeats(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	s.machines()
	_, lines := s.stream("/events", nil)
	nextLine(t, lines, "data: ") // what there is
	st.ask(s.control.DrainCollector(s.ctx, teller(), "amd-1", ""))
	for want := s.head(); ; {
		if nextLine(t, lines, "data: ") == `data: {"seq":`+jsonNumber(want)+`,"alive_ms":15000}` {
			break
		}
	}
	s.beat(eventlog.Beat{Name: "amd-1", Instance: "i2", Load: 3})
	nextLine(t, lines, "data: ")
}

func TestTheOutputOfAJobIsFollowedToItsEnd(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	lane := st.work.Lane()
	write := func(attempt int, text string) {
		t.Helper()
		if err := s.log.WriteLog(s.ctx, lane, eventlog.LogChunk{JobID: st.work.ID, Attempt: attempt, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	write(1, "measuring tables\n")
	r, w := io.Pipe()
	done := make(chan error, 1)
	c := s.now()
	go func() {
		err := c.JobLog(s.ctx, st.work.ID, true, w)
		w.CloseWithError(err)
		done <- err
	}()
	lines := bufio.NewScanner(r)
	nextLine(t, lines, "measuring tables")
	write(2, "measuring generics\n")
	nextLine(t, lines, "--- attempt 2 ---")
	nextLine(t, lines, "measuring generics")
	s.clock.advance(time.Minute)
	write(2, "done, without a line's end")
	s.tell(events.JobFinished{
		Lane: lane, Place: st.places[lane], JobID: st.work.ID, RequestID: st.running, Collector: "amd-0", Token: st.token, Attempt: 1, Outcome: events.Success,
	})
	nextLine(t, lines, "done, without")
	if lines.Scan() {
		t.Errorf("written twice: %q", lines.Text())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	var whole strings.Builder
	if err := s.now().JobLog(s.ctx, st.work.ID, false, &whole); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("measuring tables\n--- attempt 2 ---\nmeasuring generics\ndone, without a line's end", whole.String()); diff != "" {
		t.Error(diff)
	}
}

// If the answer to a HEAD of a stream did not end, the next call on the connection would wait for it.
func TestTheHeaderOfAStreamIsAnAnswer(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	s.machines()
	for _, path := range []string{"/events", "/api/v1/events/stream", "/api/v1/jobs/" + string(st.work.ID) + "/log?follow=1"} {
		resp, body := s.do(http.MethodHead, path, "", nil)
		if resp.StatusCode != http.StatusOK || body != "" {
			t.Errorf("HEAD %s: %s %q", path, resp.Status, body)
		}
		if resp, _ := s.get("/healthz"); resp.StatusCode != http.StatusOK {
			t.Errorf("after HEAD %s: %s", path, resp.Status)
		}
	}
}
