package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/webhook/command"
)

// delivered is a delivery that is being handled.
type delivered struct {
	*Bot
	ledger.Delivery
	// definitions are those that the pull request uses, branch the one that it is meant for, once they were read. All
	// decisions about the delivery use the same ones. branch is empty if neither the suite nor the account has something of its
	// own for branches.
	definitions *suite.Definitions
	branch      string
	// handled is the fact that will be recorded about it.
	handled events.DeliveryHandled
	// wanted are the comments that answer the delivery.
	wanted []events.CommentWanted
	// blocked is the sequence of the oldest waiting delivery, by pull request.
	blocked map[int]events.Seq
}

// handle decides on a delivery and records what follows, unless another bot has done so. It returns the pull request
// of the delivery, 0 for none. It returns only errors worth retrying; it records everything else.
func (b *Bot) handle(ctx context.Context, p ledger.Delivery, blocked map[int]events.Seq) (pr int, err error) {
	if p.Body == nil {
		found, err := b.Log.Read(ctx, p.Subject())
		if err != nil {
			return 0, err
		}
		p.Body = Body(found)
	}
	d := &delivered{Bot: b, Delivery: p, blocked: blocked, handled: events.DeliveryHandled{Hook: p.Hook, Delivery: p.ID}}
	switch p.Event {
	case "issue_comment":
		err = d.comment(ctx)
	case "check_suite", "workflow_run":
		err = d.checked(ctx)
	case "push":
		err = d.pushed(ctx)
	default:
		err = d.end(ctx, events.DeliveryIgnored, "nothing here concerns %s", quoteEvent(p.Event))
	}
	var conflict *eventlog.ConflictError
	if errors.As(err, &conflict) && d.answers(conflict.Subject) {
		err = d.told(ctx)
	}
	if errors.As(err, &conflict) && conflict.Subject == d.Subject() {
		return d.handled.PR, nil
	}
	if err == nil {
		b.Metrics.Handled.WithLabelValues(string(d.handled.Outcome)).Inc()
	}
	return d.handled.PR, err
}

// answers reports whether an aggregate is one of the answers to the delivery.
func (d *delivered) answers(subject events.Subject) bool {
	return slices.ContainsFunc(d.wanted, func(w events.CommentWanted) bool { return w.Subject() == subject })
}

// told ignores a delivery: the comment that it brought is already answered.
func (d *delivered) told(ctx context.Context) error {
	d.wanted, d.handled.Requests = nil, nil
	return d.end(ctx, events.DeliveryIgnored, told)
}

// told is the reason why a second webhook's delivery is ignored.
const told = "another webhook told of the same comment"

func quoteEvent(name string) string {
	if name == "" {
		return "a delivery that does not say what it is about"
	}
	return fmt.Sprintf("the event %q", name)
}

func (d *delivered) by() control.By {
	actor := sender
	if d.handled.Sender != "" {
		actor = events.Actor("github:" + d.handled.Sender)
	}
	return control.By{Actor: actor, Source: source, Root: d.Root, Cause: d.Last}
}

// account returns the account of who wrote the comment; empty without accounts.
func (d *delivered) account() events.AccountName {
	if !d.Rules.Accounts || d.handled.Sender == "" {
		return ""
	}
	return control.AccountOfLogin(d.handled.Sender)
}

// asking returns on whose behalf a request is made.
func (d *delivered) asking() control.By {
	by := d.by()
	by.Account = d.account()
	return by
}

// commanding returns on whose behalf a command is given about the requests of a pull request, also those of others.
// The bot decides who may give commands, and the rights of their account which ones.
func (d *delivered) commanding() control.By {
	by := d.by()
	by.Rights = d.account()
	return by
}

// end records the outcome of the delivery and the answers, nothing else.
func (d *delivered) end(ctx context.Context, outcome events.DeliveryOutcome, reason string, args ...any) error {
	_, err := d.Log.Append(ctx, d.outcome(outcome, reason, args...)...)
	return err
}

