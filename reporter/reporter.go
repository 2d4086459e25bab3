package reporter

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/githubapi"
	"github.com/tachobench/tacho/request"
)

const (
	source = "reporter"
	// again is how often what waits for a time is looked at.
	again = time.Second
	// lease is for how long an attempt of another process is left alone: well over the time that its calls may take.
	lease = 3 * time.Minute
	// within is how long ago a request may have ended that is reported, and a comment may be wanted that nobody tried
	// to write: whoever connects a repository does not want the history of the farm on it, nor that of a dry run. Results
	// older than that have no report made anew, as whoever starts would do after each of them that changed nothing.
	within = 3 * 24 * time.Hour
	// settle is how long results that come late may go on coming before the report is edited.
	settle = 2 * time.Minute
)

// GitHub is where comments are written; *githubapi.Client is one.
type GitHub interface {
	Comment(ctx context.Context, repo events.RepoName, id int64) (githubapi.Comment, error)
	Comments(ctx context.Context, repo events.RepoName, pr int, since time.Time) iter.Seq2[githubapi.Comment, error]
	CreateComment(ctx context.Context, repo events.RepoName, pr int, body string) (githubapi.Comment, error)
	EditComment(ctx context.Context, repo events.RepoName, id int64, body string) (githubapi.Comment, error)
	DeleteComment(ctx context.Context, repo events.RepoName, id int64) error
	AddLabels(ctx context.Context, repo events.RepoName, pr int, labels []string) error
	RemoveLabel(ctx context.Context, repo events.RepoName, pr int, label string) error
	Minimise(ctx context.Context, nodeID string) error
}

// Report is the text and the labels of the report of a request.
type Report struct {
	Body                    string
	AddLabels, RemoveLabels []string
}

// Config is what a Reporter needs.
type Config struct {
	Log eventlog.Log
	// GitHub is nil without credentials: nothing is written then. Self is the account that it writes as, which whoever
	// may write always knows: comments of others are not ours, whatever stands in them.
	GitHub GitHub
	Self   githubapi.Account
	Repo   events.RepoName
	// Suite is the one that measures the repository: the pull requests of others are not here. Empty is every suite.
	Suite events.SuiteName
	// Report makes the report of a request that ended, from everything up to a sequence of the log.
	Report func(ctx context.Context, r request.Request, at events.Seq) (Report, error)
	// Failing is told the error of every attempt to write, nil for one that went well.
	Failing func(err error)
	// Instance names this process; no two ever have the same. Alone says that no other one can run: what another
	// was at is over, and is not waited for.
	Instance string
	Alone    bool
	// Pace is how long to wait between two writes, as GitHub asks; 0 is not at all.
	Pace    time.Duration
	Clock   func() time.Time
	Logger  *slog.Logger
	Metrics *Metrics
}

// Reporter is one reporter. Run it once.
type Reporter struct {
	Config
	// mu guards state.
	mu    sync.Mutex
	state *state
	news  chan struct{}
	// paused is until when GitHub wants to be left alone. Only the working goroutine uses it.
	paused time.Time
	pace   *rate.Limiter
	// retries are reports that could not be made, orphans comments whose attempt was taken over. Only the working
	// goroutine uses them.
	retries map[events.RequestID]retry
	orphans []orphan
}

// retry is when a report is made again, after so many tries.
type retry struct {
	tries int
	after time.Time
}

// New returns a reporter; it does nothing before Run.
func New(c Config) *Reporter {
	pace := rate.NewLimiter(rate.Inf, 1)
	if c.Pace > 0 {
		pace = rate.NewLimiter(rate.Every(c.Pace), 1)
	}
	state := newState()
	state.suite = c.Suite
	return &Reporter{Config: c, state: state, news: make(chan struct{}, 1), pace: pace, retries: map[events.RequestID]retry{}}
}

// errNobody says that a reporter was made that could not tell its comments from those of others.
var errNobody = errors.New("reporter: comments are to be written, and nobody said by which account: give it the one that GitHub names")

// Run reports until ctx ends. It returns an error only when it cannot go on: the log has a gap, or holds a type of
// event that this program does not know; or when it may write and does not know who it is.
func (r *Reporter) Run(ctx context.Context) error {
	if r.GitHub != nil && r.Self.ID <= 0 {
		return errNobody
	}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return eventlog.Fold(running, r.Log, r.fold) })
	g.Go(func() error { return r.work(running) })
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("reporter: %w", err)
	}
	return nil
}

