// The race detector makes ten thousand jobs five times slower, and finds nothing that it does not find with few.

//go:build !race

package sitetest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/events"
)

// The shape of a huge graph: each of its kinds has a job for each target, set and profile, which needs jobs of the kind before.
const (
	hugeKinds, hugeTargets, hugeSets, hugeProfiles = 10, 20, 2, 25
	hugeNeeds                                      = 11
)

// huge starts a request with 10,000 jobs and 99,000 needs.
func (st *story) huge(id events.RequestID) []events.JobSpec {
	st.t.Helper()
	found, err := st.now().Request(st.ctx, string(id))
	if err != nil {
		st.t.Fatal(err)
	}
	a := events.Artifact{Suite: "go", Tag: found.Tag, Kind: found.Kind}
	var jobs []events.JobSpec
	for kind := range hugeKinds {
		for target := range hugeTargets {
			for set := range hugeSets {
				for profile := range hugeProfiles {
					j := events.JobSpec{
						Artifact: a, Kind: events.JobKind(fmt.Sprint("stage-", kind)), Target: events.Target(fmt.Sprintf("linux-arch-%d", target)), Set: events.Set(set),
						Backend: "gc", Profile: events.Profile(fmt.Sprint("profile-", profile)), Definitions: st.suite.Digest(), RequestID: id,
					}
					j.ID = events.NewJobID(a, j.Kind, j.Lane(), j.Backend, j.Profile, nil, nil)
					jobs = append(jobs, j)
				}
			}
		}
	}
	layer := len(jobs) / hugeKinds
	facts := []events.Fact{
		events.RequestAdmitted{RequestID: id, Tag: found.Tag, Reason: "first in the queue"},
		events.RequestStarted{RequestID: id, Definitions: st.suite.Digest(), Jobs: len(jobs), Graphs: 1},
		events.GraphCreated{RequestID: id, Kind: events.GraphInitial, Jobs: len(jobs), Needs: (len(jobs) - layer) * hugeNeeds},
	}
	for first := 0; first < len(jobs); first += 200 {
		part := events.GraphPart{First: first}
		for i := max(first, layer); i < first+200; i++ {
			lane := i - i%hugeProfiles - layer // the jobs of the kind before, of the same target and set
			var on []int
			for n := range hugeNeeds {
				on = append(on, lane+(i+n)%hugeProfiles)
			}
			part.Needs = append(part.Needs, events.JobNeeds{Job: i, On: on})
		}
		facts = append(facts, events.JobsCreated{RequestID: id, Jobs: jobs[first : first+200], Graph: &part})
	}
	st.tell(facts...)
	return jobs
}

// cost fetches a page and returns what it is and what it took.
func (st *story) cost(path string) (page string, statements, rows int64, took time.Duration) {
	st.t.Helper()
	statements, rows = st.reads.statements.Load(), st.reads.rows.Load()
	begin := time.Now()
	resp, page := st.get(path)
	took = time.Since(begin)
	if resp.StatusCode != http.StatusOK {
		st.t.Fatalf("%s: %s", path, resp.Status)
	}
	return page, st.reads.statements.Load() - statements, st.reads.rows.Load() - rows, took
}

// What a page of 10,000 jobs may have and ask. Times are told, not judged.
const (
	hugeBytes      = 500_000
	hugeStatements = 30
	hugeRows       = 1_500
)

