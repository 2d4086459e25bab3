package node

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/suite"
)

func TestPartsAreNamedInAnyWay(t *testing.T) {
	want := map[string]bool{"scheduler": true, "website": true}
	for _, args := range [][]string{{"scheduler", "website"}, {"scheduler,website"}, {" website ,", "scheduler", "website"}} {
		if got, err := partsOf(args); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v %v", args, got, err)
		}
	}
	for _, args := range [][]string{nil, {","}, {"scheduler", "sheduler"}} {
		if _, err := partsOf(args); !isUsage(err) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func isUsage(err error) bool {
	_, ok := errors.AsType[usage.Error](err)
	return ok
}

// Each part says what it lacks before it connects to anything.
func TestServeSaysWhatIsMissing(t *testing.T) {
	full := config.Config{
		NATS: config.NATS{URL: "nats://x"}, Database: config.Database{URL: "postgres://x"},
		GitHub: config.GitHub{Repo: "a/b", Secret: "s"}, Pollers: []config.Poller{{}},
	}
	for _, tc := range []struct {
		parts    string
		change   func(*config.Config)
		insecure bool
		says     string
	}{
		{parts: "scheduler,projector,poller,watchdog,webhook,reporter,website", change: func(*config.Config) {}},
		{parts: "scheduler", change: func(c *config.Config) { c.NATS.URL = "" }, says: "TACHO_NATS_URL"},
		{parts: "projector", change: func(c *config.Config) { c.Database.URL = "" }, says: "TACHO_DATABASE_URL"},
		{parts: "scheduler,webhook", change: func(c *config.Config) { c.Database.URL = "" }},
		{parts: "poller", change: func(c *config.Config) { c.Pollers = nil }, says: "[[poller]]"},
		{parts: "hook", change: func(*config.Config) {}, says: "[[hook]]"},
		{parts: "hook", change: func(c *config.Config) { c.Hooks = []config.Hook{{Name: "ci", SecretFile: "/nothing"}} }, says: "hook ci: secret_file"},
		{parts: "reporter", change: func(c *config.Config) { c.GitHub.Repo = "" }, says: "TACHO_GITHUB_REPO"},
		{parts: "scheduler", change: func(c *config.Config) { c.GitHub.Repo = "" }},
		{parts: "webhook", change: func(c *config.Config) { c.GitHub.Secret = "" }, says: "TACHO_WEBHOOK_SECRET"},
		{parts: "webhook", change: func(c *config.Config) { c.GitHub.Secret = "" }, insecure: true},
		{parts: "scheduler", change: func(*config.Config) {}, insecure: true, says: "--insecure-dev"},
	} {
		h := &Host{Config: full}
		tc.change(&h.Config)
		wanted, err := partsOf([]string{tc.parts})
		if err != nil {
			t.Fatal(err)
		}
		err = h.checkServe(wanted, tc.insecure)
		if tc.says == "" && err != nil || tc.says != "" && (!isUsage(err) || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: got %v, want %q in it", tc.parts, err, tc.says)
		}
	}
}

func TestThisMachineServesTheLanesOfItsKind(t *testing.T) {
	here := suite.Target{Name: "here", Sets: 2, OS: runtime.GOOS, Arch: runtime.GOARCH}
	suites := []suite.Definitions{
		{Targets: []suite.Target{{Name: "elsewhere", Sets: 1, OS: "plan9", Arch: "mips"}, here}},
		{Targets: []suite.Target{here, {Name: "big", Sets: 1, OS: runtime.GOOS, Arch: runtime.GOARCH}}},
	}
	all := []events.Lane{{Target: "here"}, {Target: "here", Set: 1}, {Target: "big"}}
	for n, want := range map[int][]events.Lane{-1: all, 0: nil, 2: all[:2], 9: all} {
		if diff := cmp.Diff(want, HostLanes(suites, n)); diff != "" {
			t.Errorf("at most %d (-want +got):\n%s", n, diff)
		}
	}
}
