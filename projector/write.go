package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// errFence says that the cursor was not where this session left it.
var errFence = errors.New("the cursor of the tables was moved by somebody else")

// write stores a batch and what it did in one transaction: all or nothing, and only if the cursor is still
// where it was. All statements travel together, without a BEGIN: Postgres makes one transaction of what comes
// before one Sync. That costs one round trip instead of three.
//
// Many events are another matter: then COPY is the faster way into the archive, and its round trips do not
// count.
func (s *session) write(ctx context.Context, b batch) error {
	statements := &pgx.Batch{}
	// The cursor comes first: its row is what a second projector has to wait for, and what tells it.
	last := len(b.ids) - 1
	statements.Queue(statement("move_cursor"), s.at.seq, b.head.Seq, b.ids[last], b.times[last], b.chain[:], s.identity,
		s.state.stale, s.state.refused+b.parked, zeroIsNull(s.state.asOf))
	copies := len(b.seqs) >= copyFrom
	if !copies {
		queueArchive(statements, &b.archive)
	}
	if err := s.state.queueChanges(statements); err != nil {
		return err
	}
	if s.notify {
		statements.Queue(`SELECT pg_notify($1, $2)`, readmodel.Channel, strconv.FormatUint(uint64(b.head.Seq), 10))
	}
	var err error
	if copies {
		err = s.copyAndSend(ctx, &b.archive, statements)
	} else {
		err = s.conn.SendBatch(ctx, statements).Close()
	}
	if divided(err) {
		return errFence
	}
	return wrap(fmt.Sprintf("write events %d to %d", s.at.seq+1, b.head.Seq), err)
}

// queueChanges adds the statements for everything that the folds changed, in an order that keeps each
// constraint true at each statement.
func (s *state) queueChanges(b *pgx.Batch) error {
	requests := make([]*requestRow, 0, len(s.dirtyRequests))
	for id := range s.dirtyRequests {
		requests = append(requests, s.requests[id])
	}
	jobs := make([]*jobRow, 0, len(s.dirtyJobs))
	for id := range s.dirtyJobs {
		jobs = append(jobs, s.jobs[id])
	}
	attempts := slices.SortedFunc(maps.Values(s.dirtyAttempts), func(a, b *attemptRow) int {
		return cmp.Compare(a.Token, b.Token)
	})
	works := make([]*laneRow, 0, len(s.dirtyLanes))
	for lane := range s.dirtyLanes {
		works = append(works, s.works[lane])
	}
	collectors := make([]*collectorRow, 0, len(s.dirtyCollectors))
	for name := range s.dirtyCollectors {
		collectors = append(collectors, s.collectors[name])
	}
	alerts := make([]*alertRow, 0, len(s.dirtyAlerts))
	for key := range s.dirtyAlerts {
		alerts = append(alerts, s.alerts[key])
	}
	deliveries := make([]*deliveryRow, 0, len(s.dirtyDeliveries))
	for key := range s.dirtyDeliveries {
		deliveries = append(deliveries, s.deliveries[key])
	}
	outbox := make([]*outboxRow, 0, len(s.dirtyOutbox))
	for key := range s.dirtyOutbox {
		outbox = append(outbox, s.outbox[key])
	}
	s.queueDefinitions(b)
	s.queueRetirements(b)
	err := errors.Join(
		put(b, "put_requests", requests), put(b, "put_jobs", jobs), put(b, "put_attempts", attempts), put(b, "put_lanes", works),
		put(b, "put_collectors", collectors), put(b, "put_errors", s.errors), s.queueAssignments(b),
		put(b, "put_alerts", alerts), put(b, "put_deliveries", deliveries), put(b, "put_outbox", outbox), s.queueExpectations(b),
	)
	if err != nil {
		return err
	}
	queueResults(b, s.results)
	if !s.queueChanged {
		return nil
	}
	changed, length := s.orderQueue()
	b.Queue(statement("cut_queue"), length)
	return put(b, "put_queue", changed)
}

// put adds a statement that takes rows as JSON; none for no rows.
func put[T any](b *pgx.Batch, name string, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	list, err := rowsJSON(rows)
	if err != nil {
		return err
	}
	b.Queue(statement(name), list)
	return nil
}

func (s *state) queueAssignments(b *pgx.Batch) error {
	if len(s.dirtyAssignments) == 0 {
		return nil
	}
	var (
		targets []events.Target
		sets    []int64
		names   []events.CollectorName
		rows    []assignmentRow
	)
	for key := range s.dirtyAssignments {
		targets, sets, names = append(targets, key.lane.Target), append(sets, int64(key.lane.Set)), append(names, key.name)
		if row, ok := s.assignments[key]; ok {
			rows = append(rows, row)
		}
	}
	b.Queue(statement("remove_assignments"), targets, sets, names)
	return put(b, "put_assignments", rows)
}

