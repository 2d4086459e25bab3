package farm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// rule is one row of the table of rules: what is done, what the log then has, and how it ends. The files
// rules_*_test.go hold the table by theme.
type rule struct {
	name string
	// sets is how many lanes the target "here" has; 0 is one. atOnce is max_in_progress; 0 is one.
	sets, atOnce int
	play         func(s *story)
	// of restricts log to lines that begin with one of these words. Empty means all lines.
	of string
	// log is what must be recorded, one line for each event, in this order.
	log string
	// either are two lines of log that are decided at once and appended side by side: the second may come first.
	either [2]string
	// end is the state of every request and then of every job afterwards, in the order they were made. It is left
	// out if log says the same.
	end string
}

// story is a farm whose log can be told in short lines.
type story struct {
	*Farm
	bench *Bench
	// names are the names of requests in the lines: their tag, or the key of a try.
	names map[events.RequestID]string
}

// laneHere and laneOther are the lanes of the target "here", laneMaybe is the one of the optional target.
var (
	laneHere  = events.Lane{Target: "here", Set: 0}
	laneOther = events.Lane{Target: "here", Set: 1}
	laneMaybe = events.Lane{Target: "maybe", Set: 0}
)

// artifactsDue is how long tries wait for their artifacts here. It is short because even simulated time costs something.
const artifactsDue = 6 * time.Hour

// minute is how long each test case takes in these stories, unless they say something else.
const minute = time.Minute

