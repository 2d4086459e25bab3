package website

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/website/client"
)

// repairRequest records the wish for the next rounds of jobs, and waits a moment for the scheduler's answer.
func (s *Server) repairRequest(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var repair control.Repair
	who, err := commanded(w, r, &repair)
	if err != nil {
		return nil, err
	}
	made, err := s.want(r, who, repair.Wish())
	out := client.RepairAnswer{RequestAnswer: made.RequestAnswer, Key: made.Key, Jobs: []events.JobID{}, Answered: made.Answered}
	for _, j := range made.Jobs {
		out.Jobs = append(out.Jobs, j.JobID)
	}
	return out, err
}

// wantGraph records a wish for more jobs, and waits a moment for the scheduler's answer. A dry run records nothing.
func (s *Server) wantGraph(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var n client.NewGraph
	who, err := commanded(w, r, &n)
	if err != nil {
		return nil, err
	}
	wish, err := wished(n)
	switch {
	case err != nil:
		return nil, err
	case n.DryRun:
		return s.preview(r, who, wish)
	}
	return s.want(r, who, wish)
}

// wished returns the wish that the body of a call asks for.
func wished(n client.NewGraph) (events.GraphWanted, error) {
	wish := events.GraphWanted{
		Key: n.Key, Kind: n.Kind, Select: n.Jobs, Where: n.Select, Reason: n.Reason, Downstream: events.Downstream(n.Downstream), Benchmarks: n.Benchmarks,
		Priority: n.Priority, Expect: n.Expect, Force: n.Force, Labels: n.Labels,
	}
	if n.Kind == events.GraphForce {
		return wish, wrong(http.StatusBadRequest, "use POST /api/v1/jobs/JOB/force", "to force a job makes no graph")
	}
	if n.Downstream == client.DownstreamNone {
		wish.Downstream = events.DownstreamNone
	}
	if n.Copies != nil {
		if wish.Copies = *n.Copies; wish.Copies == 0 {
			return wish, wrong(http.StatusBadRequest, "leave copies out for the usual number", "0 copies measure nothing")
		}
	}
	if n.Iterations != nil {
		if wish.Iterations = *n.Iterations; wish.Iterations == 0 {
			return wish, wrong(http.StatusBadRequest, "leave iterations out for as many as the definitions say", "0 iterations measure nothing")
		}
	}
	return wish, nil
}

// want records a wish, and waits a moment for the scheduler's answer.
func (s *Server) want(r *http.Request, who control.By, wish events.GraphWanted) (client.GraphAnswer, error) {
	id, err := s.wishedOf(r, wish)
	if err != nil {
		return client.GraphAnswer{}, err
	}
	if wish.Key == "" {
		wish.Key = uuid.NewString()
	}
	q, recorded, err := s.Control.Want(r.Context(), who, id, wish)
	if err != nil {
		return client.GraphAnswer{}, err
	}
	return s.answered(r.Context(), id, wish, requestAnswer(q, recorded))
}

// forceJob records the wish to let a job run although its needs are not met, and waits a moment for the scheduler's answer.
func (s *Server) forceJob(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var force client.Force
	who, err := commanded(w, r, &force)
	if err != nil {
		return nil, err
	}
	if err := s.caughtUp(r.Context()); err != nil {
		return nil, err
	}
	j, err := s.Reader.FindJob(r.Context(), r.PathValue("job"))
	if err != nil {
		return nil, err
	}
	id := j.RequestID
	if force.Request != "" {
		id, err = s.Reader.RequestToChange(r.Context(), string(force.Request))
	}
	if err != nil {
		return nil, err
	}
	wish := events.GraphWanted{Key: cmp.Or(force.Key, uuid.NewString()), Kind: events.GraphForce, Select: []events.JobID{j.ID}, Reason: force.Reason}
	q, recorded, err := s.Control.Want(r.Context(), who, id, wish)
	if err != nil {
		return nil, err
	}
	answer, err := s.Control.AwaitAnswer(r.Context(), id, wish.Key)
	switch {
	case err != nil:
		return nil, err
	case answer.Refused != "":
		return nil, refusedWish(id, answer.Refused)
	}
	out := client.ForceAnswer{RequestAnswer: requestAnswer(q, recorded), JobID: j.ID, Key: wish.Key, Answered: answer.Answered}
	out.Seq = max(out.Seq, answer.Seq)
	return out, nil
}

// preview returns what would be made for a wish now.
func (s *Server) preview(r *http.Request, who control.By, wish events.GraphWanted) (client.GraphAnswer, error) {
	id, err := s.wishedOf(r, wish)
	if err != nil {
		return client.GraphAnswer{}, err
	}
	if wish.Key == "" {
		wish.Key = uuid.NewString()
	}
	return s.previewOf(r, who, id, wish)
}

