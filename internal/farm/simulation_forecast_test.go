package farm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/request"
)

// tolerated is how wrong half of the estimates may be, as a share of the time until the end, if nothing came in
// between. The jobs of the simulation vary by a fifth.
const tolerated = 0.25

// every says that one of this many requests is sampled.
const every = 20

// forecasts compares estimates with what happened, for a sample of the requests.
type forecasts struct {
	history queue.History
	// templates are the jobs that the last request of each kind made for itself.
	templates map[events.RequestKind][]events.JobSpec
	created   int
	sampled   map[events.RequestID]*sample
}

// sample is what was expected of one request when it became ready, and when it became the first startable one.
type sample struct {
	ready, startable moment
	end              time.Time
}

type moment struct {
	at, end time.Time
	guessed bool
	// ahead are the requests that were ahead of it; overtaken is set once another one starts before it.
	ahead     map[events.RequestID]bool
	overtaken bool
}

func newForecasts() forecasts {
	return forecasts{templates: map[events.RequestKind][]events.JobSpec{}, sampled: map[events.RequestID]*sample{}}
}

func sortOf(j events.JobSpec) queue.Sort {
	return queue.Sort{Suite: j.Artifact.Suite, Lane: j.Lane(), Kind: j.Kind, Backend: j.Backend, Profile: j.Profile}
}

// measured remembers how long a job took.
func (f *forecasts) measured(spec events.JobSpec, finished events.JobFinished) {
	f.history.Add(sortOf(spec), time.Duration(finished.DurationMS)*time.Millisecond)
}

// made remembers what a request that started was given.
func (f *forecasts) made(jobs events.JobsCreated) {
	var own []events.JobSpec
	for _, j := range jobs.Jobs {
		if !j.Backfill {
			own = append(own, j)
		}
	}
	if len(own) > 0 {
		f.templates[own[0].Artifact.Kind] = own
	}
}

// follow chooses the sample, and notes what became of it.
func (f *forecasts) follow(o *observer, r request.Request) {
	if r.State == events.StateArtifactsReady {
		if f.created++; f.created%every == 0 {
			f.sampled[r.ID] = &sample{}
		}
	}
	if r.State == events.StateInProgress {
		f.overtake(o, r.ID)
	}
	if s, ok := f.sampled[r.ID]; ok && r.State.Terminal() {
		s.end = r.EndedAt
		if r.State == events.StateCancelled || r.State == events.StateSuperseded {
			delete(f.sampled, r.ID)
		}
	}
}

// foresee estimates the requests that became ready or startable at a moment, after all events of that moment.
func (f *forecasts) foresee(o *observer) {
	waiting := false
	for id, s := range f.sampled {
		waiting = waiting || s.startable.at.IsZero() && o.open[id]
	}
	if !waiting {
		return
	}
	places := o.queue().places()
	var expected []queue.Forecast
	for i, p := range places {
		s, ok := f.sampled[p.ID]
		if !ok || p.State == events.StateWaitingForArtifacts || !s.startable.at.IsZero() || !s.ready.at.IsZero() && !p.Startable && p.State != events.StateInProgress {
			continue
		}
		if expected == nil {
			expected = queue.Estimate(places, f.plans(o), queue.Farm{Now: o.now, MaxInProgress: o.maxInProgress})
		}
		now := moment{at: o.now, end: *expected[i].End, guessed: expected[i].Guessed, ahead: map[events.RequestID]bool{}}
		for _, before := range places[:i] {
			now.ahead[before.ID] = true
		}
		if s.ready.at.IsZero() {
			s.ready = now
		}
		if p.Startable || p.State == events.StateInProgress {
			s.startable = now
		}
	}
}

// overtake notes the samples that a starting request overtakes: it was not ahead of them.
func (f *forecasts) overtake(o *observer, starting events.RequestID) {
	for id, s := range f.sampled {
		if id == starting || !o.open[id] || o.running[id] {
			continue
		}
		s.ready.overtaken = s.ready.overtaken || !s.ready.ahead[starting]
		s.startable.overtaken = s.startable.overtaken || !s.startable.ahead[starting]
	}
}

