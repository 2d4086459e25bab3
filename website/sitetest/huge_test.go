package sitetest

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// tally counts statements and the rows that they return.
type tally struct{ statements, rows atomic.Int64 }

func (a *tally) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (a *tally) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	a.statements.Add(1)
	a.rows.Add(data.CommandTag.RowsAffected())
}

func (a *tally) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (a *tally) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	a.statements.Add(1)
	a.rows.Add(data.CommandTag.RowsAffected())
}

func (a *tally) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

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

func TestHugeGraphsAreFoldedInTheTables(t *testing.T) {
	st := open(t, nil).story()
	id := st.master(sha("e"), "", 16)
	jobs := st.huge(id)
	st.machines()
	page := "/requests/" + string(id)
	for _, path := range []string{page, page + "?kind=stage-3&target=linux-arch-2", page + "?graph=0&kind=stage-3&target=linux-arch-2&after=50", "/jobs/" + string(jobs[9999].ID), "/"} {
		for range 3 {
			page, statements, rows, took := st.cost(path)
			t.Logf("%s: %d bytes, %d statements, %d rows, %s", path, len(page), statements, rows, took)
		}
	}
}
