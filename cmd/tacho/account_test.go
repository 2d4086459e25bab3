package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
)

// Two people share a Tacho: each asks with a token, changes only what is theirs, and is stopped at the limits of the
// operator.
func TestAccountsAskWithTheirTokens(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	s.refused(cli.ExitRefused, words("account token alice"), `unknown account "alice"`, "`tacho account set alice`")
	as := func(name string) *site {
		if out := s.must("account", "set", name, "--max-pending", "3"); !strings.Contains(out, "account "+name+" is set") {
			t.Error(out)
		}
		token := strings.TrimSpace(s.must("account", "token", name))
		return s.with("TACHO_TOKEN=" + token)
	}
	alice, bob := as("alice"), as("bob")
	s.must("queue", "set", "bisect", "--weight", "50", "--member", "alice")

	for _, c := range []struct {
		who  *site
		line string
		code int
		says string
	}{
		{alice, "request master v1 --priority vip", cli.ExitRefused, "priority vip is above what account alice may give, which is high"},
		{alice, "request master v1 --priority asap", cli.ExitUsage, "use one of vip, high, normal, low, idle"},
		{alice, "request master v1 --queue bisct", cli.ExitUsage, `unknown queue "bisct": use one of main, bisect`},
		{alice, "request master v1 --account bob", cli.ExitRefused, "cannot ask for account bob"},
		{alice, "account set alice --max-priority vip", cli.ExitRefused, "ask the operator"},
		{bob, "request master v1 --queue bisect", cli.ExitRefused, "account bob is no member of queue bisect"},
		{s, "request master v1 --account carol", cli.ExitUsage, "`tacho account set carol`"},
		{s, "queue set alice", cli.ExitRefused, "`tacho account set alice`"},
		{s, "queue set x --weight 0", cli.ExitUsage, "1 to 1000"},
		{s, "queue set x --weight 1.5", cli.ExitUsage, "1 to 1000"},
		{s, "share policy --floor default=60%", cli.ExitUsage, "0 % to 50 %"},
		{s, "share policy --floor default=0.05%", cli.ExitUsage, "steps of 0.1"},
		{s.with("TACHO_TOKEN=guess"), "request master v1", cli.ExitRefused, "token is missing or wrong"},
	} {
		c.who.refused(c.code, words(c.line), c.says)
	}

	alice.must("request", "try", "--key", "k1", "--queue", "bisect", "--priority", "high")
	if _, said, code := bob.run("request", "try", "--key", "k2", "--queue", "idle"); code != 0 || !strings.Contains(said, "read as priority idle") {
		t.Errorf("%d: %s", code, said)
	}
	bob.refused(cli.ExitRefused, words("request try --key k1"), "account bob instead of alice")
	bob.refused(cli.ExitRefused, words("request priority k1 low"), "is of account alice and not of bob")
	bob.refused(cli.ExitRefused, words("request cancel k1"), "is of account alice and not of bob")
	alice.refused(cli.ExitRefused, words("request priority k1 vip"), "max_priority")
	if out := alice.must("request", "priority", "k1", "low", "--reason", "no hurry"); !strings.Contains(out, "has priority low") {
		t.Error(out)
	}
	s.must("request", "priority", "k1", "vip")

	lines := filepath.Join(s.dir, "lines.jsonl")
	write := func(text string) {
		if err := os.WriteFile(lines, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"kind":"try","key":"s1"}` + "\n" + `{"kind":"try","key":"s2","priority":"vip"}` + "\n")
	alice.refused(cli.ExitRefused, []string{"request", "submit", lines}, "line 2: priority vip")
	write(`{"kind":"try","key":"s1"}` + "\n" + `{"kind":"try","key":"s2","queue":"idle"}` + "\n")
	if out := alice.must("request", "submit", lines); !strings.Contains(out, "2 requests: 2 recorded, 0 there already") {
		t.Error(out)
	}
	if out := alice.must("request", "submit", lines); !strings.Contains(out, "0 recorded, 2 there already") {
		t.Error(out)
	}
	write(`{"kind":"try","key":"s3"}` + "\n" + `{"kind":"try"` + "\n" + `{"kind":"try","key":"s2","queue":"idle"}` + "\n")
	out, errs, code := alice.run("request", "submit", "--each", lines)
	if code != cli.ExitRefused || !strings.Contains(out, "3 requests: 0 recorded, 1 there already, 2 refused") ||
		!strings.Contains(errs, "line 1: account alice has 3 requests") || !strings.Contains(errs, "line 2: the JSON breaks off") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	alice.refused(cli.ExitRefused, words("request try --key k3"), "account alice has 3 requests that have not ended, and may have 3")

	s.must("account", "token", "alice", "--revoke")
	alice.refused(cli.ExitRefused, words("request cancel k1"), "token is missing or wrong")
	s.must("account", "close", "bob", "--reason", "left")
	bob.refused(cli.ExitRefused, words("request cancel k2"), "token is missing or wrong")
	s.refused(cli.ExitRefused, words("request try --key k4 --account bob"), "account bob was closed")

	s.must("replay", "--verify") // the tables hold all of the log now
	var created []events.RequestCreated
	for _, e := range s.events() {
		if f, ok := e.Fact.(events.RequestCreated); ok {
			created = append(created, f)
			if want := events.Actor("account:" + string(f.Account)); e.Actor != want {
				t.Errorf("%s asked for %s, want %s", e.Actor, f.Key, want)
			}
		}
	}
	if len(created) != 4 || created[0].Queue != "bisect" || created[1].Queue != "bob" || created[1].Priority != events.PriorityIdle {
		t.Errorf("%+v", created)
	}
}
