package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/webhook/command"
)

// The natural keys of requests that comments ask for. A comment asks once. If it is handled again, the request that
// it made stays as it is, even if newer definitions would read its words differently.
const (
	commentKey = "comment-"
	triageKey  = "triage-"
)

// carryOut does what a comment asks for. why says why its author may ask.
func (d *delivered) carryOut(ctx context.Context, asked command.Command, why string) error {
	switch c := asked.(type) {
	case command.Queue:
		return d.queue(ctx, c, why)
	case command.Build:
		return d.once(ctx, func() error { return d.build(ctx, c, why) })
	case command.Triage:
		return d.once(ctx, func() error { return d.triage(ctx, c, why) })
	case command.Retry:
		return d.once(ctx, func() error { return d.retry(ctx, c, why) })
	case command.Noise:
		return d.once(ctx, func() error { return d.noise(ctx, c, why) })
	case command.Priority:
		return d.prioritise(ctx, c, why)
	case command.Cancel:
		return d.once(ctx, func() error { return d.cancel(ctx, why) })
	case command.Status:
		d.answer("", d.status(ctx))
	case command.Help:
		grammar, err := d.grammar(ctx)
		if err != nil {
			return err
		}
		d.answer("", help(d.Rules, grammar))
	}
	return d.end(ctx, events.DeliveryAccepted, "%s", why)
}

// once calls do for a command whose effects and answer are not one append, unless the same comment came by another
// webhook too and was answered. The other commands need no such check: the log refuses a second answer.
func (d *delivered) once(ctx context.Context, do func() error) error {
	_, answered, err := d.Log.Last(ctx, events.OutboxSubject(d.answerKey()))
	switch {
	case err != nil:
		return err
	case answered:
		return d.told(ctx)
	}
	return do()
}

// refused answers and records a refusal by Control. It returns other errors unchanged.
func (d *delivered) refused(ctx context.Context, err error) error {
	var refusal *control.RefusedError
	if !errors.As(err, &refusal) {
		return err
	}
	d.wanted, d.handled.Requests = nil, nil
	d.answer("", sentence(refusal.Reason))
	return d.end(ctx, events.DeliveryRefused, "%s", refusal.Reason)
}

// refuse answers and records why the bot does not carry out a command.
func (d *delivered) refuse(ctx context.Context, format string, args ...any) error {
	return d.refused(ctx, &control.RefusedError{Kind: control.Invalid, Reason: fmt.Sprintf(format, args...)})
}

// queue makes a request for the try build that will follow.
func (d *delivered) queue(ctx context.Context, c command.Queue, why string) error {
	n := control.NewRequest{
		Suite: d.Rules.Suite, Kind: events.Try, Key: fmt.Sprint(commentKey, d.handled.Comment), PR: d.handled.PR, Parameters: c.Parameters,
		Graph: c.Choice.Graph, Options: c.Choice.Options,
	}
	id := d.requests(n)
	d.answer(id, awaiting(id, d.Rules))
	_, err := d.create(ctx, n, d.outcome(events.DeliveryAccepted, "%s", why)...)
	return err
}

// create makes a request, with the definitions that the comment was read with. Only an earlier try of this delivery
// can have made the same request; create then takes it as it is.
//
// made is false when the request was refused, which create has then answered, or when create failed.
func (d *delivered) create(ctx context.Context, n control.NewRequest, also ...eventlog.Append) (made bool, err error) {
	if n.Definitions, err = d.newest(ctx); err != nil {
		return false, err
	}
	n.Fresh, n.AsItIs, n.Branch = true, true, d.branch
	_, _, err = d.Control.CreateRequest(ctx, d.asking(), n, also...)
	return err == nil, d.refused(ctx, err)
}

// requests adds the request that a wish leads to to the delivery's requests, and returns its id.
func (d *delivered) requests(n control.NewRequest) events.RequestID {
	id := events.NewRequestID(n.Suite, n.Kind, n.Key)
	d.handled.Requests = append(d.handled.Requests, id)
	return id
}

// build makes a request for an artifact that exists. The bot answers it with the announcement of its place in the
// queue.
func (d *delivered) build(ctx context.Context, c command.Build, why string) error {
	commit, err := d.commit(ctx, c.SHA)
	if githubapi.IsMissing(err) {
		return d.refuse(ctx, "there is no commit `%s` in %s", c.SHA, d.Rules.Repo)
	}
	if err != nil {
		return err
	}
	missing, err := d.missing(ctx, commit.SHA, c.Parameters)
	if err != nil {
		return err
	}
	if missing != "" {
		return d.refuse(ctx, "commit `%s` has no artifacts for `%s`: ask for it once they are built", commit.SHA, missing)
	}
	n := control.NewRequest{
		Suite: d.Rules.Suite, Kind: events.Try, Key: fmt.Sprint(commentKey, d.handled.Comment), Tag: commit.SHA, Parent: firstParent(commit),
		PR: d.handled.PR, Parameters: c.Parameters, KeepOlder: true,
		Graph: c.Choice.Graph, Options: c.Choice.Options,
	}
	d.requests(n)
	_, err = d.create(ctx, n, d.outcome(events.DeliveryAccepted, "%s", why)...)
	return err
}

