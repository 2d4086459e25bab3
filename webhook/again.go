package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/webhook/command"
)

// newestOfPull returns the newest request of a pull request, in whatever state; false when there is none. If one of them
// was asked for more with a key, it returns that one: the comment was handled before, up to its answer.
func (b *Bot) newestOfPull(pr int, key string) (newest request.Request, found bool) {
	b.Ledger.View(func(l *ledger.Ledger) {
		for _, r := range l.Requests {
			if r.PR != pr || b.Rules.Suite != "" && r.Artifact.Suite != b.Rules.Suite {
				continue
			}
			if slices.ContainsFunc(r.Asked, func(a request.Asked) bool { return a.Key == key }) {
				newest, found = *r, true
				return
			}
			if later := r.CreatedAt.Compare(newest.CreatedAt); !found || later > 0 || later == 0 && r.ID > newest.ID {
				newest, found = *r, true
			}
		}
	})
	return newest, found
}

// none refuses a command about the newest request of a pull request that has none.
func (d *delivered) none(ctx context.Context) error {
	return d.refuse(ctx, "nothing was ever asked for on this pull request: write `@%s queue` before a try build, or `@%s build <commit>` after one", d.Rules.Bot, d.Rules.Bot)
}

// retry runs again what did not succeed. A wish for a repair does both: the jobs of a request in progress run again in
// it, and one that has ended stays as it ended.
func (d *delivered) retry(ctx context.Context, c command.Retry, why string) error {
	return d.again(ctx, events.GraphWanted{Kind: events.GraphRepair, Where: c.Select}, why)
}

// noise takes further samples of the parent.
func (d *delivered) noise(ctx context.Context, c command.Noise, why string) error {
	return d.again(ctx, events.GraphWanted{Kind: events.GraphNoise, Copies: c.Samples, Benchmarks: c.Benchmarks}, why)
}

// again records a wish about the newest request, and answers with what the scheduler makes of it. The key of the wish is
// that of the comment: if the bot dies in between, the next one finds the wish, and makes no second one.
func (d *delivered) again(ctx context.Context, wish events.GraphWanted, why string) error {
	wish.Key = fmt.Sprint(commentKey, d.handled.Comment)
	wish.Reason = d.said()
	r, found := d.newestOfPull(d.handled.PR, wish.Key)
	if !found {
		return d.none(ctx)
	}
	if _, _, err := d.Control.Want(ctx, d.commanding(), r.ID, wish); err != nil {
		return d.refused(ctx, err)
	}
	answer, err := d.Control.AwaitAnswer(ctx, r.ID, wish.Key)
	switch {
	case err != nil:
		return err
	case answer.Refused != "":
		return d.refuse(ctx, "%s", answer.Refused)
	}
	d.handled.Requests = append(d.handled.Requests, r.ID)
	d.answer("", againText(r, wish, answer, d.Rules))
	return d.end(ctx, events.DeliveryAccepted, "%s", why)
}

// prioritise gives the newest request another priority. With accounts, people change what they have asked for themselves,
// up to what their account may give.
func (d *delivered) prioritise(ctx context.Context, c command.Priority, why string) error {
	r, found := d.newestOfPull(d.handled.PR, "")
	if !found {
		return d.none(ctx)
	}
	d.handled.Requests = append(d.handled.Requests, r.ID)
	d.answer("", fmt.Sprintf("The priority of %s is %s now.", requestPage(d.Rules, r.ID), c.To))
	_, _, err := d.Control.PrioritiseRequest(ctx, d.asking(), r.ID, c.To, d.said(), d.outcome(events.DeliveryAccepted, "%s", why)...)
	return d.refused(ctx, err)
}

// said says whose command it is, as a reason for the log.
func (d *delivered) said() string {
	return fmt.Sprintf("%s said so on pull request %d", d.handled.Sender, d.handled.PR)
}

// jobsNamed is how many jobs an answer names.
const jobsNamed = 5

// againText says what was made for a wish about a request.
func againText(r request.Request, wish events.GraphWanted, a control.WishAnswer, rules Rules) string {
	page := requestPage(rules, r.ID)
	switch {
	case !a.Answered:
		return fmt.Sprintf("I have noted it, but no scheduler has answered yet. What comes of it is on the page of %s.", page)
	case wish.Kind == events.GraphNoise:
		samples := map[string]bool{}
		for _, spec := range a.Jobs {
			samples[spec.Sample] = true
		}
		return fmt.Sprintf("I measure the parent `%s` %s, with %s in all, as part of %s. Its results stay as they are; what differs between the samples is noise.",
			r.Parent, phrase.Count(len(samples), "more time"), phrase.Count(len(a.Jobs), "job"), page)
	}
	var names []string
	for _, spec := range a.Jobs {
		names = append(names, "`"+graph.LabelOf(spec).String()+"`")
	}
	if more := len(names) - jobsNamed; more > 0 {
		names = append(names[:jobsNamed], fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("%s of %s run again: %s.", phrase.Count(len(a.Jobs), "job"), page, strings.Join(names, ", "))
	if len(a.Jobs) == 1 {
		text = fmt.Sprintf("One job of %s runs again: %s.", page, names[0])
	}
	if r.State.Terminal() {
		text += " I edit the report when they have ended."
	}
	return text
}
