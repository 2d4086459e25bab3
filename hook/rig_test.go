package hook

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/posting"
	"github.com/tachobench/tacho/shell"
)

// patience bounds each wait of a test.
const patience = 2 * time.Minute

// post is what a receiver got.
type post struct {
	header http.Header
	body   string
	path   string
}

func (p post) id() string { return p.header.Get("ce-id") }

// name is the type without prefix and version.
func (p post) name() string {
	return events.NameOf(events.Stored{Header: map[string]string{events.HeaderType: p.header.Get("ce-type")}})
}

// receiver is the other end of a hook.
type receiver struct {
	*httptest.Server
	posts chan post
	// answer answers a post; nil answers 204.
	answer http.HandlerFunc
}

// receive starts a receiver that gives its first posts to some answers. It counts a post when it answers.
func receive(t *testing.T, answers ...http.HandlerFunc) *receiver {
	r := &receiver{posts: make(chan post, 1000)}
	var mu sync.Mutex
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || req.Method != http.MethodPost {
			t.Errorf("%s with a body that ends in %v", req.Method, err)
		}
		mu.Lock()
		answer := r.answer
		if len(answers) > 0 {
			answer, answers = answers[0], answers[1:]
		}
		mu.Unlock()
		r.posts <- post{req.Header, string(body), req.URL.Path}
		if answer == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// slow never answers.
func slow(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }

// got returns the next post.
func (r *receiver) got(t *testing.T) post {
	t.Helper()
	select {
	case p := <-r.posts:
		return p
	case <-time.After(patience):
		t.Fatal("no post came")
		return post{}
	}
}

// rig is a log with a shell.
type rig struct {
	t     *testing.T
	log   eventlog.Log
	shell *shell.Shell
	dir   string
	// out holds the messages of the hooks. Read it when they have ended.
	out *strings.Builder
	mu  sync.Mutex
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, log: memory.New(memory.Config{}), dir: t.TempDir(), out: &strings.Builder{}}
	r.shell = shell.New(shell.Config{Log: r.log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	r.goes(r.shell.Run)
	return r
}

// goes runs something until the test ends, or until stop.
func (r *rig) goes(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var task sync.WaitGroup
	task.Go(func() {
		if err := run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); task.Wait() })
	r.t.Cleanup(stop)
	return stop
}

var secret = []byte("a secret of some length")

// config is that of a hook that is on all types of request and job.
func (r *rig) config(name, url string) Config {
	return Config{
		Name: name, URL: url, Secret: secret, Filter: Filter{On: []string{"request.*", "job.*"}}, Place: filepath.Join(r.dir, "hook-"+name+".place"),
		Log: r.log, Ledger: r.shell, Failing: func(error) {}, Clock: time.Now, Logger: slog.New(slog.NewTextHandler(r, nil)),
		firstPause: time.Millisecond, timeout: 500 * time.Millisecond,
	}
}

// Write takes the messages of the hooks.
func (r *rig) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(text)
}

// start runs a hook, and returns when it has found its place.
func (r *rig) start(c Config) (stop func()) {
	r.t.Helper()
	stop = r.goes(New(c).Run)
	r.until("the hook has begun", func() bool {
		_, err := os.Stat(c.Place)
		return err == nil
	})
	return stop
}

func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			r.t.Fatalf("waiting until %s", what)
		}
	}
}

// reaches waits until a hook has saved a place.
func (r *rig) reaches(c Config, seq events.Seq) {
	r.t.Helper()
	r.until("the place is saved", func() bool {
		p, err := posting.ReadPlace(c.Place)
		return err == nil && p.Seq >= seq
	})
}

// record appends facts one by one, and returns the sequence of the last.
func (r *rig) record(facts ...events.Fact) (seq events.Seq) {
	r.t.Helper()
	for _, f := range facts {
		seq = record(r.t, r.log, f)
	}
	return seq
}

func record(t *testing.T, log eventlog.Log, f events.Fact) events.Seq {
	t.Helper()
	last, _, err := log.Last(t.Context(), f.Subject())
	if err != nil {
		t.Fatal(err)
	}
	e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "cli:a b", Root: "tacho \"up\""}, time.Now())
	seq, err := log.Append(t.Context(), eventlog.Append{Subject: f.Subject(), Expected: last.Seq, Events: []events.Event{e}})
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func created(id events.RequestID, queue events.QueueName, account events.AccountName) events.RequestCreated {
	return events.RequestCreated{
		RequestID: id, Kind: events.Release, Suite: "go", Tag: events.Tag("go-" + id), Key: string(id), State: events.StateArtifactsReady, Queue: queue, Account: account,
	}
}

// stored returns the events of the log as it holds them.
func (r *rig) stored(after events.Seq, n int) (all []events.Stored) {
	r.t.Helper()
	cursor, err := r.log.Follow(r.t.Context(), after)
	if err != nil {
		r.t.Fatal(err)
	}
	defer cursor.Close()
	for len(all) < n {
		more, err := cursor.Next(r.t.Context(), n-len(all))
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, more...)
	}
	return all
}