// commit returns the commit that a person named by its SHA. GitHub also accepts the name of a branch; here that is an
// error.
func (d *delivered) commit(ctx context.Context, sha events.Tag) (githubapi.Commit, error) {
	found, err := d.GitHub.Commit(ctx, d.Rules.Repo, string(sha))
	if err == nil && !strings.HasPrefix(string(found.SHA), string(sha)) {
		err = &githubapi.Error{Kind: githubapi.Missing, Call: fmt.Sprintf("read commit %s", sha), Err: errors.New("it is the name of something else")}
	}
	return found, err
}

func firstParent(c githubapi.Commit) events.Tag {
	if len(c.Parents) == 0 {
		return ""
	}
	return c.Parents[0]
}

// triage makes a request for each unrolled build of a rollup. Each report goes to the pull request that was rolled
// up.
func (d *delivered) triage(ctx context.Context, c command.Triage, why string) error {
	var wishes []control.NewRequest
	for _, sha := range c.SHAs {
		commit, err := d.commit(ctx, sha)
		if githubapi.IsMissing(err) {
			return d.refuse(ctx, "there is no commit `%s` in %s", sha, d.Rules.Repo)
		}
		if err != nil {
			return err
		}
		member, ok := pullOf(commit.Message)
		if !ok {
			return d.refuse(ctx, "the message of commit `%s` does not say which pull request it unrolls", sha)
		}
		missing, err := d.missing(ctx, commit.SHA, events.Parameters{})
		if err != nil {
			return err
		}
		if missing != "" {
			return d.refuse(ctx, "commit `%s` has no artifacts for `%s`: ask for it once they are built", commit.SHA, missing)
		}
		wishes = append(wishes, control.NewRequest{
			Suite: d.Rules.Suite, Kind: events.Try, Key: fmt.Sprint(triageKey, d.handled.Comment, "-", commit.SHA), Tag: commit.SHA,
			Parent: firstParent(commit), PR: member, KeepOlder: true,
		})
	}
	for _, n := range wishes {
		d.requests(n)
	}
	d.answer("", triaged(wishes, d.handled.Requests, d.Rules))
	// All requests but the last may be created twice, which changes nothing. The last one also marks the comment as
	// handled.
	last := len(wishes) - 1
	for _, n := range wishes[:last] {
		if made, err := d.create(ctx, n); !made {
			return err
		}
	}
	_, err := d.create(ctx, wishes[last], d.outcome(events.DeliveryAccepted, "%s", why)...)
	return err
}

// cancel withdraws the tries of the pull request that have not ended.
func (d *delivered) cancel(ctx context.Context, why string) error {
	all, _ := d.ofPull(d.handled.PR)
	var cancelled []asked
	for _, r := range all {
		if r.Kind != events.Try {
			continue
		}
		_, _, err := d.Control.CancelRequest(ctx, d.commanding(), r.ID, d.said())
		var refusal *control.RefusedError
		if errors.As(err, &refusal) && refusal.Kind == control.Forbidden {
			return d.refused(ctx, err)
		}
		if errors.As(err, &refusal) {
			continue // the request has ended meanwhile
		}
		if err != nil {
			return err
		}
		cancelled = append(cancelled, r)
		d.handled.Requests = append(d.handled.Requests, r.ID)
	}
	d.answer("", cancelledText(cancelled))
	if d.Rules.WaitingLabel != "" {
		d.wanted[0].RemoveLabels = []string{d.Rules.WaitingLabel}
	}
	return d.end(ctx, events.DeliveryAccepted, "%s", why)
}

// status returns the answer that says where the requests of the pull request are.
func (d *delivered) status(ctx context.Context) string {
	all, seq := d.ofPull(d.handled.PR)
	return statusText(all, d.places(ctx, seq), d.Rules, d.Clock())
}

// places returns the queue by request; nil if it is not known.
func (b *Bot) places(ctx context.Context, at events.Seq) map[events.RequestID]Place {
	if b.Places == nil {
		return nil
	}
	list, err := b.Places(ctx, at)
	if err != nil {
		b.Logger.Warn("the places in the queue are not known; the answer leaves them out", "error", err)
		return nil
	}
	out := map[events.RequestID]Place{}
	for _, p := range list {
		out[p.RequestID] = p
	}
	return out
}
