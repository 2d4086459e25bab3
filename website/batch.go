package website

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// maxBatch bounds the body of a batch of requests.
const maxBatch = 4 << 20

// sentBatch is the body of a batch, its requests not yet read.
type sentBatch struct {
	Requests []json.RawMessage `json:"requests"`
	First    int               `json:"first"`
	Check    bool              `json:"check"`
	Each     bool              `json:"each"`
}

// parseBatch reads the body of a batch, strictly. It does not read the requests.
func parseBatch(data []byte) (sent sentBatch, err error) {
	if err := decodeStrict(data, &sent); err != nil {
		return sent, err
	}
	most := control.MaxRequests
	if sent.Each {
		most = control.MaxEach
	}
	switch n := len(sent.Requests); {
	case n == 0:
		return sent, wrong(http.StatusBadRequest, "send at least one", "the batch has no requests")
	case n > most:
		return sent, wrong(http.StatusBadRequest, "send several batches", "the batch has %d requests: at most %d", n, most)
	case sent.Each && sent.Check:
		return sent, wrong(http.StatusBadRequest, "leave each out: a check of all records nothing", "check and each exclude one another")
	}
	return sent, nil
}

// createRequests makes the requests of a batch: all or none, or each for itself.
func (s *Server) createRequests(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	data, err := rawBody(w, r, maxBatch)
	if err != nil {
		return nil, err
	}
	sent, err := parseBatch(data)
	if err != nil {
		return nil, err
	}
	who, err := by(r)
	if err != nil {
		return nil, err
	}
	if sent.Each {
		return s.createEach(r, who, sent)
	}
	b := control.Batch{First: sent.First, Check: sent.Check}
	read := s.lineReader(r)
	for i, line := range sent.Requests {
		n, err := read(line)
		var unread *lineError
		if errors.As(err, &unread) {
			return nil, wrong(http.StatusBadRequest, formOfRequests, "%s: %s", b.Line(i), unread)
		}
		if err != nil {
			return nil, err
		}
		b.Requests = append(b.Requests, n)
	}
	made, err := s.Control.CreateRequests(r.Context(), who, b)
	if err != nil {
		return nil, err
	}
	out := client.BatchAnswer{}
	for i, a := range made {
		out = out.With(client.BatchedRequest{RequestAnswer: noted(requestAnswer(a.Request, a.Answer), b.Requests[i])}, b.Check)
	}
	return out, nil
}

// formOfRequests is what to do about a request that cannot be read.
const formOfRequests = "see /openapi.json for the form"

// lineError says why a request of a batch cannot be read.
type lineError struct{ error }

// lineReader returns what reads the requests of a batch one by one, each as createRequest does.
func (s *Server) lineReader(r *http.Request) func(json.RawMessage) (control.NewRequest, error) {
	only := events.SuiteName("")
	return func(line json.RawMessage) (control.NewRequest, error) {
		n, err := client.ParseLine(line)
		if err != nil {
			return n, &lineError{err}
		}
		n.Suite = cmp.Or(n.Suite, only)
		named := n.Suite != ""
		err = s.complete(r.Context(), &n)
		if err == nil && !named {
			only = n.Suite
		}
		return n, err
	}
}

// createEach makes each request of a batch for itself. The answer has each request, or why it was not made, in their order.
func (s *Server) createEach(r *http.Request, who control.By, sent sentBatch) (client.BatchAnswer, error) {
	b := control.Batch{First: sent.First}
	read := s.lineReader(r)
	asked, errs := make([]control.NewRequest, len(sent.Requests)), make([]error, len(sent.Requests))
	var list []control.NewRequest
	var places []int // of the requests of the list
	for i, line := range sent.Requests {
		asked[i], errs[i] = read(line)
		var unread *lineError
		switch {
		case errors.As(errs[i], &unread):
			errs[i] = wrong(http.StatusBadRequest, formOfRequests, "the request is wrong: %s", unread)
		case errs[i] == nil:
			list, places = append(list, asked[i]), append(places, i)
		case s.says(errs[i]).Status >= http.StatusInternalServerError:
			return client.BatchAnswer{}, errs[i] // nothing is recorded yet
		}
	}
	made, err := s.Control.CreateEach(r.Context(), who, list, func(k int) string { return b.Line(places[k]) })
	if err != nil {
		return client.BatchAnswer{}, err
	}
	answers := make([]client.RequestAnswer, len(asked))
	for k, a := range made {
		i := places[k]
		answers[i], errs[i] = noted(requestAnswer(a.Request, a.Answer), asked[i]), a.Err
	}
	out := client.BatchAnswer{}
	for i, n := range asked {
		if errs[i] == nil {
			out = out.With(client.BatchedRequest{RequestAnswer: answers[i]}, false)
			continue
		}
		e := s.says(errs[i])
		if _, known := explain(errs[i]); !known {
			s.fault(r, fmt.Errorf("%s of a batch: %w", b.Line(i), errs[i]))
		}
		out = out.With(client.BatchedRequest{
			RequestAnswer: client.RequestAnswer{Suite: n.Suite, Kind: n.Kind, Tag: n.Tag, ParentTag: n.Parent}, Status: e.Status, Error: e,
		}, false)
	}
	return out, nil
}

// says returns what the caller is told about an error.
func (s *Server) says(err error) *client.Error {
	e, _ := explain(s.blamed(err))
	return e
}
