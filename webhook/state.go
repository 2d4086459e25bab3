package webhook

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
)

// Ledger is the ledger of this process, as somebody keeps it up with the log.
type Ledger interface {
	// View shows it; look does not wait for anything.
	View(look func(*ledger.Ledger))
	// Wait returns once everything up to seq is in it and it has caught up with the log, or with the error of ctx.
	Wait(ctx context.Context, seq events.Seq) error
	// Tell gives f each fact that the ledger takes from now on; f waits for nothing.
	Tell(f func(events.Fact))
}

// tried is what was tried with a delivery.
type tried struct {
	// after is when it is tried again, times how often it was tried. pr is the pull request of which nothing may
	// be handled before; 0 for none.
	after time.Time
	times int
	pr    int
	// done is the last event of the delivery when it was handled, 0 before: the ledger, which tells what came of it, has
	// not read that so far.
	done events.Seq
}

// claimed is what was tried with the newest build of a pull request.
type claimed struct {
	build events.Seq
	// after is when it is tried again, times how often it was tried. over is set when nothing is left to try.
	after time.Time
	times int
	over  bool
}

// asked is a request of a pull request.
type asked struct {
	request.Request
	// root is where it began, changed the newest event about it.
	root    string
	changed events.Seq
	// quiet ones were asked for elsewhere: nothing but the report is said on their pull request.
	quiet bool
	// comment is GitHub's number of the comment that asked; 0 when it was none.
	comment int64
}

// asked returns a request of a pull request; false when it is none of the suite.
func (b *Bot) asked(l *ledger.Ledger, id events.RequestID) (asked, bool) {
	r, ok := l.Requests[id]
	if !ok || b.Rules.Suite != "" && r.Artifact.Suite != b.Rules.Suite {
		return asked{}, false
	}
	key := l.Deliveries.Keys[id]
	return asked{
		Request: *r, root: l.Roots[id], changed: l.Versions[events.RequestSubject(id)], quiet: strings.HasPrefix(key, triageKey), comment: commentOf(key),
	}, true
}

// pending returns the requests of pull requests that have not ended, by id.
func (b *Bot) pending(l *ledger.Ledger) (out []asked) {
	for _, id := range slices.Sorted(maps.Keys(l.Deliveries.Keys)) {
		if r, ours := b.asked(l, id); ours {
			out = append(out, r)
		}
	}
	return out
}

// talkative reports whether its pull request is told how things go: a comment there asked for it.
func (r *asked) talkative() bool {
	return r.Kind == events.Try && !r.quiet && events.ByDelivery(r.root)
}

// commentOf returns the number of the comment that a natural key names.
func commentOf(key string) int64 {
	number, ok := strings.CutPrefix(key, commentKey)
	if !ok {
		return 0
	}
	// A key that somebody else made up names no comment.
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}

// ofPull returns the requests of a pull request that have not ended, oldest first, and what the ledger has read.
func (b *Bot) ofPull(pr int) (out []asked, at events.Seq) {
	b.Ledger.View(func(l *ledger.Ledger) { out, at = b.pending(l), l.Seq })
	out = slices.DeleteFunc(out, func(r asked) bool { return r.PR != pr })
	slices.SortStableFunc(out, func(x, y asked) int { return x.CreatedAt.Compare(y.CreatedAt) })
	return out, at
}

// due returns the deliveries to be handled now, oldest first, and where the oldest stands that waits for a time, or
// whose effect is not known here, by pull request: what is said about one pull request is handled in its order, and
// nothing overtakes it.
func (b *Bot) due(now time.Time) (out []ledger.Delivery, blocked map[int]events.Seq) {
	blocked = map[int]events.Seq{}
	b.Ledger.View(func(l *ledger.Ledger) {
		maps.DeleteFunc(b.tried, func(s events.Subject, _ tried) bool { return l.Deliveries.Open[s] == nil })
		for subject, d := range l.Deliveries.Open {
			t := b.tried[subject]
			if d.Parts == 0 && t.done < d.Last && !now.Before(t.after) {
				out = append(out, *d)
				continue
			}
			if first, known := blocked[t.pr]; t.pr != 0 && (!known || d.First < first) {
				blocked[t.pr] = d.First
			}
		}
	})
	slices.SortFunc(out, func(x, y ledger.Delivery) int { return cmp.Compare(x.First, y.First) })
	return out, blocked
}

// claim is a request that waits, and the try build that finished for it before the request was heard of.
type claim struct {
	asked
	build ledger.Build
}

// claims returns them. Deliveries may come in any order: what counts is that the message is newer than the comment.
func (b *Bot) claims(now time.Time) (out []claim) {
	b.Ledger.View(func(l *ledger.Ledger) {
		maps.DeleteFunc(b.claimed, func(pr int, c claimed) bool { return l.Deliveries.Built[pr].Seq != c.build })
		for _, r := range b.pending(l) {
			f, ok := l.Deliveries.Built[r.PR]
			c := b.claimed[r.PR]
			if ok && r.State == events.StateWaitingForArtifacts && r.comment > 0 && f.Comment > r.comment && !c.over && !now.Before(c.after) {
				out = append(out, claim{r, f})
			}
		}
	})
	return out
}

// untold returns the tries asked for in comments of which people are to hear: those whose artifact is ready and whose
// place was not told, and those that waited in vain.
func (b *Bot) untold() (queued, expired []asked) {
	b.Ledger.View(func(l *ledger.Ledger) {
		for _, r := range b.pending(l) {
			if r.talkative() && r.State != events.StateWaitingForArtifacts && !l.Deliveries.Announced[r.ID] {
				queued = append(queued, r)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(l.Deliveries.Expired)) {
			if r, ours := b.asked(l, id); ours {
				expired = append(expired, r)
			}
		}
	})
	return queued, expired
}
