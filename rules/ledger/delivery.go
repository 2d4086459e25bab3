package ledger

import (
	"maps"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

const (
	// MaxHeld bounds the bytes of bodies that are kept for waiting deliveries. They can be many when GitHub is
	// unreachable.
	MaxHeld = 8 << 20
	// keepNews is how long the ledger keeps entries that no part may ever ask for. GitHub keeps deliveries for three
	// days, and the reporter reports no older events.
	keepNews = 30 * 24 * time.Hour
)

// Deliveries holds what GitHub delivered and what still follows from it.
type Deliveries struct {
	// Open are the deliveries that were not handled yet, Held is how many bytes of their bodies are kept.
	Open map[events.Subject]*Delivery
	Held int
	// Built are the newest finished try builds that no request waited for, by pull request.
	Built map[int]Build
	// Keys are the natural keys of the requests for pull requests that have not ended.
	Keys map[events.RequestID]string
	// Announced are those of them whose place in the queue was posted.
	Announced map[events.RequestID]bool
	// Expired are the tries, asked for by a delivery, that expired and whose people were not told yet.
	Expired map[events.RequestID]bool
}

// Delivery is one delivery that was not handled yet.
type Delivery struct {
	Hook  events.HookID
	ID    events.DeliveryID
	Event string
	// Body is kept if it came in one event and there is room; nil means: read it from the log.
	Body []byte
	// First and Last are where it begins and ends in the log. Parts counts its parts that are still to come.
	First, Last events.Seq
	Parts       int
	// At is when it came, Root the root of the events that follow from it.
	At   time.Time
	Root string
}

// Subject returns the aggregate of the delivery.
func (d *Delivery) Subject() events.Subject { return events.DeliverySubject(d.Hook, d.ID) }

// Build is a try build that finished.
type Build struct {
	Commit events.Tag
	// Comment is GitHub's number of the comment, which grows with time; 0 when there was none.
	Comment int64
	// Seq and At are where and when it was recorded.
	Seq events.Seq
	At  time.Time
}

func newDeliveries() Deliveries {
	return Deliveries{
		Open: map[events.Subject]*Delivery{}, Built: map[int]Build{}, Keys: map[events.RequestID]string{},
		Announced: map[events.RequestID]bool{}, Expired: map[events.RequestID]bool{},
	}
}

// foldGitHub applies a fact about a delivery or a comment, and reports whether the event was one.
func (l *Ledger) foldGitHub(e events.Recorded) bool {
	// The others are about the farm.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.DeliveryFact:
		l.Deliveries.fold(f, e)
	case events.OutboxFact:
		if wanted, ok := f.(events.CommentWanted); ok {
			l.Deliveries.said(wanted)
		}
		l.foldOutbox(f, e)
	default:
		return false
	}
	return true
}

func (d *Deliveries) fold(f events.DeliveryFact, e events.Recorded) {
	switch f := f.(type) {
	case events.DeliveryReceived:
		one := &Delivery{
			Hook: f.Hook, ID: f.Delivery, Event: f.Event, First: e.Seq, Last: e.Seq, Parts: f.Parts, At: e.Time, Root: e.Root,
		}
		if body := f.Body(); f.Parts == 0 && d.Held+len(body) <= MaxHeld {
			one.Body = body
			d.Held += len(body)
		}
		d.Open[f.Subject()] = one
	case events.DeliveryPart:
		d.part(f.Subject(), e.Seq)
	case events.DeliveryHandled:
		if one, ok := d.Open[f.Subject()]; ok {
			d.Held -= len(one.Body)
			delete(d.Open, f.Subject())
		}
		if commit, ok := strings.CutPrefix(f.Command, events.BuiltWord); ok && f.Outcome == events.DeliveryIgnored && f.PR > 0 {
			d.built(f.PR, Build{Commit: events.Tag(commit), Comment: f.Comment, Seq: e.Seq, At: e.Time})
		}
	}
}

// part notes a piece of a large delivery.
func (d *Deliveries) part(of events.Subject, seq events.Seq) {
	if one, ok := d.Open[of]; ok {
		one.Last, one.Parts = seq, max(0, one.Parts-1)
	}
}

// passed notes the sequence of litter on the subject of a delivery.
func (d *Deliveries) passed(on events.Subject, seq events.Seq) {
	if one, ok := d.Open[on]; ok {
		one.Last = seq
	}
}

// built keeps the newest build, in whatever order the builds are reported.
func (d *Deliveries) built(pr int, b Build) {
	maps.DeleteFunc(d.Built, func(_ int, old Build) bool { return b.At.Sub(old.At) > keepNews })
	if b.Comment >= d.Built[pr].Comment {
		d.Built[pr] = b
	}
}

// said notes a comment about a request.
func (d *Deliveries) said(w events.CommentWanted) {
	_, pending := d.Keys[w.RequestID]
	switch {
	case w.Key == events.QueuedKey(w.RequestID) && pending:
		d.Announced[w.RequestID] = true
	case w.Key == events.ExpiredKey(w.RequestID):
		delete(d.Expired, w.RequestID)
	}
}

// foldAsked notes what a fact of a request's life means for its pull request. pending says that the request had not
// ended before.
func (l *Ledger) foldAsked(f events.RequestFact, pending bool) {
	r, known := l.Requests[f.Whose()]
	if !known || r.PR <= 0 {
		return
	}
	d := &l.Deliveries
	// For the other facts the state is enough.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.RequestCreated:
		if !pending && !r.State.Terminal() {
			d.Keys[r.ID] = f.Key
		}
	case events.RequestExpired:
		if pending && r.Kind == events.Try && events.ByDelivery(l.Roots[r.ID]) {
			d.Expired[r.ID] = true
		}
	}
	if !r.State.Terminal() {
		return
	}
	delete(d.Keys, r.ID)
	delete(d.Announced, r.ID)
	if pending {
		l.foldUnreported(r)
	}
}
