package fakegithub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBody is how large a request may be; GitHub's own limits are lower.
const maxBody = 1 << 20

// call is a request that is being answered.
type call struct {
	s     *Server
	r     *http.Request
	path  string
	names map[string]string
	body  []byte
	actor actor
	repo  *repository
	// afterwards runs when the lock is free again.
	afterwards []func()
}

// answer is the answer to a call.
type answer struct {
	status int
	header map[string]string
	// body is sent as JSON, but a string unchanged. Nil is an empty body.
	body any
}

// serve answers one request: record, fault, credentials, rate limit, route. The request changes the state in one
// step, under the lock; the answer is written only afterwards.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client has gone, or sends more than our clients do
	}
	c := &call{s: s, r: r, body: body, path: apiPath(r.URL.Path)}
	record, fault := s.arrive(c)
	if fault == nil {
		s.write(w, c, record, s.handle(c))
		return
	}
	var truth *answer
	if fault.fault.Landed {
		a := s.handle(c)
		truth = &a
	}
	switch gone := fault.wait(r); {
	case fault.fault.Do.says != nil:
		truth = fault.fault.Do.says
	case !fault.fault.Do.honest, gone:
		truth = nil
	case truth == nil:
		a := s.handle(c)
		truth = &a
	}
	if truth != nil {
		s.write(w, c, record, *truth)
		return
	}
	panic(http.ErrAbortHandler) // the connection ends without an answer
}

// apiPath returns the path without the prefix of an enterprise server.
func apiPath(path string) string {
	if rest, ok := strings.CutPrefix(path, "/api/v3/"); ok {
		return "/" + rest
	}
	if path == "/api/graphql" {
		return "/graphql"
	}
	return path
}

// arrive records a request and returns the fault that it meets.
func (s *Server) arrive(c *call) (*Request, *Broken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := &Request{
		Method: c.r.Method, Path: c.path, Query: c.r.URL.Query(), Auth: authOf(c.r), Body: string(c.body), At: s.clock(),
		Enterprise: strings.HasPrefix(c.r.URL.Path, "/api/"),
	}
	s.requests = append(s.requests, record)
	for _, f := range s.faults {
		if f.meets(c) {
			return record, f
		}
	}
	return record, nil
}

func (s *Server) handle(c *call) answer {
	s.mu.Lock()
	a := s.admit(c)
	s.mu.Unlock()
	for _, do := range c.afterwards {
		do()
	}
	return a
}

// admit checks the credentials and the rate limit, then routes the call. The caller holds mu.
func (s *Server) admit(c *call) answer {
	who, refused := s.authenticate(c)
	if refused != nil {
		return *refused
	}
	c.actor = who
	l := s.limitOf(who)
	if c.path != "/rate_limit" && !l.spend() {
		return l.exceeded(who)
	}
	a := route(c)
	if c.r.Method == http.MethodGet && a.status == http.StatusOK {
		a = conditional(c, a)
	}
	if a.status == http.StatusNotModified {
		l.refund()
	}
	return a
}

// write sends an answer with the headers that all answers have.
func (s *Server) write(w http.ResponseWriter, c *call, record *Request, a answer) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	h.Set("Date", s.clock().UTC().Format(http.TimeFormat))
	s.mu.Lock()
	s.limitOf(c.actor).headers(h)
	h.Set("X-GitHub-Request-Id", fmt.Sprintf("FA4E:%X", s.newID()))
	record.Status, record.Actor = a.status, c.actor.login()
	s.mu.Unlock()
	for name, value := range a.header {
		h.Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(encode(a.body)) // an error means that the client has gone
}

func encode(body any) []byte {
	switch b := body.(type) {
	case nil:
		return nil
	case string:
		return []byte(b)
	}
	var buffer bytes.Buffer
	e := json.NewEncoder(&buffer)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		panic(err) // all bodies are our own
	}
	return buffer.Bytes()
}

// limit is how many requests an actor has left in this hour.
type limit struct {
	allowed, used int
	reset         time.Time
}

// limitOf returns the limit of an actor. The caller holds mu.
func (s *Server) limitOf(a actor) *limit {
	l := s.limits[a.login()]
	if l == nil {
		l = &limit{}
		s.limits[a.login()] = l
	}
	if now := s.clock(); !now.Before(l.reset) {
		*l = limit{allowed: s.allowance, reset: now.Add(time.Hour)}
	}
	return l
}

func (l *limit) spend() bool {
	if l.used >= l.allowed {
		return false
	}
	l.used++
	return true
}

func (l *limit) refund() { l.used-- }

func (l *limit) exceeded(a actor) answer {
	return failure(http.StatusForbidden, fmt.Sprintf("API rate limit exceeded for user ID %d.", a.id()),
		"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api")
}

func (l *limit) headers(h http.Header) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(l.allowed))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(l.allowed-l.used))
	h.Set("X-RateLimit-Used", strconv.Itoa(l.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(l.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
}

func (l *limit) shape() object {
	return object{"limit": l.allowed, "remaining": l.allowed - l.used, "used": l.used, "reset": l.reset.Unix()}
}

// Allow sets how many requests each actor may make in an hour from now on. The default is GitHub's 5,000.
func (s *Server) Allow(perHour int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowance = perHour
	clear(s.limits)
}

func rateLimit(c *call) answer {
	l := c.s.limitOf(c.actor)
	return answer{status: http.StatusOK, body: object{"resources": object{"core": l.shape(), "graphql": l.shape()}, "rate": l.shape()}}
}
