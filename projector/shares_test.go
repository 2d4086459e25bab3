package projector_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// turn returns whose turn it is: mostly somebody's, sometimes as no honest scheduler would say it.
func (w *walker) turn() *events.Share {
	if w.r.IntN(4) == 0 {
		return nil
	}
	s := &events.Share{
		Tier:     []events.Tier{events.TierVIP, events.TierDefault, events.TierIdle}[w.r.IntN(3)],
		Queue:    []events.QueueName{"", "bisect"}[w.r.IntN(2)],
		Account:  []events.AccountName{"", "alice", "bob"}[w.r.IntN(3)],
		ExpectMS: int64(w.r.IntN(600_000)), Why: "first of 3\x00",
	}
	switch w.r.IntN(12) {
	case 0:
		s.Tier = "odd"
	case 1:
		s.Account = "al\x00ice"
	case 2:
		s.ExpectMS = -5
	case 3:
		s.ExpectMS = math.MaxInt64
	}
	return s
}

// share says something about accounts, queues and the rules of sharing, honest or not.
func (w *walker) share() {
	account := []events.AccountName{"alice", "bob", "gh-carol", "al\xffice"}[w.r.IntN(4)]
	queue := []events.QueueName{"bisect", "builds", "qu\x00eue"}[w.r.IntN(3)]
	facts := []events.Fact{
		events.AccountConfigured{Account: account, Weight: w.r.IntN(5), MaxPriority: events.PriorityVIP, MaxVIP: 3, May: []events.Right{events.RightRequest, "t\x00ry"}, Branches: []string{"try/*", "a,{b}\""}, Limits: events.Limits{MaxPending: w.r.IntN(4) - 1}},
		events.AccountConfigured{Account: account, Weight: 10},
		events.AccountTokenIssued{Account: account, Digest: events.Digest(fmt.Sprint("t", w.r.IntN(3)))},
		events.AccountTokenIssued{Account: account},
		events.AccountTokenRevoked{Account: account},
		events.AccountClosed{Account: account, Reason: "left\x00"},
		events.QueueConfigured{Queue: queue, Parent: "builds", Weight: 1 + w.r.IntN(50), Order: events.OrderFIFO, Members: []events.AccountName{"alice", "b\x00ob"}},
		events.QueueConfigured{Queue: queue, Weight: 3, Order: "odd"},
		events.QueueConfigured{Queue: queue, Weight: 3, Order: events.OrderLevels, InProgress: 2, Paused: true},
		events.QueueClosed{Queue: queue, Reason: "not needed"},
		events.SharePolicySet{FloorDefault: 100, FloorIdle: w.r.IntN(20), LagMS: 3_600_000},
	}
	w.tell(facts[w.r.IntN(len(facts))])
}

// turnOf is a turn of an account in its own queue, expected to take a minute.
func turnOf(account events.AccountName) *events.Share {
	return &events.Share{Tier: events.TierDefault, Queue: events.QueueName(account), Account: account, ExpectMS: 60_000, Why: "first"}
}

// shared is a story with one request of three jobs on one lane.
func shared(t *testing.T) (*story, []events.JobSpec) {
	s := newStory(t)
	s.man(lanes[0])
	s.tell(created("sha1", "", 0))
	s.tell(events.RequestStarted{RequestID: requestID("sha1"), Definitions: "d1", Jobs: 3})
	jobs := []events.JobSpec{job("sha1", lanes[0], "debug"), job("sha1", lanes[0], "opt"), job("sha1", lanes[0], "check")}
	s.tell(events.JobsCreated{RequestID: requestID("sha1"), Jobs: jobs})
	return s, jobs
}

// charged returns the only row of share, and of usage.
func charged(t *testing.T, log []events.Stored) (readmodel.ShareRow, readmodel.UsageRow) {
	t.Helper()
	var share []readmodel.ShareRow
	var usage []readmodel.UsageRow
	url := project(t, log, 3)
	query(t, url, "SELECT * FROM tacho.share", &share)
	query(t, url, "SELECT * FROM tacho.usage", &usage)
	if len(share) != 1 || len(usage) != 1 {
		t.Fatalf("%d rows of share and %d of usage: %v %v", len(share), len(usage), share, usage)
	}
	return share[0], usage[0]
}