func TestPagesOfHugeGraphsAreBounded(t *testing.T) {
	st := open(t, nil).story()
	id := st.master(sha("e"), "", 16)
	jobs := st.huge(id)
	page, last := "/requests/"+string(id), "/jobs/"+string(jobs[len(jobs)-1].ID)
	bounded := func(path string, has, lacks []string) {
		t.Helper()
		st.shows(path, has, lacks)
		html, statements, rows, took := st.cost(path)
		t.Logf("%s: %d bytes, %d statements, %d rows, %s", path, len(html), statements, rows, took)
		if len(html) > hugeBytes || statements > hugeStatements || rows > hugeRows {
			t.Errorf("%s has %d bytes, and asked for %d rows by %d statements", path, len(html), rows, statements)
		}
	}
	lane := "kind=stage-3&target=linux-arch-2"
	bounded(page, []string{
		"too many to draw each", ">stage-3/linux-arch-2 · 50 jobs</text>", `<a href="?graph=0&amp;kind=stage-3&amp;target=linux-arch-2#unfolded">`,
		`<h2 id="jobs-heading">Jobs <span class="count">10000</span>`, `<a href="?kind=stage-3&amp;target=linux-arch-2#unfolded">stage-3/linux-arch-2 · 50 jobs</a>`, "50 blocked",
	}, []string{"Failed and skipped", string(jobs[3000].ID), `id="unfolded"`})
	bounded(page+"?"+lane, []string{"stage-3/linux-arch-2: jobs 1 to 50", "stage-3 · profile-24 · gc"}, []string{"Those after", "stage-2 · "})
	bounded(page+"?graph=0&kind=stage-3", []string{"stage-3: jobs 1 to 50", "Those after", "after=50"}, []string{"Those before"})
	bounded(page+"?graph=0&kind=stage-3&after=950", []string{"jobs 951 to 1000", "Those before"}, []string{"Those after"})
	bounded(page+"?after=10000", []string{"all: no job"}, nil)
	bounded(last, []string{"Needed by", `<span class="none">no job</span>`, "stage-8/linux-arch-19/1/profile-9</a>"}, nil)
	resp, _ := st.get(page + "?set=no")
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a set that is no number: %s", resp.Status)
	}

	st.ends(jobs[0], events.Failure, "it has no linker")
	bounded(page, []string{
		"Failed and skipped jobs, the first 20", "it has no linker", `<span class="meta">because of stage-0/linux-arch-0/0/gc/profile-0</span>`,
		"1 failure, 49 queued", "11 skipped, 39 blocked",
	}, nil)
	// Postgres folds as the commands do, which read each job.
	whole, err := st.now().Graphs(st.ctx, string(id))
	if err != nil || len(whole.Graphs) != 1 || len(whole.Graphs[0].Nodes) != len(jobs) {
		t.Fatal(err)
	}
	_, html := st.get(page)
	unlinked := regexp.MustCompile(`<a href="[^"]*"><g`).ReplaceAllString(strings.ReplaceAll(html, "</g></a>", "</g>"), "<g")
	if svg := whole.Graphs[0].Drawing(nil).SVG("What the jobs need: Graph"); !strings.Contains(unlinked, svg) {
		t.Errorf("the page does not have the drawing of its jobs:\n%s", svg)
	}
	if table := html[strings.Index(html, `id="folds"`):]; strings.Index(table, "stage-0/linux-arch-0") > strings.Index(table, "stage-1/linux-arch-0") || strings.Index(table, "stage-9/linux-arch-0") > strings.Index(table, "stage-0/linux-arch-1") {
		t.Error("what failed is not first")
	}
	bounded("/jobs/"+string(jobs[1000].ID), []string{"it is skipped", "stage-0/linux-arch-0/0/profile-0</a>"}, nil)

	st.shows("/", []string{`target=linux-arch-3#unfolded">240 jobs more</a>`}, nil)
	html, _, _, _ = st.cost("/")
	if len(html) > hugeBytes {
		t.Errorf("the front page has %d bytes", len(html))
	}
	b := browse(t)
	for name, path := range map[string]string{"huge": page, "unfolded": page + "?graph=0&" + lane, "crowded": "/"} {
		b.do(t, chromedp.EmulateViewport(390, 844), chromedp.Navigate(st.http.URL+path), chromedp.WaitVisible(chromedp.CSS("main")))
		b.keepPicture(t, name)
		wider := value[int](t, b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
		if wider > 0 {
			t.Errorf("%s is %d pixels wider than a phone", path, wider)
		}
	}
}