// previewOf is preview for a request that is known. parts are those of a graph that somebody wrote.
func (s *Server) previewOf(r *http.Request, who control.By, id events.RequestID, wish events.GraphWanted, parts ...events.GraphProposed) (client.GraphAnswer, error) {
	if s.Preview == nil {
		return client.GraphAnswer{}, wrong(http.StatusNotImplemented, "ask a website that decides on the log", "this process cannot say what would be made")
	}
	q, at, wish, err := s.Control.CheckWant(r.Context(), who, id, wish)
	if err != nil {
		return client.GraphAnswer{}, err
	}
	done, err := s.dryRun(r)
	if err != nil {
		return client.GraphAnswer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.WaitFor)
	defer cancel()
	found, err := s.Preview(ctx, id, wish, parts...)
	done()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return client.GraphAnswer{}, wrong(http.StatusGatewayTimeout, "see /readyz", "this process has not read the log within %s", s.WaitFor)
	case err != nil:
		return client.GraphAnswer{}, err
	case found.Refused != "":
		return client.GraphAnswer{}, refusedWish(id, found.Refused)
	}
	out := client.GraphAnswer{
		RequestAnswer: requestAnswer(q.Request, at), GraphKind: wish.Kind, Copies: wish.Copies, Jobs: []client.GraphJob{}, Token: found.Token, DryRun: true,
		Customised: found.Customised, Differences: found.Differs,
	}
	for _, c := range found.Jobs {
		out.Jobs = append(out.Jobs, wishedJob(c.Spec, c.State))
	}
	return out, nil
}

// refusedWish is the error for a wish that a scheduler refused. Most reasons name the next step.
func refusedWish(id events.RequestID, why string) error {
	next := "see `tacho request show " + string(id) + "`"
	if strings.Contains(why, "`tacho ") || strings.Contains(why, "--") {
		next = ""
	}
	return wrong(http.StatusConflict, next, "%s", why)
}

func wishedJob(spec events.JobSpec, state string) client.GraphJob {
	return client.GraphJob{JobID: spec.ID, Label: graph.LabelOf(spec).String(), Tag: spec.Artifact.Tag, Sample: spec.Sample, State: state}
}

// wishedOf returns the request that the path of a wish names, and replaces the names of the wish's jobs by their full ids.
func (s *Server) wishedOf(r *http.Request, wish events.GraphWanted) (events.RequestID, error) {
	id, err := s.requestToChange(r)
	if err != nil {
		return "", err
	}
	return id, s.jobsNamed(r, wish.Select)
}

// jobsNamed replaces the names of jobs by their full ids.
func (s *Server) jobsNamed(r *http.Request, names []events.JobID) error {
	if len(names) == 0 {
		return nil
	}
	if err := s.caughtUp(r.Context()); err != nil {
		return err
	}
	for i, name := range names {
		j, err := s.Reader.FindJob(r.Context(), string(name))
		if err != nil {
			return err
		}
		names[i] = j.ID
	}
	return nil
}

// cancelGraph withdraws a graph that was made by a wish.
func (s *Server) cancelGraph(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var why client.Reason
	who, err := commanded(w, r, &why)
	if err != nil {
		return nil, err
	}
	number, err := graphNumber(r)
	if err != nil {
		return nil, err
	}
	id, err := s.requestToChange(r)
	if err != nil {
		return nil, err
	}
	q, answer, err := s.Control.CancelGraph(r.Context(), who, id, number, why.Reason)
	return requestAnswer(q, answer), err
}

func graphNumber(r *http.Request) (int, error) {
	number, err := strconv.Atoi(r.PathValue("graph"))
	if err != nil || number < 0 {
		return 0, wrong(http.StatusBadRequest, "use the number of a graph", "%q is not the number of a graph", r.PathValue("graph"))
	}
	return number, nil
}

// againForm measures jobs of a request again: samples of them or of the parent, or the next rounds of what failed. A form
// that is sent twice from the same page is one wish.
func (s *Server) againForm(ctx context.Context, who control.By, id events.RequestID, sent url.Values) (control.Answer, error) {
	wish := events.GraphWanted{Kind: events.GraphKind(sent.Get("kind")), Reason: sent.Get("reason")}
	if copies := sent.Get("copies"); copies != "" {
		n, err := strconv.Atoi(copies)
		if err != nil || n == 0 {
			return control.Answer{}, wrong(http.StatusBadRequest, "use a number from 1 to 20", "%q is not a number of samples", copies)
		}
		wish.Copies = n
	}
	wish.Key = fmt.Sprintf("page-%s-%s-%d", sent.Get("at"), wish.Kind, wish.Copies)
	_, recorded, err := s.Control.Want(ctx, who, id, wish)
	if err != nil {
		return control.Answer{}, err
	}
	answer, err := s.Control.AwaitAnswer(ctx, id, wish.Key)
	switch {
	case err != nil:
		return control.Answer{}, err
	case answer.Refused != "":
		return control.Answer{}, refusedWish(id, answer.Refused)
	}
	return control.Answer{Seq: max(recorded.Seq, answer.Seq)}, nil
}
