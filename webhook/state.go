package webhook

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/request"
)

// state is what the bot knows of the log: what is still to be handled, and what it needs for that.
type state struct {
	seq events.Seq
	// reader tells what is litter.
	reader events.Reader
	// suite is the one whose requests count; empty for all.
	suite events.SuiteName
	// received are the deliveries that were not handled, by their subject; held is how many bytes of their bodies are kept.
	received map[events.Subject]*pending
	held     int
	// requests are those with a pull request that have not ended.
	requests map[events.RequestID]*asked
	// built are try builds that finished while nobody waited for them, by pull request: the newest.
	built map[int]finished
	// announced are requests whose place in the queue was told; expired are those that waited in vain, and nobody
	// was told.
	announced map[events.RequestID]bool
	expired   map[events.RequestID]asked
}

// pending is a delivery that waits to be handled.
type pending struct {
	subject events.Subject
	hook    events.HookID
	id      events.DeliveryID
	event   string
	// body is kept of what came in one event, while there is room; nil is read from the log.
	body []byte
	// first and last are where it begins and ends in the log.
	first, last events.Seq
	// at is when it came, root where what follows from it began.
	at   time.Time
	root string
	// after is when it is tried again, tries how often it was tried. pr is the pull request of which nothing may
	// be handled before; 0 for none.
	after time.Time
	tries int
	pr    int
	// done is set when it is handled and the log, which tells what came of it, was not read so far.
	done bool
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

// finished is a try build that finished.
type finished struct {
	sha events.Tag
	// comment is GitHub's number of the message, which grows with time; 0 when it was none.
	comment int64
	// seq and at are where and when it was said.
	seq events.Seq
	at  time.Time
	// after is when it is tried again to give it to a request, tries how often it was tried.
	after time.Time
	tries int
}

func newState() *state {
	return &state{
		received: map[events.Subject]*pending{}, requests: map[events.RequestID]*asked{}, built: map[int]finished{},
		announced: map[events.RequestID]bool{}, expired: map[events.RequestID]asked{},
	}
}

// maxHeld bounds the bodies that are kept of deliveries that wait: when GitHub is away they may be many.
const maxHeld = 8 << 20

// builtWord begins the command of a delivery that told of a finished try build; the commit follows.
const builtWord = "built "

func (s *state) fold(e events.Recorded) {
	s.seq = e.Seq
	// The others do not concern GitHub.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.DeliveryReceived:
		p := &pending{
			subject: f.Subject(), hook: f.Hook, id: f.Delivery, event: f.Event, first: e.Seq, last: e.Seq, at: e.Time, root: e.Root,
		}
		if body := Body([]events.Recorded{e}); f.Parts == 0 && s.held+len(body) <= maxHeld {
			p.body = body
			s.held += len(body)
		}
		s.received[f.Subject()] = p
	case events.DeliveryPart:
		if p, ok := s.received[f.Subject()]; ok {
			p.last = e.Seq
		}
	case events.DeliveryHandled:
		if p, ok := s.received[f.Subject()]; ok {
			s.held -= len(p.body)
			delete(s.received, f.Subject())
		}
		if sha, ok := strings.CutPrefix(f.Command, builtWord); ok && f.Outcome == events.DeliveryIgnored && f.PR > 0 {
			s.foldBuilt(f.PR, finished{sha: events.Tag(sha), comment: f.Comment, seq: e.Seq, at: e.Time})
		}
	case events.CommentWanted:
		s.said(f)
	case events.RequestCreated:
		if _, known := s.requests[f.RequestID]; !known && f.PR > 0 && (s.suite == "" || f.Suite == s.suite) {
			s.requests[f.RequestID] = &asked{
				Request: request.Evolve(request.Request{}, f, e.Time), root: e.Root, changed: e.Seq, quiet: strings.HasPrefix(f.Key, triageKey), comment: commentOf(f.Key),
			}
		}
	case events.RequestExpired:
		if r, ok := s.requests[f.RequestID]; ok && r.talkative() {
			gone := *r
			gone.changed = e.Seq
			s.expired[f.RequestID] = gone
		}
		s.evolve(f.RequestID, e)
	case events.RequestArtifactsReady, events.RequestStarted, events.RequestCompleted, events.RequestFailed, events.RequestCancelled,
		events.RequestCancelledWithJobs, events.RequestSuperseded:
		s.evolve(f.(events.RequestFact).Whose(), e)
	}
}

