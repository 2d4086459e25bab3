package fakegithub

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// token is the token of a user or of an App's installation.
type token struct {
	user *User
	// installation is nil for a user's token. The tokens of installations expire.
	installation *installation
	expires      time.Time
}

// actor is the maker of a request. The zero value is an anonymous one.
type actor struct {
	user         *User
	installation *installation
	// app is set if the App itself makes the request, with a JWT. It can do little but get tokens.
	app *app
}

func (a actor) anonymous() bool { return a.user == nil && a.app == nil }

func (a actor) login() string {
	switch {
	case a.user != nil:
		return a.user.Login
	case a.app != nil:
		return "app/" + a.app.slug
	}
	return ""
}

func (a actor) id() int64 {
	if a.user == nil {
		return 0
	}
	return a.user.ID
}

// reaches reports whether the actor can see a repository.
func (a actor) reaches(r *repository) bool {
	return a.installation == nil || len(a.installation.repositories) == 0 || slices.Contains(a.installation.repositories, r.fullName)
}

// AddToken makes a secret a personal access token of a user. It does not expire.
func (s *Server) AddToken(secret string, user *User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[secret] = &token{user: user}
}

// RevokeTokens revokes every token of installations, long before it expires.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for secret, t := range s.tokens {
		if t.installation != nil {
			delete(s.tokens, secret)
		}
	}
}

// authenticate returns the maker of a call. The caller holds mu.
func (s *Server) authenticate(c *call) (actor, *answer) {
	header := c.r.Header.Get("Authorization")
	if header == "" {
		return actor{}, nil
	}
	secret, _ := bearer(header)
	wantsApp := strings.HasPrefix(c.path, "/app") || strings.HasPrefix(c.path, "/repos/") && strings.HasSuffix(c.path, "/installation")
	if authOf(c.r) == JWTAuth || wantsApp {
		a, why := s.checkJWT(secret)
		if why == "" && !wantsApp {
			why = "A JSON web token could not be decoded"
		}
		if why != "" {
			status := http.StatusUnauthorized
			if why == noApp {
				status = http.StatusNotFound
			}
			refused := failure(status, why, "https://docs.github.com/rest")
			return actor{}, &refused
		}
		return actor{app: a}, nil
	}
	t := s.tokens[secret]
	if t == nil || !t.expires.IsZero() && !s.clock().Before(t.expires) {
		refused := failure(http.StatusUnauthorized, "Bad credentials", "https://docs.github.com/rest")
		return actor{}, &refused
	}
	return actor{user: t.user, installation: t.installation}, nil
}

// claims are the parts of an App's JWT that GitHub reads.
type claims struct {
	IssuedAt int64 `json:"iat"`
	Expires  int64 `json:"exp"`
	// Issuer is the id of the App, as a number or a string.
	Issuer json.RawMessage `json:"iss"`
}

// noApp is GitHub's message, with 404, about a JWT whose issuer is not an App.
const noApp = "Integration not found"

// checkJWT returns the App that signed a JWT, or the reason why the JWT is refused, in GitHub's words.
func (s *Server) checkJWT(jwt string) (*app, string) {
	const undecoded = "A JSON web token could not be decoded"
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return nil, undecoded
	}
	var head struct {
		Algorithm string `json:"alg"`
	}
	var c claims
	if !decodePart(parts[0], &head) || !decodePart(parts[1], &c) || head.Algorithm != "RS256" {
		return nil, undecoded
	}
	id, err := strconv.ParseInt(strings.Trim(string(c.Issuer), `"`), 10, 64)
	a := s.apps[id]
	if err != nil || a == nil {
		return nil, noApp
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || rsa.VerifyPKCS1v15(a.key, crypto.SHA256, sum[:], signature) != nil {
		return nil, undecoded
	}
	now, issued, expires := s.clock(), time.Unix(c.IssuedAt, 0), time.Unix(c.Expires, 0)
	switch {
	case issued.After(now.Add(time.Minute)):
		return nil, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case !expires.After(now):
		return nil, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case expires.After(now.Add(10*time.Minute + time.Second)):
		return nil, "'Expiration time' claim ('exp') is too far in the future"
	}
	return a, ""
}

func decodePart(part string, into any) bool {
	decoded, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(decoded, into) == nil
}

// InstallationToken returns a new token of an installation, as a run of GitHub Actions has one. It expires after an
// hour and has no user: GET /user is refused.
func (s *Server) InstallationToken(installation int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.apps {
		for _, i := range a.installations {
			if i.id == installation {
				secret, _ := s.issue(i)
				return secret
			}
		}
	}
	panic(fmt.Sprintf("fake GitHub: there is no installation %d", installation))
}

// issue makes a new token of an installation. The caller holds mu.
func (s *Server) issue(i *installation) (secret string, expires time.Time) {
	secret = fmt.Sprintf("ghs_%036d", s.newID())
	expires = s.now().Add(time.Hour)
	s.tokens[secret] = &token{user: i.app.bot, installation: i, expires: expires}
	return secret, expires
}
