package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

func rights(list ...events.Right) *[]events.Right { return &list }

// begun makes a request that has jobs.
func begun(t *testing.T, c *Control, who By, n NewRequest) events.RequestID {
	t.Helper()
	r, _, err := c.CreateRequest(t.Context(), who, n)
	if err != nil {
		t.Fatal(err)
	}
	start := events.RequestStarted{RequestID: r.ID, Definitions: definitions().Digest()}
	known, err := requestIn(t.Context(), c.Log, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Log.Append(t.Context(), eventlog.Append{Subject: start.Subject(), Expected: known.version, Events: c.events(by, start)}); err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// commanded are the commands that accounts give, by name, each with the right that it needs.
func commanded(c *Control, id events.RequestID) map[string]struct {
	right events.Right
	do    func(context.Context, By) error
} {
	type command = struct {
		right events.Right
		do    func(context.Context, By) error
	}
	out := map[string]command{
		"ask": {events.RightRequest, func(ctx context.Context, who By) error {
			_, _, err := c.CreateRequest(ctx, who, master("new", nil))
			return err
		}},
		"ask again": {events.RightRequest, func(ctx context.Context, who By) error {
			_, _, err := c.CreateRequest(ctx, who, master("c1", nil))
			return err
		}},
		"ask for several": {events.RightRequest, func(ctx context.Context, who By) error {
			_, err := c.CreateRequests(ctx, who, Batch{Requests: commits(2)})
			return err
		}},
		"check several": {events.RightRequest, func(ctx context.Context, who By) error {
			_, err := c.CreateRequests(ctx, who, Batch{Requests: commits(2), Check: true})
			return err
		}},
		"artifacts": {events.RightRequest, func(ctx context.Context, who By) error {
			_, _, err := c.ArtifactsReady(ctx, who, id, "a1", "")
			return err
		}},
		"cancel":       {events.RightCancel, func(ctx context.Context, who By) error { _, _, err := c.CancelRequest(ctx, who, id, ""); return err }},
		"cancel graph": {events.RightCancel, func(ctx context.Context, who By) error { _, _, err := c.CancelGraph(ctx, who, id, 1, ""); return err }},
		"prioritise": {events.RightPrioritise, func(ctx context.Context, who By) error {
			_, _, err := c.PrioritiseRequest(ctx, who, id, "low", "")
			return err
		}},
		"publish": {events.RightPublish, func(ctx context.Context, who By) error { _, err := c.Publish(ctx, who, released()); return err }},
		"promote": {events.RightPromote, func(ctx context.Context, who By) error {
			_, err := c.Promote(ctx, who, "small", "main", definitions().Digest(), "")
			return err
		}},
	}
	for kind, right := range map[events.GraphKind]events.Right{
		events.GraphRerun: events.RightRerun, events.GraphRepair: events.RightRerun,
		events.GraphRetrigger: events.RightRetrigger, events.GraphNoise: events.RightRetrigger, events.GraphForce: events.RightForce,
	} {
		wish := events.GraphWanted{Key: "of " + string(kind), Kind: kind, Reason: "why not", Select: []events.JobID{"j1"}}
		out["want "+string(kind)] = command{right, func(ctx context.Context, who By) error { _, _, err := c.Want(ctx, who, id, wish); return err }}
		out["check "+string(kind)] = command{right, func(ctx context.Context, who By) error { _, _, _, err := c.CheckWant(ctx, who, id, wish); return err }}
	}
	return out
}

// An account with all rights but one is refused what needs that one, and nothing else for lack of rights.
func TestEachCommandNeedsItsRight(t *testing.T) {
	for name := range commanded(nil, "") {
		t.Run(name, func(t *testing.T) {
			c, log := farm(t)
			accountNamed(t, c, "alice", AccountChange{})
			id := begun(t, c, of("alice"), master("c1", nil))
			command := commanded(c, id)[name]
			lacks := func(who By) bool {
				err := command.do(t.Context(), who)
				refusal, ok := errors.AsType[*RefusedError](err)
				return ok && refusal.Kind == Forbidden && strings.Contains(refusal.Reason, "lacks the right")
			}
			all := slices.Clone(events.Rights)
			at := slices.Index(all, command.right)
			for _, may := range []*[]events.Right{rights(slices.Delete(all, at, at+1)...), rights(events.RightNone)} {
				accountNamed(t, c, "alice", AccountChange{May: may})
				before := last(t, log)
				err := command.do(t.Context(), of("alice"))
				refused(t, err, Forbidden, fmt.Sprintf("account alice lacks the right %s: ask the operator: `tacho account set alice --may ", command.right))
				if last(t, log) != before {
					t.Error("something was recorded")
				}
			}
			bot := By{Actor: "github:alice", Source: "bot", Rights: "alice"}
			if !lacks(bot) {
				t.Error("a person on GitHub has more rights than their account")
			}
			accountNamed(t, c, "alice", AccountChange{May: rights("usual")})
			if lacks(of("alice")) == slices.Contains(events.UsualRights, command.right) {
				t.Error("the usual rights are others")
			}
			accountNamed(t, c, "alice", AccountChange{May: rights(command.right)})
			if lacks(of("alice")) || lacks(bot) {
				t.Error("its right is not enough")
			}
			accountNamed(t, c, "alice", AccountChange{May: rights(events.RightNone)})
			source := of("alice")
			source.Configured = true
			if lacks(by) || lacks(source) {
				t.Error("the operator and sources have all rights")
			}
		})
	}
}

func TestRightsOfWishes(t *testing.T) {
	for _, tc := range []struct {
		wish events.GraphWanted
		want string
	}{
		{events.GraphWanted{Kind: events.GraphRerun}, "rerun"},
		{events.GraphWanted{Kind: events.GraphRerun, Force: true}, "rerun force"},
		{events.GraphWanted{Kind: events.GraphRepair}, "rerun"},
		{events.GraphWanted{Kind: events.GraphAdded}, "rerun"},
		{events.GraphWanted{Kind: events.GraphRetrigger}, "retrigger"},
		{events.GraphWanted{Kind: events.GraphRetrigger, Iterations: 30}, "retrigger customise"},
		{events.GraphWanted{Kind: events.GraphNoise}, "retrigger"},
		{events.GraphWanted{Kind: events.GraphForce}, "force"},
		{events.GraphWanted{Kind: events.GraphForce, Force: true}, "force"},
		{events.GraphWanted{Kind: events.GraphExternal, Iterations: 30}, "customise"},
		{events.GraphWanted{Kind: events.GraphInitial}, "none"},
		{events.GraphWanted{Kind: "of another program"}, "none"},
	} {
		if got := strings.Join(words(needs(request.Want{GraphWanted: tc.wish})), " "); got != tc.want {
			t.Errorf("%+v needs %s, want %s", tc.wish, got, tc.want)
		}
	}
	err := decideRights(events.AccountConfigured{Account: "a", May: []events.Right{events.RightRequest}}, events.RightForce, events.RightRerun)
	refused(t, err, Forbidden, "account a lacks the rights force and rerun: ask the operator: `tacho account set a --may request,rerun,force`")
	if got := needs(request.Complete{}); len(got) != 1 || got[0] != events.RightNone {
		t.Errorf("an account may end a request: %v", got)
	}
}

// An account with fewer rights, or fewer branches, may not do more.
func TestFewerRightsNeverAllowMore(t *testing.T) {
	patterns := []string{"main", "try/*", "release/?", "*"}
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfDistinct(rapid.SampledFrom(events.Rights), rapid.ID[events.Right])
		more := append(some.Draw(t, "rights"), some.Draw(t, "more")...)
		slices.Sort(more)
		more = slices.Compact(more)
		fewer := more[:rapid.IntRange(0, len(more)).Draw(t, "kept")]
		needed := some.Draw(t, "needed")
		with := func(may []events.Right) events.AccountConfigured {
			if len(may) == 0 {
				may = []events.Right{events.RightNone}
			}
			return events.AccountConfigured{Account: "a", May: may}
		}
		if decideRights(with(fewer), needed...) == nil && decideRights(with(more), needed...) != nil {
			t.Fatalf("%v allows %v, and %v does not", fewer, needed, more)
		}
		if len(needed) > 0 && decideRights(with(nil), needed...) == nil {
			t.Fatalf("none allows %v", needed)
		}
		if decideRights(events.AccountConfigured{May: []events.Right{"of another program"}}, append(needed, events.RightNone)...) == nil {
			t.Fatal("the right none was held")
		}

		all := rapid.Permutation(patterns).Draw(t, "patterns")
		many := rapid.IntRange(1, len(all)).Draw(t, "many")
		few := rapid.IntRange(1, many).Draw(t, "few")
		branch := rapid.SampledFrom([]string{"", "main", "mains", "try/x/y", "release/1", "release/10"}).Draw(t, "branch")
		may := func(list []string) bool {
			return decideBranch(events.AccountConfigured{Branches: list}, branch, "ask") == nil
		}
		if may(all[:few]) && !may(all[:many]) || !may(nil) || branch == "" && may(all[:few]) {
			t.Fatalf("branch %q: %v and %v", branch, all[:few], all[:many])
		}
	})
}

