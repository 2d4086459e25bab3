package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
)

// artifactGrace is how long the bot waits for the artifacts of a finished build.
const artifactGrace = 10 * time.Minute

// built handles a message about a try build, from an account that the bot believes. The request that waits for the
// build gets its artifact, or its pull request is told that the build failed.
func (d *delivered) built(ctx context.Context, said build) error {
	waiting, ok, err := d.Control.WaitingTry(ctx, d.Rules.Suite, d.handled.PR)
	if err != nil {
		return err
	}
	if said.finished {
		d.handled.Command = events.BuiltWord + string(said.sha)
	}
	switch {
	case !ok:
		return d.end(ctx, events.DeliveryIgnored, "no request of the pull request waits for a try build")
	case d.older(waiting.ID):
		return d.end(ctx, events.DeliveryIgnored, "it is older than the request that waits for a try build")
	case !said.finished:
		d.handled.Requests = []events.RequestID{waiting.ID}
		d.answer(waiting.ID, buildFailed(waiting.ID, said, d.Rules))
		_, _, err := d.Control.BuildFailed(ctx, d.by(), waiting, said.reason, said.url,
			d.outcome(events.DeliveryAccepted, "the merge bot says so")...)
		return d.refused(ctx, err)
	}
	why, err := d.supply(ctx, waiting.Request, said.sha, d.At, func(commit githubapi.Commit) error {
		d.handled.Requests = []events.RequestID{waiting.ID}
		_, _, err := d.Control.ArtifactsReadyOf(ctx, d.by(), waiting, commit.SHA, commit.Parents[0], d.outcome(events.DeliveryAccepted, "the merge bot says so")...)
		return err
	})
	if errors.Is(err, errNotThere) {
		// Later deliveries about the pull request, such as a cancel, do not wait for artifacts.
		d.handled.PR = 0
	}
	if err != nil {
		return d.refused(ctx, err)
	}
	if why != "" {
		return d.refuse(ctx, "%s", why)
	}
	return nil
}

// older reports whether the message was written before the comment that asked for the request. Deliveries may come in
// any order, but the numbers of comments grow with time.
func (d *delivered) older(id events.RequestID) bool {
	var comment int64
	d.Ledger.View(func(l *ledger.Ledger) { comment = commentOf(l.Deliveries.Keys[id]) })
	return d.handled.Comment > 0 && d.handled.Comment < comment
}

// errNotThere says that the artifacts of a build are not on their server yet.
var errNotThere = errors.New("the artifacts of the try build are not there yet")

// supply gives a waiting request the commit that was built for it, once the commit's artifacts are there. It returns
// a sentence in why if the commit cannot be the one. at is when the build was reported as finished.
func (b *Bot) supply(ctx context.Context, waiting request.Request, sha events.Tag, at time.Time,
	give func(githubapi.Commit) error,
) (why string, err error) {
	commit, err := b.GitHub.Commit(ctx, b.Rules.Repo, string(sha))
	if githubapi.IsMissing(err) {
		return fmt.Sprintf("the try build of commit `%s` finished, but there is no such commit in %s", sha, b.Rules.Repo), nil
	}
	if err != nil {
		return "", err
	}
	if len(commit.Parents) != 2 {
		return fmt.Sprintf("the try build of commit `%s` finished, but it is not a merge: it has %s instead of 2", sha, phrase.Count(len(commit.Parents), "parent")), nil
	}
	definitions, err := b.Control.DefinitionsOf(ctx, waiting.Artifact.Suite, waiting.Choice().Branch, waiting.Pins().Definitions)
	if err != nil {
		return "", err
	}
	missing, err := artifact.FirstMissing(ctx, b.Artifacts, definitions, commit.SHA, waiting.Parameters)
	if err != nil {
		return "", err
	}
	if missing != "" {
		if b.Clock().Sub(at) < artifactGrace {
			return "", fmt.Errorf("%s for %s: %w", sha, missing, errNotThere)
		}
		return fmt.Sprintf("the try build of commit `%s` finished, but its artifacts for `%s` are not on their server: build it again", sha, missing), nil
	}
	return "", give(commit)
}

// checked handles a delivery that tells how the builds of a branch ended.
func (d *delivered) checked(ctx context.Context) error {
	var c checked
	if err := parse(d.Body, &c); err != nil {
		return d.end(ctx, events.DeliveryMalformed, "%s", err)
	}
	r := c.CheckSuite
	if d.Event == "workflow_run" {
		r = c.WorkflowRun
	}
	d.handled.Repo, d.handled.Sender, d.handled.SenderID = c.Repository.FullName, login(c.Sender.Login), c.Sender.ID
	switch {
	case !strings.EqualFold(string(d.handled.Repo), string(d.Rules.Repo)):
		return d.end(ctx, events.DeliveryIgnored, "it is about another repository")
	case r == nil || c.Action != "completed":
		return d.end(ctx, events.DeliveryIgnored, "nothing was completed")
	case !slices.Contains(d.Rules.TryBranches, r.HeadBranch):
		return d.end(ctx, events.DeliveryIgnored, "the branch is not one of try builds")
	case checkSHA(r.HeadSHA) != nil:
		return d.end(ctx, events.DeliveryMalformed, "it names no commit")
	}
	said := build{sha: r.HeadSHA, url: r.HTMLURL}
	switch r.Conclusion {
	case "success":
		said.finished = true
	case "failure", "startup_failure":
		said.reason = "the try build failed"
	case "timed_out":
		said.reason = "the try build took too long"
	case "cancelled":
		said.reason = "the try build was cancelled"
	default:
		return d.end(ctx, events.DeliveryIgnored, "its conclusion says nothing about a build")
	}
	commit, err := d.GitHub.Commit(ctx, d.Rules.Repo, string(r.HeadSHA))
	if githubapi.IsMissing(err) {
		return d.end(ctx, events.DeliveryIgnored, "its commit is gone")
	}
	if err != nil {
		return err
	}
	pr, ok := pullOf(commit.Message)
	if !ok {
		return d.end(ctx, events.DeliveryIgnored, "the message of its commit names no pull request")
	}
	d.handled.PR = pr
	if d.overtakes(pr) {
		return errBlocked
	}
	return d.built(ctx, said)
}
