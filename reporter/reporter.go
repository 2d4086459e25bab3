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
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
)

const (
	source = "reporter"
	// lookEvery is how often the reporter checks what is due by time.
	lookEvery = time.Second
	// lease is how long another process's attempt is left alone: well over the time that its calls may take.
	lease = 3 * time.Minute
	// reportMaxAge bounds the age of what the reporter still acts on: the end of a request without a report, a wanted
	// comment that no process has tried to write, and late results. A newly connected repository must not get the
	// history of the farm, or of a dry run. And a reporter that starts must not make reports anew for old results
	// that changed nothing.
	reportMaxAge = 3 * 24 * time.Hour
	// lateResultsPause is how long the reporter waits after late results, for more of them, before it edits the report.
	lateResultsPause = 2 * time.Minute
)

// GitHub is where the reporter writes comments. *githubapi.Client implements it.
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

// Ledger is the ledger of this process, which another goroutine keeps up to date with the log.
type Ledger interface {
	// View calls look with the ledger. look must not wait for anything.
	View(look func(*ledger.Ledger))
	// Wait returns nil once the ledger holds everything up to seq and has caught up with the log, or the error of
	// ctx.
	Wait(ctx context.Context, seq events.Seq) error
	// Tell makes the ledger call f with each fact that it takes from now on. f must not wait for anything.
	Tell(f func(events.Fact))
}

// Config is what a Reporter needs.
type Config struct {
	Log    eventlog.Log
	Ledger Ledger
	// GitHub is nil without credentials: nothing is written then. Self is the account that the reporter writes as; it
	// must be known if GitHub is not nil. Comments of other accounts are not ours, whatever their text.
	GitHub GitHub
	Self   githubapi.Account
	Repo   events.RepoName
	// Suite is the suite that measures the repository. The pull requests of other suites are elsewhere. Empty is
	// every suite.
	Suite events.SuiteName
	// Report makes the report of a request that ended, from everything up to a sequence of the log.
	Report func(ctx context.Context, r request.Request, at events.Seq) (Report, error)
	// Failing is called with the error of every attempt to write, nil after a success.
	Failing func(err error)
	// Instance names this process; no two ever have the same. Alone says that no other one can run: then the reporter
	// does not wait for the attempts of other instances.
	Instance string
	Alone    bool
	// Pace is how long to wait between two writes, as GitHub asks; 0 is no pause.
	Pace    time.Duration
	Clock   func() time.Time
	Logger  *slog.Logger
	Metrics *Metrics
}

// Reporter writes comments. Run it once.
type Reporter struct {
	Config
	// news has an element when there may be something to do.
	news chan struct{}
	pace *rate.Limiter

	// Only the goroutine of Run uses the fields below. after is the last sequence that it wrote, or that another
	// writer wrote in its place: it waits until the ledger has read that.
	after events.Seq
	// paused is the time until which GitHub wants no calls.
	paused time.Time
	// retries holds reports that could not be made. orphans holds comments of attempts that another process took
	// over.
	retries map[events.RequestID]putOff
	orphans []orphan
	// unchanged holds the reports that late results did not change, with the newest result that was looked at.
	unchanged map[events.RequestID]events.Seq
}

// putOff is when to make a report again, after so many tries.
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

// errNoAccount says that a reporter was made that could not tell its own comments from those of others.
var errNoAccount = errors.New("reporter: it may write comments but does not know its account: set Self to the account that GitHub names")

// Run makes reports and writes comments when there is news or when one is due by time, until ctx ends. It returns an
// error only if it cannot begin: it may write and does not know its account.
func (r *Reporter) Run(ctx context.Context) error {
	if r.GitHub != nil && r.Self.ID <= 0 {
		return errNoAccount
	}
	r.Ledger.Tell(r.told)
	tick := time.NewTimer(retry.Next(lookEvery)) // with the other loops of an idle process
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
			tick.Reset(retry.Next(lookEvery))
		}
	}
	return nil
}

// told makes Run look again.
func (r *Reporter) told(f events.Fact) {
	// Other facts leave nothing to do at once.
	//exhaustive:ignore
	switch f.(type) {
	case events.OutboxFact, events.RequestFact:
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
}

// read waits until the ledger has read everything that the reporter wrote. It returns false when ctx ended.
func (r *Reporter) read(ctx context.Context) bool { return r.Ledger.Wait(ctx, r.after) == nil }

// wish is a request whose report has to be made.
type wish struct {
	request.Request
	// late is the newest result that came after the posted report; 0 for the first report.
	late events.Seq
}

// wishes returns the requests to report, and those with late results, whose report has to be looked at again. at is
// up to which sequence the ledger has read.
func (r *Reporter) wishes(now time.Time) (out []wish, at events.Seq) {
	r.Ledger.View(func(l *ledger.Ledger) {
		at = l.Seq
		for _, id := range slices.Sorted(maps.Keys(l.Outbox.Unreported)) {
			if q, ours := r.ours(l, id); ours && now.Sub(q.EndedAt) <= reportMaxAge {
				out = append(out, wish{Request: q})
			}
		}
		maps.DeleteFunc(r.unchanged, func(id events.RequestID, _ events.Seq) bool { return l.Outbox.Late[id].Seq == 0 })
		for _, id := range slices.Sorted(maps.Keys(l.Outbox.Late)) {
			n := l.Outbox.Late[id]
			q, ours := r.ours(l, id)
			if age := now.Sub(n.At); ours && n.Seq > r.unchanged[id] && age >= lateResultsPause && age <= reportMaxAge {
				out = append(out, wish{q, n.Seq})
			}
		}
	})
	return out, at
}

// report records the wishes for the reports of requests that ended, and for new texts after late results.
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
			r.Logger.Warn("a report could not be made, trying again", "request", q.ID, "error", err)
		}
		again.tries++
		again.after = r.Clock().Add(pause(again.tries))
		r.retries[q.ID] = again
		if errors.Is(err, errTablesLate) {
			return // the tables are late for the other reports too, and there are comments to write
		}
	}
}

// want appends the wish for the report of a request, as of a sequence of the log. It does nothing if the same text is
// already wanted.
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

// append records a fact of the outbox, with its last event expected, and returns the fact's sequence. If another
// process was first, it returns 0 and no error.
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
