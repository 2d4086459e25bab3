package suite_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Whatever happens to branches, each uses what it was given last, or what all others use. Earlier lines never change.
func TestLinesFollowTheLastEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines suite.Lines
		own := map[string]events.Digest{}
		type snapshot struct {
			lines suite.Lines
			want  map[string]events.Digest
		}
		var before []snapshot
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			branch := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "branch")
			digest := rapid.SampledFrom([]events.Digest{"d1", "d2", "d3"}).Draw(t, "digest")
			var f events.Fact
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				f, own[branch] = events.DefinitionsPublished{Branch: branch, Digest: digest, File: string(digest)}, digest
			case 1:
				f, own[branch] = events.DefinitionsPromoted{Branch: branch, Digest: digest}, digest
			case 2:
				f = events.DefinitionsRejected{Branch: branch, File: string(digest), Problems: []string{"what?"}}
			case 3:
				f, own[branch] = events.DefinitionsPromoted{Branch: branch}, ""
			}
			lines = lines.Evolve(f)
			want := map[string]events.Digest{}
			for _, b := range []string{"", "a", "b", "c"} {
				if want[b] = own[b]; want[b] == "" {
					want[b] = own[""]
				}
			}
			before = append(before, snapshot{lines, want})
		}
		for _, s := range before {
			for branch, want := range s.want {
				if got := s.lines.InForce(branch); got != want {
					t.Fatalf("branch %q uses %q, want %q: %+v", branch, got, want, s.lines)
				}
			}
		}
	})
}
