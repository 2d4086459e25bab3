package website

import (
	"fmt"
	"net/http"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// noted adds to an answer how the request was read.
func noted(a client.RequestAnswer, n control.NewRequest) client.RequestAnswer {
	if p, ok := control.ReadTier(n.Queue); ok {
		a.Note = fmt.Sprintf("%s is a priority and no queue: it was read as priority %s", n.Queue, p)
	}
	return a
}

func (s *Server) prioritiseRequest(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	id, p, who, err := s.prioritised(w, r)
	if err != nil {
		return nil, err
	}
	q, answer, err := s.Control.PrioritiseRequest(r.Context(), who, id, p.Priority, p.Reason)
	return requestAnswer(q, answer), err
}

func (s *Server) prioritiseGraph(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	number, err := graphNumber(r)
	if err != nil {
		return nil, err
	}
	id, p, who, err := s.prioritised(w, r)
	if err != nil {
		return nil, err
	}
	q, answer, err := s.Control.PrioritiseGraph(r.Context(), who, id, number, p.Priority, p.Reason)
	return requestAnswer(q, answer), err
}

// prioritised returns the request that the path of a call names, the priority that the body asks for, and who asks.
func (s *Server) prioritised(w http.ResponseWriter, r *http.Request) (id events.RequestID, p client.NewPriority, who control.By, err error) {
	if who, err = commanded(w, r, &p); err != nil {
		return "", p, who, err
	}
	if p.Priority == "" {
		return "", p, who, wrong(http.StatusBadRequest, "", "which priority? Use one of %s", choices(events.Priorities))
	}
	id, err = s.requestToChange(r)
	return id, p, who, err
}

func (s *Server) configureAccount(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var change control.AccountChange
	who, err := commanded(w, r, &change)
	if err != nil {
		return nil, err
	}
	return s.Control.ConfigureAccount(r.Context(), who, events.AccountName(r.PathValue("name")), change)
}

func (s *Server) closeAccount(w http.ResponseWriter, r *http.Request, p *params) (any, error) {
	who, err := commanded(w, r, &struct{}{})
	if err != nil {
		return nil, err
	}
	return s.Control.CloseAccount(r.Context(), who, events.AccountName(r.PathValue("name")), p.text("reason"))
}

func (s *Server) issueToken(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	who, err := commanded(w, r, &struct{}{})
	if err != nil {
		return nil, err
	}
	name := events.AccountName(r.PathValue("name"))
	token, answer, err := s.Control.IssueToken(r.Context(), who, name)
	if err != nil {
		return nil, err
	}
	w.Header().Set("Cache-Control", "no-store")
	return client.TokenAnswer{Answer: answer, Account: name, Token: token}, nil
}

func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	who, err := commanded(w, r, &struct{}{})
	if err != nil {
		return nil, err
	}
	return s.Control.RevokeToken(r.Context(), who, events.AccountName(r.PathValue("name")))
}

func (s *Server) configureQueue(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var change control.QueueChange
	who, err := commanded(w, r, &change)
	if err != nil {
		return nil, err
	}
	return s.Control.ConfigureQueue(r.Context(), who, events.QueueName(r.PathValue("name")), change)
}

func (s *Server) closeQueue(w http.ResponseWriter, r *http.Request, p *params) (any, error) {
	who, err := commanded(w, r, &struct{}{})
	if err != nil {
		return nil, err
	}
	return s.Control.CloseQueue(r.Context(), who, events.QueueName(r.PathValue("name")), p.text("reason"))
}

func (s *Server) pauseQueue(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.pause(w, r, true)
}

func (s *Server) resumeQueue(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.pause(w, r, false)
}

func (s *Server) pause(w http.ResponseWriter, r *http.Request, paused bool) (any, error) {
	who, err := commanded(w, r, &struct{}{})
	if err != nil {
		return nil, err
	}
	return s.Control.PauseQueue(r.Context(), who, events.QueueName(r.PathValue("name")), paused)
}

func (s *Server) setPolicy(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var change control.PolicyChange
	who, err := commanded(w, r, &change)
	if err != nil {
		return nil, err
	}
	return s.Control.SetSharePolicy(r.Context(), who, change)
}

// choices lists the values of a closed set.
func choices[T ~string](valid []T) string {
	out := ""
	for i, v := range valid {
		if i > 0 {
			out += ", "
		}
		out += string(v)
	}
	return out
}
