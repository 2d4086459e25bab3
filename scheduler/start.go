package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/request"
	"github.com/tachobench/tacho/suite"
)

const (
	// roundsByItself is how many more rounds of a job new requests make that ended by a fault, againAfter how long
	// after the last of them.
	roundsByItself = 3
	againAfter     = time.Hour
	// roundsInAll bounds the rounds that people ask for.
	roundsInAll = 20
)

// lackError says what the farm lacks to turn requests into jobs. No request is to blame.
type lackError struct{ lack, detail string }

func (e lackError) Error() string { return e.lack }

// decideStart makes the jobs of a request, or says why there are none. It is false while the farm lacks what it takes
// and that was said already.
func decideStart(s *state, r *request.Request, reason string, now time.Time) (decision, bool) {
	cause := s.versions[events.RequestSubject(r.ID)]
	own, backfill, digest, err := expand(s, r)
	if err != nil {
		var command request.Command = request.FailExpansion{Reason: err.Error()}
		if lack, is := errors.AsType[lackError](err); is {
			command = request.Hold{Lack: lack.lack, Detail: lack.detail}
		}
		facts, _ := request.Decide(*r, command)
		return decision{cause: cause, request: r.ID, what: "fail expansion", facts: facts}, len(facts) > 0
	}
	start := request.Start{Definitions: digest}
	for _, spec := range own {
		if spec, lacks := s.lacks(spec, now); lacks {
			start.Jobs = append(start.Jobs, spec)
		} else {
			start.Shared = append(start.Shared, spec.ID)
		}
	}
	start.Backfill = s.missing(backfill, now)
	facts, err := request.Decide(*r, start)
	if err != nil {
		return decision{}, false
	}
	admitted := events.RequestAdmitted{RequestID: r.ID, Tag: r.Artifact.Tag, Reason: reason}
	tooMuch, _ := request.Decide(*r, request.FailExpansion{Reason: "its jobs are too large to be recorded: ask for fewer benchmarks, by shorter names"})
	return decision{
		cause: cause, request: r.ID, what: "start request", facts: append([]events.Fact{admitted}, facts...), otherwise: tooMuch,
	}, true
}

func decideLateBackfill(s *state, r, parent *request.Request, now time.Time) (decision, bool) {
	_, backfill, _, err := expand(s, r)
	if err != nil {
		return decision{}, false
	}
	missing := s.missing(backfill, now)
	facts, err := request.Decide(*r, request.AddBackfill{Jobs: missing})
	if err != nil {
		return decision{}, false
	}
	admitted := events.BackfillAdmitted{RequestID: r.ID, Parent: parent.Artifact.Tag, Jobs: len(missing)}
	return decision{
		cause: s.versions[events.RequestSubject(parent.ID)], request: r.ID, what: "backfill late parent", facts: append([]events.Fact{admitted}, facts...),
	}, true
}

// owesBackfill reports whether the parent of a request in progress appeared and was not asked for its jobs yet.
func owesBackfill(s *state, r *request.Request, now time.Time) bool {
	parent, known := s.parentOf(r)
	if !known || s.backfilled[r.ID] {
		return false
	}
	_, owes := decideLateBackfill(s, r, parent, now)
	return owes
}

// decideAgain makes the jobs of a request in progress again that were cancelled with another request which shared them:
// who cancelled it, and who shared it, need not have known of each other.
func decideAgain(s *state, r *request.Request) (decision, bool) {
	if !s.torn[r.ID] {
		return decision{}, false
	}
	var jobs []events.JobSpec
	for _, j := range s.newestRounds(r) {
		if j.State == events.JobCancelled {
			jobs = append(jobs, s.nextRound(j, r))
		}
	}
	if len(jobs) == 0 {
		return decision{}, false
	}
	return s.grant(r, fmt.Sprint("again-", len(r.Jobs)), "make cancelled jobs again", jobs), true
}

// nextRound returns the round after the newest of a job, for a request.
func (s *state) nextRound(j *jobState, r *request.Request) events.JobSpec {
	spec := s.newestRound(j.spec).Again()
	// Whoever had the last one made: what is not of the request's own artifact is of its parent's.
	spec.RequestID, spec.Backfill = r.ID, j.spec.Artifact.Tag != r.Artifact.Tag
	return spec
}

// newestRound returns the newest round of a job that exists.
func (s *state) newestRound(spec events.JobSpec) events.JobSpec {
	for {
		next, exists := s.jobs[spec.Again().ID]
		if !exists {
			return spec
		}
		spec = next.spec
	}
}

// grant is the append that makes jobs of a request besides those of its start.
func (s *state) grant(r *request.Request, key, what string, jobs []events.JobSpec) decision {
	facts, _ := request.Decide(*r, request.Grant{Key: key, Jobs: jobs})
	admitted := events.GraphAdmitted{RequestID: r.ID, Key: key, Kind: events.GraphRepair, Jobs: len(jobs)}
	return decision{cause: s.versions[events.RequestSubject(r.ID)], request: r.ID, what: what, facts: append([]events.Fact{admitted}, facts...)}
}

