package readmodel

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// Graph is one row of graph, with its jobs.
type Graph struct {
	RequestID events.RequestID `db:"request_id" json:"request_id"`
	// Number counts the graphs of the request from 0.
	Number int              `db:"number" json:"number"`
	Kind   events.GraphKind `db:"kind" json:"kind"`
	// Key is the key of the wish that asked for it; empty for others.
	Key string `db:"key" json:"key,omitempty"`
	// Jobs and Needs are how many it has. It is sealed once all of them are named; LeftNeeds are not named yet.
	Jobs      int  `db:"jobs" json:"jobs"`
	Needs     int  `db:"needs" json:"needs"`
	Sealed    bool `db:"sealed" json:"-"`
	LeftNeeds int  `db:"left_needs" json:"-"`
	// Priority is what was asked for its samples, empty for that of the request: they are never more urgent than that. Copies
	// is how many samples it takes of each job. Both are zero if its jobs are no samples.
	Priority events.Priority `db:"priority" json:"priority,omitempty"`
	Copies   int             `db:"copies" json:"copies,omitempty"`
	// Customised says that its jobs are not those that the definitions make: their results are never taken for evidence.
	Customised bool `db:"customised" json:"customised,omitempty"`
	// OnFailure is fail-fast if the failure of a required job skips every job that has not begun.
	OnFailure events.OnFailure `db:"on_failure" json:"on_failure,omitempty"`
	// Deadline is by when its jobs should have ended; nil for none.
	Deadline *time.Time `db:"deadline" json:"deadline,omitempty"`
	// CancelledAt is when it was withdrawn, CancelReason why; nil if it was not. Its jobs may still have to end.
	CancelledAt  *time.Time `db:"cancelled_at" json:"cancelled_at,omitempty"`
	CancelReason string     `db:"cancel_reason" json:"cancel_reason,omitempty"`
	// Outcome is empty while the graph is open, cancelled if it was, or its request, and expired if it was for its
	// deadline. Failed and Skipped count required
	// jobs at its end.
	Outcome    events.Outcome `db:"outcome" json:"outcome"`
	Failed     int            `db:"failed" json:"failed"`
	Skipped    int            `db:"skipped" json:"skipped"`
	CreatedAt  time.Time      `db:"created_at" json:"created_at"`
	CreatedSeq events.Seq     `db:"created_seq" json:"-"`
	EndedAt    *time.Time     `db:"ended_at" json:"ended_at"`
	// Nodes are its jobs, by number.
	Nodes []GraphJob `db:"-" json:"nodes"`
	// Measured is what its samples measured, if it was asked for: the headline metric first.
	Measured []SampledMetric `db:"-" json:"measured,omitempty"`
	// Diagnostics are what its jobs had to say, if it was asked for; nil for nothing.
	Diagnostics *GraphDiagnostics `db:"-" json:"diagnostics,omitempty"`
}

// GraphJobRow is one row of graph_job.
type GraphJobRow struct {
	RequestID events.RequestID `db:"request_id"`
	Graph     int              `db:"graph"`
	Number    int              `db:"number"`
	JobID     events.JobID     `db:"job_id"`
	Optional  bool             `db:"optional"`
	State     graph.State      `db:"state"`
	SkippedBy *int             `db:"skipped_by"`
	Needs     []GraphNeed      `db:"needs"`
	Forced    string           `db:"forced"`
	// Begun says of a job of a fail-fast graph that its round goes on whatever fails.
	Begun bool `db:"begun"`
	// Outputs are what its newest round has stored. Stale says that it uses an output of a job that has failed since.
	Outputs []string `db:"outputs"`
	Stale   bool     `db:"stale"`
	// CostMS and Rank are those of the job (see Job).
	CostMS *int64 `db:"cost_ms"`
	Rank   *int   `db:"rank"`
}

