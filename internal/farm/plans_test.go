package farm

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
)

// What the page of templates says of a choice is what a scheduler makes of a request with that choice, and a choice that the
// page refuses makes no request.
func TestPlansAreWhatRequestsGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := offering()
		s := &story{Farm: New(t, d, policy), bench: &Bench{Each: minute}, names: map[events.RequestID]string{}}
		defer s.Stop()
		s.Register("c0", laneHere)
		s.Start("c0", laneHere, "p0", s.bench)
		made, refused := 0, 0
		for _, kind := range []events.RequestKind{events.Master, events.Try, events.Release} {
			for _, branch := range []string{"", "main", "release/1.2"} {
				for _, name := range []string{"", "all", "quick", "none"} {
					for _, slow := range []string{"", "off", "on", "maybe"} {
						n := control.NewRequest{Suite: d.Name, Kind: kind, Tag: events.Tag(fmt.Sprintf("t%d", made+1)), Branch: branch, Graph: name}
						if slow != "" {
							n.Options = map[string]string{"slow": slow}
						}
						plan, err := planned(d, kind, suite.Choice{Branch: branch, Graph: name, Options: n.Options})
						if err != nil {
							if _, _, asked := s.Control.CreateRequest(s.ctx, By, n); asked == nil {
								t.Fatalf("%+v was made, and its plan says: %v", n, err)
							}
							refused++
							continue
						}
						id := s.create(n)
						s.awaitStart(id)
						s.until(id)
						var got []string
						for _, e := range s.Events() {
							if f, ok := e.Fact.(events.JobsCreated); ok && f.RequestID == id {
								for _, j := range f.Jobs {
									got = append(got, graph.LabelOf(j).String())
								}
							}
						}
						slices.Sort(got)
						if diff := cmp.Diff(plan, got); diff != "" {
							t.Fatalf("%+v: the request has other jobs than its plan (-plan +request):\n%s", n, diff)
						}
						made++
					}
				}
			}
		}
		if made < 50 || refused < 50 {
			t.Errorf("%d requests were made and %d were refused", made, refused)
		}
	})
}

// planned returns the labels of the jobs as plans make them.
func planned(d suite.Definitions, kind events.RequestKind, c suite.Choice) ([]string, error) {
	t, err := d.Template(kind, c)
	if err != nil {
		return nil, err
	}
	x, err := d.BoundedExpansion(t, suite.Request{Artifact: events.Artifact{Suite: d.Name, Tag: "plan", Kind: kind}, Definitions: "any", Nameless: true})
	if err != nil {
		return nil, err
	}
	jobs, _, _, err := d.PlannedJobs(x.Own, x.Off, false)
	var labels []string
	for _, j := range jobs {
		labels = append(labels, j.Label.String())
	}
	slices.Sort(labels)
	return labels, err
}