// plans returns the work that is left of each request, as the projector sees it.
func (f *forecasts) plans(o *observer) map[events.RequestID]queue.Plan {
	plans := map[events.RequestID]queue.Plan{}
	for id := range o.open {
		r := o.requests[id]
		lanes := map[events.Lane]*queue.LaneWork{}
		at := func(l events.Lane) *queue.LaneWork {
			if lanes[l] == nil {
				lanes[l] = &queue.LaneWork{Lane: l}
			}
			return lanes[l]
		}
		wait := func(spec events.JobSpec) {
			w := at(spec.Lane())
			w.Queued = append(w.Queued, queue.Job{Expected: f.history.Expect(sortOf(spec)), Optional: spec.Optional})
		}
		if r.State == events.StateInProgress {
			for _, id := range r.Jobs {
				j, open := o.jobs[id]
				switch {
				case !open:
				case j.dequeuedAt.IsZero():
					wait(j.spec)
				default:
					at(j.spec.Lane()).Running = &queue.RunningJob{
						Elapsed: o.now.Sub(j.dequeuedAt), Expected: f.history.Expect(sortOf(j.spec)), Optional: j.spec.Optional,
					}
				}
			}
		} else {
			for _, spec := range f.templates[r.Kind] {
				wait(spec)
			}
			if len(lanes) == 0 {
				continue
			}
		}
		var plan queue.Plan
		for _, l := range lanes {
			plan.Lanes = append(plan.Lanes, *l)
		}
		plans[id] = plan
	}
	return plans
}

// report logs how far the estimates were off. No estimate can foresee requests that come later and go first, so
// overtaken samples are counted separately.
func (f *forecasts) report(t *testing.T) {
	for _, name := range []string{"ready", "startable"} {
		var all, undisturbed errs
		guessed := 0
		for _, s := range f.sampled {
			m := s.ready
			if name == "startable" {
				m = s.startable
			}
			switch {
			case m.at.IsZero() || s.end.IsZero():
				continue
			case m.guessed:
				guessed++
				continue
			}
			e := wrong{off: s.end.Sub(m.end).Abs(), wait: s.end.Sub(m.at)}
			all = append(all, e)
			if !m.overtaken {
				undisturbed = append(undisturbed, e)
			}
		}
		if len(all) == 0 || len(undisturbed) == 0 {
			t.Errorf("no estimate of a request that became %s", name)
			continue
		}
		t.Logf("end estimated when it became %s (%d guesses): %s", name, guessed, all)
		t.Logf("  of those that nobody overtook: %s", undisturbed)
		if share := undisturbed.medianShare(); share > tolerated {
			t.Errorf("the median error is %.1f %%, want at most %.0f %%", 100*share, 100*tolerated)
		}
	}
}

// wrong is how far an estimate of the end was off, and how long the wait for the end was.
type wrong struct{ off, wait time.Duration }

func (w wrong) share() float64 { return w.off.Seconds() / w.wait.Seconds() }

// errs are the errors of a sample that is not empty.
type errs []wrong

func (e errs) medianShare() float64 {
	shares := make([]float64, len(e))
	for i, w := range e {
		shares[i] = w.share()
	}
	slices.Sort(shares)
	return shares[len(e)/2]
}

func (e errs) String() string {
	offs, waits := make([]time.Duration, len(e)), make([]time.Duration, len(e))
	for i, w := range e {
		offs[i], waits[i] = w.off, w.wait
	}
	slices.Sort(offs)
	slices.Sort(waits)
	n := len(e)
	return fmt.Sprintf("median error %s or %.1f %% of a median of %s, 90 %% within %s, %d estimates",
		offs[n/2].Round(time.Second), 100*e.medianShare(), waits[n/2].Round(time.Second), offs[n*9/10].Round(time.Second), n)
}