func query[T any](t testing.TB, url, sql string, list *[]T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, sql)
	if err == nil {
		*list, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestChargeOfAJob(t *testing.T) {
	lost := func(j events.JobSpec, token events.Seq) events.Fact {
		return events.AttemptLost{Lane: j.Lane(), JobID: j.ID, Token: token, Attempt: 1, Lost: 1, Reason: "silence"}
	}
	for name, c := range map[string]struct {
		tell                      func(s *story, j events.JobSpec)
		running, dispatched, jobs int
		ms                        int64
	}{
		"dispatched": {func(*story, events.JobSpec) {}, 1, 1, 1, 60_000},
		"dispatched twice": {func(s *story, j events.JobSpec) {
			s.tell(events.JobDispatched{Place: 9, Job: j, Share: turnOf("bob")})
		}, 1, 1, 1, 60_000},
		"begun": {func(s *story, j events.JobSpec) { s.tell(dequeued(j, 1, 0)) }, 1, 1, 1, 60_000},
		"ended": {func(s *story, j events.JobSpec) {
			token := s.tell(dequeued(j, 1, 0))
			s.at = s.at.Add(99 * time.Second)
			s.tell(finished(j, token, events.Failure))
		}, 0, 1, 1, 100_000},
		"lost": {func(s *story, j events.JobSpec) {
			token := s.tell(dequeued(j, 1, 0))
			s.at = s.at.Add(9 * time.Second)
			s.tell(lost(j, token))
		}, 1, 1, 1, 70_000},
		"lost and ended": {func(s *story, j events.JobSpec) {
			token := s.tell(dequeued(j, 1, 0))
			s.at = s.at.Add(9 * time.Second)
			s.tell(lost(j, token))
			token = s.tell(dequeued(j, 2, 1))
			s.tell(lost(j, token-1)) // not the current attempt
			s.tell(finished(j, token, events.Success))
			s.tell(finished(j, token, events.Success))
		}, 0, 1, 1, 10_000 + 2_000},
		"released and cancelled": {func(s *story, j events.JobSpec) {
			token := s.tell(dequeued(j, 1, 0))
			s.tell(events.AttemptReleased{Lane: j.Lane(), JobID: j.ID, Token: token, Attempt: 1, Reason: "drain"})
			s.tell(withdrawn(j))
		}, 0, 1, 1, 1_000},
		"cancelled before it began": {func(s *story, j events.JobSpec) { s.tell(withdrawn(j)) }, 0, 1, 0, 0},
		"a clock that was set back": {func(s *story, j events.JobSpec) {
			token := s.tell(dequeued(j, 1, 0))
			s.at = s.at.Add(-time.Hour)
			s.tell(finished(j, token, events.Success))
		}, 0, 1, 1, 0},
		"ended on the next day": {func(s *story, j events.JobSpec) {
			token := s.tell(dequeued(j, 1, 0))
			s.at = s.at.Add(24 * time.Hour)
			s.tell(finished(j, token, events.Success))
		}, 0, 1, 1, 86_401_000},
	} {
		t.Run(name, func(t *testing.T) {
			s, jobs := shared(t)
			s.tell(events.JobDispatched{Job: jobs[0], Share: turnOf("alice")})
			c.tell(s, jobs[0])
			share, usage := charged(t, s.stored)
			want := readmodel.ShareRow{
				Tier: events.TierDefault, Queue: "alice", Account: "alice", Running: c.running, Dispatched: c.dispatched, ChargedMS: c.ms,
			}
			if diff := cmp.Diff(want, share); diff != "" {
				t.Error(diff)
			}
			day := readmodel.UsageRow{Day: "2026-03-01", Tier: want.Tier, Queue: "alice", Account: "alice", Jobs: c.jobs, ChargedMS: c.ms}
			if diff := cmp.Diff(day, usage); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A dispatch without shares charges nothing, nor does one of a job that has ended.
func TestDispatchesThatChargeNothing(t *testing.T) {
	s, jobs := shared(t)
	s.tell(events.JobDispatched{Job: jobs[0]})
	token := s.tell(dequeued(jobs[0], 1, 0))
	s.tell(finished(jobs[0], token, events.Success))
	s.tell(events.JobsWithdrawn{RequestID: jobs[1].RequestID, Jobs: []events.JobID{jobs[1].ID}})
	s.tell(events.JobDispatched{Job: jobs[1], Share: turnOf("alice")})
	s.tell(events.JobDispatched{Job: jobs[2], Share: &events.Share{Tier: "odd", Why: "first"}})
	s.tell(events.JobDispatched{Job: job("sha9", lanes[0], "opt"), Share: turnOf("alice")})
	url := project(t, s.stored, 2)
	if shares, usage := rows(t, url, "share"), rows(t, url, "usage"); shares != 0 || usage != 0 {
		t.Errorf("%d rows of share and %d of usage", shares, usage)
	}
}

func TestAccountsAndQueues(t *testing.T) {
	s := newStory(t)
	first := s.at
	s.tell(events.AccountConfigured{Account: "carol", Weight: 10, MaxPriority: events.PriorityHigh, MaxVIP: 3})
	s.tell(events.AccountConfigured{Account: "alice", Weight: 30, MaxPriority: "", MaxVIP: 2, Limits: events.Limits{MaxRunning: 4}})
	s.tell(events.AccountTokenIssued{Account: "alice", Digest: "d2"})
	s.tell(events.AccountConfigured{Account: "alice", Weight: 0})
	s.tell(events.AccountClosed{Account: "carol", Reason: "left"})
	s.tell(events.AccountTokenIssued{Account: "carol", Digest: "d3"})
	s.tell(events.QueueConfigured{Queue: "bisect", Weight: 50, Order: events.OrderFIFO, Members: []events.AccountName{"alice"}})
	s.tell(events.QueueConfigured{Queue: "bisect", Weight: 40, Order: events.OrderLevels, InProgress: 1, Paused: true})
	s.tell(events.QueueClosed{Queue: "nobody's"})
	s.tell(events.AccountConfigured{Account: "dave", Weight: 1, MaxPriority: events.PriorityLow, May: []events.Right{events.RightNone}})
	s.tell(events.AccountClosed{Account: "dave"})
	s.tell(events.AccountConfigured{Account: "dave", Weight: 2, MaxPriority: events.PriorityLow, May: []events.Right{events.RightRequest, events.RightCancel}, Branches: []string{"try/*"}})
	s.tell(events.QueueClosed{Queue: "bisect"})
	s.tell(events.QueueConfigured{Queue: "bisect", Weight: 40, Order: events.OrderLevels, InProgress: 1, Paused: true})
	s.tell(events.AccountTokenIssued{Account: "nobody", Digest: "d4"})
	s.tell(events.SharePolicySet{FloorDefault: 200, FloorIdle: 0, LagMS: 1000})
	s.tell(events.SharePolicySet{FloorDefault: 200, FloorIdle: 0, LagMS: 1000})
	r, ctx := open(t, project(t, s.stored, 4)), t.Context()

	shares, err := r.Shares(ctx, s.at)
	if err != nil || shares.FloorDefault != 200 || shares.FloorIdle != 0 || shares.LagMS != 1000 || !shares.PolicySince.Equal(*at(first, 15)) {
		t.Errorf("%+v %v", shares, err)
	}
	usual, all := []events.Right{}, []string{}
	accounts, err := r.Accounts(ctx, "", 0)
	want := []readmodel.Account{
		{
			Name: "alice", Weight: 30, MaxPriority: events.PriorityNormal, MaxRunning: 4, MaxVIP: 2, May: usual, Branches: all, TokenDigest: "d2",
			TokenSince: at(first, 2), CreatedAt: *at(first, 1), ChangedAt: *at(first, 2), ChangedSeq: 3,
		},
		{
			Name: "carol", Weight: 10, MaxPriority: events.PriorityHigh, MaxVIP: 3, May: usual, Branches: all, ClosedAt: at(first, 4), ClosedReason: "left",
			CreatedAt: first, ChangedAt: *at(first, 4), ChangedSeq: 5,
		},
		{
			Name: "dave", Weight: 2, MaxPriority: events.PriorityLow, May: []events.Right{events.RightRequest, events.RightCancel}, Branches: []string{"try/*"},
			CreatedAt: *at(first, 9), ChangedAt: *at(first, 11), ChangedSeq: 12,
		},
	}
	if diff := cmp.Diff(want, accounts); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if page, err := r.Accounts(ctx, "alice", 1); err != nil || len(page) != 1 || page[0].Name != "carol" {
		t.Errorf("the next page: %v %v", page, err)
	}
	for digest, holder := range map[events.Digest]events.AccountName{"d2": "alice", "d3": "", "d4": "", "": ""} {
		if got, err := r.TokenHolder(ctx, digest); err != nil || got != holder {
			t.Errorf("token %s: %q %v, want %q", digest, got, err, holder)
		}
	}
	queues, err := r.NamedQueues(ctx, "", 0)
	if diff := cmp.Diff([]readmodel.NamedQueue{{
		Name: "bisect", Weight: 40, Order: events.OrderLevels, InProgress: 1, Members: []events.AccountName{}, Requires: []string{}, Paused: true,
		CreatedAt: *at(first, 6), ChangedAt: *at(first, 13), ChangedSeq: 14,
	}}, queues); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := r.NamedQueue(ctx, "nobody's"); !errors.Is(err, readmodel.ErrNotFound) {
		t.Errorf("a queue of which only the end was told: %v", err)
	}
}

func at(first time.Time, seconds int) *time.Time {
	t := first.Add(time.Duration(seconds) * time.Second)
	return &t
}

func TestRequestsOfAccounts(t *testing.T) {
	s := newStory(t)
	for i, account := range []events.AccountName{"alice", "alice", "", "bob"} {
		f := created(events.Tag(fmt.Sprint("sha", i)), "", 0)
		f.Account, f.Queue, f.Priority = account, events.QueueName(account), events.PriorityNormal
		s.tell(f)
	}
	s.tell(events.PriorityChanged{RequestID: requestID("sha1"), To: events.PriorityVIP})
	s.tell(events.RequestCancelled{RequestID: requestID("sha0"), Reason: "asked"})
	s.tell(events.PriorityChanged{RequestID: requestID("sha0"), To: events.PriorityVIP})
	r, ctx := open(t, project(t, s.stored, 2)), t.Context()
	for name, count := range map[string]func() (int, error){
		"1 of alice": func() (int, error) { return r.PendingOf(ctx, "alice") },
		"0 of carol": func() (int, error) { return r.PendingOf(ctx, "carol") },
		"1 in bob":   func() (int, error) { return r.PendingIn(ctx, "bob") },
		"1 in ":      func() (int, error) { return r.PendingIn(ctx, "") },
		"3 of all":   func() (int, error) { return r.PendingAll(ctx) },
	} {
		if n, err := count(); err != nil || fmt.Sprint(n) != name[:1] {
			t.Errorf("%s: %d %v", name, n, err)
		}
	}
	for tag, want := range map[events.Tag]events.Priority{"sha0": "", "sha1": events.PriorityVIP} {
		if got, err := r.Request(ctx, requestID(tag)); err != nil || got.Priority != want || got.Account != "alice" || got.Queue != "alice" {
			t.Errorf("%s: %+v %v", tag, got.Request, err)
		}
	}
}

func TestDifferentRequirementsAreCounted(t *testing.T) {
	s := newStory(t)
	for i, terms := range [][]string{nil, {"memory=8g"}, {"memory=8g"}, {"memory=8g", "trait=nvme"}, {"cpus=2"}} {
		f := created(events.Tag(fmt.Sprint("sha", i)), "", 0)
		f.Requires = terms
		s.tell(f)
	}
	s.tell(events.RequestCancelled{RequestID: requestID("sha4"), Reason: "asked"})
	r := open(t, project(t, s.stored, 2))
	for _, tc := range []struct {
		terms []string
		known bool
	}{{[]string{"memory=8g"}, true}, {[]string{"cpus=2"}, false}, {[]string{"trait=nvme"}, false}} {
		if n, known, err := r.Requirements(t.Context(), tc.terms); n != 2 || known != tc.known || err != nil {
			t.Errorf("%v: %d %v %v", tc.terms, n, known, err)
		}
	}
}

// asks makes a request with one job on a lane of its own, and starts it.
func (s *story) asks(tag events.Tag, account events.AccountName, queue events.QueueName, priority events.Priority) events.JobSpec {
	f := created(tag, "", 0)
	f.Account, f.Queue, f.Priority = account, queue, priority
	s.tell(f)
	j := job(tag, lanes[0], "opt")
	s.tell(events.RequestStarted{RequestID: f.RequestID, Definitions: "d1", Jobs: 1})
	s.tell(events.JobsCreated{RequestID: f.RequestID, Jobs: []events.JobSpec{j}})
	return j
}

func TestTreeOfShares(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	s.tell(events.AccountConfigured{Account: "alice", Weight: 30, MaxPriority: events.PriorityVIP})
	s.tell(events.QueueConfigured{Queue: "builds", Weight: 60, Order: events.OrderFIFO})
	s.tell(events.QueueConfigured{Queue: "bisect", Parent: "builds", Weight: 20, Order: events.OrderFIFO, Paused: true})
	s.tell(events.QueueConfigured{Queue: events.MainQueue, Weight: 10, Order: events.OrderLevels})
	first := s.asks("sha1", "alice", "alice", "")
	s.asks("sha2", "bob", "bisect", events.PriorityLow)
	since := s.at.Add(-time.Second)
	s.asks("sha3", "", "", "")
	s.asks("sha4", "alice", "alice", events.PriorityIdle)
	share := func(account events.AccountName, queue events.QueueName) *events.Share {
		return &events.Share{Tier: events.TierDefault, Queue: queue, Account: account, ExpectMS: 30_000, Why: "first"}
	}
	s.tell(events.JobDispatched{Job: first, Share: share("alice", "alice")})
	s.tell(events.JobDispatched{Job: s.asks("sha5", "bob", "builds", ""), Share: share("bob", "builds")})
	r := open(t, project(t, s.stored, 5))
	if shared, err := r.Shared(t.Context()); !shared || err != nil {
		t.Errorf("the farm is not shared: %v", err)
	}
	got, err := r.Shares(t.Context(), s.at.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if got.FloorDefault != 100 || got.FloorIdle != 5 || got.LagMS != 3_600_000 || !got.ChargedSince.Equal(time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", got)
	}
	want := []string{
		"tier default 0: due -, had 100, 60000 ms, 4 requests, 2 waiting, 2 running",
		" queue builds 60: due 60, had 50, 30000 ms, 2 requests, 1 waiting, 1 running",
		"  account bob 10: due 100, had 100, 30000 ms, 1 requests, 0 waiting, 1 running",
		"  queue bisect 20 paused: due -, had 0, 0 ms, 1 requests, 1 waiting, 0 running",
		"   account bob 10: due 100, had -, 0 ms, 1 requests, 1 waiting, 0 running",
		" queue alice 30: due 30, had 50, 30000 ms, 1 requests, 0 waiting, 1 running",
		"  account alice 30: due 100, had 100, 30000 ms, 1 requests, 0 waiting, 1 running",
		" queue main 10: due 10, had 0, 0 ms, 1 requests, 1 waiting, 0 running",
		"  account  10: due 100, had -, 0 ms, 1 requests, 1 waiting, 0 running",
		"tier idle 0: due -, had 0, 0 ms, 1 requests, 1 waiting, 0 running",
		" queue alice 30: due 100, had -, 0 ms, 1 requests, 1 waiting, 0 running",
		"  account alice 30: due 100, had -, 0 ms, 1 requests, 1 waiting, 0 running",
	}
	if diff := cmp.Diff(want, lines(got.Tiers, "")); diff != "" {
		t.Error(diff)
	}
	if oldest := got.Tiers[0].OldestAt; oldest == nil || !oldest.Equal(since) {
		t.Errorf("the oldest job waits since %v, not %v", oldest, since)
	}
	later, err := r.Shares(t.Context(), s.at.Add(72*time.Hour))
	if err != nil || later.Tiers[0].ChargedMS != 0 || later.Tiers[0].TotalMS != 60_000 {
		t.Errorf("three days later: %v %+v", err, later.Tiers[0])
	}
}

// lines describes nodes, each in a line.
func lines(nodes []readmodel.ShareNode, indent string) []string {
	var list []string
	part := func(p *float64) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprint(*p)
	}
	for _, n := range nodes {
		paused := ""
		if n.Paused {
			paused = " paused"
		}
		list = append(list, fmt.Sprintf("%s%s %s %d%s: due %s, had %s, %d ms, %d requests, %d waiting, %d running",
			indent, n.Kind, n.Name, n.Weight, paused, part(n.Due), part(n.Had), n.ChargedMS, n.Requests, n.Waiting, n.Running))
		list = append(list, lines(n.Nodes, indent+" ")...)
	}
	return list
}

func TestUsage(t *testing.T) {
	s, jobs := shared(t)
	s.tell(events.JobDispatched{Job: jobs[0], Share: turnOf("alice")})
	vip := turnOf("alice")
	vip.Tier = events.TierVIP
	s.tell(events.JobDispatched{Job: jobs[1], Share: vip})
	s.at = s.at.Add(24 * time.Hour)
	s.tell(events.JobDispatched{Job: jobs[2], Share: &events.Share{Tier: events.TierIdle, ExpectMS: 7, Why: "first"}})
	r := open(t, project(t, s.stored, 5))
	today := readmodel.Usage{Day: "2026-03-02", Jobs: 1, ChargedMS: 7}
	before := readmodel.Usage{Day: "2026-03-01", Account: "alice", Queue: "alice", Jobs: 2, ChargedMS: 120_000}
	for name, c := range map[string]struct {
		filter readmodel.UsageFilter
		want   []readmodel.Usage
	}{
		"all":        {readmodel.UsageFilter{}, []readmodel.Usage{today, before}},
		"account":    {readmodel.UsageFilter{Account: "alice"}, []readmodel.Usage{before}},
		"main queue": {readmodel.UsageFilter{Queue: events.MainQueue}, []readmodel.Usage{today}},
		"from":       {readmodel.UsageFilter{From: "2026-03-02"}, []readmodel.Usage{today}},
		"to":         {readmodel.UsageFilter{To: "2026-03-01", Limit: 1}, []readmodel.Usage{before}},
		"next page":  {readmodel.UsageFilter{Offset: 1, Limit: 1}, []readmodel.Usage{before}},
	} {
		if got, err := r.Usage(t.Context(), c.filter); err != nil || !cmp.Equal(c.want, got) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// The main queue has the requests of the main queue alone. What others have on the lanes comes before its jobs.
func TestQueueLeavesOutOtherQueues(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	s.asks("sha1", "", "", "")
	s.asks("sha2", "bob", "bisect", "")
	s.asks("sha3", "bob", "bisect", events.PriorityVIP)
	waiting := created("sha4", "", 0)
	waiting.Queue = "builds"
	s.tell(waiting)
	ctx := t.Context()
	r := open(t, project(t, s.stored, 4))
	queue, err := r.Queue(ctx)
	if err != nil || len(queue) != 1 || queue[0].Tag != "sha1" {
		t.Errorf("%v %v", queue, err)
	}
	tags := func(list []readmodel.Request) (all []events.Tag) {
		for _, r := range list {
			all = append(all, r.Tag)
		}
		return all
	}
	status, err := r.Status(ctx, time.Now())
	if diff := cmp.Diff([]events.Tag{"sha3", "sha2", "sha4"}, tags(status.OtherQueues)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, want := range map[events.QueueName][]events.Tag{"": {"sha1"}, "bisect": {"sha3", "sha2"}, "nobody's": nil} {
		list, err := r.PendingRequests(ctx, name, 0)
		if diff := cmp.Diff(want, tags(list)); err != nil || diff != "" {
			t.Errorf("queue %s: %v\n%s", name, err, diff)
		}
	}
	for name, c := range map[string]struct {
		filter readmodel.RequestFilter
		want   []events.Tag
	}{
		"account":  {readmodel.RequestFilter{Account: "bob"}, []events.Tag{"sha3", "sha2"}},
		"queue":    {readmodel.RequestFilter{Queue: "builds"}, []events.Tag{"sha4"}},
		"main":     {readmodel.RequestFilter{Queue: events.MainQueue}, []events.Tag{"sha1"}},
		"priority": {readmodel.RequestFilter{Priority: events.PriorityVIP}, []events.Tag{"sha3"}},
		"normal":   {readmodel.RequestFilter{Priority: events.PriorityNormal, Account: "bob"}, []events.Tag{"sha2"}},
	} {
		list, err := r.Requests(ctx, c.filter)
		if diff := cmp.Diff(c.want, tags(list)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// Whatever happens, the days of an account add up to what it had, and its open places are those of its open jobs.
func TestChargesAddUp(t *testing.T) {
	type leaf struct {
		Tier, Queue, Account string
		Running              int
		ChargedMS            int64
	}
	for seed := range uint64(4) {
		url := project(t, walk(t, 300+seed, 500), 50)
		var had, days []leaf
		query(t, url, `SELECT tier, queue, account, running, charged_ms FROM tacho.share ORDER BY 1, 2, 3`, &had)
		query(t, url, `SELECT tier, queue, account, (
				SELECT count(*) FROM tacho.job_queue j WHERE j.state IN ('queued', 'in_progress')
				AND (j.share->>'tier', j.share->>'queue', j.share->>'account') = (u.tier, u.queue, u.account)
			) AS running, sum(charged_ms)::bigint AS charged_ms
			FROM tacho.usage u GROUP BY tier, queue, account ORDER BY 1, 2, 3`, &days)
		if diff := cmp.Diff(had, days); len(had) == 0 || diff != "" {
			t.Errorf("seed %d, share (-) and usage (+):\n%s", seed, diff)
		}
	}
}
