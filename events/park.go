package events

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parks are the events that no fold takes, as the subject park says up to the event At. The zero value parks nothing.
// It is a value: Evolve returns another one.
//
// A park comes after what it parks. So a fold needs the parks before it takes its first event, and begins again when a
// later one concerns an event that it has passed (Since).
type Parks struct {
	At Seq
	// said is all that the subject says, in order. standing are the parks that stand, in the order of their events.
	said     []Recorded
	standing []Park
}

// Park is a park that stands: the fact, with its place in the log.
type Park struct {
	EventsParked
	Seq   Seq
	Time  time.Time
	Actor Actor
}

// why is what an archive says of the events.
func (p Park) why() string { return "parked: " + p.Reason }

// ParksOf returns the parks that all events of the subject park give.
func ParksOf(history []Recorded) (p Parks) {
	for _, e := range history {
		p = p.Evolve(e)
	}
	return p
}

// Evolve returns the parks after one more event of the subject. Litter counts only for its place, and so does a park of
// events that were not stored before it.
func (p Parks) Evolve(e Recorded) Parks {
	p.At = e.Seq
	// The subject has only these two facts.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case EventsParked:
		if f.First == 0 || f.First > f.Last || f.Last >= e.Seq {
			return p
		}
		p.standing = append(slices.Clone(p.standing), Park{f, e.Seq, e.Time, e.Actor})
		slices.SortStableFunc(p.standing, func(a, b Park) int { return cmp.Compare(a.First, b.First) })
	case EventsUnparked:
		p.standing = slices.DeleteFunc(slices.Clone(p.standing), func(s Park) bool { return s.First == f.First && s.Last == f.Last })
	default:
		return p
	}
	p.said = append(slices.Clip(p.said), e)
	return p
}

// Standing returns the parks that stand, in the order of their events.
func (p Parks) Standing() []Park { return slices.Clone(p.standing) }

// Of returns the park of an event; false if it is not parked.
func (p Parks) Of(seq Seq) (Park, bool) {
	if len(p.standing) == 0 {
		return Park{}, false
	}
	i := slices.IndexFunc(p.standing, func(s Park) bool { return s.First <= seq && seq <= s.Last })
	if i < 0 {
		return Park{}, false
	}
	return p.standing[i], true
}

// Until returns the parks as the subject said up to an event.
func (p Parks) Until(at Seq) (before Parks) {
	for _, e := range p.said {
		if e.Seq <= at {
			before = before.Evolve(e)
		}
	}
	before.At = min(at, p.At)
	return before
}

// Since returns the first event that these parks and those up to the event at of the subject say other things about;
// false when they say the same. A fold that obeyed those and has passed that event must begin again before it.
func (p Parks) Since(at Seq) (first Seq, changed bool) {
	before := p.Until(at)
	note := func(some, others []Park) {
		for _, s := range some {
			same := slices.ContainsFunc(others, func(o Park) bool { return o.EventsParked == s.EventsParked })
			if !same && (!changed || s.First < first) {
				first, changed = s.First, true
			}
		}
	}
	note(p.standing, before.standing)
	note(before.standing, p.standing)
	return first, changed
}

// DecodeOne is DecodeOne for a log with parks: a parked event has no fact.
func (p Parks) DecodeOne(s Stored) (Recorded, error) {
	if _, parked := p.Of(s.Seq); parked {
		return Recorded{Seq: s.Seq}, nil
	}
	return DecodeOne(s)
}

// DecodeAll is DecodeOne for all events of one aggregate, in order.
func (p Parks) DecodeAll(stored []Stored) ([]Recorded, error) {
	out := make([]Recorded, len(stored))
	for i, s := range stored {
		var err error
		if out[i], err = p.DecodeOne(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// HeaderBatch says which event of its append an event is, and how many the append has: "2/5". An append of one event
// does not have it. Without it nobody could tell from an archive which events were stored together.
const HeaderBatch = "batch"

// InBatch returns the header of an event of an append.
func InBatch(place, size int) string { return strconv.Itoa(place) + "/" + strconv.Itoa(size) }

// Batch returns the first and the last event of the append that an event was stored with, as its header says. An event
// without a header that can be true was stored alone.
func (s Stored) Batch() (first, last Seq) {
	of, in, _ := strings.Cut(s.Header[HeaderBatch], "/")
	place, err := strconv.ParseUint(of, 10, 32)
	if err != nil || place == 0 || Seq(place) > s.Seq {
		return s.Seq, s.Seq
	}
	size, err := strconv.ParseUint(in, 10, 32)
	if err != nil || size < place {
		return s.Seq, s.Seq
	}
	first = s.Seq - Seq(place) + 1
	return first, first + Seq(size) - 1
}
