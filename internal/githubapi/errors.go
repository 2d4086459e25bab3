package githubapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v62/github"
)

// Kind is the closed set of meanings of a failed call.
type Kind string

// The kinds of failure.
const (
	// Fault: GitHub or the way to it is broken for now. A write may have been done.
	Fault Kind = "fault"
	// Limited: we make too many calls; RetryAfter says how long to wait. Nothing was written.
	Limited Kind = "limited"
	// Unauthorized: GitHub does not know who we are. Nothing was written, and a person must act.
	Unauthorized Kind = "unauthorized"
	// Missing: what the call names does not exist, or we may not see it.
	Missing Kind = "missing"
	// Refused: GitHub does not do this, now or later.
	Refused Kind = "refused"
)

// Error is a failed call.
type Error struct {
	Kind Kind
	// Call says in words what the call was.
	Call string
	// Status is the HTTP status; 0 when no answer came.
	Status int
	// RetryAfter is how long GitHub wants no calls; 0 if it did not say.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string {
	return fmt.Sprintf("GitHub: %s: %v", e.Call, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same call may succeed later without help from a person.
func (e *Error) Temporary() bool { return e.Kind == Fault || e.Kind == Limited }

// IsMissing reports whether err says that the thing asked for does not exist.
func IsMissing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == Missing
}

// explain turns an error of go-github into one of ours; nil stays nil.
func explain(call string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Kind: Fault, Call: call, Err: err}
	var limit *github.RateLimitError
	var abuse *github.AbuseRateLimitError
	var response *github.ErrorResponse
	var noToken *ghinstallation.HTTPError
	switch {
	case errors.As(err, &limit):
		e.Kind, e.RetryAfter = Limited, max(time.Until(limit.Rate.Reset.Time), time.Second)
		e.Err = errors.New("the rate limit is used up")
	case errors.As(err, &abuse):
		e.Kind, e.RetryAfter = Limited, time.Minute // GitHub asks for this when it names no time
		if abuse.RetryAfter != nil {
			e.RetryAfter = *abuse.RetryAfter
		}
		e.Err = errors.New("the secondary rate limit is used up")
	case errors.As(err, &response) && response.Response != nil:
		e.Status = response.Response.StatusCode
		e.Kind = kindOf(e.Status)
		e.Err = fmt.Errorf("status %d: %s", e.Status, message(response))
		e.RetryAfter = retryAfter(response.Response.Header)
		if e.Status == http.StatusForbidden {
			e.Kind = forbidden(response.Message, e.RetryAfter)
		}
		if e.Kind == Limited && e.RetryAfter == 0 {
			e.RetryAfter = time.Minute
		}
	case errors.As(err, &noToken) && noToken.Response != nil:
		e.refuseToken(noToken)
	case errors.Is(err, context.Canceled):
		e.Err = context.Canceled
	}
	return e
}

// refuseToken explains that the App got no token. The call itself was never made, so its object is neither missing
// nor refused. A person must look at the App, unless GitHub is broken or a limit is reached.
func (e *Error) refuseToken(answer *ghinstallation.HTTPError) {
	defer answer.Response.Body.Close()
	var said struct{ Message string }
	// Without a message the status must be enough.
	_ = json.NewDecoder(io.LimitReader(answer.Response.Body, 1<<16)).Decode(&said)
	e.Status, e.RetryAfter = answer.Response.StatusCode, retryAfter(answer.Response.Header)
	e.Err = fmt.Errorf("installation %d of the App gets no token: status %d: %s", answer.InstallationID, e.Status, cmp.Or(said.Message, http.StatusText(e.Status)))
	switch e.Kind = kindOf(e.Status); {
	case e.Kind == Fault:
	case e.Kind == Limited, e.Status == http.StatusForbidden && forbidden(said.Message, e.RetryAfter) == Limited:
		e.Kind, e.RetryAfter = Limited, cmp.Or(e.RetryAfter, time.Minute)
	default:
		e.Kind = Unauthorized
	}
}

func kindOf(status int) Kind {
	switch {
	case status == http.StatusUnauthorized:
		return Unauthorized
	case status == http.StatusNotFound || status == http.StatusGone:
		return Missing
	case status == http.StatusTooManyRequests:
		return Limited
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusConflict:
		return Refused
	}
	return Fault
}

// retryAfter returns how long GitHub wants no calls: the time that it names, or the time until the used-up limit is
// reset; 0 if it does not say.
func retryAfter(h http.Header) time.Duration {
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil && h.Get("X-RateLimit-Remaining") == "0" {
		return max(time.Until(time.Unix(reset, 0)), time.Second)
	}
	return 0
}

// unauthorized matches the messages for what a person can correct: our account may not do this.
var unauthorized = regexp.MustCompile(`(?i)resource not accessible by|SAML enforcement|IP allow list|account was suspended`)

// limited matches the messages for a limit that has no other sign.
var limited = regexp.MustCompile(`(?i)rate limit`)

// forbidden tells the meanings of status 403 apart.
func forbidden(message string, after time.Duration) Kind {
	switch {
	case after > 0 || limited.MatchString(message):
		return Limited
	case unauthorized.MatchString(message):
		return Unauthorized
	}
	return Refused
}

// notTheAnswer returns a Fault: the body of a successful answer does not fit the call.
func notTheAnswer(call string) error {
	return &Error{Kind: Fault, Call: call, Status: http.StatusOK, Err: errors.New("the answer does not fit the call")}
}

// message returns GitHub's message, without the URL of the call.
func message(r *github.ErrorResponse) string {
	text := r.Message
	for _, e := range r.Errors {
		if e.Message != "" {
			text += "; " + e.Message
		}
	}
	if text == "" {
		text = http.StatusText(r.Response.StatusCode)
	}
	return text
}
