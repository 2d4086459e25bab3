package reporter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/compare/comparetest"
)

// TestTheLabelFollowsTheWords: a report that could not judge everything removes no label.
func TestTheLabelFollowsTheWords(t *testing.T) {
	labels := Labels{Waiting: "waiting", Regression: "slower"}
	for _, test := range comparetest.Cases() {
		type change struct{ Add, Remove []string }
		want := map[compare.Label]change{
			compare.LabelSet:    {Add: []string{"slower"}, Remove: []string{"waiting"}},
			compare.LabelRemove: {Remove: []string{"waiting", "slower"}},
			compare.LabelLeave:  {Remove: []string{"waiting"}},
		}[test.Want.Label]
		add, remove := labels.of(test.Report)
		if diff := cmp.Diff(want, change{add, remove}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.Name, diff)
		}
	}
}
