package client

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
)

// Status returns what the status page shows.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "status", nil)
}

// Queue returns all pending requests in the order in which they will be benchmarked. It reads them page by page: a request
// that moves meanwhile may be missing, or be there twice.
func (c *Client) Queue(ctx context.Context) ([]QueuePlace, error) {
	return getAll[QueuePlace](ctx, c, "queue", nil)
}

// RequestQuery selects requests; a zero field selects all.
type RequestQuery struct {
	State events.RequestState
	Kind  events.RequestKind
	Suite events.SuiteName
	Tag   events.Tag
	PR    int
	// Account is who asked. Queue is where the request waits; events.MainQueue is the main queue. Priority is by name.
	Account  events.AccountName
	Queue    events.QueueName
	Priority events.Priority
	// Set is the name of a set of requests.
	Set string
	// Before selects requests created before the event of this sequence.
	Before events.Seq
	// Limit bounds the list; 0 means 100.
	Limit int
}

// Requests returns the requests that q selects, newest first.
func (c *Client) Requests(ctx context.Context, q RequestQuery) ([]readmodel.Request, error) {
	query := url.Values{}
	set(query, "state", q.State)
	set(query, "kind", q.Kind)
	set(query, "suite", q.Suite)
	set(query, "tag", q.Tag)
	set(query, "pr", q.PR)
	set(query, "account", q.Account)
	set(query, "queue", q.Queue)
	set(query, "priority", q.Priority)
	set(query, "set", q.Set)
	set(query, "before", q.Before)
	set(query, "limit", q.Limit)
	return get[[]readmodel.Request](ctx, c, "requests", query)
}

// Request returns the request with that id, or the newest with that tag or key, with its jobs.
func (c *Client) Request(ctx context.Context, name string) (readmodel.RequestJobs, error) {
	return get[readmodel.RequestJobs](ctx, c, "requests/"+url.PathEscape(name), nil)
}

// Graphs returns the graphs of the request with that id, or the newest with that tag or key.
func (c *Client) Graphs(ctx context.Context, name string) (Graphs, error) {
	return get[Graphs](ctx, c, "requests/"+url.PathEscape(name)+"/graphs", nil)
}

// GraphDifferences returns how the jobs of a graph differ from those that the definitions make for its request.
func (c *Client) GraphDifferences(ctx context.Context, name string, graph int) (readmodel.GraphDifferences, error) {
	return get[readmodel.GraphDifferences](ctx, c, fmt.Sprintf("requests/%s/graphs/%d/differences", url.PathEscape(name), graph), nil)
}

// Timings returns what the jobs of a graph of a request did over time.
func (c *Client) Timings(ctx context.Context, name string, graph int) (readmodel.Timings, error) {
	return get[readmodel.Timings](ctx, c, fmt.Sprintf("requests/%s/graphs/%d/timings", url.PathEscape(name), graph), nil)
}

// Diagnostics returns what the commands of a request's jobs had to say, by graph.
func (c *Client) Diagnostics(ctx context.Context, name string) ([]readmodel.GraphDiagnostics, error) {
	return get[[]readmodel.GraphDiagnostics](ctx, c, "requests/"+url.PathEscape(name)+"/diagnostics", nil)
}

// Accounts returns the configured accounts by name: those behind the name after, at most limit; 0 means 100.
func (c *Client) Accounts(ctx context.Context, after events.AccountName, limit int) ([]readmodel.Account, error) {
	return get[[]readmodel.Account](ctx, c, "accounts", page(after, limit))
}

// Account returns one configured account.
func (c *Client) Account(ctx context.Context, name events.AccountName) (AccountShown, error) {
	return get[AccountShown](ctx, c, "accounts/"+url.PathEscape(string(name)), nil)
}

// Queues returns the configured queues by name: those behind the name after, at most limit; 0 means 100.
func (c *Client) Queues(ctx context.Context, after events.QueueName, limit int) ([]readmodel.NamedQueue, error) {
	return get[[]readmodel.NamedQueue](ctx, c, "queues", page(after, limit))
}

func page[T ~string](after T, limit int) url.Values {
	query := url.Values{}
	set(query, "after", after)
	set(query, "limit", limit)
	return query
}

// OneQueue returns a queue with its first requests, at most limit; 0 means 100. events.MainQueue is the main queue.
func (c *Client) OneQueue(ctx context.Context, name events.QueueName, limit int) (Queue, error) {
	query := url.Values{}
	set(query, "limit", limit)
	return get[Queue](ctx, c, "queues/"+url.PathEscape(string(name)), query)
}

// Shares returns how the machine time is shared now.
func (c *Client) Shares(ctx context.Context) (readmodel.Shares, error) {
	return get[readmodel.Shares](ctx, c, "shares", nil)
}

// WaitStats returns how long jobs waited for machines, and how long requests took. An empty window is the last seven days, and an
// empty lane all of them.
func (c *Client) WaitStats(ctx context.Context, window, lane string) (readmodel.Waits, error) {
	q := url.Values{}
	if window != "" {
		q.Set("window", window)
	}
	if lane != "" {
		q.Set("lane", lane)
	}
	return get[readmodel.Waits](ctx, c, "waits", q)
}

