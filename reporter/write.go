package reporter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/ledger"
)

// write does everything that is due on GitHub, one task after another.
func (r *Reporter) write(ctx context.Context) {
	due := r.due(r.Clock(), r.lease())
	waiting := 0
	for _, t := range due {
		if t.task == write {
			waiting++
		}
	}
	r.Metrics.Waiting.Set(float64(waiting))
	if r.GitHub == nil {
		return
	}
	r.cleanUp(ctx)
	for _, t := range due {
		if ctx.Err() != nil || r.Clock().Before(r.paused) {
			return
		}
		var err error
		switch t.task {
		case write:
			err = r.post(ctx, t.Comment, r.place)
		case giveUp:
			err = r.giveUp(ctx, t.Comment, tooLate)
		case outdated:
			err = r.giveUp(ctx, t.Comment, tooOld)
		case findLate:
			err = r.post(ctx, t.Comment, r.findLate)
		case label:
			err = r.label(ctx, t.Comment)
		case minimise:
			err = r.minimise(ctx, t.Comment)
		}
		if err != nil && ctx.Err() == nil {
			r.Logger.Warn("a comment could not be written, trying again", "comment", t.Wanted.Key, "pr", t.Wanted.PR, "error", err)
		}
	}
}

// The reasons why comments are given up.
const (
	tooLate = "its request is over already"
	tooOld  = "it was wanted too long ago"
)

func (r *Reporter) giveUp(ctx context.Context, x ledger.Comment, reason string) error {
	_, err := r.append(ctx, x.Seq, x.Seq, x.Root, events.CommentRefused{Key: x.Wanted.Key, Revision: x.Wanted.Revision, Reason: reason})
	return err
}

// lease returns how long another process's attempt is left alone.
func (r *Reporter) lease() time.Duration {
	if r.Alone {
		return 0
	}
	return lease
}

// text returns what is written: the body, and the marker on a line of its own.
func text(w events.CommentWanted) string {
	return strings.TrimRight(w.Body, "\n") + "\n\n" + w.Key.Marker()
}

// post posts the newest revision by the given way.
func (r *Reporter) post(ctx context.Context, x ledger.Comment, way func(context.Context, ledger.Comment) (githubapi.Comment, string, error)) error {
	attempted := events.CommentAttempted{Key: x.Wanted.Key, Revision: x.Wanted.Revision, Attempt: x.Attempt + 1, Instance: r.Instance}
	ours, err := r.append(ctx, x.Seq, x.Seq, x.Root, attempted)
	if err != nil || ours == 0 {
		return err
	}
	made, what, err := way(ctx, x)
	if err != nil {
		return r.failed(ctx, x, ours, attempted.Attempt, err)
	}
	r.Failing(nil)
	r.Metrics.Written.WithLabelValues(what).Inc()
	seq, err := r.append(ctx, ours, ours, x.Root, events.CommentPosted{
		Key: x.Wanted.Key, Revision: x.Wanted.Revision, CommentID: made.ID, NodeID: made.NodeID, URL: made.URL, Found: what == found,
	})
	if err != nil || seq != 0 {
		return err
	}
	r.orphans = append(r.orphans, orphan{x, made})
	r.cleanUp(ctx)
	return nil
}

// The ways in which a comment came to be posted.
const (
	created = "created"
	edited  = "edited"
	found   = "found"
)

// place edits the posted comment, or the one that an earlier attempt wrote, or creates it. By the log, the posted
// comment may be of another account: one that we wrote as before, or a stranger's that an older version took for
// ours. place leaves such a comment alone and writes one of our own with the new text.
func (r *Reporter) place(ctx context.Context, x ledger.Comment) (made githubapi.Comment, what string, err error) {
	if err := r.pace.Wait(ctx); err != nil {
		return made, "", err
	}
	if x.Posted > 0 {
		stands, err := r.GitHub.Comment(ctx, x.Wanted.Repo, x.ID)
		if err != nil {
			return made, "", err
		}
		if r.Self.Is(stands.AuthorID) {
			made, err = r.GitHub.EditComment(ctx, x.Wanted.Repo, x.ID, text(x.Wanted))
			return made, edited, err
		}
		r.Logger.Warn("the posted comment is not ours: it is left alone, and we write another one", "comment", x.Wanted.Key, "id", stands.ID, "author", stands.Author, "we", r.Self.Login)
	}
	made, there, err := r.find(ctx, x)
	switch {
	case err != nil:
		return made, "", err
	case !there:
		made, err = r.GitHub.CreateComment(ctx, x.Wanted.Repo, x.Wanted.PR, text(x.Wanted))
		return made, created, err
	case strings.TrimSpace(made.Body) != strings.TrimSpace(text(x.Wanted)):
		made, err = r.GitHub.EditComment(ctx, x.Wanted.Repo, made.ID, text(x.Wanted))
	}
	return made, found, err
}

