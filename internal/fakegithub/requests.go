package fakegithub

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Request is one request that arrived, whatever its answer. It holds no credentials.
type Request struct {
	Method string
	// Path is the path below "/" or "/api/v3"; Enterprise tells which.
	Path       string
	Enterprise bool
	Query      url.Values
	// Auth is the kind of its credentials. Actor is their owner, empty if that was not checked.
	Auth  Auth
	Actor string
	Body  string
	At    time.Time
	// Status is the status of the answer; 0 if there was none, or none yet.
	Status int
}

// Auth is a kind of credentials.
type Auth string

// The kinds of credentials.
const (
	NoAuth    Auth = ""
	TokenAuth Auth = "token"
	JWTAuth   Auth = "jwt"
	OtherAuth Auth = "other"
)

// authOf returns the kind of the credentials of a request.
func authOf(r *http.Request) Auth {
	header := r.Header.Get("Authorization")
	secret, ok := bearer(header)
	switch {
	case header == "":
		return NoAuth
	case !ok:
		return OtherAuth
	case strings.Count(secret, ".") == 2:
		return JWTAuth
	}
	return TokenAuth
}

// bearer returns the secret in an Authorization header, in either of the two forms that GitHub accepts.
func bearer(header string) (secret string, ok bool) {
	scheme, secret, ok := strings.Cut(header, " ")
	return secret, ok && (strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "token"))
}

// Requests returns the requests that arrived, in order. An empty method or an empty pattern matches all. In a pattern
// of paths (see [path.Match]) a "*" matches one part.
func (s *Server) Requests(method, pattern string) (all []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if concerns(method, pattern, r.Method, r.Path) {
			one := *r
			one.Query = cloneValues(r.Query)
			all = append(all, one)
		}
	}
	return all
}

func cloneValues(v url.Values) url.Values {
	c := url.Values{}
	for name, values := range v {
		c[name] = slices.Clone(values)
	}
	return c
}

func concerns(method, pattern, ofMethod, ofPath string) bool {
	fits, err := path.Match(pattern, ofPath)
	return (method == "" || method == ofMethod) && (pattern == "" || fits && err == nil)
}
