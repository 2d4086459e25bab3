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
		_, err := c.JobLog(s.ctx, st.work.ID, true, w)
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
	if _, err := s.now().JobLog(s.ctx, st.work.ID, false, &whole); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("measuring tables\n--- attempt 2 ---\nmeasuring generics\ndone, without a line's end", whole.String()); diff != "" {
		t.Error(diff)
	}
}

// Chunks have numbers, and the end of the job tells the last: readers learn of gaps, of what is still to come, and that all
// is there. A chunk that was stored twice is shown once, and what terminals obey does not reach them.
func TestReadersKnowWhetherOutputIsComplete(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	lane := st.work.Lane()
	write := func(number int, text string) {
		t.Helper()
		c := eventlog.LogChunk{JobID: st.work.ID, Attempt: 1, Number: number, Text: text}
		if err := s.log.WriteLog(s.ctx, lane, c); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (string, client.OutputState) {
		t.Helper()
		var text strings.Builder
		state, err := s.now().JobLog(s.ctx, st.work.ID, false, &text)
		if err != nil {
			t.Fatal(err)
		}
		return text.String(), state
	}
	write(1, "one\n")
	write(1, "one\n")
	if text, state := read(); text != "one\n" || state != "" {
		t.Errorf("while it runs: %q, %q", text, state)
	}
	s.tell(events.JobFinished{
		Lane: lane, Place: st.places[lane], JobID: st.work.ID, RequestID: st.running, Collector: "amd-0", Token: st.token, Attempt: 1, Outcome: events.Success,
		Printed: &events.Printed{Bytes: 30, Last: 5},
	})
	if text, state := read(); !strings.HasPrefix(text, "one\n--- the output is still coming: 1 of 5 pieces ") || state != client.OutputComing {
		t.Errorf("after the end: %q, %q", text, state)
	}
	followed := make(chan string, 1)
	c := s.now()
	go func() { // it sees the end of the output, although the job has ended before
		var text strings.Builder
		state, err := c.JobLog(s.ctx, st.work.ID, true, &text)
		if err != nil {
			t.Error(err)
		}
		followed <- text.String() + string(state)
	}()
	write(2, "two, and no end")
	write(5, "five\n")
	write(5, "five\n")
	want := "one\ntwo, and no end\n--- a gap: pieces 3 to 4 are missing ---\nfive\n--- the output is not complete: it has gaps, because old output is not kept for ever ---\n"
	if text, state := read(); text != want || state != client.OutputGaps {
		t.Errorf("with a gap: %q, %q", text, state)
	}
	if got := <-followed; got != want+string(client.OutputGaps) {
		t.Errorf("followed: %q", got)
	}
}

// A page asks for a last line, since it shows no trailers.
func TestTheLastLineSaysThatOutputIsComplete(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	lane := st.work.Lane()
	if err := s.log.WriteLog(s.ctx, lane, eventlog.LogChunk{JobID: st.work.ID, Attempt: 1, Number: 1, Text: "\x1b[2Jone"}); err != nil {
		t.Fatal(err)
	}
	s.tell(events.JobFinished{
		Lane: lane, Place: st.places[lane], JobID: st.work.ID, RequestID: st.running, Collector: "amd-0", Token: st.token, Attempt: 1, Outcome: events.Success,
		Printed: &events.Printed{Bytes: 7, Last: 1},
	})
	resp, body := s.get("/api/v1/jobs/" + string(st.work.ID) + "/log?tell=1&wait_for=" + jsonNumber(s.head()))
	if body != "\x1b[2Jone\n--- the output is complete ---\n" || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Trailer.Get(client.OutputTrailer) != string(client.OutputComplete) {
		t.Errorf("%q, %v, %v", body, resp.Header, resp.Trailer)
	}
	if _, page := s.get("/jobs/" + string(st.work.ID)); !strings.Contains(page, "7 bytes") {
		t.Errorf("the page does not say how much: %s", page)
	}
}

// A job that was given back tells how much it printed by then. That is complete once the job has ended, and all of it is here.
func TestOutputOfAJobThatWasGivenBack(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	lane := st.work.Lane()
	write := func(number int) {
		if err := s.log.WriteLog(s.ctx, lane, eventlog.LogChunk{JobID: st.work.ID, Attempt: 1, Number: number, Text: "line\n"}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, want client.OutputState) {
		t.Helper()
		var text strings.Builder
		if state, err := s.now().JobLog(s.ctx, st.work.ID, false, &text); err != nil || state != want {
			t.Errorf("%s: %v, the output is %q, want %q: %q", when, err, state, want, text.String())
		}
	}
	write(1)
	s.tell(events.AttemptReleased{
		Lane: lane, Place: st.places[lane], JobID: st.work.ID, Collector: "amd-0", Token: st.token, Attempt: 1, Reason: "drain", Printed: &events.Printed{Bytes: 10, Last: 2},
	})
	expect("while it waits", "")
	s.tell(events.JobFinished{Lane: lane, Place: st.places[lane], JobID: st.work.ID, RequestID: st.running, Attempt: 1, Outcome: events.Cancelled})
	expect("with a piece on its way", client.OutputComing)
	write(2)
	expect("with all pieces", client.OutputComplete)
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
