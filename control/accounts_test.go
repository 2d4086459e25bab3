package control

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// farm is a log whose accounts and queues are known as the tables would know them, but never late.
func farm(t testing.TB) (*Control, *memory.Log) {
	t.Helper()
	c, log := start(t)
	all := func(ctx context.Context) (accounts map[events.AccountName]account, queues map[events.QueueName]queue, requests []events.RequestID) {
		accounts, queues = map[events.AccountName]account{}, map[events.QueueName]queue{}
		var reader events.Reader
		err := upToHead(ctx, log, func(m events.Stored) error {
			e, _, err := reader.Understand(m)
			if err != nil {
				return err
			}
			switch name := m.Subject.Last(); m.Subject.Family() {
			case "account":
				accounts[events.AccountName(name)] = evolveAccount(accounts[events.AccountName(name)], e)
			case "queue":
				queues[events.QueueName(name)] = evolveQueue(queues[events.QueueName(name)], e)
			case "request":
				if _, made := e.Fact.(events.RequestCreated); made {
					requests = append(requests, events.RequestID(name))
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return accounts, queues, requests
	}
	pending := func(ctx context.Context, account events.AccountName, queue events.QueueName) (n int) {
		_, _, requests := all(ctx)
		for _, id := range requests {
			q, err := requestIn(ctx, log, id)
			if err != nil {
				t.Error(err)
			}
			if !q.State.Terminal() && (account == "" || q.Account == account) && (queue == "" || q.Queue == queue) {
				n++
			}
		}
		return n
	}
	c.TokenHolder = func(ctx context.Context, d events.Digest) (events.AccountName, error) {
		accounts, _, _ := all(ctx)
		for name, a := range accounts {
			if a.token == d {
				return name, nil
			}
		}
		return "", nil
	}
	c.PendingOf = func(ctx context.Context, name events.AccountName) (int, error) { return pending(ctx, name, ""), nil }
	c.PendingIn = func(ctx context.Context, name events.QueueName) (int, error) { return pending(ctx, "", name), nil }
	c.PendingAll = func(ctx context.Context) (int, error) { return pending(ctx, "", ""), nil }
	c.Queues = func(ctx context.Context, _ events.Seq) (out []events.QueueConfigured, _ error) {
		_, queues, _ := all(ctx)
		for _, q := range queues {
			if q.configured && !q.closed {
				out = append(out, q.settings)
			}
		}
		return out, nil
	}
	return c, log
}

func weight(n int) *Weight { w := Weight(n); return &w }

// accountNamed makes an account with these settings.
func accountNamed(t testing.TB, c *Control, name events.AccountName, change AccountChange) {
	t.Helper()
	if _, err := c.ConfigureAccount(t.Context(), by, name, change); err != nil {
		t.Fatal(err)
	}
}

func queueNamed(t testing.TB, c *Control, name events.QueueName, change QueueChange) {
	t.Helper()
	if _, err := c.ConfigureQueue(t.Context(), by, name, change); err != nil {
		t.Fatal(err)
	}
}

// sees fails the test if err is no refusal with these words, or, without words, any error.
func sees(t *testing.T, err error, kind RefusalKind, says string) {
	t.Helper()
	if says == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	refused(t, err, kind, says)
}

func TestDecideAccount(t *testing.T) {
	set := events.AccountConfigured{Account: "a", Weight: 10, MaxPriority: "high", MaxVIP: 3}
	with := func(change func(*events.AccountConfigured)) events.AccountConfigured {
		f := set
		change(&f)
		return f
	}
	stands := account{settings: set, configured: true}
	for _, tc := range []struct {
		name   string
		given  account
		change AccountChange
		then   []events.Fact
		says   string
	}{
		{"a new one has the defaults", account{}, AccountChange{}, []events.Fact{set}, ""},
		{"nothing changes", stands, AccountChange{Weight: weight(10)}, nil, ""},
		{
			"what is given changes, the rest stays", stands,
			AccountChange{MaxPending: new(7)},
			[]events.Fact{with(func(f *events.AccountConfigured) { f.MaxPending = 7 })},
			"",
		},
		{
			"all of it", stands,
			AccountChange{Weight: weight(1000), MaxPriority: new(events.PriorityVIP), MaxRunning: new(1), MaxQueued: new(2), MaxPending: new(3), MaxVIP: new(4)},
			[]events.Fact{events.AccountConfigured{Account: "a", Weight: 1000, MaxPriority: "vip", Limits: events.Limits{MaxRunning: 1, MaxQueued: 2, MaxPending: 3}, MaxVIP: 4}},
			"",
		},
		{"normal is said by name", stands, AccountChange{MaxPriority: new(events.Priority(""))}, []events.Fact{with(func(f *events.AccountConfigured) { f.MaxPriority = "normal" })}, ""},
		{"a closed one opens again", account{settings: set, configured: true, closed: true}, AccountChange{}, []events.Fact{set}, ""},
		{"weight 0", stands, AccountChange{Weight: weight(0)}, nil, "from 1 to 1000"},
		{"weight -1", stands, AccountChange{Weight: weight(-1)}, nil, "from 1 to 1000"},
		{"weight 1001", stands, AccountChange{Weight: weight(1001)}, nil, "weight 1001: use a whole number from 1 to 1000"},
		{"an unknown priority", stands, AccountChange{MaxPriority: new(events.Priority("asap"))}, nil, `unknown priority "asap": use one of vip, high, normal, low, idle`},
		{"negative running", stands, AccountChange{MaxRunning: new(-1)}, nil, "max_running -1: use a number from 1 to 1000000, or 0 for no limit"},
		{"negative queued", stands, AccountChange{MaxQueued: new(-1)}, nil, "max_queued -1"},
		{"negative pending", stands, AccountChange{MaxPending: new(-1)}, nil, "max_pending -1"},
		{"no vip at all", stands, AccountChange{MaxVIP: new(0)}, nil, "max_vip 0: use a number from 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := decideAccount(tc.given, "a", tc.change)
			sees(t, err, Invalid, tc.says)
			if diff := cmp.Diff(tc.then, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAccountFromItsFirstDayToItsLast(t *testing.T) {
	c, _ := farm(t)
	ctx := t.Context()
	_, _, err := c.IssueToken(ctx, by, "alice")
	refused(t, err, NotFound, "unknown account \"alice\": make it with `tacho account set alice`")
	_, err = c.CloseAccount(ctx, by, "alice", "")
	refused(t, err, NotFound, "unknown account")
	accountNamed(t, c, "alice", AccountChange{})
	if again, err := c.ConfigureAccount(ctx, by, "alice", AccountChange{}); err != nil || !again.Existed {
		t.Errorf("%+v %v", again, err)
	}
	if none, err := c.RevokeToken(ctx, by, "alice"); err != nil || !none.Existed {
		t.Errorf("without a token: %+v %v", none, err)
	}
	first, _, err := c.IssueToken(ctx, by, "alice")
	if err != nil || !strings.HasPrefix(first, tokenPrefix) {
		t.Fatal(first, err)
	}
	holder := func(token string, want events.AccountName) {
		t.Helper()
		if name, err := c.AccountOfToken(ctx, token); err != nil || name != want {
			t.Errorf("%q has the token (%v), want %q", name, err, want)
		}
	}
	holder(first, "alice")
	holder(first+"x", "")
	holder("", "")
	second, _, err := c.IssueToken(ctx, by, "alice")
	if err != nil {
		t.Fatal(err)
	}
	holder(first, "")
	holder(second, "alice")
	// The tables may be late: what they say about a token that has ended does not count.
	late := copyOf(c)
	late.TokenHolder = func(context.Context, events.Digest) (events.AccountName, error) { return "alice", nil }
	if name, err := late.AccountOfToken(ctx, first); name != "" || err != nil {
		t.Errorf("%q %v", name, err)
	}
	if _, err := c.RevokeToken(ctx, by, "alice"); err != nil {
		t.Fatal(err)
	}
	holder(second, "")
	third, _, err := c.IssueToken(ctx, by, "alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CloseAccount(ctx, by, "alice", "left"); err != nil {
		t.Fatal(err)
	}
	holder(third, "")
	if again, err := c.CloseAccount(ctx, by, "alice", "left"); err != nil || !again.Existed {
		t.Errorf("%+v %v", again, err)
	}
	_, _, err = c.IssueToken(ctx, by, "alice")
	refused(t, err, Conflict, "was closed")
	accountNamed(t, c, "alice", AccountChange{})
	holder(third, "")
	if _, _, err := c.IssueToken(ctx, by, "alice"); err != nil {
		t.Error(err)
	}
}

func TestATokenIsNowhereInTheLog(t *testing.T) {
	c, log := farm(t)
	accountNamed(t, c, "alice", AccountChange{})
	token, _, err := c.IssueToken(t.Context(), by, "alice")
	if err != nil {
		t.Fatal(err)
	}
	if err := upToHead(t.Context(), log, func(m events.Stored) error {
		if strings.Contains(string(m.Data), strings.TrimPrefix(token, tokenPrefix)) {
			return errors.New(string(m.Data))
		}
		return nil
	}); err != nil {
		t.Errorf("the token is in %v", err)
	}
}

func TestNamesOfAccounts(t *testing.T) {
	c, log := farm(t)
	for name, says := range map[events.AccountName]string{"main": "meaning of its own", "vip": "meaning of its own", "A b": "lower-case", "": "lower-case"} {
		_, err := c.ConfigureAccount(t.Context(), by, name, AccountChange{})
		refused(t, err, Invalid, says)
	}
	if last(t, log) != 1 {
		t.Error("something was recorded")
	}
	for login, want := range map[string]events.AccountName{"Alice": "gh-alice", "dependabot[bot]": "gh-dependabot-bot-", "a-B": "gh-a-b"} {
		if got := AccountOfLogin(login); got != want || events.CheckAccount(got) != nil {
			t.Errorf("%s: %s", login, got)
		}
	}
}