// GraphJob is a job of a graph, with what the tables know of the job itself. That is empty once the job has left them.
type GraphJob struct {
	Graph  int `db:"graph" json:"-"`
	Number int `db:"number" json:"number"`
	// JobID is its newest round in the graph.
	JobID events.JobID `db:"job_id" json:"job_id"`
	// Optional jobs never keep a graph from success.
	Optional bool `db:"optional" json:"optional"`
	// State is blocked, skipped, queued, in_progress, success, failure or cancelled. What was skipped when the graph ended
	// stays so.
	State string `db:"state" json:"state"`
	// SkippedBy is the number of the job that failed; nil unless the job is skipped.
	SkippedBy *int `db:"skipped_by" json:"skipped_by,omitempty"`
	// Needs are sorted by the number of the job that is needed.
	Needs []GraphNeed `db:"needs" json:"needs"`
	// Forced is why a person let it run although its needs were not met: they count as met; empty if it was not forced.
	Forced string `db:"forced" json:"forced,omitempty"`
	// StaleInput says that it uses an output of a job that has failed since.
	StaleInput bool `db:"stale" json:"stale_input,omitempty"`
	// CostMS is how long it was expected to take when the graph was made, and Rank its place in the order in which the jobs are
	// to run; nil in graphs in the order of creation.
	CostMS  *int64         `db:"cost_ms" json:"cost_ms,omitempty"`
	Rank    *int           `db:"rank" json:"rank,omitempty"`
	Tag     events.Tag     `db:"tag" json:"tag"`
	Kind    events.JobKind `db:"kind" json:"kind"`
	Target  events.Target  `db:"target" json:"target"`
	Set     events.Set     `db:"set" json:"set"`
	Backend events.Backend `db:"backend" json:"backend"`
	Profile events.Profile `db:"profile" json:"profile"`
	Round   int            `db:"round" json:"round"`
	// Sample names the sample that it measures; empty for the base series.
	Sample string `db:"sample" json:"sample,omitempty"`
	// Reason, Collector, DequeuedAt, FinishedAt and DurationMS are those of the job (see Job).
	Reason     string               `db:"reason" json:"reason,omitempty"`
	Collector  events.CollectorName `db:"collector" json:"collector,omitempty"`
	DequeuedAt *time.Time           `db:"dequeued_at" json:"dequeued_at"`
	FinishedAt *time.Time           `db:"finished_at" json:"finished_at"`
	DurationMS int64                `db:"duration_ms" json:"duration_ms"`
	// Benchmarks are name globs; empty means all of the set. Requires are the terms that the machine of a matched job meets.
	// Iterations is how often each test case is measured, if the job was changed so; 0 for as often as the definitions say.
	Benchmarks []string `db:"benchmarks" json:"benchmarks,omitempty"`
	Requires   []string `db:"requires" json:"requires,omitempty"`
	Iterations int      `db:"iterations" json:"iterations,omitempty"`
	// The others are what else the job consists of.
	Measures     []string           `db:"measures" json:"-"`
	Caches       []string           `db:"caches" json:"-"`
	Matched      bool               `db:"matched" json:"-"`
	ArtifactKind events.RequestKind `db:"artifact_kind" json:"-"`
}

// GraphNeed is a job that another one needs, by number.
type GraphNeed struct {
	On    int          `json:"on"`
	Until events.Until `json:"until,omitempty"`
	// Output is the output of the other job that meets it; empty for its end.
	Output string `json:"output,omitempty"`
	Met    bool   `json:"met,omitempty"`
}

// Graphs returns the graphs of a request with their jobs, by number; none if its jobs need no others and it has no samples.
func (r *Reader) Graphs(ctx context.Context, request events.RequestID) ([]Graph, error) {
	var list []Graph
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		var nodes []GraphJob
		var b pgx.Batch
		also(&b, &list, "graphs", request)
		also(&b, &nodes, "graph_jobs", request, nil)
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return fmt.Errorf("query the graphs of request %s: %w", request, tooLong("graphs", err))
		}
		giveNodes(list, nodes)
		return nil
	})
	return list, err
}

// giveNodes gives the graphs their jobs. Both are by number.
func giveNodes(list []Graph, nodes []GraphJob) {
	for i := range list {
		list[i].Nodes = []GraphJob{}
		for ; len(nodes) > 0 && nodes[0].Graph == list[i].Number; nodes = nodes[1:] {
			list[i].Nodes = append(list[i].Nodes, nodes[0])
		}
	}
}
