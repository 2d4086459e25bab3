package waits

import (
	"cmp"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// Round is one job of a graph, by the clock of the log. A job that runs again in the graph is another round with its number.
// The zero time means that something has not happened.
type Round struct {
	Number int
	Job    events.JobID
	// From is when the graph got it, Ready when it was made or its last need was met. It is zero for one that is blocked, or was
	// until its end.
	From, Ready, Ended time.Time
	// Attempts are its executions, in their order.
	Attempts []Span
	// Needs are the numbers that it needs.
	Needs []int
	// Skipped are the times in which the graph skipped its number, in their order, without overlap; the last may be open.
	Skipped []Span
}

// Span is one execution of a job.
type Span struct {
	From, To time.Time
	// Lost says that it ended without ending its job: it was lost or given back.
	Lost bool
	// Phases are how long its parts took, by the clock of its collector; nil if that is not known.
	Phases *events.Phases
}

// Timeline is what the jobs of a graph did over time.
type Timeline struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// RunningMS, WaitingMS, BlockedMS and SkippedMS are the times of all jobs together: while a collector had them, while they
	// waited for one, while they waited for other jobs, and while they could not run because another one had failed. LostMS is
	// the part of RunningMS in attempts that did not end their job: machine time that was lost.
	RunningMS int64 `json:"running_ms"`
	WaitingMS int64 `json:"waiting_ms"`
	BlockedMS int64 `json:"blocked_ms"`
	SkippedMS int64 `json:"skipped_ms"`
	LostMS    int64 `json:"lost_ms"`
	// Phases are how long the parts of all attempts took; nil if no attempt said so.
	Phases *events.Phases `json:"phases_ms,omitempty"`
	// Points say from when on how many jobs did what, in their order.
	Points []Point `json:"points"`
	// Path is the critical path as it was: from the job that ended last back to what it waited for.
	Path []Step `json:"path"`
	// Rounds are the jobs in the order in which they were given.
	Rounds []Timing `json:"jobs"`
}

// Point says how many jobs ran, waited, were blocked and were skipped from a moment on, in milliseconds from the beginning.
type Point struct {
	AtMS    int64 `json:"at_ms"`
	Running int   `json:"running"`
	Waiting int   `json:"waiting"`
	Blocked int   `json:"blocked"`
	Skipped int   `json:"skipped"`
}

// plus adds the jobs of another point, times so often.
func (p Point) plus(o Point, times int) Point {
	return Point{p.AtMS, p.Running + times*o.Running, p.Waiting + times*o.Waiting, p.Blocked + times*o.Blocked, p.Skipped + times*o.Skipped}
}

// Timing is the time of one job.
type Timing struct {
	Number    int          `json:"number"`
	Job       events.JobID `json:"job_id"`
	Name      string       `json:"name"`
	BlockedMS int64        `json:"blocked_ms"`
	SkippedMS int64        `json:"skipped_ms,omitempty"`
	WaitingMS int64        `json:"waiting_ms"`
	RunningMS int64        `json:"running_ms"`
	LostMS    int64        `json:"lost_ms,omitempty"`
	// Phases are how long the parts of its attempts took; nil if no attempt said so.
	Phases *events.Phases `json:"phases_ms,omitempty"`
	// BegunMS is when a collector first took it, from the beginning of the graph; nil if none did.
	BegunMS *int64 `json:"begun_ms"`
	// EndedMS is when it ended, from the beginning of the graph; nil if it has not.
	EndedMS *int64 `json:"ended_ms"`
	// Unblocked are the jobs that its end made ready, by number.
	Unblocked []int `json:"unblocked,omitempty"`
	// Parts are what it did when, in their order and without gaps.
	Parts []Part `json:"-"`
}

// Doing is the closed set of what a job can do.
type Doing string

// What a job can do. It is Lost while it runs in an attempt that does not end it.
const (
	Blocked Doing = "blocked"
	Skipped Doing = "skipped"
	Waiting Doing = "waiting"
	Running Doing = "running"
	Lost    Doing = "lost"
)

// point is one job that does so.
func (d Doing) point() Point {
	switch d {
	case Blocked:
		return Point{Blocked: 1}
	case Skipped:
		return Point{Skipped: 1}
	case Waiting:
		return Point{Waiting: 1}
	case Running, Lost:
	}
	return Point{Running: 1}
}

