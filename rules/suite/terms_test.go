package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// Tokens are CPUs of the machine: a kind requires its least, leaves the rest to others, and is refused by name where no
// machine has so many.
func TestTokensAreRequired(t *testing.T) {
	target := Target{Name: "here", OS: "linux", Arch: "amd64"}
	if got := (Kind{Tokens: Tokens{Min: 6, Max: 12}}).Terms(target); !slices.Equal(got, []string{"os=linux", "arch=amd64", "cpus=6"}) {
		t.Errorf("got %q", got)
	}
	if got := (Kind{}).Terms(target); !slices.Contains(got, "exclusive") {
		t.Errorf("got %q", got)
	}
	needs, err := match.Parse((Kind{Tokens: Tokens{Min: 6, Max: 12}}).Terms(target))
	if err != nil {
		t.Fatal(err)
	}
	offers := []match.Offer{{Machine: "eider", OS: "linux", Arch: "amd64", CPUs: 4}, {Machine: "heron", OS: "linux", Arch: "amd64", CPUs: 2}}
	if err := match.Check("build", needs, events.Master, offers); err == nil || !strings.Contains(err.Error(), "eider comes nearest, it lacks 2 CPUs") {
		t.Errorf("got %v", err)
	}
}