// Machines returns the machines that take matched jobs, and the jobs that none of them can run.
func (c *Client) Machines(ctx context.Context) (readmodel.Machines, error) {
	return get[readmodel.Machines](ctx, c, "machines", nil)
}

// Machine returns one of these machines.
func (c *Client) Machine(ctx context.Context, name events.MachineName) (readmodel.Machine, error) {
	return get[readmodel.Machine](ctx, c, "machines/"+url.PathEscape(string(name)), nil)
}

// Usage returns what accounts had by day, the newest day first.
func (c *Client) Usage(ctx context.Context, f readmodel.UsageFilter) ([]readmodel.Usage, error) {
	query := url.Values{}
	set(query, "account", f.Account)
	set(query, "queue", f.Queue)
	set(query, "from", f.From)
	set(query, "to", f.To)
	set(query, "offset", f.Offset)
	set(query, "limit", f.Limit)
	return get[[]readmodel.Usage](ctx, c, "usage", query)
}

// JobQuery selects jobs; a zero field selects all.
type JobQuery struct {
	Request events.RequestID
	State   events.JobState
	// Open selects the jobs that have not ended.
	Open bool
	// Lane selects one lane; nil selects all.
	Lane *events.Lane
	// Limit bounds the list; 0 means 100.
	Limit int
}

// Jobs returns the jobs that q selects, in the order of their creation.
func (c *Client) Jobs(ctx context.Context, q JobQuery) ([]readmodel.Job, error) {
	query := url.Values{}
	set(query, "request", q.Request)
	set(query, "state", q.State)
	set(query, "open", q.Open)
	set(query, "limit", q.Limit)
	if q.Lane != nil {
		query.Set("lane", q.Lane.String())
	}
	return get[[]readmodel.Job](ctx, c, "jobs", query)
}

// Job returns one job with its attempts and errors.
func (c *Client) Job(ctx context.Context, id events.JobID) (readmodel.JobHistory, error) {
	return get[readmodel.JobHistory](ctx, c, "jobs/"+url.PathEscape(string(id)), nil)
}

// Why says why a job waits, or that it does not.
func (c *Client) Why(ctx context.Context, id events.JobID) (readmodel.Why, error) {
	return get[readmodel.Why](ctx, c, "jobs/"+url.PathEscape(string(id))+"/why", nil)
}

// Collectors returns the collectors by name. With all it includes those that were removed.
func (c *Client) Collectors(ctx context.Context, all bool) ([]Collector, error) {
	query := url.Values{}
	set(query, "all", all)
	return get[[]Collector](ctx, c, "collectors", query)
}

// Alerts returns the alerts that stand, and then at most past cleared ones, newest first.
func (c *Client) Alerts(ctx context.Context, past int) ([]readmodel.Alert, error) {
	query := url.Values{}
	set(query, "past", past)
	return get[[]readmodel.Alert](ctx, c, "alerts", query)
}

// DeliveryQuery selects deliveries of GitHub; a zero field selects all.
type DeliveryQuery struct {
	ID      events.DeliveryID
	Outcome events.DeliveryOutcome
	// Waiting selects the deliveries that are not handled yet.
	Waiting bool
	PR      int
	// Before selects deliveries that came before the event of this sequence.
	Before events.Seq
	// Limit bounds the list; 0 means 100.
	Limit int
}

// Deliveries returns the deliveries that q selects, newest first.
func (c *Client) Deliveries(ctx context.Context, q DeliveryQuery) ([]readmodel.Delivery, error) {
	query := url.Values{}
	set(query, "id", q.ID)
	set(query, "outcome", q.Outcome)
	set(query, "waiting", q.Waiting)
	set(query, "pr", q.PR)
	set(query, "before", q.Before)
	set(query, "limit", q.Limit)
	return get[[]readmodel.Delivery](ctx, c, "deliveries", query)
}

// Delivery returns one delivery with its body.
func (c *Client) Delivery(ctx context.Context, hook events.HookID, id events.DeliveryID) (DeliveryWithBody, error) {
	return get[DeliveryWithBody](ctx, c, "deliveries/"+url.PathEscape(string(hook))+"/"+url.PathEscape(string(id)), nil)
}

// CommentQuery selects comments of the outbox; a zero field selects all.
type CommentQuery struct {
	State   readmodel.CommentState
	PR      int
	Request events.RequestID
	// Before selects comments that were first wanted before the event of this sequence.
	Before events.Seq
	// Limit bounds the list; 0 means 100.
	Limit int
}

// Outbox returns the comments that q selects, the last wanted first.
func (c *Client) Outbox(ctx context.Context, q CommentQuery) ([]readmodel.Comment, error) {
	query := url.Values{}
	set(query, "state", q.State)
	set(query, "pr", q.PR)
	set(query, "request", q.Request)
	set(query, "before", q.Before)
	set(query, "limit", q.Limit)
	return get[[]readmodel.Comment](ctx, c, "outbox", query)
}

