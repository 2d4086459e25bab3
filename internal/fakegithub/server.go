// Package fakegithub is an HTTP server that behaves like the part of GitHub that Tacho uses, for tests.
//
//	test ──AddPull, AddCommit, Comment──▶ ┌────────┐ ◀──REST, GraphQL── what is tested
//	test ◀──Comments, Labels, Requests─── │ Server │ ──signed deliveries──▶ its webhook
//	test ──Break─────────────────────────▶└────────┘
//
// Answers are written from GitHub's documentation and recorded payloads, not from the types of the client that
// reads them, so that both can be wrong only apart. The API is served at "/" and, as an enterprise server does,
// at "/api/v3/", with GraphQL at "/graphql" and "/api/graphql".
//
// What the API changes is told to the hooks, as GitHub does: the bot hears of its own comments. A [Fault] makes
// requests fail in the ways that GitHub does, before or after the write landed. With InProcess no socket is
// used and all waiting is durable, so that the server can live in a testing/synctest bubble and an hour of
// failures takes no time.
package fakegithub

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Config says how the server runs. The zero value is a server on the loopback interface.
type Config struct {
	// InProcess serves the clients of [Server.Client] alone, without a socket.
	InProcess bool
	// Clock gives the time of answers and of the expiry of tokens; nil is the clock of the system.
	Clock func() time.Time
	// Webhooks sends the deliveries; nil is a client of its own, with a limit of 10 seconds, as GitHub has.
	Webhooks *http.Client
}

// Server is a GitHub with any number of repositories. All methods may be used at the same time.
type Server struct {
	url      string
	client   *http.Client
	webhooks *http.Client
	clock    func() time.Time
	http     *http.Server
	// tasks are the server and the deliveries under way, which stop with ctx.
	tasks sync.WaitGroup
	ctx   context.Context
	stop  context.CancelFunc

	mu sync.Mutex
	// Everything below is guarded by mu.
	repositories map[string]*repository
	users        map[string]*User
	tokens       map[string]*token
	apps         map[int64]*app
	hooks        map[int64]*hook
	limits       map[string]*limit
	allowance    int
	faults       []*Broken
	requests     []*Request
	lastID       int64
}

// Start runs a server until the end of the test.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		clock: c.Clock, webhooks: c.Webhooks, ctx: ctx, stop: stop,
		repositories: map[string]*repository{}, users: map[string]*User{}, tokens: map[string]*token{}, apps: map[int64]*app{},
		hooks: map[int64]*hook{}, limits: map[string]*limit{}, allowance: 5000, lastID: 1_000_000,
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.webhooks == nil {
		s.webhooks = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}
	}
	var listener net.Listener
	transport := &http.Transport{}
	if c.InProcess {
		pipe := newPipes()
		listener, transport.DialContext, s.url = pipe, pipe.dial, "http://github.test"
	} else {
		loopback, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("fake GitHub: %v", err)
		}
		listener, s.url = loopback, "http://"+loopback.Addr().String()
	}
	s.client = &http.Client{Transport: transport}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ErrorLog: log.New(t.Output(), "fake GitHub: ", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.tasks.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("fake GitHub: %v", err)
		}
	})
	t.Cleanup(s.close)
	return s
}

func (s *Server) close() {
	s.stop()
	_ = s.http.Close() // requests that hang end with it
	s.tasks.Wait()
	s.client.CloseIdleConnections()
	s.webhooks.CloseIdleConnections()
}

// URL is where the API is, without a slash at the end; add "/api/v3" for that of an enterprise server.
func (s *Server) URL() string { return s.url }

// Client returns a client that reaches the server, and knows no credentials.
func (s *Server) Client() *http.Client { return s.client }

// Settle returns when the deliveries that are under way have been answered.
func (s *Server) Settle() {
	for _, d := range s.underWay() {
		<-d
	}
}

func (s *Server) underWay() (all []chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hooks {
		for _, d := range h.deliveries {
			all = append(all, d.done)
		}
	}
	return all
}

// newID returns a number that nothing else has. The caller holds mu.
func (s *Server) newID() int64 {
	s.lastID++
	return s.lastID
}

// now is what GitHub shows: seconds, in UTC.
func (s *Server) now() time.Time { return s.clock().UTC().Truncate(time.Second) }
