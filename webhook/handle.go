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
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/webhook/command"
)

// delivered is one delivery while it is handled.
type delivered struct {
	*Bot
	ledger.Delivery
	// definitions are those of the suite, once they were asked for: everything about the delivery is decided on the same.
	definitions *suite.Definitions
	// handled is what will be recorded of it.
	handled events.DeliveryHandled
	// wanted are the comments that answer it.
	wanted []events.CommentWanted
	// blocked says where the oldest thing stands that waits, by pull request.
	blocked map[int]events.Seq
}

// handle decides on a delivery and records what follows, unless another bot has. It returns the pull request that it is
// about, 0 for none. Errors are what may go away; everything else is recorded.
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

// told ignores a delivery: what was to be said about the comment is said already.
func (d *delivered) told(ctx context.Context) error {
	d.wanted, d.handled.Requests = nil, nil
	return d.end(ctx, events.DeliveryIgnored, told)
}

// told is why a delivery of a second webhook is ignored.
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

// end records what came of the delivery, and nothing but the answers.
func (d *delivered) end(ctx context.Context, outcome events.DeliveryOutcome, reason string, args ...any) error {
	_, err := d.Log.Append(ctx, d.outcome(outcome, reason, args...)...)
	return err
}

// outcome returns what is to be recorded together with everything that came of the delivery: exactly once, since
// it expects that nothing was recorded after the delivery itself.
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

// answer wants a comment on the pull request. about is the request that it tells of, if any: the answer is then
// folded away once the report of that request stands.
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

// answerKey names the answer to what was delivered.
func (d *delivered) answerKey() events.OutboxKey {
	if d.handled.Comment > 0 {
		return events.CommentAnswerKey(d.Rules.Repo, d.handled.Comment)
	}
	return events.AnswerKey(d.Hook, d.ID)
}

// comment handles a comment: of the merge bot, or of a person who may ask for something.
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
	// The reporter may write as an account that this process does not know: its marker tells. A person loses nothing by
	// this, for nobody writes such a line but to pass for us.
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

// overtakes reports whether something earlier about the pull request is not handled yet.
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

// newest returns the definitions of the suite, the same ones whenever it is asked about one delivery.
func (d *delivered) newest(ctx context.Context) (_ *suite.Definitions, err error) {
	if d.definitions == nil {
		d.definitions, err = d.newestDefinitions(ctx)
	}
	return d.definitions, err
}

// missing returns the first of the targets that are asked for whose artifact is not there; empty when all are.
func (d *delivered) missing(ctx context.Context, tag events.Tag, p events.Parameters) (events.Target, error) {
	definitions, err := d.newest(ctx)
	if err != nil {
		return "", err
	}
	return artifact.FirstMissing(ctx, d.Artifacts, *definitions, tag, p)
}

// grammar returns what people may write, with the names that the suite has.
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
	return g, nil
}

// sort puts a name where it belongs in a set.
func sort[T ~string](s command.Set[T], name T, onRequest bool) command.Set[T] {
	if onRequest {
		s.OnRequest = append(s.OnRequest, name)
	} else {
		s.Usual = append(s.Usual, name)
	}
	return s
}

// login returns a name as GitHub allows it, for use in actors and answers; anything else is dropped.
func login(name string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_[]", r) {
			return r
		}
		return -1
	}, name)
	return kept[:min(len(kept), 64)]
}

// pushed handles a push: whoever polls the branch looks at it now.
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
