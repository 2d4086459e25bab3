package reporter

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/githubapi"
	"github.com/tachobench/tacho/ledger"
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

// Ledger is the ledger of this process, as somebody keeps it up with the log.
type Ledger interface {
	// View shows it; look does not wait for anything.
	View(look func(*ledger.Ledger))
	// Wait returns once everything up to seq is in it and it has caught up with the log, or with the error of ctx.
	Wait(ctx context.Context, seq events.Seq) error
	// Tell gives f each fact that the ledger takes from now on; f waits for nothing.
	Tell(f func(events.Fact))
}

// Config is what a Reporter needs.
type Config struct {
	Log    eventlog.Log
	Ledger Ledger
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
	// news is filled when there may be something to do.
	news chan struct{}
	pace *rate.Limiter

	// Only the goroutine of Run uses what follows. after is the last sequence that it wrote, or that was written in its
	// way: it looks on once that is read.
	after events.Seq
	// paused is until when GitHub wants to be left alone.
	paused time.Time
	// retries are reports that could not be made, orphans comments whose attempt was taken over.
	retries map[events.RequestID]putOff
	orphans []orphan
	// unchanged are the reports that late results did not change, with how far they were looked at.
	unchanged map[events.RequestID]events.Seq
}

// putOff is when a report is made again, after so many tries.
type putOff struct {
	tries int
	after time.Time
}

// New returns a reporter; it does nothing before Run.
func New(c Config) *Reporter {
	pace := rate.NewLimiter(rate.Inf, 1)
	if c.Pace > 0 {
		pace = rate.NewLimiter(rate.Every(c.Pace), 1)
	}
	return &Reporter{
		Config: c, news: make(chan struct{}, 1), pace: pace, retries: map[events.RequestID]putOff{}, unchanged: map[events.RequestID]events.Seq{},
	}
}

// errNobody says that a reporter was made that could not tell its comments from those of others.
var errNobody = errors.New("reporter: comments are to be written, and nobody said by which account: give it the one that GitHub names")

// Run says what is due whenever there is news, and what waited for a time, until ctx ends. It returns an error only when
// it cannot begin: it may write and does not know who it is.
func (r *Reporter) Run(ctx context.Context) error {
	if r.GitHub != nil && r.Self.ID <= 0 {
		return errNobody
	}
	r.Ledger.Tell(r.told)
	tick := time.NewTicker(again)
	defer tick.Stop()
	for r.read(ctx) {
		r.report(ctx)
		if r.read(ctx) {
			r.write(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.news:
		case <-tick.C:
		}
	}
	return nil
}

// told calls for another look.
func (r *Reporter) told(f events.Fact) {
	// The others leave nothing to do at once.
	//exhaustive:ignore
	switch f.(type) {
	case events.OutboxFact, events.RequestFact:
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
}

// read waits until the ledger holds all that was written. It reports false when ctx ended.
func (r *Reporter) read(ctx context.Context) bool { return r.Ledger.Wait(ctx, r.after) == nil }

// wish is the report of a request that is to be made.
type wish struct {
	request.Request
	// late is the newest of the results that came after the report that stands; 0 for the first report.
	late events.Seq
}

// wishes returns the requests that are to be reported, and those with late results that are to be looked at again. at
// is what the ledger has read.
func (r *Reporter) wishes(now time.Time) (out []wish, at events.Seq) {
	r.Ledger.View(func(l *ledger.Ledger) {
		at = l.Seq
		for _, id := range slices.Sorted(maps.Keys(l.Outbox.Unreported)) {
			if q, ours := r.ours(l, id); ours && now.Sub(q.EndedAt) <= within {
				out = append(out, wish{Request: q})
			}
		}
		maps.DeleteFunc(r.unchanged, func(id events.RequestID, _ events.Seq) bool { return l.Outbox.Late[id].Seq == 0 })
		for _, id := range slices.Sorted(maps.Keys(l.Outbox.Late)) {
			n := l.Outbox.Late[id]
			q, ours := r.ours(l, id)
			if age := now.Sub(n.At); ours && n.Seq > r.unchanged[id] && age >= settle && age <= within {
				out = append(out, wish{q, n.Seq})
			}
		}
	})
	return out, at
}

// report wishes for the reports of requests that ended, and for new texts of those that have late results.
func (r *Reporter) report(ctx context.Context) {
	due, at := r.wishes(r.Clock())
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
func (r *Reporter) want(ctx context.Context, q wish, at events.Seq) error {
	made, err := r.Report(ctx, q.Request, at)
	if err != nil {
		return err
	}
	wanted := events.CommentWanted{
		Key: events.ReportKey(q.ID), Revision: 1, Purpose: events.CommentReport, Repo: r.Repo, PR: q.PR, Body: made.Body, RequestID: q.ID,
		AddLabels: made.AddLabels, RemoveLabels: made.RemoveLabels,
	}
	var before ledger.Comment
	r.Ledger.View(func(l *ledger.Ledger) {
		if c, known := l.Outbox.Comments[wanted.Key]; known {
			before = *c
		}
	})
	if before.Seq > 0 && before.Digest == ledger.DigestOf(made.Body) {
		r.unchanged[q.ID] = q.late
		return nil
	}
	wanted.Revision = before.Wanted.Revision + 1
	_, err = r.append(ctx, before.Seq, at, before.Root, wanted)
	return err
}

// append records a fact of the outbox with its last event expected, and returns its place in the log. To be second
// is no error, and the place is 0 then.
func (r *Reporter) append(ctx context.Context, expected, cause events.Seq, root string, f events.Fact) (events.Seq, error) {
	e := eventlog.NewEvent(f, eventlog.Meta{Source: source, Actor: source, Cause: cause, Root: root}, r.Clock())
	seq, err := r.Log.Append(ctx, eventlog.Append{Subject: f.Subject(), Expected: expected, Events: []events.Event{e}})
	r.after = max(r.after, seq)
	var conflict *eventlog.ConflictError
	if errors.As(err, &conflict) {
		r.after = max(r.after, conflict.Actual)
		return 0, nil
	}
	return seq, err
}