// An account with patterns names a branch that matches one, also where a suite has nothing of its own for branches.
func TestAnAccountAsksForItsBranches(t *testing.T) {
	for _, varies := range []bool{false, true} {
		t.Run(fmt.Sprint("varies ", varies), func(t *testing.T) {
			c, log := farm(t)
			recorded := ""
			if varies {
				recorded = "try/x"
				if _, err := c.Publish(t.Context(), by, released()); err != nil {
					t.Fatal(err)
				}
			}
			accountNamed(t, c, "alice", AccountChange{Branches: &[]string{"try/*", "next"}})
			accountNamed(t, c, "bob", AccountChange{})
			on := func(branch string) NewRequest {
				return NewRequest{Suite: "small", Kind: events.Try, Tag: "t1", Branch: branch}
			}
			before := last(t, log)
			for branch, says := range map[string]string{
				"":           "account alice may ask only for branches that match try/* or next: name the branch (`--branch`)",
				"main":       "account alice may ask only for branches that match try/* or next, and main does not",
				"next/other": "ask the operator: `tacho account set alice --branch 'try/*' --branch 'next' --branch 'next/other'`",
			} {
				_, _, err := c.CreateRequest(t.Context(), of("alice"), on(branch))
				refused(t, err, Forbidden, says)
				_, err = c.CreateRequests(t.Context(), of("alice"), Batch{Requests: []NewRequest{on(branch)}})
				refused(t, err, Forbidden, "line 1: account alice may ask only")
				program := on(branch)
				program.AsItIs, program.Fresh = true, true
				_, _, err = c.CreateRequest(t.Context(), of("alice"), program)
				refused(t, err, Forbidden, says)
			}
			if last(t, log) != before {
				t.Fatal("something was recorded")
			}
			r, _, err := c.CreateRequest(t.Context(), of("alice"), on("try/x"))
			if err != nil || r.Choice().Branch != recorded {
				t.Errorf("%+v %v, want branch %q", r.Choice(), err, recorded)
			}
			if _, again, err := c.CreateRequest(t.Context(), of("alice"), on("try/x")); err != nil || !again.Existed {
				t.Errorf("again: %+v %v", again, err)
			}
			// The patterns bound what it asks for, and not its own requests afterwards.
			accountNamed(t, c, "alice", AccountChange{Branches: &[]string{"other"}})
			if _, _, err := c.CancelRequest(t.Context(), of("alice"), r.ID, ""); err != nil {
				t.Error(err)
			}
			accountNamed(t, c, "alice", AccountChange{Branches: &[]string{}})
			for _, who := range []By{by, of("bob"), of("alice")} {
				n := on("main")
				n.Tag = events.Tag("t-" + who.Account)
				_, _, err := c.CreateRequest(t.Context(), who, n)
				if varies {
					sees(t, err, Invalid, "")
					continue
				}
				refused(t, err, Invalid, "suite small has nothing of its own for branches: leave the branch out")
			}
		})
	}
}