// fold folds events, and calls for work whenever it has read all that is there.
func (r *Reporter) fold(stored []events.Stored, current bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range stored {
		e, parked, err := r.state.reader.Understand(m)
		if err != nil {
			return err
		}
		if r.state.seq = m.Seq; parked == "" {
			r.state.fold(e)
		}
	}
	if current {
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
	return nil
}

// work does what is due whenever there is news, and what waited for a time.
func (r *Reporter) work(ctx context.Context) error {
	tick := time.NewTicker(again)
	defer tick.Stop()
	ready := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.news:
			ready = true
		case <-tick.C:
		}
		if !ready {
			continue
		}
		r.report(ctx)
		r.write(ctx)
	}
}

// report wishes for the reports of requests that ended, and for new texts of those that have late results.
func (r *Reporter) report(ctx context.Context) {
	r.mu.Lock()
	var due []request.Request
	for _, id := range slices.Sorted(maps.Keys(r.state.ended)) {
		q := *r.state.requests[id]
		if r.Clock().Sub(q.EndedAt) > within {
			delete(r.state.ended, id)
			r.state.dropped[id] = true
			continue
		}
		due = append(due, q)
	}
	for _, id := range slices.Sorted(maps.Keys(r.state.late)) {
		switch age := r.Clock().Sub(r.state.late[id].at); {
		case age > within:
			delete(r.state.late, id)
		case age >= settle:
			due = append(due, *r.state.requests[id])
		}
	}
	at := r.state.seq
	r.mu.Unlock()
	for _, q := range due {
		again := r.retries[q.ID]
		if r.Clock().Before(again.after) {
			continue
		}
		err := r.want(ctx, q, at)
		if err == nil {
			delete(r.retries, q.ID)
			continue
		}
		if ctx.Err() == nil {
			r.Logger.Warn("a report cannot be made now and is tried again", "request", q.ID, "error", err)
		}
		again.tries++
		again.after = r.Clock().Add(pause(again.tries))
		r.retries[q.ID] = again
		if errors.Is(err, errTablesLate) {
			return // so are they for the others, and there are comments to write
		}
	}
}

// want appends the wish for the report of a request as it is at a sequence of the log, unless that is what is
// wanted already.
func (r *Reporter) want(ctx context.Context, q request.Request, at events.Seq) error {
	made, err := r.Report(ctx, q, at)
	if err != nil {
		return err
	}
	r.mu.Lock()
	before, known := r.state.outbox[events.ReportKey(q.ID)]
	wanted := events.CommentWanted{
		Key: events.ReportKey(q.ID), Revision: 1, Purpose: events.CommentReport, Repo: r.Repo, PR: q.PR, Body: made.Body, RequestID: q.ID,
		AddLabels: made.AddLabels, RemoveLabels: made.RemoveLabels,
	}
	var expected events.Seq
	root := ""
	if known {
		expected, wanted.Revision, root = before.seq, before.wanted.Revision+1, before.root
	}
	same := known && before.digest == sha256.Sum256([]byte(made.Body))
	if n, ok := r.state.late[q.ID]; same && ok && n.seq <= at {
		delete(r.state.late, q.ID)
	}
	r.mu.Unlock()
	if same {
		return nil
	}
	_, err = r.append(ctx, expected, at, root, wanted)
	return err
}

// append records a fact of the outbox with its last event expected, and returns its place in the log. To be second
// is no error, and the place is 0 then.
func (r *Reporter) append(ctx context.Context, expected, cause events.Seq, root string, f events.Fact) (events.Seq, error) {
	e := eventlog.NewEvent(f, eventlog.Meta{Source: source, Actor: source, Cause: cause, Root: root}, r.Clock())
	seq, err := r.Log.Append(ctx, eventlog.Append{Subject: f.Subject(), Expected: expected, Events: []events.Event{e}})
	var conflict *eventlog.ConflictError
	if errors.As(err, &conflict) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	// What was just recorded counts at once; following the log folds it again, which changes nothing.
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq > r.state.seq {
		at := r.state.seq
		r.state.fold(events.Recorded{Event: e, Seq: seq})
		r.state.seq = at
	}
	return seq, nil
}
