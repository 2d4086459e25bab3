package website

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// maxBatch bounds the body of a batch of requests.
const maxBatch = 4 << 20

// noted adds to an answer how the request was read.
func noted(a client.RequestAnswer, n control.NewRequest) client.RequestAnswer {
	if p, ok := control.ReadTier(n.Queue); ok {
		a.Note = fmt.Sprintf("%s is a priority and no queue: it was read as priority %s", n.Queue, p)
	}
	return a
}

// createRequests makes the requests of a batch. It reads each of them as createRequest does.
func (s *Server) createRequests(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	data, err := rawBody(w, r, maxBatch)
	if err != nil {
		return nil, err
	}
	var sent struct {
		Requests []json.RawMessage `json:"requests"`
		First    int               `json:"first"`
		Check    bool              `json:"check"`
	}
	if err := decodeStrict(data, &sent); err != nil {
		return nil, err
	}
	if len(sent.Requests) > control.MaxRequests {
		return nil, wrong(http.StatusBadRequest, "send several batches", "the batch has %d requests: at most %d", len(sent.Requests), control.MaxRequests)
	}
	who, err := by(r)
	if err != nil {
		return nil, err
	}
	b := control.Batch{First: sent.First, Check: sent.Check}
	only := events.SuiteName("")
	for i, line := range sent.Requests {
		n, err := client.ParseLine(line)
		if err != nil {
			return nil, wrong(http.StatusBadRequest, "see /openapi.json for the form", "%s: %s", b.Line(i), err)
		}
		n.Suite = cmp.Or(n.Suite, only)
		named := n.Suite != ""
		if err := s.complete(r.Context(), &n); err != nil {
			return nil, err
		}
		if !named {
			only = n.Suite
		}
		b.Requests = append(b.Requests, n)
	}
	made, err := s.Control.CreateRequests(r.Context(), who, b)
	if err != nil {
		return nil, err
	}
	out := client.BatchAnswer{Requests: []client.RequestAnswer{}}
	for i, a := range made {
		out.Requests = append(out.Requests, noted(requestAnswer(a.Request, a.Answer), b.Requests[i]))
		out.Seq = max(out.Seq, a.Seq)
		if !a.Existed && !b.Check {
			out.Recorded++
		}
	}
	out.Existed = out.Recorded == 0
	return out, nil
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
