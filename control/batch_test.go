package control

import (
	"fmt"
	"testing"

	"github.com/tachobench/tacho/events"
)

// commits returns n requests for commits.
func commits(n int) []NewRequest {
	out := make([]NewRequest, n)
	for i := range out {
		out[i] = master(events.Tag(fmt.Sprint("c", i)), nil)
	}
	return out
}

func TestABatchIsRecordedAsAWhole(t *testing.T) {
	c, log := farm(t)
	accountNamed(t, c, "alice", AccountChange{})
	list := commits(MaxRequests)
	list[7] = try("k7", "", 7)
	before := last(t, log)
	checked, err := c.CreateRequests(t.Context(), of("alice"), Batch{Requests: list, Check: true})
	if err != nil || len(checked) != MaxRequests || checked[0].Existed || last(t, log) != before {
		t.Fatalf("%d answers, %v; a check records nothing", len(checked), err)
	}
	made, err := c.CreateRequests(t.Context(), of("alice"), Batch{Requests: list})
	if err != nil || last(t, log) != before+MaxRequests+1 {
		t.Fatalf("%d events: %v", last(t, log)-before, err)
	}
	for i, a := range made {
		if a.Existed || a.Seq != last(t, log) || a.Request.Account != "alice" || a.Request.Queue != "alice" || c.state(t, a.Request.ID) != a.Request.State {
			t.Fatalf("%d: %+v", i, a)
		}
	}
	// After an interruption the same requests are asked for again: those that are there stay as they are.
	again, err := c.CreateRequests(t.Context(), of("alice"), Batch{Requests: append(commits(3), master("new", nil))})
	if err != nil || !again[0].Existed || again[0].Request.ID != made[0].Request.ID || again[3].Existed {
		t.Errorf("%+v %v", again, err)
	}
}

// Requests that are there already count once, so a batch that was recorded can be sent again at the limit.
func TestABatchAgainAtTheLimit(t *testing.T) {
	c, log := farm(t)
	accountNamed(t, c, "alice", AccountChange{MaxPending: new(5)})
	for range 2 {
		made, err := c.CreateRequests(t.Context(), of("alice"), Batch{Requests: commits(5)})
		if err != nil || len(made) != 5 {
			t.Fatalf("%+v %v", made, err)
		}
	}
	before := last(t, log)
	_, err := c.CreateRequests(t.Context(), of("alice"), Batch{Requests: commits(6)})
	refused(t, err, TooMany, "line 6: account alice has 5 requests that have not ended, and may have 5 (max_pending); this would make it 6")
	if last(t, log) != before {
		t.Error("something was recorded")
	}
}

func TestABatchWithOneBadLineRecordsNothing(t *testing.T) {
	c, log := farm(t)
	accountNamed(t, c, "alice", AccountChange{MaxPending: new(5)})
	create(t, c, master("taken", nil))
	before := last(t, log)
	for name, tc := range map[string]struct {
		by   By
		list []NewRequest
		kind RefusalKind
		says string
	}{
		"nothing":           {by, nil, Invalid, "no requests"},
		"too many":          {by, commits(MaxRequests + 1), Invalid, "301 requests: at most 300"},
		"an unknown suite":  {by, []NewRequest{master("x", nil), {Suite: "other", Kind: events.Master, Tag: "c"}}, NotFound, "line 42: no definitions"},
		"no tag":            {by, []NewRequest{master("x", nil), {Suite: "small", Kind: events.Master}}, Invalid, "line 42: a master request needs"},
		"an unknown queue":  {by, []NewRequest{master("x", nil), master("y", func(n *NewRequest) { n.Queue = "bisct" })}, Invalid, "line 42: unknown queue"},
		"too urgent":        {of("alice"), []NewRequest{master("x", nil), master("y", func(n *NewRequest) { n.Priority = "vip" })}, Forbidden, "line 42: priority vip"},
		"another's account": {of("alice"), []NewRequest{master("x", nil), master("y", func(n *NewRequest) { n.Account = "bob" })}, Forbidden, "line 42: account alice"},
		"another's key":     {of("alice"), []NewRequest{master("x", nil), master("taken", nil)}, Conflict, "line 42: request"},
		"twice":             {by, []NewRequest{master("x", nil), master("x", nil)}, Invalid, "line 42: it has the key of line 41"},
		"two tries":         {by, []NewRequest{try("k1", "", 7), try("k2", "", 7)}, Invalid, "line 42: line 41 has a try of pull request 7"},
		"over the limit":    {of("alice"), commits(6), TooMany, "line 46: account alice has 0 requests that have not ended, and may have 5 (max_pending); this would make it 6"},
	} {
		for _, check := range []bool{true, false} {
			t.Run(fmt.Sprint(name, check), func(t *testing.T) {
				_, err := c.CreateRequests(t.Context(), tc.by, Batch{Requests: tc.list, First: 41, Check: check})
				refused(t, err, tc.kind, tc.says)
			})
		}
	}
	if last(t, log) != before {
		t.Error("something was recorded")
	}
}
