package sitetest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// secret is the digest of a token. No page and no answer may show it, except the log itself.
const secret = events.Digest("5ec2e75ec2e75ec2e7")

// share makes the farm a shared one: two accounts, a queue, and a request of each account of which one is dispatched.
func (st *story) share() (alices, bobs events.RequestID) {
	st.t.Helper()
	st.tell(
		events.AccountConfigured{Account: "alice", Weight: 30, MaxPriority: events.PriorityVIP, MaxVIP: 3},
		events.AccountTokenIssued{Account: "alice", Digest: secret},
		events.AccountConfigured{Account: "amd-0", Weight: 10, MaxPriority: events.PriorityHigh, MaxVIP: 3},
		events.QueueConfigured{Queue: "bisect", Weight: 50, Order: events.OrderFIFO, Paused: true, Members: []events.AccountName{"alice"}},
		events.SharePolicySet{FloorDefault: 150, FloorIdle: 5, LagMS: 3_600_000},
	)
	ask := func(tag events.Tag, account events.AccountName, queue events.QueueName, priority events.Priority) (events.RequestID, events.JobSpec) {
		id := events.NewRequestID("go", events.Master, string(tag))
		a := events.Artifact{Suite: "go", Tag: tag, Kind: events.Master}
		lane := events.Lane{Target: machine, Set: 1}
		j := events.JobSpec{
			ID: events.NewJobID(a, "compile", lane, "gc", "opt", nil, nil), Artifact: a, Kind: "compile", Target: lane.Target,
			Set: lane.Set, Backend: "gc", Profile: "opt", Definitions: st.suite.Digest(), RequestID: id,
		}
		st.tell(
			events.RequestCreated{
				RequestID: id, Kind: events.Master, Suite: "go", Tag: tag, Key: string(tag), State: events.StateArtifactsReady,
				Account: account, Queue: queue, Priority: priority,
			},
			events.RequestStarted{RequestID: id, Definitions: j.Definitions, Jobs: 1}, events.JobsCreated{RequestID: id, Jobs: []events.JobSpec{j}},
		)
		return id, j
	}
	alices, job := ask(sha("8"), "alice", "alice", events.PriorityHigh)
	bobs, _ = ask(sha("9"), "bob", "bisect", "")
	st.tell(events.PriorityChanged{RequestID: st.release, To: events.PriorityLow})
	st.places[job.Lane()]++
	st.tell(events.JobDispatched{
		Place: st.places[job.Lane()], Job: job,
		Share: &events.Share{Tier: events.TierDefault, Queue: "alice", Account: "alice", ExpectMS: 61_000, Why: "first of 1 in queue alice"},
	})
	return alices, bobs
}

func TestAFarmThatNobodySharesSaysNothing(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	if _, err := st.now().Status(s.ctx); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/requests", "/requests/" + string(st.running), "/jobs/" + string(st.work.ID), "/collectors"} {
		_, page := s.get(path)
		for _, word := range []string{"/shares", "Account", "Priority", "Other queues", "Charged"} {
			if strings.Contains(page, word) {
				t.Errorf("%s says %s", path, word)
			}
		}
	}
	for _, path := range []string{"accounts", "queues", "usage"} {
		if _, body := s.get("/api/v1/" + path); strings.TrimSpace(body) != "[]" {
			t.Errorf("%s: %s", path, body)
		}
	}
	for path, want := range map[string]int{"accounts/alice": 404, "queues/alice": 404, "queues/main": 200, "shares": 200} {
		if resp, body := s.get("/api/v1/" + path); resp.StatusCode != want {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

func TestASharedFarm(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	alices, bobs := st.share()
	cl := st.now()

	account, err := cl.Account(s.ctx, "alice")
	if err != nil || account.Pending != 1 || account.Weight != 30 || account.TokenSince == nil {
		t.Errorf("%+v %v", account, err)
	}
	if list, err := cl.Accounts(s.ctx, "alice", 5); err != nil || len(list) != 1 || list[0].Name != "amd-0" {
		t.Errorf("accounts: %v %v", list, err)
	}
	if list, err := cl.Queues(s.ctx, "", 0); err != nil || len(list) != 1 || list[0].Name != "bisect" || !list[0].Paused {
		t.Errorf("queues: %v %v", list, err)
	}
	for name, want := range map[events.QueueName][]events.RequestID{
		"bisect": {bobs}, "alice": {alices}, "amd-0": nil, events.MainQueue: {st.running, st.try, st.release},
	} {
		q, err := cl.OneQueue(s.ctx, name, 0)
		var ids []events.RequestID
		for _, r := range q.Requests {
			ids = append(ids, r.ID)
		}
		if diff := cmp.Diff(want, ids); err != nil || diff != "" || q.Pending != len(want) || (q.Settings != nil) != (name == "bisect") {
			t.Errorf("queue %s: %v %+v\n%s", name, err, q, diff)
		}
	}
	for id, q := range map[events.RequestID]client.RequestQuery{
		alices: {Priority: events.PriorityHigh}, bobs: {Queue: "bisect", Account: "bob", Priority: events.PriorityNormal},
	} {
		if list, err := cl.Requests(s.ctx, q); err != nil || len(list) != 1 || list[0].ID != id {
			t.Errorf("%+v: %v %v", q, list, err)
		}
	}
	usage, err := cl.Usage(s.ctx, readmodel.UsageFilter{Account: "alice", From: "2026-11-01"})
	if diff := cmp.Diff([]readmodel.Usage{{Day: "2026-11-21", Account: "alice", Queue: "alice", Jobs: 1, ChargedMS: 61_000}}, usage); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if resp, body := s.get("/api/v1/usage?from=yesterday"); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "must be a day") {
		t.Errorf("%s %s", resp.Status, body)
	}
	shares, err := cl.Shares(s.ctx)
	if err != nil || shares.FloorDefault != 150 || len(shares.Tiers) != 1 || len(shares.Tiers[0].Nodes) != 3 {
		t.Errorf("%+v %v", shares, err)
	}
	request, err := cl.Request(s.ctx, string(alices))
	if err != nil || len(request.JobList) != 1 || request.JobList[0].Share == nil {
		t.Fatalf("%+v %v", request, err)
	}
	for path, words := range map[string][]string{
		"/jobs/" + string(request.JobList[0].ID): {"<dt>Charged</dt><dd>1 min 1 s to alice in queue alice", "tier default: first of 1 in queue alice"},
		"/":                                      {`href="/shares"`, "Other queues", ">bisect</a>", "<td data-label=\"Account\">bob</td>", `<span class="meta">low</span>`},
		"/shares":                                {`aria-current="page">Shares`, "15&nbsp;%", "1 min 1 s", ">bisect</a>", "paused", "<td data-label=\"Due\" class=\"num\">75&nbsp;%</td>"},
		"/requests?queue=bisect":                 {"by bob in bisect"},
		"/requests/" + string(alices):            {"<dt>Account</dt><dd>alice", "<dt>Priority</dt><dd>high"},
	} {
		_, page := s.get(path)
		for _, word := range words {
			if !strings.Contains(page, word) {
				t.Errorf("%s lacks %s:\n%s", path, word, page)
			}
		}
	}
	for _, path := range []string{"/shares", "/api/v1/accounts", "/api/v1/accounts/alice", "/api/v1/shares", "/api/v1/status"} {
		if _, body := s.get(path); strings.Contains(body, string(secret)) {
			t.Errorf("%s shows the digest of a token", path)
		}
	}
}
