package website

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// maxChoiceForm bounds the body of the form that asks for a request: a suite can have many options.
const maxChoiceForm = 64 << 10

// fieldView is a field of the form that asks for a request.
type fieldView struct {
	Name, Label, Type, Value string
	Required                 bool
}

// The fields of the form. Which of them a kind of request has is what its command takes.
var (
	tagField    = fieldView{Name: "tag", Label: "Tag of the artifact", Required: true}
	parentField = fieldView{Name: "parent", Label: "Tag of the parent (may be empty)"}
	prField     = fieldView{Name: "pr", Label: "Pull request (may be empty)", Type: "number"}
	keyField    = fieldView{Name: "key", Label: "Key (may be empty: the tag)"}
	dateField   = fieldView{Name: "released", Label: "Day of the release (may be empty)", Type: "date"}
)

// fieldsOf returns the fields for a kind of request, with what was typed.
func fieldsOf(kind events.RequestKind, typed url.Values) []fieldView {
	var out []fieldView
	switch kind {
	case events.Try:
		out = []fieldView{tagField, parentField, prField, keyField}
		out[0].Required = false
		out[0].Label = "Tag of the artifact, if it exists"
	case events.Master:
		out = []fieldView{tagField, parentField, prField}
	case events.Release:
		out = []fieldView{tagField, dateField}
	}
	for i := range out {
		out[i].Value = typed.Get(out[i].Name)
	}
	return out
}

// submitTemplate makes the request that a page of templates asks for. What is wrong with it stands on the page, beside what
// was typed.
func (s *Server) submitTemplate(w http.ResponseWriter, r *http.Request) {
	sent, err := s.submittedWithin(w, r, maxChoiceForm)
	var who control.By
	if err == nil {
		who, err = s.actor(r, sent)
	}
	r = s.recognised(r)
	if err != nil {
		s.refusePage(w, r, err)
		return
	}
	id, err := s.askedOnPage(r, who, sent)
	if err == nil {
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, "/requests/"+url.PathEscape(string(id)), http.StatusSeeOther)
		return
	}
	e, said := explain(err)
	if !said {
		s.refusePage(w, r, err)
		return
	}
	s.page(long, func(r *http.Request) (view, error) { return s.templateOf(r, sent, e) }).ServeHTTP(w, asGet(r))
}

// asGet returns the call as one for a page.
func asGet(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	out.Method = http.MethodGet
	return out
}

// askedOnPage makes the request that a form asks for, and returns its id. It refuses if the form was made for another plan.
func (s *Server) askedOnPage(r *http.Request, who control.By, sent url.Values) (events.RequestID, error) {
	n, err := s.requestIn(r, sent)
	if err != nil {
		return "", err
	}
	err = s.abbreviated(r.Context(), &n.Tag, &n.Parent)
	if err != nil {
		return "", err
	}
	made, answer, err := s.Control.CreateRequest(r.Context(), who, n)
	if err != nil {
		return "", err
	}
	s.effective(r.Context(), answer.Seq)
	return made.ID, nil
}

// requestIn reads the request that a form asks for.
func (s *Server) requestIn(r *http.Request, sent url.Values) (control.NewRequest, error) {
	c, err := choiceIn(sent, events.Try)
	if err != nil {
		return control.NewRequest{}, err
	}
	n := control.NewRequest{
		Suite: events.SuiteName(r.PathValue("suite")), Kind: c.Kind, Branch: c.Branch, Graph: c.Graph, Options: c.Options,
		Tag: events.Tag(sent.Get("tag")), Parent: events.Tag(sent.Get("parent")), Key: sent.Get("key"), ReleasedOn: sent.Get("released"),
	}
	if len(c.Options) == 0 {
		n.Options = nil
	}
	if pr := sent.Get("pr"); pr != "" {
		n.PR, err = strconv.Atoi(pr)
		if err != nil || n.PR <= 0 {
			return n, wrong(http.StatusBadRequest, "use its number, such as 123", "%q is not the number of a pull request", excerpt(pr))
		}
	}
	all, err := s.offeringOf(r.Context(), n.Suite)
	if err != nil {
		return n, err
	}
	o, err := s.offerFor(r.Context(), all, c.Branch)
	if err != nil {
		return n, err
	}
	if o.Pattern {
		return n, wrong(http.StatusBadRequest, "", "%s is a pattern: name the branch that the request is for", o.Branch)
	}
	err = s.begin(r) // the largest suites take their time
	if err != nil {
		return n, err
	}
	made, err := s.planFor(o, c, events.Parameters{})
	if v := visitOf(r.Context()); v != nil {
		v.rest()
	}
	if err != nil {
		return n, err
	}
	if made.key != sent.Get("expect") {
		return n, &client.Error{
			Status: http.StatusConflict, Message: "what such a request makes differs from what the page showed: its branch uses other definitions or rules",
			Next: "look at what it makes now, below, and ask again",
		}
	}
	return n, nil
}
