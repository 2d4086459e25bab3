package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/shell"
)

const (
	alice   = 1 // a member
	mallory = 2 // a stranger
	bors    = 3 // the merge bot
	robot   = 4 // the bot itself

	merged  = "2038d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1"
	parent1 = "1111111111111111111111111111111111111111"
	parent2 = "2222222222222222222222222222222222222222"
)

// rig is a bot with everything around it, in a bubble of simulated time.
type rig struct {
	t        *testing.T
	log      *memory.Log
	receiver *Receiver
	commits  map[string]githubapi.Commit
	// mu guards the servers' answers: down makes them fail; missing are tags without artifacts.
	mu      sync.Mutex
	down    error
	missing map[events.Tag]bool
	pulls   int // how often a pull request was asked for
	rules   Rules
	n       int
	stop    []func()
}

// Commit implements GitHub.
func (r *rig) Commit(_ context.Context, _ events.RepoName, ref string) (githubapi.Commit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down != nil {
		return githubapi.Commit{}, r.down
	}
	for sha, c := range r.commits {
		if strings.HasPrefix(sha, ref) {
			return c, nil
		}
	}
	return githubapi.Commit{}, &githubapi.Error{Kind: githubapi.Missing, Call: "read it", Err: errors.New("status 404")}
}

// Pull implements GitHub. Every pull request is meant for branch release/1.2.
func (r *rig) Pull(_ context.Context, _ events.RepoName, number int) (githubapi.Pull, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down != nil {
		return githubapi.Pull{}, r.down
	}
	r.pulls++
	return githubapi.Pull{Number: number, Base: "release/1.2"}, nil
}

// Ready implements Artifacts.
func (r *rig) Ready(_ context.Context, ref artifact.Ref) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.missing[ref.Tag], r.down
}

// servers changes the servers' answers.
func (r *rig) servers(down error, missing ...events.Tag) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down, r.missing = down, map[events.Tag]bool{}
	for _, tag := range missing {
		r.missing[tag] = true
	}
}

func inRig(t *testing.T, test func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(memory.Config{})
		r := &rig{
			t: t, log: log, receiver: newReceiver(t, log), commits: map[string]githubapi.Commit{
				merged: {SHA: merged, Parents: []events.Tag{parent1, parent2}, Message: "Auto merge of #14 - a:b, r=<try>"},
			},
			rules: Rules{
				Repo: "rust-lang/rust", Suite: "small", Bot: "tacho", Self: githubapi.Account{ID: robot, Login: "tacho-bot"}, MergeBots: []int64{bors},
				Associations: []string{"OWNER", "MEMBER", "COLLABORATOR"}, TryBranches: []string{"automation/bors/try"}, Site: "https://perf.example/",
			},
		}
		if _, err := r.control().Publish(t.Context(), control.By{Actor: "test"}, small()); err != nil {
			t.Fatal(err)
		}
		defer func() {
			for _, stop := range r.stop {
				stop()
			}
		}()
		test(t, r)
	})
}

func (r *rig) control() *control.Control {
	return &control.Control{Log: r.log, Clock: time.Now}
}

func small() suite.Definitions {
	return suite.Definitions{
		Version: 1, Name: "small", PrimaryTarget: "here",
		Targets:  []suite.Target{{Name: "here", Sets: 1, OS: "linux", Arch: "amd64"}, {Name: "there", Sets: 1, OS: "linux", Arch: "arm64", OnRequest: true}},
		Kinds:    []suite.Kind{{Name: "compile", PerSet: true, PerProfile: true}},
		Profiles: []suite.Profile{{Name: "check"}, {Name: "opt"}, {Name: "clippy", OnRequest: true}},
		Backends: []suite.Backend{{Name: "llvm"}, {Name: "cranelift", OnRequest: true}},
		Benchmarks: []suite.BenchmarkDef{
			{Name: "regex", Category: suite.Primary}, {Name: "serde", Category: suite.Primary},
		},
	}
}

// run starts a bot.
func (r *rig) run() { r.start(r.bot()) }

