package reporter

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/shell"
)

const (
	repo = events.RepoName("rust-lang/rust")
	pr   = 14
)

// rig is a log and a GitHub, in a bubble of simulated time.
type rig struct {
	t      *testing.T
	log    *memory.Log
	github *fakegithub.Server
	pulls  fakegithub.Repository
	bot    *fakegithub.User
	client *githubapi.Client
	// mu guards text, the next report's text.
	mu    sync.Mutex
	text  string
	n     int
	stops []func()
}

func inRig(t *testing.T, test func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakegithub.Start(t, fakegithub.Config{InProcess: true})
		r := &rig{t: t, log: memory.New(memory.Config{}), github: server, pulls: server.Repository(string(repo)), bot: server.AddBot("tacho[bot]"), text: "no change"}
		server.AddToken("secret", r.bot)
		r.pulls.AddPull(fakegithub.Pull{Number: pr, Title: "Faster", Author: server.AddUser("alice"), Head: strings.Repeat("9", 40)})
		client, err := githubapi.New(githubapi.Config{URL: server.URL(), Token: "secret", Transport: server.Client().Transport})
		if err != nil {
			t.Fatal(err)
		}
		r.client = client
		defer func() {
			for _, stop := range r.stops {
				stop()
			}
		}()
		test(t, r)
	})
}

// config returns the configuration of a reporter in a process of its own: with a ledger that a shell keeps up to date
// with the log.
func (r *rig) config(log eventlog.Log, github GitHub) Config {
	r.n++
	s := shell.New(shell.Config{Log: r.log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	r.goes(s.Run)
	return Config{
		Log: log, Ledger: s, GitHub: github, Repo: repo, Self: githubapi.Account{ID: r.bot.ID, Login: r.bot.Login}, Instance: fmt.Sprint("i", r.n), Clock: time.Now, Failing: func(error) {},
		Report: func(context.Context, request.Request, events.Seq) (Report, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return Report{Body: r.text, AddLabels: []string{"perf-regression"}, RemoveLabels: []string{"S-waiting-on-perf"}}, nil
		},
		Logger: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()),
	}
}

// run starts a reporter. stop stops it and waits for it.
func (r *rig) run(c Config) (stop func()) { return r.goes(New(c).Run) }

// goes runs a function until it is stopped.
func (r *rig) goes(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
	r.stops = append(r.stops, stop)
	return stop
}

func (r *rig) start() (stop func()) { return r.run(r.config(r.log, r.client)) }

func (r *rig) append(parts ...eventlog.Append) {
	r.t.Helper()
	if _, err := r.log.Append(context.Background(), parts...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) record(facts ...events.Fact) {
	r.t.Helper()
	for _, f := range facts {
		last, _, err := r.log.Last(context.Background(), f.Subject())
		if err != nil {
			r.t.Fatal(err)
		}
		e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test", Root: "test"}, time.Now())
		r.append(eventlog.Append{Subject: f.Subject(), Expected: last.Seq, Events: []events.Event{e}})
	}
}

func answer(key events.OutboxKey, body string) events.CommentWanted {
	return events.CommentWanted{Key: key, Revision: 1, Purpose: events.CommentAnswer, Repo: repo, PR: pr, Body: body, RequestID: "r1", Temporary: true}
}

// try records a request of a pull request that has ended.
func (r *rig) try(id events.RequestID, tag events.Tag) {
	r.record(
		events.RequestCreated{RequestID: id, Kind: events.Try, Suite: "rustc", Tag: tag, Parent: "p", PR: pr, Key: string(id), State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: id}, events.RequestCompleted{RequestID: id},
	)
}

// made records a job of a request, which measures an artifact.
func (r *rig) made(id events.JobID, by events.RequestID, tag events.Tag) (at events.Lane) {
	at = events.Lane{Target: "x", Set: 1}
	r.record(events.JobsCreated{RequestID: by, Jobs: []events.JobSpec{{
		ID: id, RequestID: by, Artifact: events.Artifact{Suite: "rustc", Tag: tag, Kind: events.Master}, Target: at.Target, Set: at.Set,
	}}})
	return at
}

// measured records a job of the parent of all tries, and returns the fact that tells its results.
func (r *rig) measured(id events.JobID) events.TestCasesMeasured {
	return events.TestCasesMeasured{Lane: r.made(id, "r0", "p"), JobID: id, Artifact: events.Artifact{Suite: "rustc", Tag: "p", Kind: events.Master}}
}

// ended records a job that is made, dispatched and ended.
func (r *rig) ended(id events.JobID, by events.RequestID, place uint64) {
	at := r.made(id, by, "z")
	r.record(
		events.JobDispatched{Place: place, Job: events.JobSpec{ID: id, RequestID: by, Target: at.Target, Set: at.Set}},
		events.JobFinished{Lane: at, Place: place, JobID: id, RequestID: by, Outcome: events.Failure},
	)
}

// comments returns the bodies of the comments of the pull request, folded ones in brackets.
func (r *rig) comments() (all []string) {
	for _, c := range r.pulls.Comments(pr) {
		body, _, _ := strings.Cut(c.Body, "\n")
		if c.Minimized {
			body = "[" + body + "]"
		}
		all = append(all, body)
	}
	return all
}

func (r *rig) want(comments ...string) {
	r.t.Helper()
	if got := strings.Join(r.comments(), " | "); got != strings.Join(comments, " | ") {
		r.t.Errorf("comments are %q, want %q", got, strings.Join(comments, " | "))
	}
}

// pass lets simulated time pass.
func pass(d time.Duration) { <-time.After(d); synctest.Wait() }

func count[T events.Fact](r *rig) (n int) {
	r.t.Helper()
	head, err := r.log.Head(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	cursor, err := r.log.Follow(context.Background(), 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer cursor.Close()
	for seq := events.Seq(0); seq < head.Last; {
		list, err := cursor.Next(context.Background(), 1000)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, m := range list {
			e, err := events.Decode(m)
			if err != nil {
				r.t.Fatal(err)
			}
			seq = e.Seq
			if _, ok := e.Fact.(T); ok {
				n++
			}
		}
	}
	return n
}