// outcome returns what to append together with the delivery's effects. It is recorded exactly once, since it expects
// the delivery itself to be the last event of its aggregate.
func (d *delivered) outcome(outcome events.DeliveryOutcome, reason string, args ...any) []eventlog.Append {
	d.handled.Outcome, d.handled.Reason = outcome, fmt.Sprintf(reason, args...)
	by := d.by()
	meta := eventlog.Meta{Source: by.Source, Actor: by.Actor, Cause: by.Cause, Root: by.Root}
	parts := []eventlog.Append{{
		Subject: d.Subject(), Expected: d.Last, Events: []events.Event{eventlog.NewEvent(d.handled, meta, d.Clock())},
	}}
	for _, w := range d.wanted {
		parts = append(parts, eventlog.Append{Subject: w.Subject(), Events: []events.Event{eventlog.NewEvent(w, meta, d.Clock())}})
	}
	return parts
}

// answer adds a comment on the pull request. about is the request that the comment is about, if any. The reporter
// folds such an answer away once the report of that request is posted.
func (d *delivered) answer(about events.RequestID, text string) {
	d.wanted = append(d.wanted, events.CommentWanted{
		Key: d.answerKey(), Revision: 1, Purpose: events.CommentAnswer, Repo: d.Rules.Repo, PR: d.handled.PR,
		Body: text, RequestID: about, Temporary: about != "",
	})
	if d.Rules.WaitingLabel != "" && about != "" {
		last := &d.wanted[len(d.wanted)-1]
		last.AddLabels = []string{d.Rules.WaitingLabel}
	}
}

// answerKey returns the outbox key of the answer.
func (d *delivered) answerKey() events.OutboxKey {
	if d.handled.Comment > 0 {
		return events.CommentAnswerKey(d.Rules.Repo, d.handled.Comment)
	}
	return events.AnswerKey(d.Hook, d.ID)
}

// comment handles a comment, of the merge bot or of a person.
func (d *delivered) comment(ctx context.Context) error {
	var c commented
	if err := parse(d.Body, &c); err != nil {
		return d.end(ctx, events.DeliveryMalformed, "%s", err)
	}
	who := c.Comment.User
	d.handled.Repo, d.handled.PR, d.handled.Comment = c.Repository.FullName, max(c.Issue.Number, 0), c.Comment.ID
	d.handled.Sender, d.handled.SenderID = login(who.Login), who.ID
	switch {
	case !strings.EqualFold(string(c.Repository.FullName), string(d.Rules.Repo)):
		return d.end(ctx, events.DeliveryIgnored, "it is about another repository")
	case c.Action != "created":
		return d.end(ctx, events.DeliveryIgnored, "only new comments count, and this one was %s", c.Action)
	case c.Issue.PullRequest == nil || c.Issue.Number <= 0:
		d.handled.PR = 0
		return d.end(ctx, events.DeliveryIgnored, "the issue is no pull request")
	case d.Rules.itself(who):
		return d.end(ctx, events.DeliveryIgnored, "the bot does not listen to itself")
	case d.overtakes(d.handled.PR):
		return errBlocked
	}
	if said, ok := readBuild(c.Comment.Body); ok {
		if !d.believes(who.ID) {
			return d.end(ctx, events.DeliveryIgnored, "it tells of a try build, and %s is not the merge bot", d.handled.Sender)
		}
		return d.built(ctx, said)
	}
	if d.believes(who.ID) {
		return d.end(ctx, events.DeliveryIgnored, "the merge bot quotes what others asked for")
	}
	if who.Type == "Bot" && !slices.Contains(d.Rules.Users, who.ID) {
		return d.end(ctx, events.DeliveryIgnored, "other bots quote what others asked for")
	}
	if !(command.Grammar{Bot: d.Rules.Bot}).Addressed(c.Comment.Body) {
		return d.end(ctx, events.DeliveryIgnored, "it asks for nothing")
	}
	// The reporter may write as an account that this process does not know; its marker tells. No person loses a
	// command by this: only a person who wants to pass for the bot writes such a line.
	if _, marked := events.MarkerOf(c.Comment.Body); marked {
		return d.end(ctx, events.DeliveryIgnored, "it is marked as a comment of the bot, which does not listen to itself")
	}
	allowed, why, err := d.permissions.decide(ctx, who, c.Comment.AuthorAssociation)
	if err != nil {
		return err
	}
	if !allowed {
		d.answer("", forbidden(d.handled.Sender, d.Rules))
		return d.end(ctx, events.DeliveryForbidden, "%s", why)
	}
	grammar, err := d.grammar(ctx)
	if err != nil {
		return d.refused(ctx, err)
	}
	asked, err := grammar.Read(c.Comment.Body)
	var refusal *command.Refusal
	switch {
	case errors.As(err, &refusal):
		d.answer("", refusal.Sentence)
		return d.end(ctx, events.DeliveryRefused, "%s", refusal.Sentence)
	case err != nil:
		return err
	case asked == nil:
		return d.end(ctx, events.DeliveryIgnored, "it asks for nothing")
	}
	d.handled.Command = asked.String()
	return d.carryOut(ctx, asked, why)
}

