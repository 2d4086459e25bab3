package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
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
// Many events go into the archive by COPY. It is faster, and its extra round trips do not matter then.
func (s *session) write(ctx context.Context, b batch) error {
	statements := &pgx.Batch{}
	// The cursor comes first: a second projector has to wait for its row, and then learns from it that it is second.
	last := b.events[len(b.events)-1]
	statements.Queue(statement("move_cursor"), s.at.seq, b.head.Seq, cleanText(last.ID), last.Time, b.chain[:], s.identity,
		s.state.stale, s.state.refused+b.parked, zeroIsNull(s.state.asOf), b.parks)
	copies := len(b.events) >= copyFrom
	if !copies {
		statements.Queue(statement("put_events"), b.archive...)
	}
	if err := s.state.batchChanges(statements); err != nil {
		return err
	}
	if s.notify {
		statements.Queue(`SELECT pg_notify($1, $2)`, readmodel.Channel, strconv.FormatUint(uint64(b.head.Seq), 10))
	}
	var err error
	if copies {
		err = s.copyAndSend(ctx, b, statements)
	} else {
		err = s.conn.SendBatch(ctx, statements).Close()
	}
	if cursorMissed(err) {
		return errFence
	}
	return wrap(fmt.Sprintf("write events %d to %d", s.at.seq+1, b.head.Seq), err)
}

// batchChanges adds the statements for everything that the folds changed. Their order keeps every
// constraint true after each statement.
func (s *state) batchChanges(b *pgx.Batch) error {
	attempts := slices.SortedFunc(maps.Values(s.dirtyAttempts), func(a, b *attemptRow) int {
		return cmp.Compare(a.Token, b.Token)
	})
	s.batchRetirements(b)
	err := errors.Join(
		s.batchLines(b), put(b, "benchmark_request", changed(s.requests, s.dirtyRequests)),
		put(b, "job_queue", changed(s.jobs, s.dirtyJobs)),
		// Attempts are in the order of their tokens: one ends before the next one of its lane begins.
		put(b, "attempt", attempts), put(b, "lane", changed(s.works, s.dirtyLanes)),
		put(b, "collector_config", changed(s.collectors, s.dirtyCollectors)), add(b, "error", s.errors), put(b, "output", slices.Collect(maps.Values(s.outputs))), s.batchAssignments(b),
		put(b, "alert", changed(s.alerts, s.dirtyAlerts)), put(b, "delivery", changed(s.deliveries, s.dirtyDeliveries)),
		put(b, "outbox", changed(s.outbox, s.dirtyOutbox)), s.batchExpectations(b), s.batchUses(b),
		put(b, "account", changed(s.accounts, s.dirtyAccounts)), put(b, "named_queue", changed(s.namedQueues, s.dirtyQueues)), s.batchShares(b),
		put(b, "machine", changed(s.machines, s.dirtyMachines)), s.batchWarm(b), s.batchGraphs(b), s.batchDiagnostics(b),
	)
	if err != nil {
		return err
	}
	if err := batchRows(b, "put_results", "result", s.results); err != nil {
		return err
	}
	s.batchReuse(b)
	s.batchNoise(b)
	if !s.queueChanged {
		return nil
	}
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
	b.Queue(statement(name), list...)
	return nil
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

// copyAndSend runs the statements and copies the events into the archive, in one transaction.
func (s *session) copyAndSend(ctx context.Context, b batch, statements *pgx.Batch) error {
	columns := readmodel.Columns("event")
	names, arrays := make([]string, len(columns)), make([]reflect.Value, len(columns))
	for i, c := range columns {
		names[i], arrays[i] = c.Name, reflect.ValueOf(b.archive[i])
	}
	row := make([]any, len(columns))
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		// The cursor comes first, as in write.
		if err := tx.SendBatch(ctx, statements).Close(); err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"event"}, names, pgx.CopyFromSlice(len(b.events), func(n int) ([]any, error) {
			for i := range row {
				row[i] = arrays[i].Index(n).Interface()
			}
			return row, nil
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
