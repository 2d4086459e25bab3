package website

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// maxForm bounds the body of a form.
const maxForm = 8 << 10

// forms returns the handlers of all forms.
func (s *Server) forms() map[string]http.Handler {
	return map[string]http.Handler{
		"POST /login": s.form(s.login), "/logout": s.form(s.logout),
		"/requests/{request}/cancel": s.changing(s.cancelForm), "/requests/{request}/priority": s.changing(s.priorityForm),
		"/requests/{request}/again": s.changing(s.againForm),
	}
}

// form makes the handler of a form from a function that carries it out and returns the path of the page to show then.
func (s *Server) form(do func(http.ResponseWriter, *http.Request, url.Values) (next string, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := s.submitted(w, r)
		var next string
		if err == nil {
			next, err = do(w, r, sent)
		}
		if err != nil {
			s.refusePage(w, s.recognised(r), err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, next, http.StatusSeeOther)
	})
}

// submitted reads a form that a page of this website sent. A program that is no browser may send it, too.
func (s *Server) submitted(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	return s.submittedWithin(w, r, maxForm)
}

// submittedWithin reads a form of at most so many bytes.
func (s *Server) submittedWithin(w http.ResponseWriter, r *http.Request, most int64) (url.Values, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, wrong(http.StatusMethodNotAllowed, "press the button on a page", "this address takes a form, and not %s", r.Method)
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return nil, wrong(http.StatusForbidden, "press the button on a page of this Tacho", "the form comes from another site")
	}
	if !legible(r.URL.Path) {
		return nil, illegible()
	}
	// Otherwise a caller that sends its body slowly would hold the connection for ever. An error means that the
	// connection has no deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.BodyWithin))
	data, err := declared(w, r, "application/x-www-form-urlencoded", "a form", most)
	if err != nil {
		return nil, err
	}
	sent, err := url.ParseQuery(string(data))
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "send it again", "the form cannot be read")
	}
	for _, values := range sent {
		for _, value := range values {
			if !legible(value) {
				return nil, wrong(http.StatusBadRequest, "send UTF-8 without the character 0", "the form is not a valid text")
			}
		}
	}
	return sent, nil
}

func foreignForm() error {
	return wrong(http.StatusForbidden, "load the page again and press its button", "the form does not belong to your session")
}

// actor returns on whose behalf a form is carried out. The log says whether the token of the session stands.
func (s *Server) actor(r *http.Request, sent url.Values) (control.By, error) {
	ended := wrong(http.StatusUnauthorized, "log in and press the button again", "you are not logged in, or your session has ended")
	t, ok := s.carried(r)
	if !ok {
		return control.By{}, ended
	}
	if !sameSecret(sent.Get("form"), s.formToken(t)) {
		return control.By{}, foreignForm()
	}
	if t.account == "" {
		return acting(operatorActor, "")
	}
	digest, err := s.Control.TokenOf(r.Context(), t.account)
	if err != nil {
		return control.By{}, err
	}
	if !s.of(t, digest) {
		return control.By{}, ended
	}
	return acting(events.Actor(accountActor+string(t.account)), t.account)
}

// operatorActor is the actor of what the operator does on a page.
const operatorActor events.Actor = "web:operator"

// changing makes the handler of a form about the request that its path names.
func (s *Server) changing(command func(ctx context.Context, who control.By, id events.RequestID, sent url.Values) (control.Answer, error)) http.Handler {
	return s.form(func(_ http.ResponseWriter, r *http.Request, sent url.Values) (string, error) {
		who, err := s.actor(r, sent)
		if err != nil {
			return "", err
		}
		id, err := s.requestToChange(r)
		if err != nil {
			return "", err
		}
		answer, err := command(r.Context(), who, id, sent)
		if err != nil {
			return "", err
		}
		s.effective(r.Context(), answer.Seq)
		return "/requests/" + url.PathEscape(string(id)), nil
	})
}

// effective waits, for a bounded time, until the tables hold an event, so that the next page shows it.
func (s *Server) effective(ctx context.Context, seq events.Seq) {
	ctx, cancel := context.WithTimeout(ctx, s.WaitFor)
	defer cancel()
	_ = s.Reader.WaitFor(ctx, seq) // a page that is late shows the effect when it is there
}

func (s *Server) cancelForm(ctx context.Context, who control.By, id events.RequestID, sent url.Values) (control.Answer, error) {
	_, answer, err := s.Control.CancelRequest(ctx, who, id, sent.Get("reason"))
	return answer, err
}

func (s *Server) priorityForm(ctx context.Context, who control.By, id events.RequestID, sent url.Values) (control.Answer, error) {
	to := events.Priority(sent.Get("priority"))
	if to == "" {
		return control.Answer{}, wrong(http.StatusBadRequest, "", "which priority? Use one of %s", choices(events.Priorities))
	}
	_, answer, err := s.Control.PrioritiseRequest(ctx, who, id, to, sent.Get("reason"))
	return answer, err
}