// foldBuilt keeps the newest build, in whatever order they were told.
func (s *state) foldBuilt(pr int, f finished) {
	if f.comment >= s.built[pr].comment {
		s.built[pr] = f
	}
}

// said notes that something was said about a request.
func (s *state) said(w events.CommentWanted) {
	switch w.Key {
	case announcementKey(w.RequestID):
		s.announced[w.RequestID] = true
	case expiryKey(w.RequestID):
		delete(s.expired, w.RequestID)
	}
}

// talkative reports whether its pull request is told how things go: a comment there asked for it.
func (r *asked) talkative() bool {
	return r.Kind == events.Try && !r.quiet && strings.HasPrefix(r.root, "delivery:")
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

func (s *state) evolve(id events.RequestID, e events.Recorded) {
	r, ok := s.requests[id]
	if !ok {
		return
	}
	r.Request, r.changed = request.Evolve(r.Request, e.Fact, e.Time), e.Seq
	if r.State.Terminal() {
		delete(s.requests, id)
		delete(s.announced, id)
	}
}

// ofPull returns the requests of a pull request that have not ended, oldest first.
func (s *state) ofPull(pr int) []asked {
	var out []asked
	for _, id := range slices.Sorted(maps.Keys(s.requests)) {
		if r := s.requests[id]; r.PR == pr {
			out = append(out, *r)
		}
	}
	slices.SortStableFunc(out, func(a, b asked) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return out
}

// due returns the deliveries to be handled now, oldest first, and where the oldest stands that waits for a time, or
// whose effect is not known here, by pull request: what is said about one pull request is handled in its order, and
// nothing overtakes it.
func (s *state) due(now time.Time) (out []pending, blocked map[int]events.Seq) {
	blocked = map[int]events.Seq{}
	for _, p := range s.received {
		if !p.done && !now.Before(p.after) {
			out = append(out, *p)
			continue
		}
		if first, known := blocked[p.pr]; p.pr != 0 && (!known || p.first < first) {
			blocked[p.pr] = p.first
		}
	}
	slices.SortFunc(out, func(a, b pending) int { return cmp.Compare(a.first, b.first) })
	return out, blocked
}

// claim is a request that waits, and the try build that finished for it before the request was heard of.
type claim struct {
	asked
	finished
}

// claims returns them. Deliveries may come in any order: what counts is that the message is newer than the comment.
func (s *state) claims(now time.Time) []claim {
	var out []claim
	for _, id := range slices.Sorted(maps.Keys(s.requests)) {
		r := s.requests[id]
		f, ok := s.built[r.PR]
		if ok && r.State == events.WaitingForArtifacts && r.comment > 0 && f.comment > r.comment && !now.Before(f.after) {
			out = append(out, claim{*r, f})
		}
	}
	return out
}

// unannounced returns the tries asked for in comments whose artifact is ready and whose place was not told.
func (s *state) unannounced() []asked {
	var out []asked
	for _, id := range slices.Sorted(maps.Keys(s.requests)) {
		r := s.requests[id]
		if r.talkative() && r.State != events.WaitingForArtifacts && !s.announced[id] {
			out = append(out, *r)
		}
	}
	return out
}

// inVain returns the tries asked for in comments that expired, of which nobody was told.
func (s *state) inVain() []asked {
	out := make([]asked, 0, len(s.expired))
	for _, id := range slices.Sorted(maps.Keys(s.expired)) {
		out = append(out, s.expired[id])
	}
	return out
}
