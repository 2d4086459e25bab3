package queue

import (
	"math"
	"time"
)

// point is a time in the future with its spread.
//
// Spreads of single jobs do not simply add up: of ten jobs, some take longer than expected and some shorter. There are
// two kinds of error. First, each job differs from the median by its own chance: these variances add. Second, the
// median itself may be off, because few jobs were measured. All jobs of the sort share this error: it adds up in full,
// and soon outweighs chance in a long queue.
type point struct {
	at time.Time
	// own is the variance that single jobs add, in square seconds.
	own float64
	// doubt is the standard deviation that the expectations add, in seconds.
	doubt float64
	// vague points have an unknown spread.
	vague bool
}

func sure(t time.Time) point { return point{at: t} }

// width is how many standard deviations a range has on each side to hold four of five.
const width = 1.2816

// maxSeconds bounds deviations, in seconds. A larger one says nothing, and at some size does not fit a time.Duration.
const maxSeconds = 100 * 365 * 24 * 3600

// bounds returns the range in which the time lies with four chances in five, no earlier than floor; nil when the spread
// is unknown.
func (p point) bounds(floor time.Time) (earliest, latest *time.Time) {
	if p.vague {
		return nil, nil
	}
	deviation := time.Duration(math.Round(min(width*math.Sqrt(p.variance()), maxSeconds))) * time.Second
	low, high := later(p.at.Add(-deviation), floor), p.at.Add(deviation)
	if low.After(p.at) {
		low = p.at
	}
	return &low, &high
}

// plus returns the time at which work that begins at p ends.
func (p point) plus(w load) point {
	return point{at: p.at.Add(w.length), own: p.own + w.own, doubt: p.doubt + w.doubt, vague: p.vague || w.vague}
}

// laterOf returns the later of two points that depend on each other; of two at the same time, the less certain one.
func laterOf(a, b point) point {
	if c := a.at.Compare(b.at); c > 0 || c == 0 && (a.vague || a.variance() > b.variance()) {
		return a
	}
	return b
}

func (p point) variance() float64 { return p.own + p.doubt*p.doubt }

// lastOf returns when the last of two lanes ends. Both began at begin and are independent since then. As a rule that is
// later than each of them is expected to end. (C. E. Clark, The greatest of a finite set of random variables, 1961:
// mean and variance of the larger of two normal variables.) Jobs of two lanes are of different sorts, so their doubts
// are independent too.
func lastOf(begin, a, b point) point {
	if b.at.After(a.at) {
		a, b = b, a
	}
	vague := a.vague || b.vague
	varianceA, varianceB := max(a.own-begin.own, 0), max(b.own-begin.own, 0)
	spread, gap := math.Sqrt(varianceA+varianceB), a.at.Sub(b.at).Seconds()
	const far = 6 // beyond it the other lane does not matter
	if gap >= far*spread {
		a.vague = vague
		return a
	}
	alpha := gap / spread
	first := math.Erfc(-alpha/math.Sqrt2) / 2 // the probability that a is the last
	second := 1 - first
	density := math.Exp(-alpha*alpha/2) / math.Sqrt(2*math.Pi)
	mean := min(spread*density-gap*second, maxSeconds) // behind a
	square := varianceA*first + (gap*gap+varianceB)*second - gap*spread*density
	doubt := math.Hypot(first*max(a.doubt-begin.doubt, 0), second*max(b.doubt-begin.doubt, 0))
	return point{
		at:  a.at.Add(max(time.Duration(math.Round(mean*1000)), 0) * time.Millisecond),
		own: begin.own + max(square-mean*mean, 0), doubt: begin.doubt + doubt, vague: vague,
	}
}

// load is the time and the spread that jobs on one lane add to a point.
type load struct {
	length     time.Duration
	own, doubt float64
	vague      bool
}

// loads adds up jobs of one lane. Jobs with the same basis share one doubt; doubts of different bases are independent.
// The zero value is ready to use.
type loads struct {
	sum    load
	doubts []doubt
}

type doubt struct {
	basis int
	sum   float64
}

func (l *loads) reset() { *l = loads{doubts: l.doubts[:0]} }

// add adds a job of this length; e says how far the length may be off.
func (l *loads) add(e Expected, long time.Duration) {
	l.sum.length += long
	if !e.Ranged {
		l.sum.vague = true
		return
	}
	spread := e.Spread.Seconds()
	l.sum.own += spread * spread
	for i := range l.doubts {
		if l.doubts[i].basis == e.Basis {
			l.doubts[i].sum += e.Doubt.Seconds()
			return
		}
	}
	l.doubts = append(l.doubts, doubt{e.Basis, e.Doubt.Seconds()})
}

func (l *loads) total() load {
	w, square := l.sum, 0.0
	for _, d := range l.doubts {
		square += d.sum * d.sum
	}
	w.doubt = math.Sqrt(square)
	return w
}
