// Package fakegithub is an HTTP server that behaves like the part of GitHub that Tacho uses, for tests.
//
//	test ──AddPull, AddCommit, Comment──▶ ┌────────┐ ◀──REST, GraphQL── what is tested
//	test ◀──Comments, Labels, Requests─── │ Server │ ──signed deliveries──▶ its webhook
//	test ──Break─────────────────────────▶└────────┘
//
// The answers follow GitHub's documentation and recorded payloads, not the types of the client that reads them. So a
// mistake in one of them is not also in the other. The API is served at "/" and, as on an enterprise server, at
// "/api/v3/", with GraphQL at "/graphql" and "/api/graphql".
//
// The server tells its hooks what the API changes, as GitHub does: the bot gets its own comments. A [Fault] makes
// requests fail in the ways that GitHub does, before or after the write was done. With InProcess the server uses no
// socket, and all waiting is durable. So it can run in a testing/synctest bubble, where an hour of failures takes no
// time.
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
	// InProcess serves only the clients of [Server.Client], without a socket.
	InProcess bool
	// Clock gives the time of answers and of the expiry of tokens; nil is the clock of the system.
	Clock func() time.Time
	// Webhooks sends the deliveries; nil is a client with a limit of 10 seconds, as GitHub has.
	Webhooks *http.Client
}

// Server is a GitHub with any number of repositories. Several goroutines may use its methods at once.
type Server struct {
	url      string
	client   *http.Client
	webhooks *http.Client
	clock    func() time.Time
	http     *http.Server
	// tasks are the HTTP server and the running deliveries, which stop with ctx.
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
	_ = s.http.Close() // this also ends requests that hang
	s.tasks.Wait()
	s.client.CloseIdleConnections()
	s.webhooks.CloseIdleConnections()
}

// URL returns the API's address, without a slash at the end. Add "/api/v3" for an enterprise server's.
func (s *Server) URL() string { return s.url }

// Client returns a client that reaches the server and has no credentials.
func (s *Server) Client() *http.Client { return s.client }

// Settle returns when all running deliveries have been answered.
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

// newID returns a new, unique number. The caller holds mu.
func (s *Server) newID() int64 {
	s.lastID++
	return s.lastID
}

// now returns the time in GitHub's precision: seconds, in UTC.
func (s *Server) now() time.Time { return s.clock().UTC().Truncate(time.Second) }
