package fakegithub

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Fault makes requests fail.
type Fault struct {
	// Method and Path choose the requests, as in [Server.Requests].
	Method, Path string
	// Times is how many requests fail; 0 is all, until the fault is mended.
	Times int
	// Landed carries the request out before it fails: the write is done, but the client does not learn it.
	Landed bool
	// Do is the way of failing.
	Do Failure
}

// Failure is a way to fail.
type Failure struct {
	// hang holds the request back until the fault is mended, slow holds it back for a time.
	hang bool
	slow time.Duration
	// honest failures give the true answer after the wait.
	honest bool
	// says is the answer; nil ends the connection.
	says *answer
}

// Status answers with a status, such as 500, and GitHub's message for it.
func Status(status int) Failure {
	message := map[int]string{
		http.StatusUnauthorized:        "Bad credentials",
		http.StatusInternalServerError: "Server Error",
		http.StatusBadGateway:          "Server Error",
		http.StatusServiceUnavailable:  "No server is currently available to service your request. Sorry about that. Please try resubmitting your request and contact us if the problem persists.",
		http.StatusNotFound:            "Not Found",
		http.StatusUnprocessableEntity: "Validation Failed",
	}[status]
	if message == "" {
		message = http.StatusText(status)
	}
	a := failure(status, message, "https://docs.github.com/rest")
	return Failure{says: &a}
}

// SecondaryLimit answers as GitHub does to a client that makes too many calls in a short time: 403, with Retry-After
// in whole seconds, unless retryAfter is 0.
func SecondaryLimit(retryAfter time.Duration) Failure {
	return tooMuch(http.StatusForbidden, retryAfter)
}

// TooManyRequests is SecondaryLimit with the status 429.
func TooManyRequests(retryAfter time.Duration) Failure {
	return tooMuch(http.StatusTooManyRequests, retryAfter)
}

func tooMuch(status int, retryAfter time.Duration) Failure {
	a := failure(status, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "+
		"If you reach out to GitHub Support for help, please include the request ID FA4E:0.",
		"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits")
	if retryAfter > 0 {
		a.header = map[string]string{"Retry-After": strconv.Itoa(int(retryAfter / time.Second))}
	}
	return Failure{says: &a}
}

// PrimaryLimit answers as GitHub does when the requests of the hour are used up: 403, and none are left until reset.
func PrimaryLimit(reset time.Time) Failure {
	a := failure(http.StatusForbidden, "API rate limit exceeded for user ID 1. If you reach out to GitHub Support for help, "+
		"please include the request ID FA4E:0.", "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api")
	a.header = map[string]string{
		"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": strconv.FormatInt(reset.Unix(), 10),
	}
	return Failure{says: &a}
}

// Garbage answers 200 with a body that is not JSON, as a proxy in between does.
func Garbage() Failure {
	return Failure{says: &answer{
		status: http.StatusOK, header: map[string]string{"Content-Type": "text/html"}, body: "<html><body>Unicorn!</body></html>{",
	}}
}

// Drop ends the connection without an answer.
func Drop() Failure { return Failure{} }

// Hang gives no answer until the fault is mended. Then the request is carried out and answered. It is not carried out
// if it had landed or the client gave up.
func Hang() Failure { return Failure{hang: true, honest: true} }

// Slow is like Hang, but each request waits only for a time.
func Slow(after time.Duration) Failure { return Failure{slow: after, honest: true} }

// Broken is a fault that is in force.
type Broken struct {
	s        *Server
	fault    Fault
	mended   chan struct{}
	mend     func()
	arrivals chan struct{}

	// Guarded by the server's mu.
	left int
	hits int
}

// Break puts a fault in force. A request meets the oldest matching fault that is neither mended nor used up.
func (s *Server) Break(f Fault) *Broken {
	b := &Broken{s: s, fault: f, left: f.Times, mended: make(chan struct{}), arrivals: make(chan struct{}, 1)}
	b.mend = sync.OnceFunc(func() { close(b.mended) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, b)
	return b
}

// Mend ends a fault; requests that hang then continue.
func (b *Broken) Mend() { b.mend() }

// Hits returns how many requests met the fault.
func (b *Broken) Hits() int {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.hits
}

// Arrived returns a channel that receives after a request met the fault.
func (b *Broken) Arrived() <-chan struct{} { return b.arrivals }

// meets reports whether a call meets the fault, and counts it. The caller holds mu.
func (b *Broken) meets(c *call) bool {
	select {
	case <-b.mended:
		return false
	default:
	}
	if b.fault.Times > 0 && b.left == 0 || !concerns(b.fault.Method, b.fault.Path, c.r.Method, c.path) {
		return false
	}
	b.left--
	b.hits++
	return true
}

// wait holds a request back for as long as the fault wants. It returns true if the client gave up before.
func (b *Broken) wait(r *http.Request) (gone bool) {
	select {
	case b.arrivals <- struct{}{}:
	default:
	}
	if b.fault.Do.hang {
		select {
		case <-b.mended:
		case <-r.Context().Done():
			return true
		}
	}
	if b.fault.Do.slow > 0 {
		timer := time.NewTimer(b.fault.Do.slow)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return true
		}
	}
	return false
}

// String describes the fault in a failing test.
func (b *Broken) String() string {
	return fmt.Sprintf("fault of %s %s, met %d times", b.fault.Method, b.fault.Path, b.Hits())
}
