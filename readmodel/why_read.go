package readmodel

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// Why returns why the job of that id waits, or that it does not. The id may be cut as for FindJob. waits are the settings
// of the scheduler, with the present time. Errors: those of FindJob.
func (r *Reader) Why(ctx context.Context, name string, waits match.Waits) (Why, error) {
	found, err := r.FindJob(ctx, name)
	if err != nil {
		return Why{}, err
	}
	return r.WhyJob(ctx, found.ID, waits)
}

// WhyJob is Why for a whole id.
func (r *Reader) WhyJob(ctx context.Context, id events.JobID, waits match.Waits) (Why, error) {
	rows, err := r.whyRows(ctx, id, waits)
	if err != nil {
		return Why{}, err
	}
	return rows.why(), nil
}

// whyRows reads what the reason of a job depends on.
func (r *Reader) whyRows(ctx context.Context, id events.JobID, waits match.Waits) (whyRows, error) {
	rows := whyRows{waits: waits}
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		list, err := jobs(ctx, tx, JobFilter{ID: id})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return missing(ctx, tx, id)
		}
		rows.job = list[0]
		switch {
		case rows.job.State != events.JobQueued:
			return nil
		case rows.job.Held != "":
			return rows.readNeeds(ctx, tx)
		}
		return rows.read(ctx, tx)
	})
	return rows, err
}

// read fills in what the reason of a job that waits depends on.
func (r *whyRows) read(ctx context.Context, tx pgx.Tx) error {
	var found []Request
	var shared []whyShared
	var places []whyPlaces
	var uses []whyUses
	var b pgx.Batch
	lane := r.job.Lane()
	classes, err := r.readPark(ctx, tx)
	if err != nil {
		return err
	}
	also(&b, &uses, "why_uses", r.job.ID)
	if r.free() && (r.late || len(r.job.Near) > 0) {
		also(&b, &r.firsts, "why_firsts")
	}
	also(&b, &found, "requests", RequestFilter{ID: r.job.RequestID}.args())
	also(&b, &shared, "shared")
	also(&b, &r.lengths, "why_lengths", r.job.Suite, r.job.Target, r.job.Set, r.job.Kind, r.job.Backend, r.job.Profile)
	also(&b, &r.machines, "why_machines", lane.Target, lane.Set)
	also(&b, &r.running, "why_running", lane.Target, lane.Set)
	if r.job.Place > 0 {
		also(&b, &places, "why_places", lane.Target, lane.Set, r.job.Place)
	} else {
		also(&b, &r.leaves, "why_leaves", pgx.NamedArgs{
			"request": r.job.RequestID, "turn": r.job.turn(), "target": lane.Target, "set": lane.Set,
			"matched": r.job.Matched, "classes": classes, "sampled": r.job.Sample != "", "priority": r.job.Priority,
		})
		also(&b, &r.queues, "named_queues", "", everything)
		also(&b, &r.open, "why_open")
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("query why job %s waits: %w", r.job.ID, tooLong("why_request", err))
	}
	for _, u := range uses {
		r.uses = u.Uses
	}
	for _, s := range shared {
		r.shared = s.Shared
	}
	for _, p := range places {
		r.places = p.Ahead
	}
	for _, f := range found {
		r.request = f
	}
	return nil
}

// whyShared says whether the farm is shared, whyPlaces how many open places are before one.
type (
	whyShared struct {
		Shared bool `db:"shared"`
	}
	whyPlaces struct {
		Ahead int `db:"ahead"`
	}
	// whyLoser is a machine that lost an attempt.
	whyLoser struct {
		Machine events.MachineName `db:"machine"`
	}
)
