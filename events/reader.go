package events

import (
	"errors"
	"fmt"
	"time"
)

// Reader decodes the events of a log, in order, for a part that follows all of it. The zero value reads from the
// beginning.
//
// Litter is what a fold must not take: malformed data, an event on a subject that is not its own, an event of a
// collector that this program does not understand, and, once the registry is open, the standing of a collector on
// collector.<name>, where the collector can write, and an event that is parked (Obey). Only the sequence and the subject of litter count. Litter stops no
// part.
type Reader struct {
	opened Seq
	// copied are the collectors that the registry already holds before it is open: copying a large farm takes more than
	// one append. What they write about their standing in between is in no copy.
	copied map[CollectorName]bool
	parks  Parks
}

// Obey makes the parks those that the reader obeys from now on: a parked event is litter.
func (r *Reader) Obey(p Parks) { r.parks = p }

// Parks returns the parks that the reader obeys.
func (r *Reader) Parks() Parks { return r.parks }

// ReadFrom returns a reader for a log whose registry was opened at the given sequence; 0 when it is not open, or opens
// later in the events to read. In that case pass the collectors that were copied before the first event to read.
func ReadFrom(opened Seq, copied ...CollectorName) *Reader {
	r := &Reader{opened: opened}
	for _, name := range copied {
		r.copy(name)
	}
	return r
}

// Place returns what ReadFrom takes to continue from here. The collectors are in no order.
func (r *Reader) Place() (opened Seq, copied []CollectorName) {
	for name := range r.copied {
		copied = append(copied, name)
	}
	return r.opened, copied
}

func (r *Reader) copy(name CollectorName) {
	if r.copied == nil {
		r.copied = map[CollectorName]bool{}
	}
	r.copied[name] = true
}

// clockSkew is how far the clock of a collector may be ahead of the clock of the log.
const clockSkew = time.Minute

// Understand decodes the next event of the log, or says why it is litter. Its only error is a *NewerError: a newer
// program of the core wrote the event, and a fold must stop before it.
func (r *Reader) Understand(s Stored) (e Recorded, litter string, err error) {
	if park, parked := r.parks.Of(s.Seq); parked {
		return Recorded{Seq: s.Seq}, park.why(), nil
	}
	e, old, litter, err := understand(s)
	switch {
	case err != nil || litter != "":
		return e, litter, err
	case old && r.opened > 0 && s.Seq > r.opened, old && r.copied[CollectorName(s.Subject.Last())]:
		return e, "it is said on " + string(RegistrySubject("<name>")) + " since the registry was opened", nil
	}
	// Only these two change what later events count as litter.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case RegistryOpened:
		if r.opened == 0 {
			r.opened, r.copied = s.Seq, nil
		}
	case RegistryCopied:
		if r.opened == 0 {
			r.copy(f.Name)
		}
	}
	return e, "", nil
}

// DecodeOne decodes an event of one aggregate. It returns no fact for litter and for an event on the subject that such
// events had before the registry was opened (the registry holds a copy): these count only for the version of the
// aggregate.
func DecodeOne(s Stored) (Recorded, error) {
	e, old, litter, err := understand(s)
	if litter != "" || old {
		return Recorded{Seq: s.Seq}, err
	}
	return e, err
}

// DecodeAll is DecodeOne for all events of one aggregate, in order.
func DecodeAll(stored []Stored) ([]Recorded, error) { return Parks{}.DecodeAll(stored) }

// understand is Reader.Understand without knowledge of earlier events. old is set for a fact on the subject that such
// facts had in earlier versions.
func understand(s Stored) (e Recorded, old bool, litter string, err error) {
	e, err = Decode(s)
	switch {
	case errors.Is(err, ErrUnknownType) && s.Subject.Foreign():
		return e, false, err.Error(), nil
	case errors.Is(err, ErrUnknownType):
		return e, false, "", err
	case err != nil:
		return e, false, err.Error(), nil
	}
	home := e.Fact.Subject()
	name, _ := cutTypePrefix(s.Header[HeaderType])
	if h := current.homes[name]; h != nil {
		home, old = h(e.Fact), true
	}
	switch {
	case home != s.Subject:
		return e, old, fmt.Sprintf("the event belongs on %s", home), nil
	case e.Time.Year() < 1970 || e.Time.Year() > 9999:
		return e, old, "the time of the event is out of range", nil
	}
	if s.Subject.Foreign() && !s.StoredAt.IsZero() && e.Time.After(s.StoredAt.Add(clockSkew)) {
		e.Time = s.StoredAt.UTC().Truncate(time.Millisecond)
	}
	return e, old, "", nil
}
