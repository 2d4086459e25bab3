package events

import (
	"math/rand/v2"
	"testing"
)

// Random parks and their ends: what stands, and from which event on two states of the subject differ, as a list of all
// events says it.
func TestParksSayWhatStandsAndSinceWhen(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var parks Parks
		var states []map[Seq]string
		states = append(states, map[Seq]string{})
		at := Seq(20)
		for range 12 {
			at += Seq(1 + r.IntN(3))
			now := map[Seq]string{}
			for k, v := range states[len(states)-1] {
				now[k] = v
			}
			first := Seq(1 + r.IntN(4)*5)
			last := first + Seq(r.IntN(3))
			e := Recorded{Seq: at}
			switch standing, stands := parks.Of(first); {
			case r.IntN(8) == 0: // litter
			case r.IntN(8) == 0: // a park of what comes later counts for nothing
				e.Fact = EventsParked{First: at, Last: at + 1, Reason: "no"}
			case stands:
				e.Fact = EventsUnparked{First: standing.First, Last: standing.Last}
				for n := standing.First; n <= standing.Last; n++ {
					delete(now, n)
				}
			default:
				reason := string(rune('a' + r.IntN(2)))
				e.Fact = EventsParked{First: first, Last: last, Reason: reason}
				for n := first; n <= last; n++ {
					now[n] = reason
				}
			}
			parks = parks.Evolve(e)
			for n := Seq(1); n < 30; n++ {
				if p, is := parks.Of(n); is != (now[n] != "") || p.Reason != now[n] {
					t.Fatalf("seed %d, event %d: %+v, %v, want %q", seed, n, p, is, now[n])
				}
			}
			states = append(states, now)
			if parks.At != at {
				t.Fatalf("seed %d: at %d, want %d", seed, parks.At, at)
			}
		}
		before := parks.Until(25)
		var want Seq
		for n := Seq(29); n > 0; n-- {
			a, _ := parks.Of(n)
			b, _ := before.Of(n)
			if a.EventsParked != b.EventsParked {
				want = n
			}
		}
		if first, changed := parks.Since(25); changed != (want > 0) || first != want {
			t.Fatalf("seed %d: differs since %d, %v, want %d", seed, first, changed, want)
		}
	}
}

func TestTheHeaderOfABatchIsReadWithCare(t *testing.T) {
	for text, want := range map[string][2]Seq{
		"": {7, 7}, "1/1": {7, 7}, "1/3": {7, 9}, "3/3": {5, 7}, "2/5": {6, 10}, "7/7": {1, 7},
		"8/8": {7, 7}, "0/3": {7, 7}, "4/3": {7, 7}, "-1/3": {7, 7}, "1/": {7, 7}, "/": {7, 7}, "1": {7, 7}, "a/b": {7, 7}, "1/99999999999": {7, 7},
	} {
		first, last := Stored{Seq: 7, Header: map[string]string{HeaderBatch: text}}.Batch()
		if first != want[0] || last != want[1] {
			t.Errorf("%q: %d to %d, want %v", text, first, last, want)
		}
	}
}

// A parked event is litter, whatever it holds, and counts only for the version of its aggregate.
func TestAParkedEventHasNoFact(t *testing.T) {
	strange := storedAs(t, 3, RequestSubject("r1"), RequestCreated{RequestID: "r1"})
	strange.Header[HeaderType] = TypePrefix + "request.teleported.v1"
	known := storedAs(t, 4, ShareSubject(), SharePolicySet{})
	parks := ParksOf([]Recorded{{Seq: 9, Event: Event{Fact: EventsParked{First: 3, Last: 4, Reason: "why"}}}})
	r := new(Reader)
	r.Obey(parks)
	for _, s := range []Stored{strange, known} {
		if _, litter, err := r.Understand(s); litter != "parked: why" || err != nil {
			t.Errorf("event %d: %q, %v", s.Seq, litter, err)
		}
	}
	all, err := parks.DecodeAll([]Stored{strange, known})
	if err != nil || len(all) != 2 || all[0] != (Recorded{Seq: 3}) || all[1] != (Recorded{Seq: 4}) {
		t.Errorf("%+v, %v", all, err)
	}
}
