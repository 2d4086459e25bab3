package githubapi_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
)

// odd returns a client of a GitHub that gives the same answer to every call. It notes the path of the last call.
func odd(t *testing.T, status int, body string, headers ...string) (c *githubapi.Client, path *string) {
	t.Helper()
	path = new(string)
	c, err := githubapi.New(githubapi.Config{Token: "secret", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		*path = r.URL.EscapedPath()
		answer := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
		for i := 0; i < len(headers); i += 2 {
			answer.Header.Set(headers[i], headers[i+1])
		}
		return answer, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	return c, path
}

func wantKind(t *testing.T, what string, err error, kind githubapi.Kind, after time.Duration) {
	t.Helper()
	failed, ok := errors.AsType[*githubapi.Error](err)
	if !ok || failed.Kind != kind || failed.RetryAfter < after {
		t.Errorf("%s: %v, want %s and %s", what, err, kind, after)
	}
}

// An answer that does not fit the call is a fault.
func TestAnswersToSomethingElseAreFaults(t *testing.T) {
	for _, body := range []string{`{}`, `null`, ``, `{"message":"ok"}`} {
		c, _ := odd(t, http.StatusOK, body)
		_, err := c.CreateComment(t.Context(), repo, 14, "hello")
		wantKind(t, "create "+body, err, githubapi.Fault, 0)
		_, err = c.EditComment(t.Context(), repo, 1, "hello")
		wantKind(t, "edit "+body, err, githubapi.Fault, 0)
		_, err = c.Commit(t.Context(), repo, sha)
		wantKind(t, "commit "+body, err, githubapi.Fault, 0)
		err = nil
		for _, e := range c.Comments(t.Context(), repo, 14, time.Time{}) {
			err = e
		}
		wantKind(t, "comments "+body, err, githubapi.Fault, 0)
		wantKind(t, "minimise "+body, c.Minimise(t.Context(), "x"), githubapi.Fault, 0)
	}
	c, _ := odd(t, http.StatusOK, `[]`)
	for _, err := range c.Comments(t.Context(), repo, 14, time.Time{}) {
		t.Errorf("no comments: %v", err)
	}
}

// GitHub uses one status for what it never does, for what we may not do, and for too many calls.
func TestForbiddenHasManyMeanings(t *testing.T) {
	reset := time.Now().Add(10 * time.Minute).Unix()
	for name, tc := range map[string]struct {
		status  int
		message string
		headers []string
		kind    githubapi.Kind
		after   time.Duration
	}{
		"locked":           {403, "Unable to create comment because issue is locked.", nil, githubapi.Refused, 0},
		"with a time":      {403, "slow down", []string{"Retry-After", "90"}, githubapi.Limited, 90 * time.Second},
		"a limit in words": {403, "You have exceeded a secondary rate limit.", nil, githubapi.Limited, time.Minute},
		"of an app":        {403, "Resource not accessible by integration", nil, githubapi.Unauthorized, 0},
		"of a token":       {403, "Resource not accessible by personal access token", nil, githubapi.Unauthorized, 0},
		"single sign-on":   {403, "Resource protected by organization SAML enforcement.", nil, githubapi.Unauthorized, 0},
		"until reset": {429, "API rate limit exceeded", []string{
			"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(reset, 10),
		}, githubapi.Limited, 9 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := odd(t, tc.status, `{"message":"`+tc.message+`"}`, tc.headers...)
			_, err := c.CreateComment(t.Context(), repo, 14, "hello")
			wantKind(t, name, err, tc.kind, tc.after)
		})
	}
}

// GraphQL also answers 200 for failures that may pass.
func TestMinimisingMayFailForNow(t *testing.T) {
	for message, kind := range map[string]githubapi.Kind{
		`{"message":"Something went wrong while executing your query. This may be the result of a timeout."}`: githubapi.Fault,
		`{"message":"You have exceeded a secondary rate limit. Please wait."}`:                                githubapi.Limited,
		`{"type":"RATE_LIMITED","message":"API rate limit exceeded"}`:                                         githubapi.Limited,
		`{"type":"FORBIDDEN","message":"you may not"}`:                                                        githubapi.Refused,
		`{"message":"Field 'minimizeComment' doesn't exist"}`:                                                 githubapi.Refused,
	} {
		c, _ := odd(t, http.StatusOK, `{"data":{"minimizeComment":null},"errors":[`+message+`]}`)
		wantKind(t, message, c.Minimise(t.Context(), "x"), kind, 0)
	}
}

// Names of labels may have spaces and slashes.
func TestALabelIsOnePieceOfAPath(t *testing.T) {
	c, path := odd(t, http.StatusOK, `[]`)
	if err := c.RemoveLabel(t.Context(), events.RepoName(repo), 14, "perf/waiting? yes #1"); err != nil {
		t.Fatal(err)
	}
	if want := "/labels/perf%2Fwaiting%3F%20yes%20%231"; !strings.HasSuffix(*path, want) {
		t.Errorf("path %s, want %s", *path, want)
	}
}
