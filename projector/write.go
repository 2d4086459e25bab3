package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// errFence means that the cursor was not where this session left it.
var errFence = errors.New("another projector moved the cursor of the tables")

// write stores a batch and its effects in one transaction: all or nothing, and only if the cursor is still
// where it was. All statements are sent together, without a BEGIN: Postgres makes one transaction of the statements
// before one Sync. That costs one round trip instead of three.
//
// A batch of many events is written by COPY. It is faster, and its extra round trips do not matter then.
func (s *session) write(ctx context.Context, b batch) error {
	rows, after := &pgx.Batch{}, &pgx.Batch{}
	// The cursor comes first: a second projector has to wait for its row, and then learns from it that it is second.
	last := b.events[len(b.events)-1]
	rows.Queue(statement("move_cursor"), s.at.seq, b.head.Seq, cleanText(last.ID), last.Time, b.chain[:], s.identity,
		s.state.stale, s.state.refused+b.parked, zeroIsNull(s.state.asOf), b.parks, s.channel)
	results, err := arrays("result", s.state.results)
	if err = errors.Join(err, s.state.batchRowChanges(rows), s.state.batchAfterResults(after, s.until == forever || b.head.Seq == s.until)); err != nil {
		return err
	}
	if b.copied != nil {
		err = s.copyAndSend(ctx, b, rows, results, after)
	} else {
		err = s.send(ctx, b, rows, results, after)
	}
	if cursorMissed(err) {
		return errFence
	}
	return wrap(fmt.Sprintf("write events %d to %d", s.at.seq+1, b.head.Seq), err)
}

// batchRowChanges adds the statements for what the folds changed, but for the results and what follows from them. Their order
// keeps every constraint true after each statement.
func (s *state) batchRowChanges(b *pgx.Batch) error {
	attempts := slices.SortedFunc(maps.Values(s.dirtyAttempts), func(a, b *attemptRow) int {
		return cmp.Compare(a.Token, b.Token)
	})
	s.batchRetirements(b)
	s.batchCounts(b)
	return errors.Join(
		s.batchLines(b), put(b, "benchmark_request", changed(s.requests, s.dirtyRequests)),
		put(b, "job_queue", changed(s.jobs, s.dirtyJobs)),
		// Attempts are in the order of their tokens: one ends before the next one of its lane begins.
		put(b, "attempt", attempts), put(b, "lane", changed(s.works, s.dirtyLanes)),
		put(b, "collector_config", changed(s.collectors, s.dirtyCollectors)), add(b, "error", s.errors), batchRows(b, "put_blocks", "block", s.blocks), put(b, "output", slices.Collect(maps.Values(s.outputs))), s.batchAssignments(b),
		put(b, "alert", changed(s.alerts, s.dirtyAlerts)), put(b, "delivery", changed(s.deliveries, s.dirtyDeliveries)),
		put(b, "outbox", changed(s.outbox, s.dirtyOutbox)), s.batchExpectations(b), s.batchUses(b),
		put(b, "account", changed(s.accounts, s.dirtyAccounts)), put(b, "named_queue", changed(s.namedQueues, s.dirtyQueues)), s.batchShares(b),
		put(b, "machine", changed(s.machines, s.dirtyMachines)), s.batchWarm(b), s.batchGraphs(b), s.batchDiagnostics(b),
	)
}

// batchCounts stores how many test cases of jobs were measured. A whole row of theirs takes Postgres four times as long, and each event
// with results would write one.
func (s *state) batchCounts(b *pgx.Batch) {
	var ids []string
	var counts []int64
	for id := range s.counted {
		if !s.dirtyJobs[id] {
			ids, counts = append(ids, string(id)), append(counts, int64(s.jobs[id].Measured))
		}
	}
	if len(ids) > 0 {
		b.Queue(statement("count_measured"), ids, counts)
	}
}

// batchAfterResults adds the statements that need the results of the batch, and those for the order of the queue. Without ordered
// they wait for a later batch.
func (s *state) batchAfterResults(b *pgx.Batch, ordered bool) error {
	s.batchReuse(b)
	s.batchNoise(b)
	s.queueWaits = s.queueWaits || s.queueChanged
	if !s.queueWaits || !ordered {
		return nil
	}
	s.queueWaits = false
	places, length := s.orderQueue()
	b.Queue(statement("cut_queue"), length)
	return put(b, "queue", places)
}

// changed returns the rows that have the keys.
func changed[K comparable, V any](rows map[K]V, keys map[K]bool) []V {
	list := make([]V, 0, len(keys))
	for k := range keys {
		list = append(list, rows[k])
	}
	return list
}

