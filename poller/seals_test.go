package poller

import (
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/seal"
)

// A poller seals what it publishes, and seals it again once when it gets another key. What was rolled back stays so.
func TestDefinitionsOfAFileAreSealed(t *testing.T) {
	places(t, func(t *testing.T, at place) {
		c, log := newControl(t)
		var keys []*seal.Private
		for i := range byte(3) {
			k, err := seal.New("alice", [32]byte{i})
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, k)
		}
		turns := func(key *seal.Private) {
			p := definitionsPoller(c, "a", "main", at.files)
			p.Key = key
			for range 2 {
				p.turn(t.Context())
			}
		}
		first := at.push(suiteFile(mine))
		turns(nil)
		turns(keys[0])
		turns(nil)
		turns(keys[1])
		turns(keys[0])
		second := at.push(suiteFile(mineOf("second")))
		turns(keys[1])
		var old events.Digest
		var got []string
		for _, e := range read(t, log) {
			f, ok := e.Fact.(events.DefinitionsPublished)
			if !ok || f.Suite != "mine" {
				continue
			}
			signer := "nobody"
			for i, k := range keys {
				if f.Seal != nil && *f.Seal == *k.Definitions("mine", f.Digest) {
					signer = string(rune('0' + i))
				}
			}
			if old == "" {
				old = f.Digest
			}
			got = append(got, f.Revision+" by "+signer)
		}
		want := []string{first + " by nobody", first + " by 0", first + " by 1", second + " by 1"}
		if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
			t.Errorf("published %q, want %q", got, want)
		}
		_, err := c.Promote(t.Context(), by, "mine", "main", old, "a test")
		if err != nil {
			t.Fatal(err)
		}
		turns(keys[2])
		published, err := c.Published(t.Context(), "mine")
		if err != nil || published.Lines()["main"].Digest != old {
			t.Error("a seal undid a promotion", err)
		}
	})
}
