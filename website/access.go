package website

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// permitted checks the bearer token of a write. It returns the call with the account that gives the command; the
// operator, who has the server's own token, is no account.
func (s *Server) permitted(r *http.Request, rt route) (*http.Request, error) {
	if err := s.commandable(); err != nil {
		return r, err
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if strings.EqualFold(scheme, "bearer") && sameSecret(token, s.Token) {
		return r, nil
	}
	account := events.AccountName("")
	if strings.EqualFold(scheme, "bearer") {
		var err error
		if account, err = s.accountOf(r, token); err != nil {
			return r, err
		}
	}
	switch {
	case account == "":
		return r, wrong(http.StatusUnauthorized, "send the server's TACHO_TOKEN, or the token of an account, as Authorization: Bearer …", "the token is missing or wrong")
	case !rt.accounts:
		return r, wrong(http.StatusForbidden, "ask the operator", "only the operator may do that, and no right of account %s covers it", account)
	}
	return r.WithContext(context.WithValue(r.Context(), accountKey{}, account)), nil
}

// commandable returns an error if this website carries out no commands at all.
func (s *Server) commandable() error {
	if s.Token == "" || s.Control == nil {
		return wrong(http.StatusForbidden, "set TACHO_TOKEN for the server and start it again", "this Tacho takes no commands: it has no token")
	}
	return nil
}

// accountOf returns the account that has a token; empty when none has. A token that was issued a moment ago may not be
// in the tables yet: then it waits for them once.
func (s *Server) accountOf(r *http.Request, token string) (events.AccountName, error) {
	if _, ok := control.TokenDigest(token); !ok {
		return "", nil
	}
	account, err := s.lookUp(r, token)
	if err != nil || account != "" {
		return account, err
	}
	if err := s.caughtUp(r.Context()); err != nil {
		return "", err
	}
	return s.lookUp(r, token)
}

// lookUp returns the account that has a token, as the tables and the log say, when it has its turn. So guesses do not
// keep others from reading.
func (s *Server) lookUp(r *http.Request, token string) (events.AccountName, error) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.bounds.Wait.Std(), errNoTurn)
	defer cancel()
	done, err := s.bounds.tokens.take(ctx, visitor(r, s.bounds.trusted))
	if errors.Is(err, errNoTurn) {
		return "", s.tooMany("answer", ofTurn)
	}
	if err != nil {
		return "", err
	}
	defer done()
	return s.Control.AccountOfToken(r.Context(), token)
}

// accountKey is the key of a call's context under which the account is that gives the command.
type accountKey struct{}

// sameSecret compares two secrets in a time that does not depend on them.
func sameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// callers are the names that callers may choose.
var callers = regexp.MustCompile(`^(cli|api):[A-Za-z0-9._@-]{1,64}$`)

// accountActor begins the actor of what an account does.
const accountActor = "account:"

// by returns on whose behalf a permitted write is done. An account has its own name. Other callers choose a name, but they
// cannot take the name of one of Tacho's parts.
func by(r *http.Request) (control.By, error) {
	actor := r.Header.Get(client.ActorHeader)
	account, _ := r.Context().Value(accountKey{}).(events.AccountName)
	if account != "" {
		actor = accountActor + string(account)
	} else if actor == "" {
		actor = "api"
	} else if !callers.MatchString(actor) {
		return control.By{}, wrong(http.StatusBadRequest, "use the form cli:name or api:name", "the header %s is %q", client.ActorHeader, actor)
	}
	return acting(events.Actor(actor), account)
}

// acting returns on whose behalf a command is done that begins here.
func acting(actor events.Actor, account events.AccountName) (control.By, error) {
	root, err := uuid.NewV7()
	if err != nil {
		return control.By{}, err
	}
	return control.By{Actor: actor, Source: "website", Root: "command " + root.String(), Account: account}, nil
}

// addressed refuses calls from this machine to itself by a foreign name. Otherwise the owner of a page elsewhere could
// point its own name to this machine, and the browser of its reader would read for it what others cannot reach. Names
// without a dot are allowed: they cannot be registered.
func (s *Server) addressed(next http.Handler) http.Handler {
	site := ""
	if u, err := url.Parse(s.Site); err == nil {
		site = u.Hostname()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix((&url.URL{Host: r.Host}).Hostname(), ".")
		own := !strings.Contains(name, ".") || net.ParseIP(name) != nil || strings.HasSuffix(strings.ToLower(name), ".localhost") || strings.EqualFold(name, site)
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); own || !ok || !local.IP.IsLoopback() {
			next.ServeHTTP(w, r)
			return
		}
		s.refuse(w, r, wrong(http.StatusMisdirectedRequest, "ask for localhost, or set github.site to the URL by which people reach it", "this Tacho is not known as %s", name))
	})
}

// secured sets the headers that keep a browser from misusing a page. Scripts and styles come only from this server's
// files; nothing is inline.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