func runRules(t *testing.T, rules []rule) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := policy
				p.MaxInProgress, p.ArtifactDeadline = max(1, r.atOnce), artifactsDue
				s := &story{Farm: New(t, ruleSuite(max(1, r.sets)), p), bench: &Bench{Each: minute}, names: map[events.RequestID]string{}}
				defer s.Stop()
				s.Register("c0", laneHere)
				if r.sets > 1 {
					s.Register("c1", laneOther)
				}
				s.Register("m0", laneMaybe)
				r.play(s)
				c := newChecker(t, p.MaxInProgress)
				recorded := s.Events()
				for _, e := range recorded {
					c.look(e)
				}
				told := s.tell(recorded, strings.Fields(r.of))
				for i := 1; i < len(told); i++ {
					if r.either == [2]string{told[i], told[i-1]} {
						told[i-1], told[i] = told[i], told[i-1]
					}
				}
				if diff := cmp.Diff(lines(r.log), told); diff != "" {
					t.Errorf("the log (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(lines(r.end), s.outcome(recorded)); r.end != "" && diff != "" {
					t.Errorf("the end (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// ruleSuite has one benchmark per set, the profile a, the profile x on request, and an optional target on request.
func ruleSuite(sets int) suite.Definitions {
	d := smallSuite()
	d.Name = "rules"
	d.Targets = []suite.Target{{Name: "here", Sets: sets}, {Name: "maybe", Sets: 1, Optional: true, OnRequest: true}}
	d.Profiles = []suite.Profile{{Name: "a"}, {Name: "x", OnRequest: true}}
	d.Benchmarks = nil
	for i := range sets {
		d.Benchmarks = append(d.Benchmarks, suite.BenchmarkDef{
			Name: events.Benchmark(fmt.Sprintf("b%d", i)), Kind: "compile", Category: suite.Primary, Sets: map[events.Target]events.Set{"here": events.Set(i), "maybe": 0},
		})
	}
	return d
}

// create asks for a request; by default a master request.
func (s *story) create(n control.NewRequest) events.RequestID {
	s.T.Helper()
	n.Suite = s.Suite.Name
	if n.Kind == "" {
		n.Kind = events.Master
	}
	r, _, err := s.Control.CreateRequest(s.ctx, By, n)
	if err != nil {
		s.T.Fatal(err)
	}
	return r.ID
}

func (s *story) master(tag, parent events.Tag) events.RequestID {
	s.T.Helper()
	return s.create(control.NewRequest{Tag: tag, Parent: parent})
}

// try asks for a try request of a pull request; without a tag it waits for its artifact.
func (s *story) try(key string, pr int, tag, parent events.Tag) events.RequestID {
	s.T.Helper()
	return s.create(control.NewRequest{Kind: events.Try, Key: key, PR: pr, Tag: tag, Parent: parent})
}

// work starts the collector of the first lane and lets the time d pass.
func (s *story) work(d time.Duration) *Process {
	p := s.Start("c0", laneHere, "p0", s.bench)
	s.Pass(d)
	return p
}

// cancel withdraws a request.
func (s *story) cancel(id events.RequestID) {
	s.T.Helper()
	if _, _, err := s.Control.CancelRequest(s.ctx, By, id, "changed my mind"); err != nil {
		s.T.Fatal(err)
	}
}

// ready says that the artifact of a try is there.
func (s *story) ready(id events.RequestID, tag, parent events.Tag) {
	s.T.Helper()
	if _, _, err := s.Control.ArtifactsReady(s.ctx, By, id, tag, parent); err != nil {
		s.T.Fatal(err)
	}
}

// refused checks that a command was refused.
func (s *story) refused(err error) {
	s.T.Helper()
	if err == nil {
		s.T.Error("the command was not refused")
	}
}

// lines splits a text of the table.
func lines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// tell renders the log, one line for each event, without what says nothing about the rules.
func (s *story) tell(recorded []events.Recorded, of []string) []string {
	var out []string
	for _, e := range recorded {
		l := s.line(e.Fact)
		if l == "" || len(of) > 0 && !slices.ContainsFunc(of, func(word string) bool { return strings.HasPrefix(l, word+" ") }) {
			continue
		}
		out = append(out, l)
	}
	return out
}

func (s *story) line(f events.Fact) string {
	// The others say nothing about the rules of the queue.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.RequestCreated:
		s.names[f.RequestID] = string(f.Tag)
		if f.Kind == events.Try {
			s.names[f.RequestID] = f.Key
		}
		return "created " + s.names[f.RequestID]
	case events.RequestArtifactsReady:
		return fmt.Sprintf("ready %s as %s", s.names[f.RequestID], f.Tag)
	case events.RequestStarted:
		return fmt.Sprintf("started %s: %d own, %d of its parent, %d shared", s.names[f.RequestID], f.Jobs, f.Backfill, len(f.Shared))
	case events.RequestExpansionFailed:
		return fmt.Sprintf("unexpandable %s %d", s.names[f.RequestID], f.Failures)
	case events.BackfillAdmitted:
		return fmt.Sprintf("backfilled %s: %d of %s", s.names[f.RequestID], f.Jobs, f.Parent)
	case events.RequestCompleted:
		return "completed " + s.names[f.RequestID]
	case events.RequestFailed:
		return fmt.Sprintf("failed %s: %.40s", s.names[f.RequestID], f.Reason)
	case events.RequestCancelled:
		return "cancelled " + s.names[f.RequestID]
	case events.RequestExpired:
		return "expired " + s.names[f.RequestID]
	case events.RequestSuperseded:
		return fmt.Sprintf("superseded %s by %s", s.names[f.RequestID], s.names[f.By])
	case events.JobDequeued:
		return fmt.Sprintf("dequeued %s, attempt %d", jobName(f.Job), f.Attempt)
	case events.TestCasesMeasured:
		return fmt.Sprintf("measured %s of %s, attempt %d", f.Cases[0].Benchmark, f.Artifact.Tag, f.Attempt)
	case events.AttemptLost:
		return fmt.Sprintf("lost attempt %d, %d lost", f.Attempt, f.Lost)
	case events.AttemptReleased:
		if f.Transient {
			return fmt.Sprintf("transient attempt %d, %d lost", f.Attempt, f.Lost)
		}
		return fmt.Sprintf("released attempt %d, %d lost", f.Attempt, f.Lost)
	case events.JobFinished:
		return strings.TrimSpace(fmt.Sprintf("finished attempt %d: %s %s", f.Attempt, f.Outcome, f.Fault))
	case events.CollectorOnline:
		return fmt.Sprintf("online %s", f.Instance)
	case events.CollectorSilent:
		return fmt.Sprintf("silent %s", f.Instance)
	case events.CollectorOffline:
		return fmt.Sprintf("offline %s", f.Instance)
	case events.CollectorDraining:
		return fmt.Sprintf("draining %s", f.Name)
	case events.CollectorDeactivated:
		return fmt.Sprintf("deactivated %s", f.Name)
	case events.CollectorActivated:
		return fmt.Sprintf("activated %s", f.Name)
	}
	return ""
}

// jobName is tag/profile, with the lane unless it is the first one, and with "again" after each round but the first.
func jobName(spec events.JobSpec) string {
	name := fmt.Sprintf("%s/%s", spec.Artifact.Tag, spec.Profile)
	if spec.Lane() != laneHere {
		name += " on " + spec.Lane().String()
	}
	return name + strings.Repeat(" again", spec.Round)
}

// outcome returns the state of every request and of every job at the end.
func (s *story) outcome(recorded []events.Recorded) []string {
	var out []string
	names, jobs := map[events.JobID]string{}, map[events.JobID]string{}
	var order []events.JobID
	for _, e := range recorded {
		// The others begin and end nothing.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.RequestCreated:
			r := s.folded(f.RequestID)
			out = append(out, fmt.Sprintf("%s %s", s.names[f.RequestID], r.State))
		case events.JobsCreated:
			for _, spec := range f.Jobs {
				names[spec.ID], jobs[spec.ID] = jobName(spec), "queued"
				order = append(order, spec.ID)
			}
		case events.JobFinished:
			jobs[f.JobID] = string(f.Outcome)
		}
	}
	for _, id := range order {
		out = append(out, fmt.Sprintf("%s %s", names[id], jobs[id]))
	}
	return out
}

// until lets time pass until a request has ended.
func (s *story) until(id events.RequestID) {
	s.T.Helper()
	s.awaitAnyEnd(id)
	s.Pass(time.Second)
}
