// Package hostile tells random stories of lanes on which collectors write what they like, and what is true after them.
//
// Every part that folds the work of lanes must come to the same: a part that believes a collector more than another one
// does makes the farm show what it does not do. The truth here shares no code with the parts, so that all of them would
// have to be wrong alike. Only tests use it.
package hostile

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// Request is the one that all jobs of a story belong to.
const Request events.RequestID = "r1"

// Story is what was written, in order, the first event at sequence 1, and what is true after it.
type Story struct {
	Facts []events.Fact
	// Jobs is the state of each job, Lanes what each lane holds.
	Jobs  map[events.JobID]events.JobState
	Lanes map[events.Lane]*Lane
	// Litter counts the facts that changed nothing.
	Litter int

	specs map[events.Lane][]events.JobSpec
}

// Lane is what one lane holds.
type Lane struct {
	Place uint64
	// Running is set while an attempt runs, Over when the job of the place has ended.
	Running, Over bool
	Job           events.JobID
	Collector     events.CollectorName
	Token         events.Seq
	waiting       map[uint64]events.JobID
	places        uint64
}

// Draw makes a story of two lanes. Most of it is honest; the rest is forged from places, jobs, tokens, collectors and
// outcomes that exist somewhere.
func Draw(t *rapid.T) *Story {
	s := &Story{Jobs: map[events.JobID]events.JobState{}, Lanes: map[events.Lane]*Lane{}, specs: map[events.Lane][]events.JobSpec{}}
	s.begin()
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		lane := rapid.SampledFrom(lanes[:]).Draw(t, "lane")
		if rapid.IntRange(0, 2).Draw(t, "forged") == 0 {
			s.write(forge(t, s, lane))
		} else if f := s.honest(t, lane); f != nil {
			s.write(f)
		}
	}
	return s
}

var lanes = [...]events.Lane{{Target: "here"}, {Target: "here", Set: 1}}

// begin tells of a request in progress with four jobs for each lane.
func (s *Story) begin() {
	artifact := events.Artifact{Suite: "s", Tag: "t1", Kind: events.Master}
	made := events.JobsCreated{RequestID: Request}
	for _, l := range lanes {
		s.Lanes[l] = &Lane{waiting: map[uint64]events.JobID{}}
		for i := range 4 {
			spec := events.JobSpec{
				ID: events.JobID(fmt.Sprintf("j%d-%d", l.Set, i)), Artifact: artifact, Kind: "compile", Target: l.Target, Set: l.Set,
				Backend: "any", Profile: events.Profile(fmt.Sprint("p", i)), Definitions: "d1", RequestID: Request,
			}
			s.specs[l], made.Jobs = append(s.specs[l], spec), append(made.Jobs, spec)
			s.Jobs[spec.ID] = events.JobQueued
		}
	}
	s.Facts = append(
		s.Facts,
		events.RequestCreated{RequestID: Request, Kind: events.Master, Suite: "s", Tag: "t1", Key: "t1", State: events.ArtifactsReady},
		events.RequestStarted{RequestID: Request, Definitions: "d1", Jobs: len(made.Jobs)}, made,
	)
}

// honest returns what the scheduler or the collector of a lane could say next; nil for nothing.
func (s *Story) honest(t *rapid.T, name events.Lane) events.Fact {
	l := s.Lanes[name]
	next, waits := l.next()
	switch n := rapid.IntRange(0, 5).Draw(t, "honest"); {
	case n == 0 && int(l.places) < len(s.specs[name]):
		return events.JobDispatched{Place: l.places + 1, Job: s.specs[name][l.places]}
	case n == 1 && !l.Running && waits:
		return events.JobFinished{Lane: name, Place: next, JobID: l.waiting[next], RequestID: Request, Outcome: events.Failure}
	case !l.Running && waits:
		return events.JobDequeued{Lane: name, Place: next, Job: s.spec(name, l.waiting[next]), Collector: collectorOf(name), Attempt: 1}
	case !l.Running:
		return nil
	case n == 2:
		return events.AttemptLost{Lane: name, Place: l.Place, JobID: l.Job, Collector: l.Collector, Token: l.Token}
	case n == 3:
		return events.AttemptReleased{Lane: name, Place: l.Place, JobID: l.Job, Collector: l.Collector, Token: l.Token}
	}
	return events.JobFinished{Lane: name, Place: l.Place, JobID: l.Job, RequestID: Request, Collector: l.Collector, Token: l.Token, Outcome: events.Success}
}

// next returns the place that may begin, and whether a job waits there.
func (l *Lane) next() (uint64, bool) {
	place := l.Place
	if l.Over || place == 0 {
		place++
	}
	_, waits := l.waiting[place]
	return place, waits
}

func (s *Story) spec(l events.Lane, id events.JobID) events.JobSpec {
	i := slices.IndexFunc(s.specs[l], func(spec events.JobSpec) bool { return spec.ID == id })
	return s.specs[l][i]
}

func collectorOf(l events.Lane) events.CollectorName {
	return events.CollectorName(fmt.Sprint("c", l.Set))
}

