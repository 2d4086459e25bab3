package website

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// guessLasts is how long a wrong token counts against its address.
const guessLasts = time.Minute

// loginView is the page that asks for a token. Next is the path of the page to show then.
type loginView struct{ Next string }

func (s *Server) loginPage(r *http.Request) (view, error) {
	if _, err := s.takesTokens(r); err != nil {
		return view{}, err
	}
	return view{template: "login", title: "Log in", data: loginView{Next: localPath(r.URL.Query().Get("next"))}}, nil
}

// takesTokens reports whether a browser may send a token here, and whether it does so over TLS.
func (s *Server) takesTokens(r *http.Request) (secure bool, err error) {
	if err := s.commandable(); err != nil {
		return false, err
	}
	return s.private(r)
}

// private reports whether no one can listen between a browser and this server: the browser uses TLS, here or at a trusted
// proxy, or it runs on this machine. secure is set for TLS.
func (s *Server) private(r *http.Request) (secure bool, err error) {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // an address that cannot be read is neither trusted nor local
	who := peer.Addr().Unmap()
	forwarded := r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("X-Forwarded-Proto") != ""
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	switch {
	case forwarded && within(s.bounds.trusted, who):
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-Proto"), ","), ",")
		if strings.EqualFold(strings.TrimSpace(hops[len(hops)-1]), "https") {
			return true, nil
		}
		return false, wrong(http.StatusForbidden, "use https://; the proxy must set X-Forwarded-Proto", "a token is taken only over TLS, and the proxy does not say that you use it")
	case r.TLS != nil:
		return true, nil
	case forwarded:
		return false, wrong(http.StatusForbidden, "name the proxy in readers.trusted_proxies", "a token is taken only over TLS, and an unknown proxy cannot say that you use it")
	case ok && local.IP.IsLoopback() && who.IsLoopback() && namesThisMachine(r.Host):
		return false, nil
	}
	return false, wrong(http.StatusForbidden, "use https://, or http://localhost on the machine of the website", "a token is taken only over TLS, because others could read it on its way")
}

// namesThisMachine reports whether a browser that asked for a host asked its own machine.
func namesThisMachine(host string) bool {
	name := strings.ToLower((&url.URL{Host: host}).Hostname())
	ip := net.ParseIP(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && ip.IsLoopback()
}

var simplePath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// localPath returns the path of a page of this website; "/" if a text is none.
func localPath(text string) string {
	if simplePath.MatchString(text) && text != "/login" {
		return text
	}
	return "/"
}

// loginFrom returns the address where a visitor of a page can log in and come back.
func loginFrom(path string) string {
	if path = localPath(path); path != "/" {
		return "/login?" + url.Values{"next": {path}}.Encode()
	}
	return "/login"
}

// login begins a session for who has the token in the form.
func (s *Server) login(w http.ResponseWriter, r *http.Request, sent url.Values) (string, error) {
	secure, err := s.takesTokens(r)
	if err != nil {
		return "", err
	}
	guessed, err := s.guess(r)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(sent.Get("token"))
	var account events.AccountName
	var digest events.Digest
	if !sameSecret(token, s.Token) {
		if account, err = s.accountOf(r, token); err != nil {
			guessed(true)
			return "", err
		}
		if account == "" {
			guessed(false)
			return "", wrong(http.StatusUnauthorized, "try again, or ask the operator for another one", "the token is wrong, or has ended")
		}
		digest, _ = control.TokenDigest(token)
	}
	guessed(true)
	s.setCookie(w, secure, s.sealed(s.newTicket(account, digest)), sessionLasts)
	s.Logger.InfoContext(r.Context(), "a session began", "account", string(account))
	return localPath(sent.Get("next")), nil
}

// guess counts an attempt to log in. guessed says how it ended: a wrong token counts for guessLasts.
func (s *Server) guess(r *http.Request) (guessed func(right bool), err error) {
	who := visitor(r, s.bounds.trusted)
	if reached, ok := s.bounds.guesses.take(who, 1); !ok {
		s.metrics.refused.WithLabelValues("login", string(reached)).Inc()
		message := "too many wrong tokens came from your address"
		if reached == ofAll {
			message = "too many wrong tokens came"
		}
		return nil, &client.Error{Status: http.StatusTooManyRequests, RetryAfter: guessLasts, Message: message, Next: "try again in a minute"}
	}
	return func(right bool) {
		if right {
			s.bounds.guesses.give(who, 1)
			return
		}
		time.AfterFunc(guessLasts, func() { s.bounds.guesses.give(who, 1) })
	}, nil
}

// logout ends a session in the browser that sends the form.
func (s *Server) logout(w http.ResponseWriter, r *http.Request, sent url.Values) (string, error) {
	secure, err := s.private(r)
	if err != nil {
		return "", err
	}
	if t, ok := s.carried(r); ok && !sameSecret(sent.Get("form"), s.formToken(t)) {
		return "", foreignForm()
	}
	s.setCookie(w, secure, "", -time.Second)
	return "/", nil
}

func (s *Server) setCookie(w http.ResponseWriter, secure bool, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(secure), Value: value, Path: "/", MaxAge: int(lasts.Seconds()), Secure: secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}
