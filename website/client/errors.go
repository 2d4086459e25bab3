package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/tlsfiles"
)

// Error is an answer by which Tacho refuses. Its JSON form is the body of such an answer.
type Error struct {
	// Status is the status code: 400 wrong usage, 401 and 403 not permitted, 404 not found, 409 conflict, 410 not
	// in the tables any more, 429 too many at once, 500 and above a fault.
	Status int `json:"-"`
	// Message says what is wrong; Next says what to do about it and may be empty.
	Message string `json:"error"`
	Next    string `json:"next,omitempty"`
	// RetryAfter is how long to wait before asking again, if the answer says so (429 too many at once, 503); else 0.
	RetryAfter time.Duration `json:"-"`
	// JobID and RequestID name a job that is not in the tables any more; else they are empty.
	JobID     events.JobID     `json:"job_id,omitempty"`
	RequestID events.RequestID `json:"request_id,omitempty"`
}

func (e *Error) Error() string {
	if e.Next == "" {
		return e.Message
	}
	return e.Message + ": " + e.Next
}

// UnreachableError means that no Tacho answered.
type UnreachableError struct {
	// URL is the base URL that was tried, without a password.
	URL string
	Err error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no Tacho answers at %s: start one with `tacho up` (%v)", e.URL, e.Err)
}

// Unwrap returns the error of the connection.
func (e *UnreachableError) Unwrap() error { return e.Err }

// unreachable returns an error of trust if the server's certificate is not trusted, else an UnreachableError.
func (c *Client) unreachable(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	var distrust *tlsfiles.Error
	if said := tlsfiles.Explain(err, c.base.Redacted(), tlsfiles.Settings{CA: "server_ca (--server-ca, TACHO_SERVER_CA)"}); errors.As(said, &distrust) {
		return said
	}
	return &UnreachableError{URL: c.base.Redacted(), Err: err}
}

// maxErrorBody bounds what is read of a refusal.
const maxErrorBody = 64 << 10

// refused reads an answer that refuses. An answer in another form than Tacho's errors came from something between.
func (c *Client) refused(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return c.unreachable(err)
	}
	e := &Error{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	switch {
	case json.Unmarshal(body, e) == nil && e.Message != "":
	case resp.StatusCode == http.StatusBadRequest && strings.Contains(string(body), "HTTP request to an HTTPS server"):
		e.Message = c.base.Redacted() + " speaks only TLS"
		e.Next = "write its address with https://"
	default:
		e.Message = fmt.Sprintf("%s answered %s to %s %s", c.base.Redacted(), resp.Status, resp.Request.Method, resp.Request.URL.Path)
		if text := strings.TrimSpace(string(body)); text != "" && len(text) < 200 && !strings.Contains(text, "<") {
			e.Message += ": " + text
		}
		e.Next = "check that the URL is that of a Tacho"
	}
	return e
}

// retryAfter reads how long the server asks its caller to wait; 0 if it does not say so in seconds.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// redirected returns the error for a command that was redirected and arrived as a read: nothing was done.
func (c *Client) redirected(resp *http.Response) error {
	return &Error{
		Status:  http.StatusMisdirectedRequest,
		Message: fmt.Sprintf("%s redirects commands to %s, and this one was not carried out", c.base.Redacted(), resp.Request.URL.Redacted()),
		Next:    "use the server URL that it redirects to",
	}
}

// passing reports whether a broken stream is worth asking for again: no server answers, or a server answers that
// something behind it is away, or that too many ask.
func passing(err error) bool {
	var lost *UnreachableError
	var no *Error
	if errors.As(err, &no) {
		return no.Status == http.StatusTooManyRequests || no.Status == http.StatusBadGateway || no.Status == http.StatusServiceUnavailable || no.Status == http.StatusGatewayTimeout
	}
	return errors.As(err, &lost)
}
