package compare_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/compare/comparetest"
)

// TestWords: text, Markdown and JSON all use the words of one function, for every kind of judgement.
func TestWords(t *testing.T) {
	for _, c := range comparetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			if diff := cmp.Diff(c.Want, c.Report.Words()); diff != "" {
				t.Fatalf("words (-want +got):\n%s", diff)
			}
			var text bytes.Buffer
			if err := compare.Text(&text, c.Report, compare.Options{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), "Overall: "+c.Want.Overall+"\n"+c.Want.Sentence+"\n") {
				t.Errorf("text:\n%s", text.String())
			}
			md := written(t, c.Report, compare.CommentOptions())
			checkReport(t, md)
			if !regexp.MustCompile(`\*\*Overall result: [^a-z]*`+regexp.QuoteMeta(c.Want.Overall)+`\*\*`).MatchString(md) || !strings.Contains(strings.ReplaceAll(md, "`", ""), "\n\n"+c.Want.Sentence) {
				t.Errorf("Markdown:\n%s", md)
			}
			mark := map[compare.Outcome]string{
				compare.OutcomeRegression: "❌ ", compare.OutcomeImprovement: "✅ ", compare.OutcomeMixed: "❌✅ ", compare.OutcomeFailed: "❌ ",
			}[c.Want.Outcome]
			if !strings.Contains(md, "**Overall result: "+mark+c.Want.Overall) {
				t.Errorf("Markdown lacks the mark %q:\n%s", mark, md)
			}
			if c.Report.Comparison == nil {
				return
			}
			made, err := json.Marshal(c.Report.Comparison)
			if err != nil {
				t.Fatal(err)
			}
			var said compare.Words
			if err := json.Unmarshal(made, &said); err != nil {
				t.Fatal(err)
			}
			// A comparison alone does not know what failed or what may be missing.
			bare := compare.Report{Comparison: c.Report.Comparison}.Words()
			if diff := cmp.Diff(bare, said); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWordsNeverSayMore: when a test case was not judged, the words never say that nothing changed or that no action is
// needed.
func TestWordsNeverSayMore(t *testing.T) {
	for _, c := range comparetest.Cases() {
		if c.Report.Comparison == nil {
			continue
		}
		for _, s := range c.Report.Comparison.Summaries {
			if s.Inconclusive+s.NotComparable == 0 || s.Metric.Undeclared {
				continue
			}
			w := c.Report.Words()
			if strings.Contains(w.Overall, "no action") {
				t.Errorf("%s: %q, although not all of %s was judged", c.Name, w.Overall, s.Metric.Name)
			}
			for _, said := range []string{s.Chip, s.Overall, s.Sentence} {
				if said = strings.ToLower(said); strings.Contains(said, "no change") || strings.Contains(said, "no relevant change") {
					t.Errorf("%s: %q, although not all of %s was judged", c.Name, said, s.Metric.Name)
				}
			}
			if s.Metric.Name == c.Report.Comparison.Headline && w.Label == compare.LabelRemove {
				t.Errorf("%s: the label is removed although not everything was judged", c.Name)
			}
		}
	}
}
