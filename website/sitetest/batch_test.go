package sitetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// A bad entry of a batch keeps no other out, and the answers are in order.
func TestEachEntryHasItsAnswer(t *testing.T) {
	s := open(t, nil)
	s.published()
	alice, word := s.account("alice", control.AccountChange{MaxPending: new(3)})
	if _, err := alice.CreateRequest(s.ctx, control.NewRequest{Kind: events.Master, Tag: "there"}); err != nil {
		t.Fatal(err)
	}
	entries := []struct {
		text   string
		status int
		says   string
	}{
		{`{"kind":"master","tag":"new"}`, 0, ""},
		{`{"kind":"master","tag":"there"}`, 0, ""},
		{`{"kind":"master","tga":"x"}`, 400, `unknown field "tga"`},
		{`7`, 400, "must be a JSON object"},
		{`{"kind":"master","tag":"x","suite":"nosuch"}`, 404, "no definitions of suite nosuch"},
		{`{"kind":"master","tag":"x","priority":"vip"}`, 403, "max_priority"},
		{`{"kind":"master","tag":"new","pr":7}`, 400, "the key of line 1"},
		{`{"kind":"try","key":"k","queue":"idle"}`, 0, ""},
		{`{"kind":"try","key":"one more"}`, 429, "account alice has 3 requests"},
	}
	var list []json.RawMessage
	for _, e := range entries {
		list = append(list, json.RawMessage(e.text))
	}
	body, err := json.Marshal(map[string]any{"each": true, "requests": list})
	if err != nil {
		t.Fatal(err)
	}
	for again := range 2 {
		header := permitted()
		header["Authorization"] = "Bearer " + word
		resp, text := s.do(http.MethodPost, "/api/v1/requests/batch", string(body), header)
		var answer client.BatchAnswer
		if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Requests) != len(entries) {
			t.Fatalf("%d: %v in %s", resp.StatusCode, err, text)
		}
		wantStatus, wantRecorded := http.StatusCreated, 2
		if again > 0 {
			wantStatus, wantRecorded = http.StatusOK, 0
		}
		if resp.StatusCode != wantStatus || answer.Recorded != wantRecorded || answer.Refused != 6 || answer.Existed != (again > 0) {
			t.Errorf("%d: %s", resp.StatusCode, text)
		}
		for i, e := range entries {
			got := answer.Requests[i]
			switch {
			case e.says == "" && (got.Error != nil || got.Status != 0 || got.RequestID == "" || got.Seq == 0 || got.Existed != (again > 0 || i == 1)):
				t.Errorf("%d: %+v", i, got)
			case e.says != "" && (got.Error == nil || got.Status != e.status || !strings.Contains(got.Error.Message, e.says) || got.RequestID != ""):
				t.Errorf("%d: %+v %v, want %d with %q", i, got, got.Error, e.status, e.says)
			}
		}
		if answer.Requests[7].Note == "" {
			t.Error("that idle was read as a priority is not said")
		}
	}
}

// A log that dies in the middle of a batch: what was answered without an error is there, the rest is not tried, and the same
// batch again makes the rest.
func TestABatchAfterAFaultGoesOn(t *testing.T) {
	failing := &faulty{}
	s := open(t, nil)
	s.published()
	failing.Log, s.control.Log = s.log, failing
	failing.left.Store(40)
	var list []control.NewRequest
	for i := range 150 {
		list = append(list, control.NewRequest{Kind: events.Master, Tag: events.Tag(fmt.Sprint("c", i))})
	}
	answer, err := s.client.CreateRequests(s.ctx, control.Batch{Requests: list, Each: true})
	if err != nil || answer.Recorded != 39 || answer.Refused != 111 {
		t.Fatalf("%d recorded, %d refused, %v", answer.Recorded, answer.Refused, err)
	}
	untried := 0
	for i, r := range answer.Requests {
		if r.Error == nil {
			if _, found, err := s.log.Last(s.ctx, events.RequestSubject(r.RequestID)); !found || err != nil {
				t.Errorf("%d was answered and is not there: %v", i, err)
			}
			continue
		}
		if r.Status != http.StatusServiceUnavailable || r.Error.Next == "" {
			t.Errorf("%d: %d %v", i, r.Status, r.Error)
		}
		if strings.Contains(r.Error.Message, "was not tried") {
			untried++
		}
	}
	if untried < 50 { // those of the second stretch at least
		t.Errorf("%d were not tried", untried)
	}
	failing.left.Store(1 << 30)
	again, err := s.client.CreateRequests(s.ctx, control.Batch{Requests: list, Each: true})
	if err != nil || again.Refused != 0 || again.Recorded != 111 {
		t.Errorf("%d recorded, %d refused, %v", again.Recorded, again.Refused, err)
	}
}

// faulty is a log that cannot be reached once it took some appends.
type faulty struct {
	eventlog.Log
	left atomic.Int64
}

func (l *faulty) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if l.left.Add(-1) > 0 {
		return l.Log.Append(ctx, parts...)
	}
	return 0, fmt.Errorf("append: %w", eventlog.ErrUnavailable)
}
