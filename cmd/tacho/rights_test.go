package main

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/internal/cli"
)

// The operator says what an account may do, and for which branches. It is refused the rest, with the command that changes it.
func TestAccountsHaveRights(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	s.must("account", "set", "alice", "--may", "cancel,request", "--branch", "try/*", "--branch", "next")
	if out := s.must("account", "set", "alice", "--may", "request", "--may", "cancel"); !strings.Contains(out, "is set already") {
		t.Error(out)
	}
	out := strings.Join(strings.Fields(s.must("account", "show", "alice")), " ")
	if !strings.Contains(out, "rights request, cancel") || !strings.Contains(out, "branches try/*, next") {
		t.Error(out)
	}
	if out := s.must("account", "list"); !strings.Contains(out, "request, cancel  try/*, next") {
		t.Error(out)
	}
	alice := s.with("TACHO_TOKEN=" + strings.TrimSpace(s.must("account", "token", "alice")))
	alice.refused(cli.ExitRefused, words("request try --key k1"), "account alice may ask only for branches that match try/* or next: name the branch (`--branch`)")
	alice.refused(cli.ExitRefused, words("request try --key k1 --branch main"), "and main does not")
	alice.must(words("request try --key k1 --branch try/7")...) // the suite has nothing of its own for branches
	alice.refused(cli.ExitRefused, words("request priority k1 low"), "account alice lacks the right prioritise: ask the operator: `tacho account set alice --may request,cancel,prioritise`")
	alice.refused(cli.ExitRefused, words("graph retrigger k1 --dry-run"), "lacks the right retrigger")
	alice.refused(cli.ExitRefused, words("graph retrigger k1"), "lacks the right retrigger")
	alice.refused(cli.ExitRefused, words("request repair k1"), "lacks the right rerun")
	alice.must(words("request cancel k1")...)
	for _, c := range []struct{ line, says string }{
		{"account set alice --may fly", `unknown right "fly": use some of request, rerun`},
		{"account set alice --may=", "--may names no right"},
		{"account set alice --may request,request", "is there twice"},
		{"account set alice --may none,request", `right "none" stands alone`},
		{"account set alice --branch **", "write one * instead of several"},
		{"account set alice --branch x --any-branch", "--any-branch"},
	} {
		s.refused(cli.ExitUsage, words(c.line), c.says)
	}
	s.must("account", "set", "alice", "--may", "none")
	alice.refused(cli.ExitRefused, words("request try --key k2 --branch next"), "lacks the right request")
	s.must("account", "set", "alice", "--may", "usual", "--any-branch")
	alice.must(words("request try --key k2")...)
	alice.must(words("request priority k2 low")...)
	s.must("replay", "--verify")
}
