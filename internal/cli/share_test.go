package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

func TestViewsOfASharedFarm(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.Local)
	part := func(p float64) *float64 { return &p }
	request := readmodel.Request{
		ID: "r1", Kind: events.Master, Tag: "v1", State: events.StateInProgress, CreatedAt: at, Account: "alice", Queue: "bisect", Priority: events.PriorityHigh,
		Jobs: readmodel.JobCounts{Total: 5, Queued: 3},
	}
	answers := map[string]any{
		"shares": readmodel.Shares{FloorDefault: 100, FloorIdle: 5, LagMS: 3_600_000, ChargedSince: at, Tiers: []readmodel.ShareNode{{
			Kind: readmodel.NodeTier, Name: "default", Had: part(100), ChargedMS: 61_000, Running: 1, Nodes: []readmodel.ShareNode{
				{Kind: readmodel.NodeQueue, Name: "bisect", Weight: 50, Due: part(66.7), Had: part(100), ChargedMS: 61_000, Running: 1, OldestAt: &at, Paused: true},
			},
		}}},
		"accounts": []readmodel.Account{
			{Name: "alice", Weight: 30, MaxPriority: events.PriorityVIP, MaxVIP: 3, MaxPending: 7, TokenSince: &at}, {Name: "bob", Weight: 10, ClosedAt: &at},
		},
		"accounts/alice": client.AccountShown{Account: readmodel.Account{Name: "alice", Weight: 30, MaxPriority: events.PriorityVIP, MaxPending: 7}, Pending: 2},
		"queues":         []readmodel.NamedQueue{{Name: "bisect", Parent: "builds", Weight: 50, Order: events.OrderFIFO, Paused: true, Members: []events.AccountName{"alice"}}},
		"queues/bisect":  client.Queue{Name: "bisect", Pending: 3, Requests: []readmodel.Request{request}},
		"queue":          []client.QueuePlace{},
		"status":         client.Status{Status: readmodel.Status{OtherQueues: []readmodel.Request{request, {ID: "r2", Queue: "bisect", State: events.StateArtifactsReady}}}},
		"usage":          []readmodel.Usage{{Day: "2026-11-22", Jobs: 2, ChargedMS: 61_000}},
		"requests":       []readmodel.Request{request},
	}
	for line, parts := range map[string][]string{
		"share":                       {"default 10 %, idle 0.5 %; lag 1 h", "tier default", "  queue bisect (paused)  50      66.7 %  100 %", "1 min 1 s"},
		"account list":                {"alice    30      vip", "closed"},
		"account show alice":          {"account alice", "up to priority vip", "2 of at most 7"},
		"queue list":                  {"bisect  builds  50      fifo", "paused  alice"},
		"queue --queue bisect":        {"alice    bisect  high", "2 more follow."},
		"queue --queue main":          {"The main queue is empty. Requests of other"},
		"queue":                       {"The main queue is empty. Requests of other queues: 1 in progress, 1 not started; their jobs that wait: 3. See `tacho share`."},
		"usage":                       {"2026-11-22  (none)   main   2     1 min 1 s"},
		"request list --account a":    {"alice    bisect  high"},
		"share --json":                {`"floor_default": 100`},
		"account show alice --json":   {`"pending": 2`},
		"queue --queue bisect --json": {`"account": "alice"`},
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs)
		}
		contains(t, "tacho "+line, out, parts...)
	}
	for line, want := range map[string]string{"account show carol": "tacho account list", "queue --queue carol": "tacho queue list"} {
		_, errs, code := answering(t, answers, line)
		if code != ExitRefused {
			t.Errorf("tacho %s: exit code %d", line, code)
		}
		contains(t, "tacho "+line, errs, want)
	}
}

// Rights are columns of the list only if some account has rights or branches of its own.
func TestViewsOfRights(t *testing.T) {
	usual := readmodel.Account{Name: "alice", Weight: 30, MaxPriority: events.PriorityVIP}
	robot := readmodel.Account{
		Name: "robot", Weight: 10, MaxPriority: events.PriorityHigh, May: []events.Right{events.RightPromote, events.RightPublish}, Branches: []string{"main", "try/*"},
	}
	answers := map[string]any{
		"accounts": []readmodel.Account{usual, robot}, "accounts/alice": client.AccountShown{Account: usual}, "accounts/robot": client.AccountShown{Account: robot},
	}
	for line, parts := range map[string][]string{
		"account list":              {"MAY               BRANCHES", "usual             -", "promote, publish  main, try/*"},
		"account show alice":        {"the usual ones: request, rerun, retrigger, cancel, prioritise, force"},
		"account show robot":        {"promote, publish", "main, try/*"},
		"account show robot --json": {`"may": [`, `"branches": [`},
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs)
		}
		contains(t, "tacho "+line, out, parts...)
	}
	answers["accounts"] = []readmodel.Account{usual}
	if out, _, _ := answering(t, answers, "account list"); strings.Contains(out, "BRANCHES") || strings.Contains(out, "usual") {
		t.Error("rights that are as usual are shown:\n", out)
	}
	help, _, _ := answering(t, answers, "account set --help")
	help = strings.Join(strings.Fields(help), " ")
	for _, list := range []string{"some of " + commas(events.Rights) + ";", "The usual rights are " + commas(events.UsualRights) + ","} {
		if !strings.Contains(help, list) {
			t.Errorf("the help lacks %q:\n%s", list, help)
		}
	}
}

// Without accounts, queues and priorities the list of requests says nothing of them.
func TestListOfRequestsWithoutAccounts(t *testing.T) {
	out, _, _ := answering(t, map[string]any{"requests": []readmodel.Request{{ID: "r1", Tag: "v1"}}}, "request list")
	want := "REQUEST  KIND  TAG  PARENT  STATE  CREATED              TOOK  REASON\n"
	if len(out) < len(want) || out[:len(want)] != want {
		t.Errorf("%q", out)
	}
}
