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

// tried tells about the tries to handle a delivery.
type tried struct {
	// after is when it is tried again, times how often it was tried. Nothing else about the pull request pr may be
	// handled before; pr is 0 for none.
	after time.Time
	times int
	pr    int
	// done is the last event of the delivery when it was handled, 0 before. Until the ledger has read that event, it
	// does not show the effects.
	done events.Seq
}

// claimed tells about the tries to use the newest build of a pull request.
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
	// root is the root of its events, changed the newest event about it.
	root    string
	changed events.Seq
	// quiet requests were asked for elsewhere: their pull request gets only the report.
	quiet bool
	// comment is GitHub's number of the comment that asked for it; 0 if no comment did.
	comment int64
}

// asked returns a request of a pull request; false when it does not exist or is of another suite.
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

// pending returns the requests of pull requests that have not ended, sorted by id.
func (b *Bot) pending(l *ledger.Ledger) (out []asked) {
	for _, id := range slices.Sorted(maps.Keys(l.Deliveries.Keys)) {
		if r, ours := b.asked(l, id); ours {
			out = append(out, r)
		}
	}
	return out
}

// talkative reports whether the bot comments on the progress of the request: a comment on its pull request asked for
// it.
func (r *asked) talkative() bool {
	return r.Kind == events.Try && !r.quiet && events.ByDelivery(r.root)
}

// commentOf returns the number of the comment that a natural key names.
func commentOf(key string) int64 {
	number, ok := strings.CutPrefix(key, commentKey)
	if !ok {
		return 0
	}
	// A key that another program made up names no comment.
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}

// ofPull returns the requests of a pull request that have not ended, oldest first, and up to which sequence the
// ledger has read.
func (b *Bot) ofPull(pr int) (out []asked, at events.Seq) {
	b.Ledger.View(func(l *ledger.Ledger) { out, at = b.pending(l), l.Seq })
	out = slices.DeleteFunc(out, func(r asked) bool { return r.PR != pr })
	slices.SortStableFunc(out, func(x, y asked) int { return x.CreatedAt.Compare(y.CreatedAt) })
	return out, at
}

// due returns the deliveries to handle now, oldest first. blocked holds, by pull request, the sequence of the oldest
// delivery that waits for a time or whose effect this process does not know yet. The bot handles the deliveries of
// one pull request in their order.
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

// claim is a waiting request, and the finished try build for it that was reported before the request was known.
type claim struct {
	asked
	build ledger.Build
}

// claims returns the claims that are due. Deliveries may come in any order; the message must be newer than the
// comment.
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

// untold returns the tries that comments asked for and that the bot has to comment on: those whose artifact is ready
// and whose place was not announced, and those that waited in vain.
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
