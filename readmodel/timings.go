package readmodel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/waits"
)

// Timings is what the jobs of a graph did over time, by the clock of the log.
type Timings struct {
	MetricVersion int              `json:"metric_version"`
	RequestID     events.RequestID `json:"request_id"`
	Graph         int              `json:"graph"`
	Kind          events.GraphKind `json:"kind"`
	// Outcome is empty while the graph is open. Then the times go until now.
	Outcome events.Outcome `json:"outcome"`
	// Left counts jobs of which a round has left the tables, or that had ended before the graph was made: times are missing.
	Left int `json:"left,omitempty"`
	waits.Timeline
}

// graphRun and graphAttempt are what the tables know of a job of a graph.
type graphRun struct {
	JobID      events.JobID    `db:"job_id"`
	State      events.JobState `db:"state"`
	LogReadyAt *time.Time      `db:"log_ready_at"`
	LogEndedAt *time.Time      `db:"log_ended_at"`
}

type graphAttempt struct {
	JobID        events.JobID   `db:"job_id"`
	LogStartedAt *time.Time     `db:"log_started_at"`
	LogEndedAt   *time.Time     `db:"log_ended_at"`
	Lost         bool           `db:"lost"`
	Phases       *events.Phases `db:"phases"`
}

// Timings returns what the jobs of a graph did over time, until now if it is open; or ErrNotFound. Which jobs it had, and when, the
// log says; when they ran, the tables.
func (r *Reader) Timings(ctx context.Context, id events.RequestID, number int, now time.Time) (Timings, error) {
	graphs, err := r.Graphs(ctx, id)
	if err != nil {
		return Timings{}, err
	}
	at := slices.IndexFunc(graphs, func(g Graph) bool { return g.Number == number })
	if at < 0 {
		return Timings{}, fmt.Errorf("graph %d of request %s: %w", number, id, ErrNotFound)
	}
	return r.TimingsOf(ctx, graphs[at], now)
}

// TimingsOf is Timings for a graph that was read.
func (r *Reader) TimingsOf(ctx context.Context, g Graph, now time.Time) (Timings, error) {
	told := toldGraph{graph: g, to: now}
	var runs []graphRun
	var attempts []graphAttempt
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		rows, err := all[EventRow](ctx, tx, "graph_facts", events.RequestSubject(g.RequestID), g.CreatedSeq)
		if err != nil {
			return err
		}
		for _, row := range rows {
			err = told.take(row)
			if err != nil {
				return err
			}
		}
		ids := make([]events.JobID, len(told.rounds))
		for i, round := range told.rounds {
			ids[i] = round.Job
		}
		runs, err = all[graphRun](ctx, tx, "graph_runs", ids)
		if err != nil {
			return err
		}
		attempts, err = all[graphAttempt](ctx, tx, "graph_attempts", ids)
		return err
	})
	if err != nil {
		return Timings{}, err
	}
	t := Timings{MetricVersion: waits.TimelineVersion, RequestID: g.RequestID, Graph: g.Number, Kind: g.Kind, Outcome: g.Outcome}
	t.Left = told.ran(runs, attempts)
	t.Timeline = waits.Follow(told.rounds, told.from, told.to)
	t.name(g)
	return t, nil
}

// toldGraph is a graph as the log tells it: which jobs had its numbers, and when.
type toldGraph struct {
	graph    Graph
	from, to time.Time
	rounds   []waits.Round
	// forced are the jobs that people let run, by number.
	forced []step
}

// take folds an event of the request.
func (g *toldGraph) take(row EventRow) error {
	shown, err := row.event()
	if err != nil {
		return err
	}
	e, err := events.DecodeOne(events.Stored{Seq: row.Seq, Subject: row.Subject, Header: shown.Headers, Data: row.Data, StoredAt: row.StoredAt})
	if err != nil {
		return fmt.Errorf("event %d: %w", row.Seq, err)
	}
	at := row.StoredAt.UTC()
	// The others say nothing about the jobs of a graph.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.GraphCreated:
		if f.Graph == g.graph.Number && g.from.IsZero() {
			g.from = at
		}
	case events.GraphEnded:
		if f.Graph == g.graph.Number && g.graph.EndedAt != nil && at.Before(g.to) {
			g.to = at
		}
	case events.JobForced:
		for _, r := range g.rounds {
			if r.Job == f.JobID {
				g.forced = append(g.forced, step{at: at, kind: stepForced, number: r.Number})
			}
		}
	case events.JobsCreated:
		part := f.Graph
		if part == nil || part.Graph != g.graph.Number {
			return nil
		}
		for i, j := range f.Jobs {
			number := part.First + i
			if i < len(part.Again) {
				number = part.Again[i]
			}
			g.add(number, j.ID, at)
		}
		for _, shared := range part.Shared {
			if shared.Outcome == "" { // else it had ended before
				g.add(shared.Number, shared.ID, at)
			}
		}
	}
	return nil
}

func (g *toldGraph) add(number int, id events.JobID, at time.Time) {
	round := waits.Round{Number: number, Job: id, From: at}
	if node := g.graph.Node(number); node >= 0 {
		for _, n := range g.graph.Nodes[node].Needs {
			round.Needs = append(round.Needs, n.On)
		}
	}
	g.rounds = append(g.rounds, round)
}

// ran adds when the jobs were ready and ran, and drops those of which the tables know nothing. It returns of how many of the
// graph's jobs times are missing.
func (g *toldGraph) ran(runs []graphRun, attempts []graphAttempt) int {
	rounds := map[events.JobID]int{}
	for i, r := range g.rounds {
		rounds[r.Job] = i
	}
	known, states := map[events.JobID]bool{}, map[events.JobID]events.JobState{}
	for _, run := range runs {
		r := &g.rounds[rounds[run.JobID]]
		r.Ready, r.Ended, known[run.JobID] = orZero(run.LogReadyAt), orZero(run.LogEndedAt), true
		states[run.JobID] = run.State
	}
	for _, a := range attempts {
		r := &g.rounds[rounds[a.JobID]]
		r.Attempts = append(r.Attempts, waits.Span{From: orZero(a.LogStartedAt), To: orZero(a.LogEndedAt), Lost: a.Lost, Phases: a.Phases})
	}
	numbers := map[int]bool{}
	g.rounds = slices.DeleteFunc(g.rounds, func(r waits.Round) bool {
		whole, seen := numbers[r.Number]
		numbers[r.Number] = known[r.Job] && (whole || !seen)
		return !known[r.Job]
	})
	g.skip(states)
	timed := 0
	for _, whole := range numbers {
		if whole {
			timed++
		}
	}
	return max(g.graph.Jobs-timed, 0)
}

// name gives the jobs the names that the graph has for them.
func (t *Timings) name(g Graph) {
	names, seen, of := g.Names(), map[int]int{}, map[events.JobID]string{}
	for i := range t.Rounds {
		j := &t.Rounds[i]
		if node := g.Node(j.Number); node >= 0 {
			j.Name = names[node]
		}
		if seen[j.Number]++; seen[j.Number] > 1 {
			j.Name += fmt.Sprintf(" (again, %d)", seen[j.Number])
		}
		of[j.Job] = j.Name
	}
	for i := range t.Path {
		t.Path[i].Name = of[t.Path[i].Job]
	}
}
