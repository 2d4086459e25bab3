package projector_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/request"
	defs "github.com/tachobench/tacho/rules/suite"
)

// burst tells a request and its definitions, and returns the facts of its start as the scheduler writes them. It has so
// many jobs in two layers. Each job of the second layer needs so many of the first; with 0 no job needs another one.
func burst(t testing.TB, s *story, jobs, needs int) []events.Fact {
	t.Helper()
	const profiles = 20
	d := defs.Definitions{
		Version: 2, Name: suite, PrimaryTarget: "linux-amd64", Targets: []defs.Target{{Name: "linux-amd64", Sets: jobs / 2 / profiles}},
		Kinds:    []defs.Kind{{Name: "a", PerSet: true, PerProfile: true}, {Name: "b", PerSet: true, PerProfile: true}},
		Backends: []defs.Backend{{Name: "gc"}},
	}
	for i := range profiles {
		d.Profiles = append(d.Profiles, defs.Profile{Name: events.Profile(fmt.Sprint("p", i))})
	}
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: d.Digest(), Content: d.Canonical()})
	s.tell(created("sha1", "", 0))
	own, _, err := d.Expand(defs.Request{ID: requestID("sha1"), Artifact: events.Artifact{Suite: suite, Tag: "sha1", Kind: events.Master}})
	if err != nil {
		t.Fatal(err)
	}
	start := request.Start{Definitions: d.Digest(), Jobs: own}
	if needs > 0 {
		start.Graph = &request.Graph{Kind: events.GraphInitial}
		for i := len(own) / 2; i < len(own); i++ {
			n := events.JobNeeds{Job: i}
			for on := range needs {
				n.On = append(n.On, (i+on)%(len(own)/2))
			}
			start.Graph.Needs = append(start.Graph.Needs, n)
		}
	}
	facts, err := request.Decide(request.Request{ID: requestID("sha1"), State: events.StateArtifactsReady}, start)
	if err != nil {
		t.Fatal(err)
	}
	return append([]events.Fact{events.RequestAdmitted{RequestID: requestID("sha1"), Tag: "sha1"}}, facts...)
}

// BenchmarkBurst is the start of a request with 10,000 jobs, from one append to visible rows. The ratio is to the COPY of
// the same rows into the same tables in the same run.
func BenchmarkBurst(b *testing.B) {
	b.Run("plain", func(b *testing.B) { burstOf(b, 0) })
	b.Run("needs", func(b *testing.B) { burstOf(b, graph.MaxNeeds/5_000) })
}

func burstOf(b *testing.B, needs int) {
	var projecting, copying time.Duration
	for b.Loop() {
		s := newStory(b)
		facts := burst(b, s, graph.MaxJobs, needs)
		url := database(b)
		r, log := open(b, url), newFeed("log", s.stored...)
		p := start(b, projector.Config{Log: log, URL: url})
		p.await(b, r, events.Seq(len(s.stored)))
		before := len(s.stored)
		for _, f := range facts {
			s.tell(f)
		}
		began := time.Now()
		log.add(s.stored[before:]...)
		p.await(b, r, events.Seq(len(s.stored)))
		projecting += time.Since(began)
		err := p.stop()
		if err != nil {
			b.Fatal(err)
		}
		if n := count(b, url, `SELECT count(*) FROM tacho.job_queue`); n != graph.MaxJobs {
			b.Fatal(n, "jobs")
		}
		copying += copied(b, url, database(b), "event", "job_queue", "graph", "graph_job", "expected_jobs")
		r.Close()
	}
	b.ReportMetric(float64(projecting.Milliseconds())/float64(b.N), "ms")
	b.ReportMetric(float64(copying.Milliseconds())/float64(b.N), "copy-ms")
	b.ReportMetric(projecting.Seconds()/copying.Seconds(), "ratio")
}

// copied copies tables from one database to another one and returns how long the writing took, in one transaction.
func copied(b *testing.B, from, to string, tables ...string) (took time.Duration) {
	b.Helper()
	var conns [2]*pgx.Conn
	for i, url := range []string{from, to} {
		conn, err := pgx.Connect(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close(b.Context())
		conns[i] = conn
	}
	tx, err := conns[1].Begin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, table := range tables {
		var rows bytes.Buffer
		if _, err := conns[0].PgConn().CopyTo(b.Context(), &rows, `COPY tacho_g1.`+table+` TO STDOUT BINARY`); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if _, err := conns[1].PgConn().CopyFrom(b.Context(), &rows, `COPY tacho_g1.`+table+` FROM STDIN BINARY`); err != nil {
			b.Fatal(err)
		}
		took += time.Since(began)
	}
	began := time.Now()
	err = tx.Commit(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return took + time.Since(began)
}