// forge returns a fact on the work of a lane that is true only by chance.
func forge(t *rapid.T, s *Story, name events.Lane) events.Fact {
	spec := rapid.SampledFrom(slices.Concat(s.specs[lanes[0]], s.specs[lanes[1]])).Draw(t, "job")
	place := rapid.SampledFrom([]uint64{0, 1, 2, 3, 4, 1 << 63}).Draw(t, "place")
	token := events.Seq(rapid.IntRange(0, len(s.Facts)+2).Draw(t, "token"))
	by := rapid.SampledFrom([]events.CollectorName{"", "c0", "c1"}).Draw(t, "collector")
	outcome := rapid.SampledFrom([]events.Outcome{events.Success, events.Failure, events.Cancelled, "", "odd"}).Draw(t, "outcome")
	// Often all but one thing is right.
	l := s.Lanes[name]
	if wrong := rapid.IntRange(0, 5).Draw(t, "wrong"); l.Running && wrong > 0 {
		if wrong != 1 {
			place = l.Place
		}
		if wrong != 2 {
			spec = s.spec(name, l.Job)
		}
		if wrong != 3 {
			token = l.Token
		}
		if wrong != 4 {
			by = l.Collector
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "fact") {
	case 0:
		spec.RequestID = rapid.SampledFrom([]events.RequestID{Request, "r2"}).Draw(t, "request")
		return events.JobDequeued{Lane: name, Place: place, Job: spec, Collector: by, Instance: "i9", Attempt: 3, Lost: 2}
	case 1:
		return events.AttemptLost{Lane: name, Place: place, JobID: spec.ID, Collector: by, Token: token, Attempt: 7, Lost: 7}
	case 2:
		return events.AttemptReleased{Lane: name, Place: place, JobID: spec.ID, Collector: by, Token: token}
	}
	return events.JobFinished{Lane: name, Place: place, JobID: spec.ID, RequestID: Request, Collector: by, Token: token, Outcome: outcome}
}

// write adds a fact to the story and works out what is true then.
func (s *Story) write(f events.Fact) {
	s.Facts = append(s.Facts, f)
	if !s.happens(f, events.Seq(len(s.Facts))) {
		s.Litter++
	}
}

// happens applies a fact, and reports whether it changed anything.
func (s *Story) happens(f events.Fact, seq events.Seq) bool {
	// A story tells these facts alone.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDispatched:
		l := s.Lanes[f.Job.Lane()]
		l.places, l.waiting[f.Place] = f.Place, f.Job.ID
		return true
	case events.JobDequeued:
		l := s.Lanes[f.Lane]
		if !l.begins(f.Place, f.Job.ID) || f.Collector == "" {
			return false
		}
		l.Place, l.Running, l.Over, l.Job, l.Collector, l.Token = f.Place, true, false, f.Job.ID, f.Collector, seq
		s.Jobs[f.Job.ID] = events.JobInProgress
		return true
	case events.AttemptLost:
		return s.waitsAgain(s.Lanes[f.Lane], f.Place, f.JobID, f.Collector, f.Token)
	case events.AttemptReleased:
		return s.waitsAgain(s.Lanes[f.Lane], f.Place, f.JobID, f.Collector, f.Token)
	case events.JobFinished:
		l, ends := s.Lanes[f.Lane], map[events.Outcome]events.JobState{
			events.Success: events.JobSuccess, events.Failure: events.JobFailure, events.Cancelled: events.JobCancelled,
		}
		if !l.held(f.Place, f.JobID, f.Collector, f.Token) && (f.Token != 0 || !l.begins(f.Place, f.JobID)) || ends[f.Outcome] == "" {
			return false
		}
		l.Place, l.Running, l.Over, l.Job = f.Place, false, true, f.JobID
		delete(l.waiting, f.Place)
		s.Jobs[f.JobID] = ends[f.Outcome]
		return true
	}
	return false
}

// begins reports whether a job may begin at a place: it waits there, nothing runs, and it is the place's turn. Before
// the first one every place has its turn.
func (l *Lane) begins(place uint64, id events.JobID) bool {
	turn := l.Place == 0 || l.Over && place == l.Place+1 || !l.Over && place == l.Place
	waits, known := l.waiting[place]
	return known && waits == id && !l.Running && turn
}

// held reports whether an attempt is the one that runs.
func (l *Lane) held(place uint64, id events.JobID, by events.CollectorName, token events.Seq) bool {
	return l.Running && place == l.Place && id == l.Job && by == l.Collector && token == l.Token
}

func (s *Story) waitsAgain(l *Lane, place uint64, id events.JobID, by events.CollectorName, token events.Seq) bool {
	if !l.held(place, id, by, token) {
		return false
	}
	l.Running, s.Jobs[id] = false, events.JobQueued
	return true
}

// Words says what is true, for a comparison: the jobs and the lanes in a fixed order.
func (s *Story) Words() []string {
	var words []string
	for _, id := range slices.Sorted(maps.Keys(s.Jobs)) {
		words = append(words, JobWords(id, s.Jobs[id]))
	}
	for _, name := range lanes {
		l := s.Lanes[name]
		words = append(words, LaneWords(name, l.Place, l.Running, l.Over))
	}
	return append(words, fmt.Sprint(s.Litter, " changed nothing"))
}

// JobWords says what a part knows of a job.
func JobWords(id events.JobID, state events.JobState) string {
	return fmt.Sprintf("job %s is %s", id, state)
}

// LaneWords says what a part knows of a lane.
func LaneWords(name events.Lane, place uint64, running, over bool) string {
	return fmt.Sprintf("lane %s is at place %d, running %v, over %v", name, place, running, over)
}
