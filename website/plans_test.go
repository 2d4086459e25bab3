package website

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
)

// largeSuite returns definitions of kinds that have a job for each of so many profiles on two targets. Each of the first kinds
// needs up to ten kinds before it. Those behind them are switched off.
func largeSuite(t testing.TB, kinds, off, profiles int) suite.Definitions {
	t.Helper()
	data, err := os.ReadFile("../rules/suite/testdata/small.toml")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(strings.Replace(string(data), "version = 1", "version = 2", 1))
	for i := range profiles {
		fmt.Fprintf(&b, "\n[[profile]]\nname = \"p%d\"\n", i)
	}
	for i := range kinds + off {
		fmt.Fprintf(&b, "\n[[kind]]\nname = \"k%d\"\nper_profile = true\n", i)
		if i >= kinds {
			b.WriteString("when = \"big = 'on'\"\n")
			continue
		}
		var needs []string
		for j := max(i-10, 0); j < i; j++ {
			needs = append(needs, fmt.Sprintf("{ kind = \"k%d\" }", j))
		}
		fmt.Fprintf(&b, "needs = [%s]\n", strings.Join(needs, ", "))
	}
	b.WriteString("\n[[option]]\nname = \"big\"\nvalues = [\"off\", \"on\"]\n")
	d, err := suite.Load("large.toml", []byte(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A plan of the largest suite that the limits allow, with its picture, from the published content on.
func BenchmarkColdPlan(b *testing.B) {
	for _, c := range []struct {
		name                 string
		kinds, off, profiles int
	}{{"jobs=10000", 48, 0, 98}, {"jobs=4000,off=56000", 4, 56, 498}} {
		content := largeSuite(b, c.kinds, c.off, c.profiles).Canonical()
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d, err := suite.Parse(content)
				if err != nil {
					b.Fatal(err)
				}
				t, err := d.Template(events.Try, suite.Choice{})
				if err != nil {
					b.Fatal(err)
				}
				s := &Server{planner: newPlanner()}
				p, err := s.planOf(&d, d.Digest(), events.Try, t, events.Parameters{})
				if err != nil {
					b.Fatal(err)
				}
				v := p.picture()
				b.ReportMetric(float64(len(p.jobs)), "jobs")
				b.ReportMetric(float64(len(p.needs)), "needs")
				b.ReportMetric(float64(len(p.off)), "off")
				b.ReportMetric(float64(p.size()), "kept-B")
				b.ReportMetric(float64(len(v.Rows)), "rows")
			}
		})
	}
}

// Definitions that were published without a check cannot make a page slow or large.
func TestAPlanWithoutACheckIsRefused(t *testing.T) {
	d := largeSuite(t, 4, 4, 40)
	for i := range 3 * graph.MaxJobs {
		d.Profiles = append(d.Profiles, suite.Profile{Name: events.Profile(fmt.Sprintf("more%d", i))})
	}
	s := &Server{planner: newPlanner()}
	for _, choice := range []suite.Choice{{}, {Options: map[string]string{"big": "on"}}} {
		tm, err := d.Template(events.Try, choice)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.planOf(&d, "d", events.Try, tm, events.Parameters{})
		if e, said := explain(err); !said || e.Status != 422 || !strings.Contains(e.Message, "are too many") {
			t.Errorf("%v", err)
		}
	}
	d = largeSuite(t, 2, 0, 2)
	d.Kinds[len(d.Kinds)-2].Needs = []suite.KindNeed{{Kind: "k1"}}
	tm, err := d.Template(events.Try, suite.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.planOf(&d, "d", events.Try, tm, events.Parameters{})
	if e, said := explain(err); !said || e.Status != 422 || !strings.Contains(e.Message, "none of them could ever run") {
		t.Errorf("a cycle: %v", err)
	}
}