// queueDefinitions makes the newest of each suite the current one, before any row is added.
func (s *state) queueDefinitions(b *pgx.Batch) {
	if len(s.newDefinitions) == 0 {
		return
	}
	type key struct {
		suite  events.SuiteName
		digest events.Digest
	}
	current := make(map[events.SuiteName]events.Digest)
	newest := make(map[key]definitionRow)
	for _, d := range s.newDefinitions {
		current[d.Suite] = d.Digest
		if before, ok := newest[key{d.Suite, d.Digest}]; ok {
			d.Content = before.Content // the first content of a digest is the one that stays, in the table too
		}
		newest[key{d.Suite, d.Digest}] = d
	}
	rows := make([]definitionRow, 0, len(newest))
	for k, d := range newest {
		d.Current = current[k.suite] == k.digest
		rows = append(rows, d)
	}
	suites := slices.Collect(maps.Keys(current))
	b.Queue(statement("retire_definitions"), suites)
	for _, d := range rows {
		b.Queue(statement("put_definitions"), d.Suite, d.Digest, cleanText(d.Content), d.Current, d.PublishedAt, d.Seq)
	}
}

func queueResults(b *pgx.Batch, results []resultRow) {
	if len(results) == 0 {
		return
	}
	n := len(results)
	text := func(get func(*resultRow) string) []string {
		list := make([]string, n)
		for i := range results {
			list[i] = cleanText(get(&results[i]))
		}
		return list
	}
	number := func(get func(*resultRow) int64) []int64 {
		list := make([]int64, n)
		for i := range results {
			list[i] = get(&results[i])
		}
		return list
	}
	disturbed, at := make([]*string, n), make([]time.Time, n)
	for i := range results {
		disturbed[i], at[i] = results[i].interference, results[i].at
	}
	b.Queue(statement("put_results"),
		text(func(r *resultRow) string { return string(r.job.Suite) }),
		text(func(r *resultRow) string { return string(r.job.Tag) }),
		text(func(r *resultRow) string { return string(r.c.Benchmark) }),
		text(func(r *resultRow) string { return string(r.c.Profile) }),
		text(func(r *resultRow) string { return string(r.c.Scenario) }),
		text(func(r *resultRow) string { return string(r.c.Backend) }),
		text(func(r *resultRow) string { return string(r.c.Target) }),
		text(func(r *resultRow) string { return r.statistics }),
		number(func(r *resultRow) int64 { return int64(len(r.c.Iterations)) }),
		disturbed,
		text(func(r *resultRow) string { return string(r.fact.Collector) }),
		text(func(r *resultRow) string { return string(r.fact.Environment) }),
		number(func(r *resultRow) int64 { return int64(r.fact.Token) }),
		number(func(r *resultRow) int64 { return int64(r.fact.Attempt) }),
		text(func(r *resultRow) string { return string(r.job.ID) }),
		text(func(r *resultRow) string { return string(r.job.RequestID) }),
		text(func(r *resultRow) string { return string(r.fact.Definitions) }),
		at,
		number(func(r *resultRow) int64 { return int64(r.seq) }),
		n,
	)
}

func queueArchive(b *pgx.Batch, a *archive) {
	b.Queue(statement("put_events"), a.seqs, a.subjects, a.types, a.ids, a.sources, a.times, a.actors, a.causes, a.roots,
		a.storedAt, a.headers, a.data, a.chains, a.parkedFor)
}

// copyFrom is how many events are worth a COPY.
const copyFrom = 200

// copyAndSend runs the statements and copies the archive, in one transaction.
func (s *session) copyAndSend(ctx context.Context, a *archive, statements *pgx.Batch) error {
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		// The cursor first, as above.
		if err := tx.SendBatch(ctx, statements).Close(); err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"event"}, []string{
			"seq", "subject", "type", "event_id", "source", "time", "actor", "cause", "root", "stored_at", "headers", "data", "chain", "parked",
		}, pgx.CopyFromSlice(len(a.seqs), func(i int) ([]any, error) {
			return []any{
				a.seqs[i], a.subjects[i], a.types[i], a.ids[i], a.sources[i], a.times[i], a.actors[i], a.causes[i], a.roots[i],
				a.storedAt[i], a.headers[i], a.data[i], a.chains[i], a.parkedFor[i],
			}, nil
		}))
		return err
	})
}

func zeroIsNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