// Part is what a job did for some time, in milliseconds from the beginning.
type Part struct {
	FromMS, ToMS int64
	Doing        Doing
}

// Step is one job of the critical path. It was ready when the step before ended.
type Step struct {
	Number    int          `json:"number"`
	Job       events.JobID `json:"job_id"`
	Name      string       `json:"name"`
	ReadyMS   int64        `json:"ready_ms"`
	WaitingMS int64        `json:"waiting_ms"`
	RunningMS int64        `json:"running_ms"`
	// SkippedMS is how long its graph skipped it after it was ready, because another job had failed.
	SkippedMS int64 `json:"skipped_ms,omitempty"`
}

// timing is a round with its instants in milliseconds from the beginning, in order and in the time of the graph.
type timing struct {
	Timing
	from, ready, end int64
	needs            []int
	ended            bool
	// by is the round whose end made it ready; -1 for none.
	by int
}

// Follow returns what the jobs of a graph did between two moments. Instants outside count as the nearer one of these, and one
// that is before an earlier one of the same job counts as that.
func Follow(rounds []Round, from, to time.Time) Timeline {
	from, to = from.Truncate(time.Millisecond), to.Truncate(time.Millisecond)
	if to.Before(from) {
		to = from
	}
	l := Timeline{From: from, To: to, Points: []Point{}, Path: []Step{}, Rounds: make([]Timing, len(rounds))}
	// changes has what a moment changes: how many more jobs run, wait and are blocked.
	changes, all := map[int64]Point{}, make([]timing, len(rounds))
	for i, r := range rounds {
		all[i] = r.in(from, to)
		for _, p := range all[i].Parts {
			changes[p.FromMS] = changes[p.FromMS].plus(p.Doing.point(), 1)
			changes[p.ToMS] = changes[p.ToMS].plus(p.Doing.point(), -1)
		}
	}
	findCauses(all)
	for i, t := range all {
		l.RunningMS, l.WaitingMS = l.RunningMS+t.RunningMS, l.WaitingMS+t.WaitingMS
		l.BlockedMS, l.SkippedMS, l.LostMS = l.BlockedMS+t.BlockedMS, l.SkippedMS+t.SkippedMS, l.LostMS+t.LostMS
		l.Phases = together(l.Phases, t.Phases)
		if t.ended {
			t.EndedMS = &t.end
		}
		l.Rounds[i] = t.Timing
	}
	now := Point{}
	moments := make([]int64, 0, len(changes))
	for at := range changes {
		moments = append(moments, at)
	}
	slices.Sort(moments)
	for _, at := range moments {
		c := changes[at]
		if c == (Point{}) {
			continue
		}
		now = now.plus(c, 1)
		now.AtMS = at
		l.Points = append(l.Points, now)
	}
	l.Path = path(all)
	return l
}

// together adds up phases; nil is nothing.
func together(a, b *events.Phases) *events.Phases {
	switch {
	case b == nil:
		return a
	case a == nil:
		a = &events.Phases{}
	}
	return &events.Phases{Wait: a.Wait + b.Wait, Fetch: a.Fetch + b.Fetch, Prepare: a.Prepare + b.Prepare, Run: a.Run + b.Run, Store: a.Store + b.Store}
}

// in returns the times of a round.
func (r Round) in(from, to time.Time) timing {
	last := to.Sub(from).Milliseconds()
	at := func(t time.Time, least, most int64) int64 {
		return min(max(t.UnixMilli()-from.UnixMilli(), least), most)
	}
	t := timing{Timing: Timing{Number: r.Number, Job: r.Job}, from: at(r.From, 0, last), needs: r.Needs, ended: !r.Ended.IsZero(), by: -1}
	t.end = last
	if t.ended {
		t.end = at(r.Ended, t.from, last)
	}
	if t.ready = t.end; !r.Ready.IsZero() {
		t.ready = at(r.Ready, t.from, t.end)
	}
	// until adds what it did since the last part. While the graph skips it, it neither waits nor is blocked.
	done := t.from
	until := func(end int64, what Doing) {
		if what != Running && what != Lost {
			for _, s := range r.Skipped {
				begin, over := at(s.From, done, end), end
				if !s.To.IsZero() {
					over = at(s.To, begin, end)
				}
				if over > begin {
					t.add(done, begin, what)
					t.add(begin, over, Skipped)
					done = over
				}
			}
		}
		t.add(done, end, what)
		done = max(done, end)
	}
	until(t.ready, Blocked)
	for _, a := range r.Attempts {
		begun, end := at(a.From, done, t.end), t.end
		if !a.To.IsZero() {
			end = at(a.To, begun, t.end)
		}
		until(begun, Waiting)
		if t.BegunMS == nil {
			t.BegunMS = &begun
		}
		doing := Running
		if a.Lost {
			doing = Lost
		}
		until(end, doing)
		t.Phases = together(t.Phases, a.Phases)
	}
	until(t.end, Waiting)
	return t
}