// bot returns a bot as a process of its own would have it: with a ledger that a shell keeps up to date with the log.
func (r *rig) bot() *Bot {
	s := shell.New(shell.Config{Log: r.log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	r.goes(s.Run)
	return NewBot(Config{
		Log: r.log, Ledger: s, Control: r.control(), GitHub: r, Artifacts: r, Rules: r.rules, Clock: time.Now,
		Logger: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()),
	})
}

func (r *rig) start(b *Bot) { r.goes(b.Run) }

// goes runs a function until the end of the test.
func (r *rig) goes(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	r.stop = append(r.stop, func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
}

// record appends a fact as another part would.
func (r *rig) record(f events.Fact) {
	r.t.Helper()
	last, _, err := r.log.Last(context.Background(), f.Subject())
	if err != nil {
		r.t.Fatal(err)
	}
	e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
	if _, err := r.log.Append(context.Background(), eventlog.Append{Subject: f.Subject(), Expected: last.Seq, Events: []events.Event{e}}); err != nil {
		r.t.Fatal(err)
	}
}

type comments struct {
	id   int64
	user int64
	// login replaces the account's usual name here.
	login       string
	association string
	body        string
	pr          int
	action      string
	issue       bool
	repo        string
}

func (c comments) payload() []byte {
	if c.pr == 0 {
		c.pr = 14
	}
	if c.action == "" {
		c.action = "created"
	}
	if c.repo == "" {
		c.repo = "rust-lang/rust"
	}
	issue := map[string]any{"number": c.pr, "pull_request": map[string]any{}}
	if c.issue {
		delete(issue, "pull_request")
	}
	login := cmp.Or(c.login, map[int64]string{alice: "alice", mallory: "mallory", bors: "bors", robot: "tacho-bot"}[c.user])
	user := map[string]any{"login": login, "id": c.user}
	text, err := json.Marshal(map[string]any{
		"action": c.action, "issue": issue, "repository": map[string]any{"full_name": c.repo}, "sender": user,
		"comment": map[string]any{"id": c.id, "body": c.body, "user": user, "author_association": c.association},
	})
	if err != nil {
		panic(err)
	}
	return text
}

func by(user int64, body string) comments {
	association := "NONE"
	if user == alice {
		association = "MEMBER"
	}
	return comments{id: 100, user: user, association: association, body: body}
}

// deliver makes GitHub deliver an event, waits until nothing more happens, and returns how it was handled.
func (r *rig) deliver(event string, payload []byte) events.DeliveryHandled {
	r.t.Helper()
	id := r.post(event, payload)
	synctest.Wait()
	return r.handled(id)
}

func (r *rig) post(event string, payload []byte) string {
	r.t.Helper()
	r.n++
	id := fmt.Sprintf("d%d", r.n)
	r.postAs(id, event, payload)
	return id
}

func (r *rig) postAs(id, event string, payload []byte) {
	r.t.Helper()
	req := post("/", id, payload)
	req.Header.Set("X-GitHub-Event", event)
	if answer, a := serve(r.receiver, req); answer.StatusCode != http.StatusAccepted {
		r.t.Fatalf("%d %+v", answer.StatusCode, a)
	}
}

func (r *rig) handled(id string) events.DeliveryHandled {
	r.t.Helper()
	found := read(r.t, r.log, id)
	f, ok := found[len(found)-1].Fact.(events.DeliveryHandled)
	if !ok {
		r.t.Fatalf("delivery %s is not handled: %T", id, found[len(found)-1].Fact)
	}
	return f
}

// facts returns the facts of the log of one type, oldest first.
func facts[T events.Fact](r *rig) []T {
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
	var out []T
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
			if f, ok := e.Fact.(T); ok {
				out = append(out, f)
			}
		}
	}
	return out
}

func (r *rig) lastAnswer() string {
	r.t.Helper()
	all := facts[events.CommentWanted](r)
	if len(all) == 0 {
		r.t.Fatal("nothing was answered")
	}
	return all[len(all)-1].Body
}

// pass lets simulated time pass.
func pass(d time.Duration) { <-time.After(d) }

// gapped is a damaged log.
type gapped struct{ eventlog.Log }

// Follow implements eventlog.Log.
func (gapped) Follow(context.Context, events.Seq) (eventlog.Cursor, error) { return gap{}, nil }

type gap struct{}

// Next implements eventlog.Cursor.
func (gap) Next(context.Context, int) ([]events.Stored, error) {
	return nil, &eventlog.GapError{Want: 2, Got: 4}
}

// Close implements eventlog.Cursor.
func (gap) Close() {}