func TestAnAccountDefinesItsBranches(t *testing.T) {
	c, _ := farm(t)
	ctx := t.Context()
	accountNamed(t, c, "robot", AccountChange{May: rights(events.RightPublish, events.RightPromote), Branches: &[]string{"try/*"}})
	publish := func(branch string) error {
		_, err := c.PublishFrom(ctx, of("robot"), released(), Origin{Branch: branch})
		return err
	}
	promote := func(branch string) error {
		_, err := c.Promote(ctx, of("robot"), "small", branch, definitions().Digest(), "")
		return err
	}
	refused(t, publish(""), Forbidden, "account robot may publish only for branches that match try/*: name the branch (`--branch`)")
	refused(t, publish("main"), Forbidden, "and main does not")
	refused(t, promote(""), Forbidden, "account robot may promote only for branches")
	refused(t, promote("main"), Forbidden, "and main does not")
	for _, err := range []error{publish("try/1"), promote("try/1")} {
		if err != nil {
			t.Error(err)
		}
	}
	accountNamed(t, c, "robot", AccountChange{Branches: &[]string{}})
	for _, err := range []error{publish(""), promote("")} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestRightsAreSet(t *testing.T) {
	stands := account{settings: events.UsualAccount("a"), configured: true}
	limited := stands
	limited.settings.May, limited.settings.Branches = []events.Right{events.RightRequest, events.RightForce}, []string{"try/*", "main"}
	many := func(n int) *[]string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint("try/", i)
		}
		return &list
	}
	for name, tc := range map[string]struct {
		given  account
		change AccountChange
		then   *events.AccountConfigured
		says   string
	}{
		"in one order": {
			given: stands, change: AccountChange{May: rights("force", "request"), Branches: &[]string{"try/*", "main"}}, then: &limited.settings,
		},
		"as they are":               {given: limited, change: AccountChange{May: rights("request", "force"), Branches: &[]string{"try/*", "main"}}},
		"the rest stays":            {given: limited, change: AccountChange{MaxVIP: new(3)}},
		"back to the usual":         {given: limited, change: AccountChange{May: rights("usual"), Branches: &[]string{}}, then: &stands.settings},
		"an empty list":             {given: limited, change: AccountChange{May: rights(), Branches: &[]string{}}, then: &stands.settings},
		"usual already":             {given: stands, change: AccountChange{May: rights("usual"), Branches: &[]string{}}},
		"an unknown right":          {given: stands, change: AccountChange{May: rights("request", "fly")}, says: `unknown right "fly": use some of request, rerun, retrigger, cancel, prioritise, force, customise, promote, publish, or one of none and usual alone`},
		"no word":                   {given: stands, change: AccountChange{May: rights("")}, says: `unknown right ""`},
		"a right twice":             {given: stands, change: AccountChange{May: rights("cancel", "request", "cancel")}, says: `right "cancel" is there twice`},
		"none with others":          {given: stands, change: AccountChange{May: rights("request", "none")}, says: `right "none" stands alone`},
		"usual with others":         {given: stands, change: AccountChange{May: rights("usual", "publish")}, says: `right "usual" stands alone`},
		"none twice":                {given: stands, change: AccountChange{May: rights("none", "none")}, says: "stands alone"},
		"too many branches":         {given: stands, change: AccountChange{Branches: many(1000)}, says: "1000 patterns of branches: use at most 64"},
		"no pattern":                {given: stands, change: AccountChange{Branches: &[]string{"main", "a b"}}, says: `pattern "a b" of branches: use up to 128 letters`},
		"an empty pattern":          {given: stands, change: AccountChange{Branches: &[]string{""}}, says: `pattern "" of branches`},
		"a pattern with two stars":  {given: stands, change: AccountChange{Branches: &[]string{"try/**"}}, says: "write one * instead of several"},
		"the same pattern twice":    {given: stands, change: AccountChange{Branches: &[]string{"main", "main"}}, says: `pattern "main" of branches is there twice`},
		"as many as there could be": {given: limited, change: AccountChange{Branches: many(64)}, then: &events.AccountConfigured{Account: "a", Weight: 10, MaxPriority: "high", MaxVIP: 3, May: limited.settings.May, Branches: *many(64)}},
	} {
		t.Run(name, func(t *testing.T) {
			var want []events.Fact
			if tc.then != nil {
				want = []events.Fact{*tc.then}
			}
			got, err := decideAccount(tc.given, "a", tc.change)
			sees(t, err, Invalid, tc.says)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	odd := events.AccountConfigured{Account: "a", Branches: []string{"main"}}
	refused(t, decideBranch(odd, "x';reboot;'", "ask"), Forbidden, "`tacho account set a --branch …`")
	long := events.AccountConfigured{Account: "a", Branches: *many(64)}
	refused(t, decideBranch(long, "main", "ask"), Forbidden, "try/9 or one of 54 more (`tacho account show a`)")
}

// overtaken is a log on which settings of an account change just before the first append.
type overtaken struct {
	eventlog.Log
	change func()
}

func (l *overtaken) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if change := l.change; change != nil {
		l.change = nil
		change()
		return 0, &eventlog.ConflictError{Subject: parts[0].Subject, Expected: parts[0].Expected, Actual: parts[0].Expected + 1}
	}
	return l.Log.Append(ctx, parts...)
}

// A decision that is taken again, because another writer was first, knows the newest rights.
func TestADecisionTakenAgainKnowsNewRights(t *testing.T) {
	for name := range commanded(nil, "") {
		if strings.HasPrefix(name, "check") || name == "ask again" { // these append nothing
			continue
		}
		t.Run(name, func(t *testing.T) {
			c, log := farm(t)
			accountNamed(t, c, "alice", AccountChange{May: rights(events.Rights...)})
			n := master("c1", nil)
			id := begun(t, c, of("alice"), n)
			switch name {
			case "artifacts":
				r, _, err := c.CreateRequest(t.Context(), of("alice"), try("waits", "", 0))
				if err != nil {
					t.Fatal(err)
				}
				id = r.ID
			case "cancel graph":
				appended(t, log, events.GraphCreated{RequestID: id, Graph: 1, Kind: events.GraphRetrigger, Key: "k", Jobs: 1},
					events.JobsCreated{RequestID: id, Key: "k", Graph: &events.GraphPart{Graph: 1}, Jobs: []events.JobSpec{{ID: "j1", RequestID: id}}})
			}
			late := copyOf(c)
			late.Log = &overtaken{log, func() { accountNamed(t, c, "alice", AccountChange{May: rights(events.RightNone)}) }}
			refused(t, commanded(late, id)[name].do(t.Context(), of("alice")), Forbidden, "lacks the right")
		})
	}
}

// The cap of a priority is the lower one of account and branch, for each command that names a priority.
func TestCapsOfPriorities(t *testing.T) {
	for _, tc := range []struct{ branch, account events.Priority }{
		{events.PriorityNormal, events.PriorityHigh},
		{events.PriorityHigh, events.PriorityNormal},
		{events.PriorityNormal, events.PriorityNormal},
		{events.PriorityIdle, events.PriorityLow},
		{events.PriorityLow, events.PriorityIdle},
		{"", events.PriorityNormal},
	} {
		most, names := tc.account, "account alice may give, which is "
		if tc.branch.Level() > tc.account.Level() {
			most, names = tc.branch, "branch main allows, which is "
		}
		for _, p := range events.Priorities {
			t.Run(fmt.Sprintf("branch %s, account %s, %s", tc.branch, tc.account, p), func(t *testing.T) {
				c, log := farm(t)
				d := released()
				d.Branches = []suite.Branch{{Match: "main", MaxPriority: tc.branch}}
				if _, err := c.Publish(t.Context(), by, d); err != nil {
					t.Fatal(err)
				}
				accountNamed(t, c, "alice", AccountChange{MaxPriority: &tc.account})
				ask := NewRequest{Suite: "small", Kind: events.Try, Tag: "t1", Branch: "main"}
				id := begun(t, c, of("alice"), ask)
				made, err := requestIn(t.Context(), log, id)
				if want := events.Priorities[max(most.Level(), events.PriorityNormal.Level())]; err != nil || made.Priority.Level() != want.Level() {
					t.Errorf("a request without a priority has %q (%v), want %q", made.Priority, err, want)
				}
				wish := events.GraphWanted{Key: "k", Kind: events.GraphRetrigger, Priority: p}
				for what, do := range map[string]func() error{
					"ask": func() error {
						ask.Tag, ask.Priority = "t2", p
						_, _, err := c.CreateRequest(t.Context(), of("alice"), ask)
						return err
					},
					"for her": func() error {
						ask.Tag, ask.Priority, ask.Account = "t3", p, "alice"
						_, _, err := c.CreateRequest(t.Context(), by, ask)
						return err
					},
					"change": func() error { _, _, err := c.PrioritiseRequest(t.Context(), of("alice"), id, p, ""); return err },
					"check":  func() error { _, _, _, err := c.CheckWant(t.Context(), of("alice"), id, wish); return err },
					"want":   func() error { _, _, err := c.Want(t.Context(), of("alice"), id, wish); return err },
					"comment": func() error {
						_, _, err := c.Want(t.Context(), By{Actor: "github:alice", Source: "bot", Rights: "alice"}, id, wish)
						return err
					},
				} {
					before := last(t, log)
					err := do()
					if p.Level() >= most.Level() {
						if err != nil {
							t.Errorf("%s: %v", what, err)
						}
						continue
					}
					refused(t, err, Forbidden, fmt.Sprintf("priority %s is above what %s%s (max_priority)", p, names, most))
					if last(t, log) != before {
						t.Errorf("%s: something was recorded", what)
					}
				}
				if tc.branch == "" {
					return
				}
				_, _, err = c.PrioritiseRequest(t.Context(), by, id, p, "")
				if p.Level() < tc.branch.Level() {
					refused(t, err, Forbidden, "branch main allows")
				}
			})
		}
	}
}

// Samples without a priority are low, but never one above the cap.
func TestSamplesStayUnderTheCap(t *testing.T) {
	for most, want := range map[events.Priority]events.Priority{events.PriorityLow: "", events.PriorityIdle: events.PriorityIdle} {
		c, _ := farm(t)
		accountNamed(t, c, "alice", AccountChange{MaxPriority: &most})
		id := begun(t, c, of("alice"), master("c1", nil))
		wish := events.GraphWanted{Key: "k", Kind: events.GraphRetrigger}
		_, _, checked, err := c.CheckWant(t.Context(), of("alice"), id, wish)
		if err != nil || checked.Priority != want {
			t.Errorf("cap %s: checked as %q, %v", most, checked.Priority, err)
		}
		if _, _, err := c.Want(t.Context(), of("alice"), id, wish); err != nil {
			t.Error(err)
		}
		recorded, _, err := c.Log.Last(t.Context(), events.RequestSubject(id))
		if w, ok := recorded.Fact.(events.GraphWanted); !ok || err != nil || w.Priority != want {
			t.Errorf("cap %s: %+v %v, want %q", most, recorded.Fact, err, want)
		}
	}
}

// What was recorded of an account before there were rights means the usual ones.
func TestOldAccountsHaveTheUsualRights(t *testing.T) {
	for _, a := range []account{{}, {configured: true, settings: events.AccountConfigured{Account: "a", Weight: 10, MaxPriority: "high", MaxVIP: 3}}} {
		for _, r := range events.Rights {
			held := decideRights(a.settled("a"), r) == nil
			if want := slices.Contains([]events.Right{"request", "rerun", "retrigger", "cancel", "prioritise", "force"}, r); held != want {
				t.Errorf("right %s: %v", r, held)
			}
		}
	}
}