// findLate looks for a comment that comes too late to be written. It returns an error if there is none.
func (r *Reporter) findLate(ctx context.Context, x ledger.Comment) (made githubapi.Comment, what string, err error) {
	made, there, err := r.find(ctx, x)
	if err == nil && !there {
		err = &githubapi.Error{Kind: githubapi.Refused, Call: "comment", Err: errors.New(tooLate)}
	}
	return made, found, err
}

// maxClockSkew is how long before the wish a comment may have been written to be found: clocks differ.
const maxClockSkew = time.Hour

// find looks for a comment of ours that ends with the marker. Anyone can write the marker, but only we write as our
// account.
func (r *Reporter) find(ctx context.Context, x ledger.Comment) (githubapi.Comment, bool, error) {
	for c, err := range r.GitHub.Comments(ctx, x.Wanted.Repo, x.Wanted.PR, x.WantedAt.Add(-maxClockSkew)) {
		if err != nil {
			return githubapi.Comment{}, false, err
		}
		if key, ok := events.MarkerOf(c.Body); ok && key == x.Wanted.Key && r.Self.Is(c.AuthorID) {
			return c, true, nil
		}
	}
	return githubapi.Comment{}, false, nil
}

// orphan is a comment of an attempt that another process had taken over.
type orphan struct {
	ledger.Comment
	made githubapi.Comment
}

// cleanUp corrects the comments of attempts that were taken over, once it is known what the other process posted.
func (r *Reporter) cleanUp(ctx context.Context) {
	r.orphans = slices.DeleteFunc(r.orphans, func(o orphan) bool {
		done, err := r.undo(ctx, o.Comment, o.made)
		if err != nil && ctx.Err() == nil {
			r.Logger.Warn("a comment that another process wrote too could not be corrected, trying again", "comment", o.Wanted.Key, "id", o.made.ID, "error", err)
		}
		return done && err == nil
	})
}

// undo corrects a comment that this process wrote while another one had taken over. It removes it if the other
// process posted its own; if both mean the same comment, it gives that its newest text again. It returns false while
// it is not known what the other process did.
func (r *Reporter) undo(ctx context.Context, x ledger.Comment, made githubapi.Comment) (done bool, err error) {
	history, err := r.Log.Read(ctx, events.OutboxSubject(x.Wanted.Key))
	if err != nil {
		return false, err
	}
	newest, stands, refused := x.Wanted, int64(0), false
	for _, e := range history {
		// Other facts do not say what is posted.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.CommentWanted:
			newest, refused = f, false
		case events.CommentPosted:
			stands = f.CommentID
		case events.CommentRefused:
			refused = true
		}
	}
	switch {
	case stands == 0 && !refused:
		return false, nil
	case stands != made.ID:
		r.Logger.Warn("another process wrote the comment meanwhile: this one is removed", "comment", x.Wanted.Key, "id", made.ID)
		return true, r.GitHub.DeleteComment(ctx, x.Wanted.Repo, made.ID)
	case newest.Revision > x.Wanted.Revision:
		_, err = r.GitHub.EditComment(ctx, x.Wanted.Repo, made.ID, text(newest))
	}
	return true, err
}

