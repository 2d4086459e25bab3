package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/seal"
)

func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return ask[T](ctx, c, http.MethodPost, path, nil, body)
}

// CreateRequest asks for a request. Asking again for the same records nothing new.
func (c *Client) CreateRequest(ctx context.Context, n control.NewRequest) (RequestAnswer, error) {
	return post[RequestAnswer](ctx, c, "requests", n)
}

// CancelRequest withdraws a request; its running jobs are stopped.
func (c *Client) CancelRequest(ctx context.Context, id events.RequestID, reason string) (RequestAnswer, error) {
	return post[RequestAnswer](ctx, c, "requests/"+url.PathEscape(string(id))+"/cancel", Reason{reason})
}

// RepairRequest asks for the next rounds of jobs of a request that did not succeed. id may be any name of the request.
func (c *Client) RepairRequest(ctx context.Context, id events.RequestID, r control.Repair) (RepairAnswer, error) {
	return post[RepairAnswer](ctx, c, "requests/"+url.PathEscape(string(id))+"/repair", r)
}

// WantGraph asks for more jobs of a request. id may be any name of the request.
func (c *Client) WantGraph(ctx context.Context, id events.RequestID, n NewGraph) (GraphAnswer, error) {
	return post[GraphAnswer](ctx, c, "requests/"+url.PathEscape(string(id))+"/graphs", n)
}

// PrioritiseGraph gives a graph of samples another priority. id may be any name of the request.
func (c *Client) PrioritiseGraph(ctx context.Context, id events.RequestID, graph int, p NewPriority) (RequestAnswer, error) {
	return ask[RequestAnswer](ctx, c, http.MethodPut, fmt.Sprintf("requests/%s/graphs/%d/priority", url.PathEscape(string(id)), graph), nil, p)
}

// SubmitGraph asks for jobs that somebody wrote. id may be any name of the request.
func (c *Client) SubmitGraph(ctx context.Context, id events.RequestID, g SubmittedGraph) (GraphAnswer, error) {
	return post[GraphAnswer](ctx, c, "requests/"+url.PathEscape(string(id))+"/graphs/external", g)
}

// CancelGraph withdraws a graph that was asked for. id may be any name of the request.
func (c *Client) CancelGraph(ctx context.Context, id events.RequestID, graph int, reason string) (RequestAnswer, error) {
	return post[RequestAnswer](ctx, c, fmt.Sprintf("requests/%s/graphs/%d/cancel", url.PathEscape(string(id)), graph), Reason{reason})
}

// ForceJob lets a job run although its needs are not met. id may be the beginning of an id.
func (c *Client) ForceJob(ctx context.Context, id events.JobID, f Force) (ForceAnswer, error) {
	return post[ForceAnswer](ctx, c, "jobs/"+url.PathEscape(string(id))+"/force", f)
}

// ArtifactsReady says that the artifact of a waiting request exists.
func (c *Client) ArtifactsReady(ctx context.Context, id events.RequestID, a Artifacts) (RequestAnswer, error) {
	return post[RequestAnswer](ctx, c, "requests/"+url.PathEscape(string(id))+"/artifacts-ready", a)
}

// CreateRequests asks for all requests of a batch, or for none; with Each for each of them, and the answer has an error for each
// that was not made. If there is no answer, ask again: what was recorded already is not recorded twice.
func (c *Client) CreateRequests(ctx context.Context, b control.Batch) (BatchAnswer, error) {
	return post[BatchAnswer](ctx, c, "requests/batch", b)
}

// PrioritiseRequest gives a request another priority. id may be any name of the request.
func (c *Client) PrioritiseRequest(ctx context.Context, id events.RequestID, p NewPriority) (RequestAnswer, error) {
	return ask[RequestAnswer](ctx, c, http.MethodPut, "requests/"+url.PathEscape(string(id))+"/priority", nil, p)
}

// AddCollector registers a collector for its lane.
func (c *Client) AddCollector(ctx context.Context, n control.NewCollector) (control.Answer, error) {
	return post[control.Answer](ctx, c, "collectors", n)
}