// add adds a part.
func (t *timing) add(from, to int64, what Doing) {
	if to <= from {
		return
	}
	ms := to - from
	switch what {
	case Blocked:
		t.BlockedMS += ms
	case Skipped:
		t.SkippedMS += ms
	case Waiting:
		t.WaitingMS += ms
	case Running:
		t.RunningMS += ms
	case Lost:
		t.RunningMS, t.LostMS = t.RunningMS+ms, t.LostMS+ms
	}
	t.Parts = append(t.Parts, Part{from, to, what})
}

// findCauses finds for each job that was blocked whose end made it ready: a job that ended at that very moment, one that it
// needs itself before others. Another one did it through jobs between that were skipped. A job that another graph made
// ready has none.
func findCauses(all []timing) {
	rounds, ends := map[int][]int{}, map[int64]int{}
	for i, t := range all {
		rounds[t.Number] = append(rounds[t.Number], i)
		if _, known := ends[t.end]; t.ended && !known {
			ends[t.end] = i
		}
	}
	for i := range all {
		t := &all[i]
		if len(t.needs) == 0 || t.ready == t.from || t.ready == t.end && t.RunningMS == 0 {
			continue // it was never blocked, or is until its end
		}
		if other, known := ends[t.ready]; known && other != i {
			t.by = other
		}
		for _, need := range t.needs {
			for _, other := range rounds[need] {
				if o := all[other]; other != i && o.ended && o.end == t.ready {
					t.by = other
				}
			}
		}
		if t.by >= 0 {
			by := &all[t.by]
			by.Unblocked = append(by.Unblocked, t.Number)
		}
	}
	for i := range all {
		slices.Sort(all[i].Unblocked)
	}
}

// path returns the critical path: it ends with the job that ran and ended last.
func path(all []timing) []Step {
	at := -1
	for i, t := range all {
		if t.ended && t.RunningMS > 0 && (at < 0 || t.end > all[at].end) {
			at = i
		}
	}
	steps := []Step{}
	for ; at >= 0 && len(steps) <= len(all); at = all[at].by {
		t := all[at]
		steps = append(steps, Step{Number: t.Number, Job: t.Job, ReadyMS: t.ready, WaitingMS: t.WaitingMS, RunningMS: t.RunningMS, SkippedMS: t.end - t.ready - t.WaitingMS - t.RunningMS})
	}
	slices.Reverse(steps)
	return steps
}

// Slice is a part of a timeline, with how many jobs ran, waited, were blocked and were skipped in it on average.
type Slice struct {
	FromMS, ToMS                       int64
	Running, Waiting, Blocked, Skipped float64
}

// Slices cuts a timeline into parts of the same length, at most so many.
func (l Timeline) Slices(most int) []Slice {
	length := l.To.Sub(l.From).Milliseconds()
	count := min(int64(max(most, 0)), length)
	list := make([]Slice, 0, count)
	for i := range count {
		list = append(list, Slice{FromMS: length * i / count, ToMS: length * (i + 1) / count})
	}
	for i, p := range l.Points {
		until := length
		if i+1 < len(l.Points) {
			until = l.Points[i+1].AtMS
		}
		first, _ := slices.BinarySearchFunc(list, p.AtMS, func(s Slice, at int64) int {
			if s.ToMS <= at {
				return -1
			}
			return cmp.Compare(s.FromMS, at)
		})
		for n := max(first-1, 0); n < len(list) && list[n].FromMS < until; n++ {
			s := &list[n]
			part := float64(max(min(until, s.ToMS)-max(p.AtMS, s.FromMS), 0)) / float64(s.ToMS-s.FromMS)
			s.Running, s.Waiting = s.Running+part*float64(p.Running), s.Waiting+part*float64(p.Waiting)
			s.Blocked, s.Skipped = s.Blocked+part*float64(p.Blocked), s.Skipped+part*float64(p.Skipped)
		}
	}
	return list
}
