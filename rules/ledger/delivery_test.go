package ledger_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// book is a ledger that folds facts one minute apart.
type book struct {
	*ledger.Ledger
	root string
	now  time.Time
}

func newBook() *book { return &book{Ledger: ledger.New(), now: noon} }

// tell folds facts and returns the book.
func (b *book) tell(facts ...events.Fact) *book {
	for _, f := range facts {
		b.now = b.now.Add(time.Minute)
		b.Fold(events.Recorded{Seq: b.Seq + 1, Event: events.Event{Time: b.now, Root: b.root, Cause: b.Seq, Fact: f}})
	}
	return b
}

func keys[K ~string, V any](m map[K]V) string { return fmt.Sprint(slices.Sorted(maps.Keys(m))) }

func received(id events.DeliveryID) events.DeliveryReceived {
	return events.DeliveryReceived{Hook: "7", Delivery: id, Event: "issue_comment", Payload: events.RawJSON(`{"a":1}`)}
}

func handled(id events.DeliveryID) events.DeliveryHandled {
	return events.DeliveryHandled{Hook: "7", Delivery: id, Outcome: events.DeliveryAccepted}
}

func TestDeliveriesAreOpenUntilTheyAreHandled(t *testing.T) {
	large := received("d1")
	large.Payload, large.Parts = nil, 2
	piece := events.DeliveryPart{Hook: "7", Delivery: "d1", Part: 1, Raw: []byte("half")}
	kept := ledger.Delivery{Hook: "7", ID: "d1", Event: "issue_comment", Body: []byte(`{"a":1}`), First: 1, Last: 1, At: noon.Add(time.Minute), Root: "delivery:d1"}
	missing := kept
	missing.Body, missing.Parts, missing.Last = nil, 1, 2
	whole := missing
	whole.Parts, whole.Last = 0, 3
	for _, test := range []struct {
		name  string
		facts []events.Fact
		want  []ledger.Delivery
	}{
		{"one came", []events.Fact{received("d1")}, []ledger.Delivery{kept}},
		{"a piece of a large one is missing", []events.Fact{large, piece}, []ledger.Delivery{missing}},
		{"a large one is there", []events.Fact{large, piece, piece}, []ledger.Delivery{whole}},
		{"it was handled", []events.Fact{received("d1"), handled("d1")}, nil},
		{"another one was handled", []events.Fact{received("d1"), handled("d2")}, []ledger.Delivery{kept}},
		{"a piece of none", []events.Fact{piece}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBook()
			b.root = "delivery:d1"
			b.tell(test.facts...)
			var got []ledger.Delivery
			for subject, d := range b.Deliveries.Open {
				if got = append(got, *d); subject != d.Subject() {
					t.Errorf("%s lies on %s", d.Subject(), subject)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// However many deliveries wait, only a few of their bodies are kept; the others are read from the log.
func TestFewBodiesAreKept(t *testing.T) {
	b := newBook()
	const size, n = 256 << 10, 3 * ledger.MaxHeld / (256 << 10)
	for i := range n {
		f := received(events.DeliveryID(fmt.Sprint("d", i)))
		f.Payload, f.Raw = nil, bytes.Repeat([]byte("x"), size)
		b.tell(f)
	}
	kept := 0
	for _, d := range b.Deliveries.Open {
		kept += len(d.Body)
	}
	if kept == 0 || kept > ledger.MaxHeld || kept != b.Deliveries.Held {
		t.Errorf("%d bytes are kept and %d counted, of at most %d", kept, b.Deliveries.Held, ledger.MaxHeld)
	}
	for i := range n {
		b.tell(handled(events.DeliveryID(fmt.Sprint("d", i))))
	}
	if b.Deliveries.Held != 0 || len(b.Deliveries.Open) != 0 || len(b.Versions) != 0 {
		t.Errorf("%d bytes of %d deliveries are kept, and %d versions", b.Deliveries.Held, len(b.Deliveries.Open), len(b.Versions))
	}
}

// The pieces of a large delivery are not decoded. An unreadable event still counts for the version of its subject.
func TestPiecesAreNotDecoded(t *testing.T) {
	b := newBook()
	first := received("d1")
	first.Parts = 1
	b.tell(first)
	for _, kind := range []string{"delivery.part.v1", "delivery.handled.v1"} {
		if f, err := b.Take(events.Stored{
			Seq: b.Seq + 1, Subject: first.Subject(), StoredAt: noon, Data: []byte("not JSON"), Header: map[string]string{events.HeaderType: events.TypePrefix + kind},
		}); f != nil || err != nil {
			t.Fatal(f, err)
		}
	}
	if d := b.Deliveries.Open[first.Subject()]; d.Parts != 0 || d.Last != 3 || b.Littered != 1 {
		t.Errorf("%+v, %d are litter", d, b.Littered)
	}
}

func TestTheNewestBuildIsKept(t *testing.T) {
	built := func(comment int64, pr int, commit string) events.Fact {
		f := handled("d1")
		f.Outcome, f.PR, f.Comment, f.Command = events.DeliveryIgnored, pr, comment, events.BuiltWord+commit
		return f
	}
	accepted := built(9, 14, "c9").(events.DeliveryHandled)
	accepted.Outcome = events.DeliveryAccepted
	long := newBook().tell(built(1, 13, "c1"))
	long.now = long.now.Add(60 * 24 * time.Hour)
	for _, test := range []struct {
		name string
		book *book
		when events.Fact
		want map[int]events.Tag
	}{
		{"the first", newBook(), built(1, 14, "c1"), map[int]events.Tag{14: "c1"}},
		{"a newer one", newBook().tell(built(1, 14, "c1")), built(2, 14, "c2"), map[int]events.Tag{14: "c2"}},
		{"an older one", newBook().tell(built(2, 14, "c2")), built(1, 14, "c1"), map[int]events.Tag{14: "c2"}},
		{"one of another pull request", newBook().tell(built(2, 14, "c2")), built(1, 15, "c1"), map[int]events.Tag{14: "c2", 15: "c1"}},
		{"one that somebody waited for", newBook(), accepted, map[int]events.Tag{}},
		{"one of no pull request", newBook(), built(1, 0, "c1"), map[int]events.Tag{}},
		{"one of long ago is forgotten", long, built(2, 14, "c2"), map[int]events.Tag{14: "c2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := map[int]events.Tag{}
			for pr, b := range test.book.tell(test.when).Deliveries.Built {
				got[pr] = b.Commit
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatPeopleAreToBeTold(t *testing.T) {
	try := events.RequestCreated{RequestID: "r1", Kind: events.Try, Suite: "small", PR: 14, Key: "comment-5", State: events.StateWaitingForArtifacts}
	release, elsewhere := try, try
	release.Kind, elsewhere.PR = events.Release, 0
	queued := events.CommentWanted{Key: events.QueuedKey("r1"), Revision: 1, RequestID: "r1"}
	sorry := events.CommentWanted{Key: events.ExpiredKey("r1"), Revision: 1, RequestID: "r1"}
	expired, cancelled := events.RequestExpired{RequestID: "r1"}, events.RequestCancelled{RequestID: "r1"}
	for _, test := range []struct {
		name                     string
		root                     string
		facts                    []events.Fact
		keys, announced, expired string
	}{
		{"asked", "delivery:d1", []events.Fact{try}, "[r1]", "[]", "[]"},
		{"asked without a pull request", "delivery:d1", []events.Fact{elsewhere}, "[]", "[]", "[]"},
		{"announced", "delivery:d1", []events.Fact{try, queued}, "[r1]", "[r1]", "[]"},
		{"ended", "delivery:d1", []events.Fact{try, queued, cancelled}, "[]", "[]", "[]"},
		{"announced too late", "delivery:d1", []events.Fact{try, cancelled, queued}, "[]", "[]", "[]"},
		{"expired", "delivery:d1", []events.Fact{try, expired}, "[]", "[]", "[r1]"},
		{"expired and told", "delivery:d1", []events.Fact{try, expired, sorry}, "[]", "[]", "[]"},
		{"expired twice", "delivery:d1", []events.Fact{try, expired, sorry, expired}, "[]", "[]", "[]"},
		{"expired after its end", "delivery:d1", []events.Fact{try, cancelled, expired}, "[]", "[]", "[]"},
		{"expired, and nobody asked in a comment", "api", []events.Fact{try, expired}, "[]", "[]", "[]"},
		{"no try expired", "delivery:d1", []events.Fact{release, expired}, "[]", "[]", "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBook()
			b.root = test.root
			d := b.tell(test.facts...).Deliveries
			for what, is := range map[string][2]string{
				"keys": {keys(d.Keys), test.keys}, "announced": {keys(d.Announced), test.announced}, "expired": {keys(d.Expired), test.expired},
			} {
				if is[0] != is[1] {
					t.Errorf("%s are %s, want %s", what, is[0], is[1])
				}
			}
			if len(d.Keys) > 0 && d.Keys["r1"] != "comment-5" {
				t.Errorf("its key is %q", d.Keys["r1"])
			}
		})
	}
}