// Comment returns one comment of the outbox.
func (c *Client) Comment(ctx context.Context, key events.OutboxKey) (readmodel.Comment, error) {
	return get[readmodel.Comment](ctx, c, "outbox/"+url.PathEscape(string(key)), nil)
}

// CompareQuery names what is compared.
type CompareQuery struct {
	// B is judged against A. An empty A means the parent of B.
	A, B events.Tag
	// Suite may be empty: the first suite with results of both is used.
	Suite events.SuiteName
	// Metric restricts the comparison to one metric; empty compares all.
	Metric events.Metric
	// All makes text show the test cases of every metric and not only of the headline metric. It makes Markdown show
	// the unchanged ones too, at any length.
	All bool
}

func (q CompareQuery) values() url.Values {
	query := url.Values{}
	set(query, "a", q.A)
	set(query, "b", q.B)
	set(query, "suite", q.Suite)
	set(query, "metric", q.Metric)
	if q.All {
		query.Set("all", "1")
	}
	return query
}

// Compare judges one artifact against another.
func (c *Client) Compare(ctx context.Context, q CompareQuery) (comparison.Comparison, error) {
	return get[comparison.Comparison](ctx, c, "compare", q.values())
}

// CompareAs writes a comparison as "text", "markdown", "csv" or "samples".
func (c *Client) CompareAs(ctx context.Context, q CompareQuery, format string, w io.Writer) error {
	query := q.values()
	query.Set("format", format)
	_, err := c.copyText(ctx, "compare", query, w)
	return err
}

// Results returns everything that was measured of one artifact, ordered by test case.
func (c *Client) Results(ctx context.Context, suite events.SuiteName, tag events.Tag) ([]readmodel.Result, error) {
	query := url.Values{}
	set(query, "suite", suite)
	set(query, "tag", tag)
	return get[[]readmodel.Result](ctx, c, "results", query)
}

// Uses returns what the last ten matched jobs of each sort of a suite used.
func (c *Client) Uses(ctx context.Context, suite events.SuiteName) ([]readmodel.UseRow, error) {
	query := url.Values{}
	set(query, "suite", suite)
	return get[[]readmodel.UseRow](ctx, c, "uses", query)
}

// Durations returns how long each test case of a suite takes on a target, ordered by test case.
func (c *Client) Durations(ctx context.Context, suite events.SuiteName, target events.Target) ([]readmodel.CaseDuration, error) {
	query := url.Values{}
	set(query, "suite", suite)
	set(query, "target", target)
	return get[[]readmodel.CaseDuration](ctx, c, "durations", query)
}

// EventQuery selects events; a zero field selects all.
type EventQuery struct {
	// After selects events after this sequence, oldest first; nil selects the newest first.
	After *events.Seq
	// Before selects events before this sequence, newest first.
	Before events.Seq
	// Type is the stored name, such as "request.created.v1".
	Type string
	// Subject is one aggregate ("request.r1"). With "." at the end it selects all that begin with it.
	Subject string
	Root    string
	Cause   events.Seq
	// Limit bounds the list; 0 means 100.
	Limit int
}

func (q EventQuery) values() url.Values {
	query := url.Values{}
	if q.After != nil {
		query.Set("after", fmt.Sprint(*q.After))
	}
	set(query, "before", q.Before)
	set(query, "type", q.Type)
	set(query, "subject", q.Subject)
	set(query, "root", q.Root)
	set(query, "cause", q.Cause)
	set(query, "limit", q.Limit)
	return query
}

// WantedVersion returns the version that supervised collectors should run.
func (c *Client) WantedVersion(ctx context.Context) (WantedVersion, error) {
	return get[WantedVersion](ctx, c, "wanted-version", nil)
}

// ParkedEvents returns the parks that stand.
func (c *Client) ParkedEvents(ctx context.Context) ([]Park, error) {
	return get[[]Park](ctx, c, "parked-events", nil)
}

// Events returns a page of the log.
func (c *Client) Events(ctx context.Context, q EventQuery) ([]readmodel.Event, error) {
	return get[[]readmodel.Event](ctx, c, "events", q.values())
}

// Event returns the event of one sequence.
func (c *Client) Event(ctx context.Context, seq events.Seq) (readmodel.Event, error) {
	return get[readmodel.Event](ctx, c, fmt.Sprintf("events/%d", seq), nil)
}

// Definitions returns all published definitions of all suites, newest first, without their content.
func (c *Client) Definitions(ctx context.Context) ([]readmodel.Definition, error) {
	return getAll[readmodel.Definition](ctx, c, "definitions", nil)
}

// Definition returns the definitions with that digest.
func (c *Client) Definition(ctx context.Context, digest events.Digest) (readmodel.Definition, error) {
	return get[readmodel.Definition](ctx, c, "definitions/"+url.PathEscape(string(digest)), nil)
}

// Branches returns which definitions the branches of a suite use.
func (c *Client) Branches(ctx context.Context, suite events.SuiteName) ([]readmodel.DefinitionLine, error) {
	return get[[]readmodel.DefinitionLine](ctx, c, "suites/"+url.PathEscape(string(suite))+"/branches", nil)
}
