package website

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// sessionLasts is how long a session lasts at most.
const sessionLasts = 12 * time.Hour

// The names of the cookie of a session. Browsers accept the first only over TLS, for this host alone and for all paths, so
// no neighbour of the host can set it.
const (
	secureCookie = "__Host-tacho_session"
	plainCookie  = "tacho_session"
)

func cookieName(secure bool) string {
	if secure {
		return secureCookie
	}
	return plainCookie
}

// ticket is what the cookie of a session says. It is sealed with a key that is made from the server's token. All websites
// that carry out commands have that token, so they share no other state.
type ticket struct {
	// account is who logged in; empty for the operator.
	account events.AccountName
	// mark tells the token of the account from all others and says nothing about it.
	mark string
	// ends is when the session ends, in seconds since 1970.
	ends int64
	// nonce tells apart the sessions of one token.
	nonce string
}

// sessionKey makes the key that seals tickets. It takes more than 0.1 s of a processor: who has a ticket can try to guess the
// server's token, and each guess costs as much. The digest of an account's token would be no key: the log shows it to all.
func sessionKey(token string) []byte {
	key, err := pbkdf2.Key(sha256.New, token, []byte("the sessions of a Tacho"), 600_000, sha256.Size)
	if err != nil {
		panic("website: the key of sessions: " + err.Error()) // the arguments are fixed, and allowed
	}
	return key
}

// seal returns a code of a text that only this server, and those with the same token, can make. use keeps codes for one
// purpose from serving another.
func (s *Server) seal(use, text string) string {
	code := hmac.New(sha256.New, s.key())
	code.Write([]byte(use + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(code.Sum(nil))
}

// newTicket begins a session for who has a token; account and digest are empty for the operator.
func (s *Server) newTicket(account events.AccountName, digest events.Digest) ticket {
	return ticket{account: account, mark: s.mark(digest), ends: s.Clock().Add(sessionLasts).Unix(), nonce: rand.Text()}
}

func (s *Server) mark(digest events.Digest) string { return s.seal("token", string(digest)) }

// of reports whether the ticket was made for the token with a digest.
func (s *Server) of(t ticket, digest events.Digest) bool {
	return (t.account == "" || digest != "") && sameSecret(t.mark, s.mark(digest))
}

// text returns the ticket as it is sealed.
func (t ticket) text() string {
	return strings.Join([]string{string(t.account), t.mark, strconv.FormatInt(t.ends, 10), t.nonce}, ".")
}

// sealed returns a ticket as the cookie holds it.
func (s *Server) sealed(t ticket) string { return t.text() + "." + s.seal("session", t.text()) }

// unseal returns the ticket in a cookie. It returns false if this server did not make it, or if it has ended by time.
func (s *Server) unseal(value string) (ticket, bool) {
	end := strings.LastIndexByte(value, '.')
	if end < 0 || !sameSecret(value[end+1:], s.seal("session", value[:end])) {
		return ticket{}, false
	}
	fields := strings.Split(value[:end], ".")
	if len(fields) != 4 {
		return ticket{}, false
	}
	ends, err := strconv.ParseInt(fields[2], 10, 64)
	t := ticket{account: events.AccountName(fields[0]), mark: fields[1], ends: ends, nonce: fields[3]}
	return t, err == nil && s.Clock().Unix() < t.ends
}

// formToken returns what the forms of a session hold. Another site cannot read it, so it cannot send a form for its visitor.
func (s *Server) formToken(t ticket) string { return s.seal("form", t.text()) }

// carried returns the ticket that a request carries. Its token may have ended (see sessionFor and actor).
func (s *Server) carried(r *http.Request) (ticket, bool) {
	secure, err := s.private(r)
	if err != nil || s.commandable() != nil {
		return ticket{}, false
	}
	cookie, err := r.Cookie(cookieName(secure))
	if err != nil {
		return ticket{}, false
	}
	return s.unseal(cookie.Value)
}

// session is who looks at a page, as the page needs to know it.
type session struct {
	Account events.AccountName
	// Form is what its forms hold.
	Form string
	// MaxPriority is the most urgent priority that it may give.
	MaxPriority events.Priority
	// rights are those of its account.
	rights []events.Right
}

// Name returns who it is in words.
func (v *session) Name() string {
	if v.Account == "" {
		return "the operator"
	}
	return string(v.Account)
}

// mayChange reports whether the session may change a request of an account in a way that needs a right. The operator may
// change all.
func (v *session) mayChange(of events.AccountName, right events.Right) bool {
	return v != nil && (v.Account == "" || v.owns(of) && slices.Contains(v.rights, right))
}

// owns reports whether a request of an account is one of the session's account.
func (v *session) owns(of events.AccountName) bool {
	return v != nil && v.Account != "" && v.Account == of
}

// sessionKnown is the key of a call's context under which its session is; nil if it has none.
type sessionKnown struct{}

// recognised adds the session of its visitor to the call of a page. The tables say whether the token stands: a page may be
// late by a moment, but a form is not.
func (s *Server) recognised(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), sessionKnown{}, s.sessionFor(r)))
}

func (s *Server) sessionFor(r *http.Request) *session {
	t, ok := s.carried(r)
	if !ok {
		return nil
	}
	v := &session{Account: t.account, Form: s.formToken(t), MaxPriority: events.PriorityVIP}
	var digest events.Digest
	if t.account != "" {
		row, err := s.Reader.Account(r.Context(), t.account)
		if err != nil {
			return nil // without tables a page shows less
		}
		digest, v.MaxPriority, v.rights = row.TokenDigest, row.MaxPriority, events.HeldRights(row.May)
	}
	if !s.of(t, digest) {
		return nil
	}
	return v
}

// sessionOf returns the session of a call; nil if it has none. known is false if nothing asked for it.
func sessionOf(ctx context.Context) (v *session, known bool) {
	v, known = ctx.Value(sessionKnown{}).(*session)
	return v, known
}