// put adds the statement that stores rows of a table. They replace rows with the same keys.
func put[T any](b *pgx.Batch, table string, rows []T) error {
	return batchRows(b, "put "+table, table, rows)
}

// add adds the statement that stores rows of a table. The table must have no rows with the same keys.
func add[T any](b *pgx.Batch, table string, rows []T) error {
	return batchRows(b, "add "+table, table, rows)
}

// batchRows adds a statement that takes rows of a table. Without rows it adds none.
func batchRows[T any](b *pgx.Batch, name, table string, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	list, err := arrays(table, rows)
	if err != nil {
		return err
	}
	batchColumns(b, name, len(rows), list)
	return nil
}

// batchColumns adds a statement that takes n rows, given as one array for each column. If it has a form for one row, a single row
// travels by that.
func batchColumns(b *pgx.Batch, name string, n int, columns []any) {
	single, known := statements()[name+oneRow]
	if n > 1 || !known {
		b.Queue(statement(name), columns...)
		return
	}
	values := make([]any, len(columns))
	for i, c := range columns {
		values[i] = reflect.ValueOf(c).Index(0).Interface()
	}
	b.Queue(single, values...)
}

func (s *state) batchAssignments(b *pgx.Batch) error {
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
	return add(b, "assignment", rows)
}

// batchShares stores the policy, and adds to the counts of accounts what the batch changed.
func (s *state) batchShares(b *pgx.Batch) error {
	shares, usages := slices.Collect(maps.Values(s.shares)), slices.Collect(maps.Values(s.usages))
	err := errors.Join(
		batchRows(b, "open_shares", "share", shares), batchRows(b, "charge_shares", "share", shares),
		batchRows(b, "open_usage", "usage", usages), batchRows(b, "charge_usage", "usage", usages),
	)
	if !s.policyChanged {
		return err
	}
	return errors.Join(err, put(b, "share_policy", []*readmodel.SharePolicy{s.policy}))
}

// copyFrom is the number of events from which COPY is used.
const copyFrom = 200

// copyAndSend runs the statements and copies results and events, in one transaction.
func (s *session) copyAndSend(ctx context.Context, b batch, rows *pgx.Batch, results []any, after *pgx.Batch) error {
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		// The cursor comes first, as in write.
		err := tx.SendBatch(ctx, rows).Close()
		if err != nil {
			return err
		}
		err = s.copyResults(ctx, tx, results)
		if err != nil {
			return err
		}
		err = tx.SendBatch(ctx, after).Close()
		if err != nil {
			return err
		}
		return copyRows(ctx, tx, "event", b.copied)
	})
}

// send sends all statements of a batch at once.
func (s *session) send(ctx context.Context, b batch, rows *pgx.Batch, results []any, after *pgx.Batch) error {
	batchColumns(rows, "add event", len(b.events), b.archive)
	n := len(s.state.results)
	with := func(statement string) error {
		all := &pgx.Batch{}
		queueAll(all, rows)
		if n > 0 {
			batchColumns(all, statement, n, results)
		}
		queueAll(all, after)
		return s.conn.SendBatch(ctx, all).Close()
	}
	if n == 0 {
		return with("")
	}
	return s.addResults(func() error { return with("add result") }, func() error { return with("put_results") })
}

// queueAll adds the statements of a batch to another, which may be sent although the batch was, too.
func queueAll(b, more *pgx.Batch) {
	for _, q := range more.QueuedQueries {
		b.Queue(q.SQL, q.Arguments...)
	}
}

// copyResults copies the results of the batch.
func (s *session) copyResults(ctx context.Context, tx pgx.Tx, results []any) error {
	n := len(s.state.results)
	if n == 0 {
		return nil
	}
	return s.addResults(func() error {
		return pgx.BeginFunc(ctx, tx, func(part pgx.Tx) error { return copyRows(ctx, part, "result", copyForm(results, n)) })
	}, func() error {
		_, err := tx.Exec(ctx, statement("put_results"), results...)
		return err
	})
}

// afterDuplicate is for how many batches the results go over those that are there, after a batch with a test case that was there.
const afterDuplicate = 16

// addResults stores the results of the batch. If a test case is there already, which is rare, plain stores none of them. Then passing
// stores all others, which takes twice as long, and those of the next batches: where one is there, others may follow.
func (s *session) addResults(plain, passing func() error) error {
	if s.passes == 0 {
		if err := plain(); !duplicate(err) {
			return err
		}
		s.passes = afterDuplicate
	}
	s.passes--
	return passing()
}

func zeroIsNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
