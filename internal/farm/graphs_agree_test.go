// Each random log has one goroutine after the other: the race detector finds nothing in it, and takes minutes.

//go:build !race

package farm

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/queue"
)

// TestRandomGraphsInLedgerAndTables gives the log of one scheduler, with graphs, reruns, repairs, cancels, late parents
// and moved jobs, to a ledger and to projectors that stop now and then. After each batch of any size both know the same
// of each job of each graph. A failure names its seed; TACHO_SEED repeats it.
func TestRandomGraphsInLedgerAndTables(t *testing.T) {
	first, count := uint64(9), graphLogs // worlds in which everything happens
	if s := os.Getenv("TACHO_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, count = seed, 1
	}
	seen := map[string]int{}
	for seed := first; seed < first+count; seed++ {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			var log []events.Stored
			synctest.Test(t, func(t *testing.T) {
				w := newGraphWorld(t, rand.New(rand.NewPCG(seed, 17)))
				w.nameSome(rand.New(rand.NewPCG(seed, 19)))
				for range 40 + w.r.IntN(80) {
					w.step()
				}
				w.rerunEach()
				w.settle()
				w.wantEach()
				w.settle()
				w.askAlike()
				log = w.stored()
			})
			countChunks(t, log, seen)
			// Small transactions take most of the time. So the check has them for some of the logs; with fewer logs some things would
			// not happen.
			sizes, whole := []int{1000}, everySize || count == 1
			if whole || seed%2 == 1 {
				sizes = append(sizes, 7)
			}
			if whole || seed == first+1 {
				sizes = append(sizes, 1)
			}
			for _, size := range sizes {
				t.Run(fmt.Sprint(size), func(t *testing.T) { compareGraphs(t, rand.New(rand.NewPCG(seed, uint64(size))), log, size, seen) })
			}
		})
		if !ok {
			t.Fatalf("repeat with TACHO_SEED=%d", seed)
		}
	}
	t.Logf("%v", seen)
	for _, what := range []string{"blocked", "skipped", "ready", "success", "failure", "cancelled", "held blocked", "held skipped", "again", "repair", "retrigger", "noise", "external", "added", "added and shared", "success again", "iterations", "ended", "forced", "begun", "stopped", "expired", "named", "customised", "sample of another priority", "in another order than that of creation", "stale", "ready by an output", "made again", "divided", "left without units", "taken over when it was made", "taken over when it was ready", "taken over at its dispatch", "taken over by its collector"} {
		if seen[what] == 0 && count > 2 {
			t.Errorf("nothing was %s", what)
		}
	}
}

// countChunks counts the chunks that were dispatched, and those that found nothing left.
func countChunks(t *testing.T, log []events.Stored, seen map[string]int) {
	t.Helper()
	for _, m := range log {
		e, err := events.Decode(m)
		if err != nil {
			t.Fatal(err)
		}
		// The others tell nothing of chunks.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.JobDispatched:
			if f.Job.Chunk != nil {
				seen["divided"]++
			}
		case events.JobsWithdrawn:
			if f.Empty {
				seen["left without units"] += len(f.Jobs)
			}
		}
	}
}

// standing is what is known of a job of a graph.
type standing struct {
	Job      events.JobID
	Optional bool
	State    graph.State
	Cause    int // -1 for none
	Needs    []readmodel.GraphNeed
	Forced   bool
	Begun    bool
	Rank     int // 0 for none
	Outputs  []string
	Stale    bool
}

// known is what a ledger or the tables know of all graphs, by request, number of the graph, and number of the job; and of
// the jobs that have not ended: whether they wait, what holds them, and at which priority samples wait; and how long the last jobs of each sort took.
type known struct {
	Graphs  map[string]standing
	Jobs    map[events.JobID]string
	Lengths map[queue.Sort][]time.Duration
	// Lines are the jobs of open graphs that wait for each lane of a target, by lane and request, in their order.
	Lines map[string][]events.JobID
}

