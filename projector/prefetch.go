package projector

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// wanted names the rows that a batch needs and the state does not hold: rows that have ended, those of GitHub, or rows
// that do not exist.
type wanted struct {
	requests map[events.RequestID]bool
	jobs     map[events.JobID]bool
	made     map[identity]bool
	plans    map[definitionKey]bool
	github   wantedGitHub
	// graphs are those that begin, if they exist.
	graphs map[graphKey]bool
}

// prefetch reads the rows that the folds of the batch will ask for, so that the folds need no database.
func (s *state) prefetch(ctx context.Context, conn *pgx.Conn, facts []fact) error {
	w, queries := s.wants(facts), &pgx.Batch{}
	guestJob := func(j *jobRow) {
		if s.jobs[j.ID] == nil { // a job that can still change is in the state already, newer than its row
			s.addJob(j)
		}
	}
	if len(w.requests) > 0 {
		guests(queries, "guest_requests", "benchmark_request", func(r *requestRow) {
			s.addRequest(r)
			s.guestRequests = append(s.guestRequests, r.ID)
		}, keys(w.requests))
	}
	if len(w.jobs) > 0 {
		guests(queries, "guest_jobs", "job_queue", guestJob, keys(w.jobs))
	}
	if len(w.made) > 0 {
		guests(queries, "guest_identities", "job_queue", func(j *jobRow) {
			if w.made[j.identity()] {
				guestJob(j)
			}
		}, alike(w.made)...)
		guests(queries, "guest_retired", "retired_job", func(r *readmodel.RetiredError) { s.retired[r.JobID] = true }, keys(w.jobs))
	}
	if len(w.graphs) > 0 {
		s.batchGuestGraphs(queries, w.graphs)
	}
	if len(w.plans) > 0 {
		s.batchPlans(queries, w.plans)
	}
	if len(w.github.hooks) > 0 {
		guests(queries, "guest_deliveries", "delivery", func(d *deliveryRow) { s.deliveries[deliveryKey{d.Hook, d.ID}] = d },
			w.github.hooks, w.github.deliveries)
	}
	if len(w.github.outbox) > 0 {
		guests(queries, "guest_outbox", "outbox", func(c *outboxRow) { s.outbox[c.Key] = c }, w.github.outbox)
	}
	if queries.Len() == 0 {
		return nil
	}
	return wrap("read the rows that a batch names", conn.SendBatch(ctx, queries).Close())
}

// guests adds a statement and gives its rows to f.
func guests[T any](queries *pgx.Batch, name, table string, f func(*T), args ...any) {
	queries.Queue(statement(name), args...).Query(func(rows pgx.Rows) error { return collect(rows, table, f) })
}

func (s *state) wants(facts []fact) wanted {
	w := wanted{
		requests: make(map[events.RequestID]bool), jobs: make(map[events.JobID]bool), made: make(map[identity]bool),
		plans: make(map[definitionKey]bool), graphs: make(map[graphKey]bool),
	}
	job := func(id events.JobID) {
		if s.jobs[id] == nil {
			w.jobs[id] = true
		}
	}
	request := func(id events.RequestID) {
		if s.requests[id] == nil {
			w.requests[id] = true
		}
	}
	for _, e := range facts {
		// For the others the state has the rows, or no fold reads them.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.RequestFact:
			request(f.Whose())
			s.wantsJobs(&w, f, job)
		case events.BackfillAdmitted:
			request(f.RequestID)
		case events.JobDispatched:
			job(f.Job.ID)
		case events.WorkFact:
			job(f.Which())
			if finished, is := f.(events.JobFinished); is && finished.ReusedFrom != "" {
				job(finished.ReusedFrom)
			}
		case events.ResultFact:
			job(f.Which())
		case events.DeliveryReceived:
			w.github.delivery(f.Hook, f.Delivery)
		case events.DeliveryHandled:
			w.github.delivery(f.Hook, f.Delivery)
		case events.CommentWanted:
			w.github.comment(f.Key)
		case events.CommentAttempted:
			w.github.comment(f.Key)
		case events.CommentPosted:
			w.github.comment(f.Key)
		case events.CommentPostponed:
			w.github.comment(f.Key)
		case events.CommentRefused:
			w.github.comment(f.Key)
		case events.LabelsSet:
			w.github.comment(f.Key)
		case events.CommentMinimised:
			w.github.comment(f.Key)
		}
	}
	return w
}

// wantsJobs notes the jobs and graphs that a fact about a request names.
func (s *state) wantsJobs(w *wanted, f events.RequestFact, job func(events.JobID)) {
	// The others name none.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobsCreated:
		for _, spec := range f.Jobs {
			job(spec.ID)
			w.made[new(newJob(spec, f.RequestID)).identity()] = true
			if key, wanted := s.wantsPlan(spec); wanted {
				w.plans[key] = true
			}
		}
		if f.Graph != nil {
			for _, shared := range f.Graph.Shared {
				job(shared.ID)
			}
			for _, number := range f.Graph.Again {
				if g := s.graphs[graphKey{f.RequestID, f.Graph.Graph}]; g != nil && g.has(number) {
					job(g.jobs[number])
				}
			}
		}
	case events.GraphCreated:
		if key := (graphKey{f.RequestID, f.Graph}); s.graphs[key] == nil && storable(f.RequestID) {
			w.graphs[key] = true
		}
	case events.JobForced:
		job(f.JobID)
	case events.JobReused:
		job(f.JobID)
		job(f.From)
	case events.JobsWithdrawn:
		for _, id := range f.Jobs {
			job(id)
		}
	}
}

// alike returns what guest_identities asks for: what identities have in common, once.
func alike(made map[identity]bool) []any {
	seen := make(map[identity]bool)
	var (
		suites  []events.SuiteName
		tags    []events.Tag
		kinds   []events.JobKind
		targets []events.Target
		sets    []events.Set
		rounds  []int
	)
	for i := range made {
		common := identity{suite: i.suite, tag: i.tag, kind: i.kind, part: i.part, round: i.round}
		if seen[common] || !storable(i.suite) || !storable(i.tag) || !storable(i.kind) || !storable(i.part.Target) {
			continue
		}
		seen[common] = true
		suites, tags, kinds = append(suites, i.suite), append(tags, i.tag), append(kinds, i.kind)
		targets, sets, rounds = append(targets, i.part.Target), append(sets, i.part.Set), append(rounds, i.round)
	}
	return []any{suites, tags, kinds, targets, sets, rounds}
}

// keys returns the names that a row can have (see storable).
func keys[K ~string](m map[K]bool) []K {
	list := make([]K, 0, len(m))
	for k := range m {
		if storable(k) {
			list = append(list, k)
		}
	}
	return list
}

// storable reports whether a table can hold a name as it is. No row has another name. Postgres refuses even to look for
// one, and a writer of such names must not stop the projector.
func storable[K ~string](name K) bool { return cleanText(string(name)) == string(name) }