// ActivateCollector lets a collector take jobs again.
func (c *Client) ActivateCollector(ctx context.Context, name events.CollectorName) (control.Answer, error) {
	return c.collector(ctx, name, "activate", "")
}

// DeactivateCollector stops the dispatch to a collector. Its running job ends or is given back. Its history stays.
func (c *Client) DeactivateCollector(ctx context.Context, name events.CollectorName, how control.Deactivation) (control.Answer, error) {
	return post[control.Answer](ctx, c, "collectors/"+url.PathEscape(string(name))+"/deactivate", how)
}

// TakeLaneOver lets a collector serve its lane instead of the one that serves it now.
func (c *Client) TakeLaneOver(ctx context.Context, name events.CollectorName, reason string) (control.Answer, error) {
	return c.collector(ctx, name, "take-over", reason)
}

// RotateKey gives a collector another key. The previous key is refused from then on.
func (c *Client) RotateKey(ctx context.Context, name events.CollectorName, key NewKey) (control.Answer, error) {
	return post[control.Answer](ctx, c, "collectors/"+url.PathEscape(string(name))+"/rotate", key)
}

// RemoveCollector takes a collector out for good. Its name is never used again.
func (c *Client) RemoveCollector(ctx context.Context, name events.CollectorName, reason string) (control.Answer, error) {
	return c.collector(ctx, name, "remove", reason)
}

// DrainCollector asks a collector to finish its job and leave.
func (c *Client) DrainCollector(ctx context.Context, name events.CollectorName, reason string) (control.Answer, error) {
	return c.collector(ctx, name, "drain", reason)
}

func (c *Client) collector(ctx context.Context, name events.CollectorName, verb, reason string) (control.Answer, error) {
	return post[control.Answer](ctx, c, "collectors/"+url.PathEscape(string(name))+"/"+verb, Reason{reason})
}

// WantVersion says which version supervised collectors should run.
func (c *Client) WantVersion(ctx context.Context, wanted events.VersionWanted) (control.Answer, error) {
	return post[control.Answer](ctx, c, "wanted-version", wanted)
}

// ParkEvent leaves an event out of everything that is made from the log, with all events of its append.
func (c *Client) ParkEvent(ctx context.Context, seq events.Seq, reason string) (control.ParkAnswer, error) {
	return post[control.ParkAnswer](ctx, c, fmt.Sprintf("events/%d/park", seq), Reason{reason})
}

// UnparkEvent ends the park of an event and of all that were parked with it.
func (c *Client) UnparkEvent(ctx context.Context, seq events.Seq, reason string) (control.ParkAnswer, error) {
	return post[control.ParkAnswer](ctx, c, fmt.Sprintf("events/%d/unpark", seq), Reason{reason})
}

// Publication says whom definitions are published for.
type Publication struct {
	// Branch is the branch that uses them; empty for all that have none of their own.
	Branch string
	// Aside publishes them for requests that name them, and for no branch.
	Aside bool
	// Seal is that of who publishes them; nil for none.
	Seal *events.Seal
}

// Publish publishes definitions, in their canonical JSON form.
func (c *Client) Publish(ctx context.Context, canonical []byte, p Publication) (DefinitionsAnswer, error) {
	query := url.Values{}
	set(query, "branch", p.Branch)
	if p.Aside {
		query.Set("aside", "1")
	}
	if p.Seal != nil {
		set(query, "seal", seal.Text(*p.Seal))
	}
	return ask[DefinitionsAnswer](ctx, c, http.MethodPost, "definitions", query, json.RawMessage(canonical))
}

// Promote moves a branch of a suite to definitions that were published before.
func (c *Client) Promote(ctx context.Context, suite events.SuiteName, to Promotion) (PromotionAnswer, error) {
	return post[PromotionAnswer](ctx, c, "suites/"+url.PathEscape(string(suite))+"/promote", to)
}

// VerifyReplay makes the server rebuild all tables from the log beside the live ones and compare them. It
// returns the report as the server made it.
func (c *Client) VerifyReplay(ctx context.Context) (json.RawMessage, error) {
	return post[json.RawMessage](ctx, c, "replay/verify", struct{}{})
}
