package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
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

// CreateRequests asks for all requests of a batch, or for none.
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

// Publish makes definitions, in their canonical JSON form, the current ones of a branch of their suite; with an empty
// branch, of all that have none of their own.
func (c *Client) Publish(ctx context.Context, canonical []byte, branch string) (DefinitionsAnswer, error) {
	query := url.Values{}
	set(query, "branch", branch)
	return ask[DefinitionsAnswer](ctx, c, http.MethodPost, "definitions", query, json.RawMessage(canonical))
}

// PublishAside publishes definitions, in their canonical JSON form, for requests that name them. No branch uses them.
func (c *Client) PublishAside(ctx context.Context, canonical []byte) (DefinitionsAnswer, error) {
	return ask[DefinitionsAnswer](ctx, c, http.MethodPost, "definitions", url.Values{"aside": {"1"}}, json.RawMessage(canonical))
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