// overtakes reports whether an earlier delivery about the pull request is not handled yet.
func (d *delivered) overtakes(pr int) bool {
	first, waits := d.blocked[pr]
	return waits && first < d.First
}

// believes reports whether an account is the merge bot.
func (d *delivered) believes(id int64) bool {
	for _, bot := range d.Rules.MergeBots {
		if id == bot && id != 0 {
			return true
		}
	}
	return false
}

// newest returns the definitions that the pull request uses, always the same ones for one delivery. It asks GitHub for the
// branch only if the suite has something of its own for branches, or if the account may ask for some branches alone.
func (d *delivered) newest(ctx context.Context) (*suite.Definitions, error) {
	if d.definitions != nil {
		return d.definitions, nil
	}
	published, err := d.Control.Published(ctx, d.Rules.Suite)
	if err != nil {
		return nil, err
	}
	named, err := d.Control.NamesBranches(ctx, d.account())
	if err != nil {
		return nil, err
	}
	if (named || published.Varies()) && d.handled.PR > 0 {
		pull, err := d.GitHub.Pull(ctx, d.Rules.Repo, d.handled.PR)
		if err != nil && !githubapi.IsMissing(err) {
			return nil, err
		}
		d.branch = pull.Base
	}
	definitions, err := published.For(d.branch)
	if err != nil {
		return nil, err
	}
	d.definitions = &definitions
	return d.definitions, nil
}

// missing returns the first requested target whose artifact is missing; empty if all exist.
func (d *delivered) missing(ctx context.Context, tag events.Tag, p events.Parameters) (events.Target, error) {
	definitions, err := d.newest(ctx)
	if err != nil {
		return "", err
	}
	return artifact.FirstMissing(ctx, d.Artifacts, *definitions, tag, p)
}

// grammar returns the grammar of commands, with the names of the suite.
func (d *delivered) grammar(ctx context.Context) (command.Grammar, error) {
	g := command.Grammar{Bot: d.Rules.Bot}
	definitions, err := d.newest(ctx)
	if err != nil {
		return g, fmt.Errorf("the definitions of suite %s: %w", d.Rules.Suite, err)
	}
	for _, t := range definitions.Targets {
		g.Targets = sort(g.Targets, t.Name, t.OnRequest)
	}
	for _, b := range definitions.Backends {
		g.Backends = sort(g.Backends, b.Name, b.OnRequest)
	}
	for _, p := range definitions.Profiles {
		g.Profiles = sort(g.Profiles, p.Name, p.OnRequest)
	}
	for _, one := range definitions.Graphs {
		g.Graphs = append(g.Graphs, one.Name)
	}
	for _, o := range definitions.Options {
		if o.Who != suite.WhoBranch {
			g.Options = append(g.Options, command.Option{Name: o.Name, Values: o.Values})
		}
	}
	return g, nil
}

// sort adds a name to the usual or the on-request values of a set.
func sort[T ~string](s command.Set[T], name T, onRequest bool) command.Set[T] {
	if onRequest {
		s.OnRequest = append(s.OnRequest, name)
	} else {
		s.Usual = append(s.Usual, name)
	}
	return s
}

// login returns a login for use in actors and answers. It drops characters that GitHub does not allow in one.
func login(name string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_[]", r) {
			return r
		}
		return -1
	}, name)
	return kept[:min(len(kept), 64)]
}

// pushed handles a push: the poller of the branch looks at it now.
func (d *delivered) pushed(ctx context.Context) error {
	var p pushed
	if err := parse(d.Body, &p); err != nil {
		return d.end(ctx, events.DeliveryMalformed, "%s", err)
	}
	d.handled.Repo, d.handled.Sender, d.handled.SenderID = p.Repository.FullName, login(p.Sender.Login), p.Sender.ID
	branch, ok := strings.CutPrefix(p.Ref, "refs/heads/")
	if !ok {
		return d.end(ctx, events.DeliveryIgnored, "it is no branch")
	}
	d.handled.Command = events.PushWord + branch
	return d.end(ctx, events.DeliveryAccepted, "whoever polls the branch looks at it now")
}