// compareGraphs folds a log into a ledger and into tables, and compares them after each batch.
func compareGraphs(t *testing.T, r *rand.Rand, log []events.Stored, size int, seen map[string]int) {
	url := pgtest.New(t, "migrated", readmodel.Migrate)
	tables, err := readmodel.OpenPools(t.Context(), url, readmodel.Patient(5*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	feed := &slowFeed{log: log, grown: make(chan struct{})}
	project := func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- projector.New(projector.Config{Log: feed, URL: url, BatchSize: size}).Run(ctx) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	stop := project()
	defer func() { stop() }()
	l, past := ledger.New(), &pastGraphs{graphs: map[string]standing{}, fresh: map[events.JobID]bool{}, ended: map[string]time.Time{}}
	for at := 0; at < len(log); {
		n := min(size, len(log)-at)
		if size > 100 {
			n = min(1+r.IntN(size), len(log)-at)
		}
		for _, m := range log[at : at+n] {
			past.take(t, l, m, seen)
		}
		at += n
		feed.show(at)
		if err := tables.WaitFor(t.Context(), events.Seq(at)); err != nil {
			t.Fatal(err)
		}
		comparePins(t, l, tables, seen)
		if diff := cmp.Diff(past.with(l, seen), tabled(t, conn), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after event %d, ledger (-) and tables (+):\n%s", at, diff)
		}
		if r.IntN(len(log)/n+1) < 3 {
			stop()
			stop = project()
		}
	}
}

// comparePins compares the definitions that requests name, and those that they started with.
func comparePins(t *testing.T, l *ledger.Ledger, tables *readmodel.Reader, seen map[string]int) {
	rows, err := tables.Requests(t.Context(), readmodel.RequestFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		r := l.Requests[row.ID]
		if r == nil {
			continue // it was retired
		}
		pins := r.Pins()
		if row.Named != pins.Definitions || row.Customised != pins.Customised || row.Together != pins.Together || row.Definitions != r.Definitions {
			t.Fatalf("request %s is %+v in the tables, and the ledger has %+v and %s", row.ID, row, pins, r.Definitions)
		}
		if pins.Definitions == "" {
			continue
		}
		seen["named"]++
		if r.Definitions != "" && r.Definitions != pins.Definitions {
			t.Fatalf("request %s started with %s, and names %s", row.ID, r.Definitions, pins.Definitions)
		}
		if pins.Customised {
			seen["customised"]++
			if row.BackfillPlanned > 0 {
				t.Fatalf("request %s measures its parent with definitions that its branch never used", row.ID)
			}
		}
	}
}

// pastGraphs are the graphs that the ledger has forgotten, because they have ended, in their last states.
type pastGraphs struct {
	graphs map[string]standing
	fresh  map[events.JobID]bool // jobs that could take a run over when they were made
	ended  map[string]time.Time  // by name of the graph
}

// take folds an event into the ledger.
func (p *pastGraphs) take(t *testing.T, l *ledger.Ledger, m events.Stored, seen map[string]int) {
	e, err := events.Decode(m)
	if err != nil {
		t.Fatal(err)
	}
	// The others leave the past as it is.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.GraphEnded:
		for _, g := range l.Graphs[f.RequestID] {
			if g.Number == f.Graph {
				maps.Copy(p.graphs, standings(g))
				p.ended[graphName(g)] = e.Time.UTC().Truncate(time.Microsecond)
				seen["ended"]++
			}
		}
	case events.GraphCancelled:
		if f.Expired {
			seen["expired"]++
		}
	case events.JobsCreated:
		if f.Graph != nil && len(f.Graph.Again) > 0 {
			seen["again"]++
			for _, spec := range f.Jobs {
				if j := l.Jobs[spec.Earlier()[spec.Round-1]]; j != nil && j.State == events.JobSuccess {
					seen["success again"]++
				}
			}
		}
		for _, spec := range f.Jobs {
			if spec.Iterations > 0 {
				seen["iterations"]++
			}
		}
		if f.Graph != nil && slices.ContainsFunc(f.Graph.Shared, func(s events.SharedJob) bool { return s.Added }) {
			seen["added and shared"]++
		}
	case events.GraphCreated:
		seen[string(f.Kind)]++
		if f.OnFailure == events.FailFast {
			seen["fail-fast"]++
		}
	case events.JobReused:
		switch j := l.Jobs[f.JobID]; {
		case j.Spec().Matched:
			seen["taken over at its dispatch"]++
		case p.fresh[f.JobID]:
			seen["taken over when it was made"]++
		default:
			seen["taken over when it was ready"]++
		}
	case events.JobFinished:
		if f.ReusedFrom != "" {
			seen["taken over by its collector"]++
		}
	case events.JobMoved:
		seen["moved"]++
	case events.BackfillAdmitted:
		seen["late parent"]++
	case events.JobsRetired:
		before, err := time.Parse(time.RFC3339, f.EndedBefore)
		if err != nil {
			t.Fatal(err)
		}
		for name, at := range p.ended {
			if at.Before(before) {
				seen["retired"]++
				delete(p.ended, name)
				maps.DeleteFunc(p.graphs, func(key string, _ standing) bool { return key[:len(name)+1] == name+"/" })
			}
		}
	}
	if _, err := l.Take(m); err != nil {
		t.Fatal(err)
	}
	if made, ok := e.Fact.(events.JobsCreated); ok {
		maps.Copy(p.fresh, l.Alike[made.RequestID])
	}
	if stuck := l.Stuck(); len(stuck) > 0 {
		t.Fatalf("event %d: graph %s is stuck at job %d", m.Seq, graphName(stuck[0].Graph), stuck[0].Job)
	}
}

// with returns what the ledger knows, and what it has forgotten.
func (p *pastGraphs) with(l *ledger.Ledger, seen map[string]int) known {
	k := known{maps.Clone(p.graphs), map[events.JobID]string{}, l.Lengths, map[string][]events.JobID{}}
	for name, lane := range l.Lanes {
		for request, jobs := range lane.Queued {
			if jobs = slices.DeleteFunc(slices.Clone(jobs), func(id events.JobID) bool {
				_, _, in := l.NumberOf(request, id)
				return !in || !l.Jobs[id].Graphed
			}); len(jobs) > 0 {
				k.Lines[name.String()+" "+string(request)] = jobs
			}
		}
	}
	ordered(l, seen)
	holds := map[events.JobID]graph.State{}
	for _, graphs := range l.Graphs {
		for _, g := range graphs {
			maps.Copy(k.Graphs, standings(g))
			for number, id := range g.Jobs {
				if state := g.States.State(number); state == graph.Blocked || holds[id] == "" {
					holds[id] = state
				}
				seen[string(g.States.State(number))]++
				if g.States.Forced(number) {
					seen["forced"]++
				}
				if g.States.Stale(number) {
					seen["stale"]++
				}
				g.States.Inputs(number, func(on int, output string) {
					if slices.Contains(g.States.Outputs(on), output) && !g.States.State(on).Over() && g.States.State(number) == graph.Ready {
						seen["ready by an output"]++
					}
				})
				for _, gone := range g.Gone {
					if gone.Remade {
						seen["made again"]++
					}
				}
				if g.States.Begun(number) && g.States.State(number) == graph.Ready {
					seen["begun"]++
				}
			}
		}
	}
	for _, graphs := range l.Graphs {
		for _, g := range graphs {
			for _, s := range standings(g) {
				if s.State == graph.Skipped && !slices.ContainsFunc(s.Needs, func(n readmodel.GraphNeed) bool { return !n.Met }) {
					seen["stopped"]++ // by no job that it needs
				}
			}
		}
	}
	for id, j := range l.Jobs {
		if j.State.Terminal() {
			continue
		}
		k.Jobs[id] = string(j.State)
		if j.State == events.JobQueued && j.Place == 0 && l.Held(j) {
			k.Jobs[id] = "held " + string(holds[id])
		}
		seen[k.Jobs[id]]++
		if r := l.Requests[j.Spec().RequestID]; j.Sampled() && r != nil {
			priority := l.PriorityFor(r, j)
			k.Jobs[id] += " at " + priority.String()
			if priority != events.PriorityIdle && priority != events.PriorityLow {
				seen["sample of another priority"]++
			}
		}
	}
	return k
}

// ordered counts the lines in which jobs do not stand in the order of their numbers.
func ordered(l *ledger.Ledger, seen map[string]int) {
	for _, graphs := range l.Graphs {
		for _, g := range graphs {
			if g.Ranks != nil && !slices.IsSorted(g.Ranks) {
				seen["in another order than that of creation"]++
			}
		}
	}
}

func graphName(g *ledger.Graph) string { return fmt.Sprintf("%s/%d", g.Request, g.Number) }

func standings(g *ledger.Graph) map[string]standing {
	all := map[string]standing{}
	needs := make([][]readmodel.GraphNeed, len(g.Jobs))
	g.States.Needs(func(n graph.Need, met bool) {
		needs[n.Job] = append(needs[n.Job], readmodel.GraphNeed{On: n.On, Until: n.Until, Output: n.Output, Met: met})
	})
	for number, id := range g.Jobs {
		if id == "" && len(needs[number]) == 0 {
			continue // not named yet
		}
		s := standing{Job: id, Optional: g.States.Optional(number), State: g.States.State(number), Cause: -1, Needs: needs[number], Forced: g.States.Forced(number), Begun: g.States.Begun(number), Outputs: g.States.Outputs(number), Stale: g.States.Stale(number)}
		if cause, skipped := g.States.Cause(number); skipped {
			s.Cause = cause
		}
		if g.Ranks != nil {
			s.Rank = int(g.Ranks[number])
		}
		all[fmt.Sprintf("%s/%d", graphName(g), number)] = s
	}
	return all
}

// tabled returns what the tables know.
func tabled(t *testing.T, conn *pgx.Conn) known {
	t.Helper()
	k := known{map[string]standing{}, map[events.JobID]string{}, map[queue.Sort][]time.Duration{}, map[string][]events.JobID{}}
	var key string
	var s standing
	rows, err := conn.Query(t.Context(), `SELECT request_id || '/' || graph || '/' || number, job_id, optional, state, coalesce(skipped_by, -1), needs, forced <> '', begun, coalesce(rank, 0), outputs, stale FROM tacho.graph_job`)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&key, &s.Job, &s.Optional, &s.State, &s.Cause, &s.Needs, &s.Forced, &s.Begun, &s.Rank, &s.Outputs, &s.Stale}, func() error {
			if len(s.Needs) == 0 {
				s.Needs = nil
			}
			k.Graphs[key], s.Needs, s.Outputs = s, nil, nil
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	var id events.JobID
	var state string
	rows, err = conn.Query(t.Context(), `SELECT job_id, CASE WHEN held = '' THEN state ELSE 'held ' || held END ||
		CASE WHEN sample = '' THEN '' WHEN priority = '' THEN ' at normal' ELSE ' at ' || priority END FROM tacho.job_queue WHERE state IN ('queued', 'in_progress')`)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&id, &state}, func() error { k.Jobs[id] = state; return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	var line string
	rows, err = conn.Query(t.Context(), `SELECT target || '/' || set || ' ' || request_id, job_id FROM tacho.job_queue
		WHERE state = 'queued' AND place = 0 AND held = '' AND NOT matched
		AND EXISTS (SELECT FROM tacho.graph g WHERE g.request_id = job_queue.request_id AND g.number = job_queue.graph AND g.ended_at IS NULL)
		ORDER BY sample <> '', array_position(ARRAY['vip', 'high', '', 'low', 'idle'], priority), backfill AND graph IS NOT NULL AND sample = '' DESC, coalesce(graph, 1000), coalesce(rank, 0), created_seq, ordinal`)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&line, &id}, func() error { k.Lines[line] = append(k.Lines[line], id); return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	var sort queue.Sort
	var took []int64
	rows, err = conn.Query(t.Context(), `SELECT suite, target, set, kind, backend, profile, lengths_ms FROM tacho.job_duration`)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&sort.Suite, &sort.Lane.Target, &sort.Lane.Set, &sort.Kind, &sort.Backend, &sort.Profile, &took}, func() error {
			for _, ms := range took {
				k.Lengths[sort] = append(k.Lengths[sort], time.Duration(ms)*time.Millisecond)
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}
