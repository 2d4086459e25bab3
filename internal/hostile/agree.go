package hostile

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// Fold is what a part knows of a log. A function is nil if the part does not know what it asks for.
type Fold struct {
	// Take folds one event.
	Take func(events.Recorded)
	// Job returns the state of a job. A part that forgets ended jobs returns over for them.
	Job func(events.JobID) (state events.JobState, over bool)
	// Lane returns the place of a lane, whether an attempt runs there, and whether its job has ended.
	Lane func(events.Lane) (place uint64, running, over bool)
	// Cases returns how many test cases of a job are measured. If Trusting is set, it is asked only in honest stories:
	// such a part relies on stored results alone, which only the attempt's collector can write.
	Cases    func(events.JobID) int
	Trusting bool
	// Series returns how many test cases a sample has results of, and with an empty name those of the base series.
	Series func(sample string) int
	// Cancelled reports whether the graph of samples was withdrawn.
	Cancelled func() bool
	// Collector returns how a collector stands; Takes, whether it may begin jobs.
	Collector func(events.CollectorName) Collector
	Takes     func(events.CollectorName) bool
	// Open counts the places of jobs that are charged, Charged is what they are charged in all, in milliseconds.
	Open    func() int
	Charged func() int64
	// Litter counts the facts that changed nothing.
	Litter func() int
}

// length is the number of events in one story.
const length = 70

// Agree compares a fold with the truth after every event of many stories. A failure names the seed of the story:
// TACHO_SEED repeats it.
func Agree(t *testing.T, begin func() Fold) {
	t.Helper()
	agree(t, stories, begin)
}

// AgreeOnFewer is Agree for a slow fold: it tells a fifth of the stories.
func AgreeOnFewer(t *testing.T, begin func() Fold) {
	t.Helper()
	agree(t, stories/5, begin)
}

// seeds returns the first of so many seeds. TACHO_SEED names the only one.
func seeds(t testing.TB, count uint64) (first, n uint64) {
	t.Helper()
	s := os.Getenv("TACHO_SEED")
	if s == "" {
		return uint64(time.Now().UnixNano()), count
	}
	seed, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed, 1
}

func agree(t *testing.T, count uint64, begin func() Fold) {
	t.Helper()
	first, count := seeds(t, count)
	for i := range count {
		s, fold := Tell(first+i), begin()
		var told []events.Recorded
		for range length {
			e := s.Next()
			told = append(told, e)
			fold.Take(e)
			if why := s.differs(fold); why != "" {
				for _, e := range told[max(0, len(told)-12):] {
					t.Logf("%3d %s %+v", e.Seq, events.TypeOf(e.Fact), e.Fact)
				}
				t.Fatalf("repeat with TACHO_SEED=%d: %s", first+i, why)
			}
		}
	}
}

// differs returns in words where a fold differs from the truth; empty if it does not.
func (s *Story) differs(f Fold) string {
	for id, want := range s.Jobs {
		if f.Job != nil {
			state, over := f.Job(id)
			ended := !slices.Contains([]events.JobState{events.JobQueued, events.JobInProgress}, want.State)
			if over && !ended || !over && state != want.State {
				return fmt.Sprintf("job %s is %s, and known as %q (over: %v)", id, want.State, state, over)
			}
		}
		if f.Cases != nil && (s.honest || !f.Trusting) {
			if n := f.Cases(id); n != len(want.Cases) {
				return fmt.Sprintf("%d test cases of job %s are measured, and %d are known", len(want.Cases), id, n)
			}
		}
	}
	for name, want := range s.Series {
		if f.Series != nil && f.Series(name) != len(want) {
			return fmt.Sprintf("sample %q has results of %d test cases, and of %d are known", name, len(want), f.Series(name))
		}
	}
	if f.Cancelled != nil && f.Cancelled() != s.Cancelled {
		return fmt.Sprintf("the graph of samples was withdrawn: %v, and known as %v", s.Cancelled, f.Cancelled())
	}
	for name, want := range s.Lanes {
		if f.Lane == nil {
			break
		}
		if place, running, over := f.Lane(name); place != want.Place || running != want.Running || over != want.Over {
			return fmt.Sprintf("lane %s is at place %d, running %v, over %v, and known as %d, %v, %v", name, want.Place, want.Running, want.Over, place, running, over)
		}
	}
	for name, want := range s.Collectors {
		known := *want
		if f.Collector != nil {
			known = f.Collector(name)
			known.instance = want.instance
		}
		if known != *want || f.Takes != nil && f.Takes(name) != want.Takes() {
			return fmt.Sprintf("collector %s stands as %+v, and is known as %+v", name, *want, known)
		}
	}
	if f.Open != nil && f.Open() != s.open {
		return fmt.Sprintf("%d places are charged and open, and %d are known", s.open, f.Open())
	}
	if f.Charged != nil && f.Charged() != s.charged {
		return fmt.Sprintf("%d ms are charged, and %d are known", s.charged, f.Charged())
	}
	if f.Litter != nil && f.Litter() != s.Litter {
		return fmt.Sprintf("%d facts changed nothing, and %d are known", s.Litter, f.Litter())
	}
	return ""
}
