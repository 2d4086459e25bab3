package website

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/website/client"
)

// submitGraph records a graph that somebody wrote, and waits a moment for the scheduler's answer. A dry run records nothing.
func (s *Server) submitGraph(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	if r.ContentLength > graph.MaxProposed {
		return nil, tooLargeGraph()
	}
	data, err := rawBody(w, r, graph.MaxProposed)
	if large, is := errors.AsType[*client.Error](err); is && large.Status == http.StatusRequestEntityTooLarge {
		return nil, tooLargeGraph()
	}
	if err != nil {
		return nil, err
	}
	var n client.SubmittedGraph
	if err := decodeStrict(data, &n); err != nil {
		return nil, err
	}
	who, err := by(r)
	if err != nil {
		return nil, err
	}
	submission := control.Submission{Key: n.Key, Reason: n.Reason, Priority: n.Priority}
	if submission.Graph, err = graph.ReadProposed(n.Graph); err != nil {
		return nil, wrong(http.StatusBadRequest, "change what `tacho graph show REQUEST/N --json` prints", "the graph is wrong: %s", err)
	}
	if submission.Key == "" {
		submission.Key = uuid.NewString()
	}
	id, err := s.requestToChange(r)
	if err != nil {
		return nil, err
	}
	if n.DryRun {
		wish, parts := submission.Wish(id)
		return s.previewOf(r, who, id, wish, parts...)
	}
	q, recorded, err := s.Control.Submit(r.Context(), who, id, submission)
	if err != nil {
		return nil, err
	}
	wish, _ := submission.Wish(id)
	return s.answered(r.Context(), id, wish, requestAnswer(q, recorded))
}

func tooLargeGraph() error {
	return wrong(http.StatusRequestEntityTooLarge, "leave out what jobs do not consist of, as `tacho graph submit` does, or submit it in parts",
		"a graph that is submitted has at most %d MiB", graph.MaxProposed>>20)
}

// differences says how a graph differs from what the definitions make.
func (s *Server) differences(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	number, err := graphNumber(r)
	if err != nil {
		return nil, err
	}
	id, err := s.Reader.FindRequestID(r.Context(), r.PathValue("request"))
	if err != nil {
		return nil, err
	}
	return s.long.Differs(r.Context(), id, number)
}

// changesShown is how many differences of a graph a page shows; the API has all.
const changesShown = 20

// customisedView is how a graph differs from what the definitions make, as a page shows it. More counts what it leaves out.
type customisedView struct {
	Shown []string
	More  int
	Why   string
}

// customised returns how the graphs that are not what the definitions make differ from that, by number.
func (s *Server) customised(ctx context.Context, graphs []readmodel.GraphShown) (map[int]*customisedView, error) {
	views := map[int]*customisedView{}
	for _, g := range graphs {
		if !g.Customised || !g.Drawn {
			continue
		}
		found, err := s.long.Differs(ctx, g.RequestID, g.Number)
		if err != nil {
			return nil, err
		}
		v := &customisedView{Why: found.Why, More: max(len(found.Differences)-changesShown, 0)}
		for _, d := range slices.Clip(found.Differences[:len(found.Differences)-v.More]) {
			v.Shown = append(v.Shown, d.String())
		}
		views[g.Number] = v
	}
	return views, nil
}

// answered waits a moment for the scheduler's answer to a wish that was recorded.
func (s *Server) answered(ctx context.Context, id events.RequestID, wish events.GraphWanted, recorded client.RequestAnswer) (client.GraphAnswer, error) {
	out := client.GraphAnswer{RequestAnswer: recorded, Key: wish.Key, GraphKind: wish.Kind, Jobs: []client.GraphJob{}, Token: wish.Expect}
	answer, err := s.Control.AwaitAnswer(ctx, id, wish.Key)
	switch {
	case err != nil:
		return out, err
	case answer.Refused != "":
		return out, refusedWish(id, answer.Refused)
	}
	out.Answered, out.Graph, out.Customised, out.Shared = answer.Answered, answer.Graph, answer.Customised, answer.Shared
	for _, spec := range answer.Jobs {
		out.Jobs = append(out.Jobs, wishedJob(spec, ""))
	}
	if !wish.Kind.Sampled() && answer.Answered {
		for _, id := range answer.Shared {
			answer.Jobs = append(answer.Jobs, events.JobSpec{ID: id})
		}
		out.Token = graph.Token(answer.Jobs)
	}
	return out, nil
}