// decideWish answers the oldest wish of a request: with the next rounds of the jobs that it names, or with why not.
func decideWish(s *state, r *request.Request) decision {
	wish := r.Wishes[0]
	refuse := func(why string) []events.Fact {
		facts, _ := request.Decide(*r, request.Refuse{Key: wish.Key, Reason: why})
		return facts
	}
	jobs, why := s.repairs(r, wish.Select)
	if why == "" {
		d := s.grant(r, wish.Key, "repair request", jobs)
		d.otherwise = refuse("these are too many jobs to be recorded at once: name fewer of them")
		return d
	}
	return decision{cause: s.versions[events.RequestSubject(r.ID)], request: r.ID, what: "refuse repair", facts: refuse(why)}
}

// repairs returns the next rounds of the selected jobs of a request, of all that did not succeed when none is
// selected, or why there are none.
func (s *state) repairs(r *request.Request, selected []events.JobID) (jobs []events.JobSpec, why string) {
	known := map[events.JobID]*jobState{}
	var failed []events.JobID
	running := 0
	for _, j := range s.newestRounds(r) {
		newest := s.jobs[s.newestRound(j.spec).ID]
		if !newest.State.Terminal() {
			running++
		}
		known[j.spec.First()] = newest
		if newest.State == events.JobFailure || newest.State == events.JobCancelled {
			failed = append(failed, newest.spec.ID)
		}
	}
	if len(selected) == 0 {
		selected = failed
	}
	switch {
	case len(selected) > 0:
	case running > 0:
		return nil, fmt.Sprintf("no job of the request has failed or was cancelled, and %d of them are still to end: ask again then", running)
	default:
		return nil, "every job of the request succeeded: what they measured stands"
	}
	taken := map[events.JobID]bool{}
	for _, id := range selected {
		named, ok := s.jobs[id]
		if !ok || known[named.spec.First()] == nil {
			return nil, fmt.Sprintf("job %s is none of the request", id)
		}
		j := known[named.spec.First()]
		switch {
		case taken[j.spec.ID]:
			continue
		case !j.State.Terminal():
			return nil, fmt.Sprintf("job %s is %s: it is being measured", j.spec.ID, j.State)
		case j.State == events.JobSuccess:
			return nil, fmt.Sprintf("job %s succeeded: what it measured stands", j.spec.ID)
		case j.spec.Round+1 >= roundsInAll:
			return nil, fmt.Sprintf("job %s had %d rounds: no more are made", j.spec.ID, roundsInAll)
		}
		taken[j.spec.ID] = true
		jobs = append(jobs, s.nextRound(j, r))
	}
	return jobs, ""
}

// missing returns those of jobs that are to be made, each in its round.
func (s *state) missing(jobs []events.JobSpec, now time.Time) []events.JobSpec {
	var out []events.JobSpec
	for _, spec := range jobs {
		if spec, lacks := s.lacks(spec, now); lacks {
			out = append(out, spec)
		}
	}
	return out
}

// lacks returns the job in its newest round, and whether that is still to be made: because there is none, or because
// the one before was cancelled, ended by a fault some time ago, or measures less than this one would.
func (s *state) lacks(spec events.JobSpec, now time.Time) (events.JobSpec, bool) {
	faults := 0
	for {
		j, exists := s.jobs[spec.ID]
		if !exists {
			return spec, true
		}
		next := spec.Again()
		if _, later := s.jobs[next.ID]; later {
			if j.Faulty() {
				faults++
			}
			spec = next
			continue
		}
		again := !j.State.Terminal() && !s.wanted(j) || j.State == events.JobCancelled ||
			j.Faulty() && faults < roundsByItself && now.Sub(j.EndedAt) >= againAfter || !s.covered(j.spec, spec)
		if !again {
			return spec, false
		}
		spec = next
	}
}

// covered reports whether a job measures every test case that another round of it would, which may have other
// definitions or be made for another kind of request.
func (s *state) covered(have, want events.JobSpec) bool {
	if have.Definitions == want.Definitions && have.Artifact.Kind == want.Artifact.Kind {
		return true
	}
	return suite.Covers(s.definitions[have.Definitions], have, s.definitions[want.Definitions], want)
}

// stopped reports whether a request was cancelled.
func (s *state) stopped(id events.RequestID) bool {
	r, ok := s.requests[id]
	return ok && r.State == events.RequestStopped
}

// expand turns a request into jobs with the definitions that it started with, or the current ones. A lackError says
// that there are none to be used.
func expand(s *state, r *request.Request) (own, backfill []events.JobSpec, digest events.Digest, err error) {
	name := r.Artifact.Suite
	digest = r.Definitions
	if digest == "" {
		if err := s.unusable[name]; err != nil {
			return nil, nil, "", lackError{fmt.Sprintf("the definitions of suite %s cannot be used", name), err.Error()}
		}
		digest = s.current[name]
	}
	d, ok := s.definitions[digest]
	if !ok {
		return nil, nil, "", lackError{lack: fmt.Sprintf("no definitions of suite %s were published", name)}
	}
	wish := suite.Request{ID: r.ID, Artifact: r.Artifact, Parameters: r.Parameters, Definitions: digest}
	if parent, known := s.parentOf(r); known {
		wish.Parent = &parent.Artifact
	}
	own, backfill, err = d.Expand(wish)
	return own, backfill, digest, err
}