// failed records why the attempt at a sequence of the log failed: for now, or for good.
func (r *Reporter) failed(ctx context.Context, x ledger.Comment, at events.Seq, attempt int, cause error) error {
	if ctx.Err() != nil {
		return nil
	}
	var failed *githubapi.Error
	if !errors.As(cause, &failed) {
		failed = &githubapi.Error{Kind: githubapi.Fault, Err: cause}
	}
	r.Metrics.Failed.WithLabelValues(string(failed.Kind)).Inc()
	if failed.Kind == githubapi.Refused || failed.Kind == githubapi.Missing {
		_, err := r.append(ctx, at, at, x.Root, events.CommentRefused{Key: x.Wanted.Key, Revision: x.Wanted.Revision, Reason: cause.Error()})
		return err
	}
	r.Failing(cause)
	until := r.Clock().Add(max(pause(attempt), failed.RetryAfter))
	if failed.Kind == githubapi.Limited {
		r.paused = until
	}
	_, err := r.append(ctx, at, at, x.Root, events.CommentPostponed{
		Key: x.Wanted.Key, Revision: x.Wanted.Revision, Attempt: attempt, Reason: cause.Error(), Until: until.UTC().Truncate(time.Second).Add(time.Second).Format(time.RFC3339),
	})
	return err
}

// pause returns the pause after an attempt. It grows with the number of attempts, with jitter, up to five minutes.
func pause(attempt int) time.Duration {
	return retry.PauseAfter(attempt, 2*time.Second, 5*time.Minute)
}

// label sets the labels of the newest revision. Doing it twice changes nothing.
func (r *Reporter) label(ctx context.Context, x ledger.Comment) error {
	w := x.Wanted
	err := r.unlessRefused(x, r.GitHub.AddLabels(ctx, w.Repo, w.PR, w.AddLabels))
	for _, name := range w.RemoveLabels {
		if err == nil && !slices.Contains(w.AddLabels, name) {
			err = r.unlessRefused(x, r.GitHub.RemoveLabel(ctx, w.Repo, w.PR, name))
		}
	}
	if err != nil {
		return r.postpone(ctx, x, err)
	}
	_, err = r.append(ctx, x.Seq, x.Seq, x.Root, events.LabelsSet{Key: x.Wanted.Key, Revision: w.Revision})
	return err
}

// unlessRefused returns nil for a label that GitHub will never accept: there may be other labels.
func (r *Reporter) unlessRefused(x ledger.Comment, err error) error {
	var failed *githubapi.Error
	if errors.As(err, &failed) && (failed.Kind == githubapi.Refused || failed.Kind == githubapi.Missing) {
		r.Logger.Warn("a label of a pull request cannot be set", "comment", x.Wanted.Key, "pr", x.Wanted.PR, "error", err)
		return nil
	}
	return err
}

// notOurs is the reason why a comment is not folded away.
const notOurs = "it is a comment of another account"

// minimise folds a temporary comment away, and removes the labels that nothing else would remove. It does not change
// a comment of another account.
func (r *Reporter) minimise(ctx context.Context, x ledger.Comment) error {
	for _, name := range r.leaves(&x, r.Clock()) {
		if err := r.unlessRefused(x, r.GitHub.RemoveLabel(ctx, x.Wanted.Repo, x.Wanted.PR, name)); err != nil {
			return r.postpone(ctx, x, err)
		}
	}
	done := events.CommentMinimised{Key: x.Wanted.Key}
	stands, err := r.GitHub.Comment(ctx, x.Wanted.Repo, x.ID)
	switch {
	case err != nil:
	case !r.Self.Is(stands.AuthorID):
		done.Reason = notOurs
	default:
		err = r.GitHub.Minimise(ctx, stands.NodeID)
	}
	var failed *githubapi.Error
	if errors.As(err, &failed) && (failed.Kind == githubapi.Refused || failed.Kind == githubapi.Missing) {
		done.Reason, err = err.Error(), nil
	}
	if err != nil {
		return r.postpone(ctx, x, err)
	}
	if done.Reason == "" {
		r.Metrics.Written.WithLabelValues("minimised").Inc()
	}
	_, err = r.append(ctx, x.Seq, x.Seq, x.Root, done)
	return err
}

// postpone puts off what is left to do for a posted comment.
func (r *Reporter) postpone(ctx context.Context, x ledger.Comment, cause error) error {
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(cause, r.failed(ctx, x, x.Seq, x.Attempt+1, cause))
}
