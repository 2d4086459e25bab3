package control

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

func TestAVersionIsWantedOnce(t *testing.T) {
	c, log := start(t)
	for _, step := range []struct {
		version string
		existed bool
	}{{"v1.2.0", false}, {"v1.2.0", true}, {"0123456789abcdef0123456789abcdef01234567", false}, {"v1.2.0", false}} {
		answer, err := c.WantVersion(t.Context(), by, events.VersionWanted{Version: step.version, Reason: "why"})
		if err != nil || answer.Existed != step.existed {
			t.Errorf("%s: %+v, %v", step.version, answer, err)
		}
	}
	last, ok, err := log.Last(t.Context(), events.VersionSubject())
	if err != nil || !ok || last.Fact != (events.VersionWanted{Version: "v1.2.0", Reason: "why"}) {
		t.Errorf("%+v, %v", last, err)
	}
}

func TestWhatIsNoVersionIsRefused(t *testing.T) {
	c, _ := start(t)
	for _, version := range []string{"", "(devel)", "..", "-v", "a/b", "a b", "v1;rm", strings.Repeat("v", 129)} {
		_, err := c.WantVersion(t.Context(), by, events.VersionWanted{Version: version})
		refused(t, err, Invalid, "version")
	}
}
