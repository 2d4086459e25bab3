package projector

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// trips counts what a connection sends: statements, and the round trips that carry them.
type trips struct{ statements, rounds int }

func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	c.rounds++
	c.statements += d.Batch.Len()
	return ctx
}

func (c *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.rounds++
	c.statements++
	return ctx
}

func (c *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// started projects the start of a request with so many jobs, each of which but the first needs the first, and returns
// what that took.
func started(t *testing.T, jobs int) trips {
	const request = events.RequestID("r")
	facts := []events.Fact{
		events.RequestCreated{RequestID: request, Kind: events.Master, Suite: "go", Tag: "sha1", Key: "sha1", State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: request, Definitions: "d1", Jobs: jobs},
		events.GraphCreated{RequestID: request, Kind: events.GraphInitial, Jobs: jobs, Needs: jobs - 1},
	}
	for first := 0; first < jobs; first += 200 {
		made := events.JobsCreated{RequestID: request, Graph: &events.GraphPart{First: first}}
		for i := first; i < min(first+200, jobs); i++ {
			made.Jobs = append(made.Jobs, events.JobSpec{
				ID: events.JobID(fmt.Sprint("j", i)), RequestID: request, Artifact: events.Artifact{Suite: "go", Tag: "sha1", Kind: events.Master},
				Kind: "compile", Target: "linux", Set: events.Set(i), Backend: "gc", Profile: "opt", Definitions: "d1",
			})
			if i > 0 {
				made.Graph.Needs = append(made.Graph.Needs, events.JobNeeds{Job: i, On: []int{0}})
			}
		}
		facts = append(facts, made)
	}
	part := eventlog.Append{Subject: events.RequestSubject(request)}
	for i, f := range facts {
		part.Events = append(part.Events, events.Event{ID: fmt.Sprint("e", i), Time: time.Unix(0, 0), Source: "test", Actor: "test:trips", Root: "e0", Fact: f})
	}
	log := memory.New(memory.Config{})
	last, err := log.Append(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}

	var count trips
	config := tables(t).Config()
	config.Tracer = &count
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	readmodel.InUTC(conn)
	s := &session{source: log, conn: conn, schema: "tacho_g1", size: maxBatch, channel: readmodel.Channel, metrics: NewMetrics(nil), log: slog.New(slog.DiscardHandler)}
	err = s.run(t.Context(), 1, last)
	if err != nil {
		t.Fatal(err)
	}
	var blocked int
	err = conn.QueryRow(t.Context(), `SELECT count(*) FROM job_queue JOIN graph_job USING (job_id) WHERE held = 'blocked' AND graph_job.state = 'blocked'`).Scan(&blocked)
	if err != nil || blocked != jobs-1 {
		t.Fatalf("%d jobs are blocked, %v, want %d", blocked, err, jobs-1)
	}
	return count
}

// A request with many jobs takes no more statements and round trips than one with few.
func TestManyJobsTakeAsManyStatements(t *testing.T) {
	few, many := started(t, 10), started(t, 4_000)
	if few != many {
		t.Errorf("10 jobs took %+v, 4,000 jobs %+v", few, many)
	}
}
