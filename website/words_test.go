package website

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/compare/comparetest"
)

// TestPageAndJSONSayTheWords: heading, chips and JSON use the words of one function for every kind of judgement.
func TestPageAndJSONSayTheWords(t *testing.T) {
	pages := newPages(time.Now)
	for _, test := range comparetest.Cases() {
		if test.Report.Comparison == nil {
			continue // there is no comparison to show
		}
		t.Run(test.Name, func(t *testing.T) {
			c := comparison.Comparison{Comparison: *test.Report.Comparison, Failed: test.Report.Failed()}
			c.Words = test.Report.Words()
			var page strings.Builder
			if err := pages.byName["compare"].ExecuteTemplate(&page, "page", compareView{Result: &c, Tables: changeTables(c)}); err != nil {
				t.Fatal(err)
			}
			wants := []string{">Overall: " + test.Want.Overall + "</h2>", "<p>" + test.Want.Sentence}
			for _, s := range c.Summaries {
				wants = append(wants, fmt.Sprintf(`<span class="state %s">%s</span> <span class="meta">%s</span>`, s.Outcome, s.Chip, s.Counts))
			}
			for _, f := range c.Failed {
				wants = append(wants, "<pre>"+f.Message+"</pre>")
			}
			shown := html.UnescapeString(page.String())
			for _, want := range wants {
				if !strings.Contains(shown, want) {
					t.Errorf("the page lacks %q:\n%s", want, shown)
				}
			}
			if c.Headline != "" && !strings.Contains(shown, fmt.Sprintf(`<span class="state %s">%s</span> <span class="meta">%s<`, test.Want.Outcome, test.Want.Chip, test.Want.Counts)) {
				t.Errorf("the chip of the headline metric does not say %q:\n%s", test.Want.Chip, shown)
			}
			made, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			var said compare.Words
			if err := json.Unmarshal(made, &said); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.Want, said); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		})
	}
}
