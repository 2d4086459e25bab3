package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

const (
	// roundsByItself is how many more rounds new requests make of a job that ended by a fault; againAfter is how long
	// they wait after the last one.
	roundsByItself = 3
	againAfter     = time.Hour
)

// NewestRounds returns the jobs of a request, its own and those of its parent that it asked for, each in the newest
// round that the request knows, in the order they were made. In place of one that was cancelled with another request it
// returns the newest round that anybody made, unless the request has it in a graph. Shared jobs come last. Samples are
// not among them. Those of a request that has released its jobs are copies.
func (l *Ledger) NewestRounds(r *request.Request) []*Job {
	rounds := l.knownRounds(r)
	for i, j := range rounds {
		if j.State != events.JobCancelled {
			continue
		}
		if _, _, graphed := l.NumberOf(r.ID, j.ID); graphed {
			continue
		}
		if newest := l.NewestRound(j.Spec()); l.covered(newest, j.Spec()) {
			rounds[i] = l.Find(newest)
		}
	}
	return rounds
}

// knownRounds returns the jobs of a request, each in the newest round that the request has made or shares.
func (l *Ledger) knownRounds(r *request.Request) []*Job {
	var out []*Job
	at := map[events.JobID]int{}
	add := func(j *Job) {
		if j == nil || j.Sampled() {
			return
		}
		first := j.Spec().First()
		i, known := at[first]
		switch {
		case !known:
			at[first] = len(out)
			out = append(out, j)
		case j.Round > out[i].Round:
			out[i] = j
		}
	}
	for _, id := range r.Jobs {
		add(l.Jobs[id])
	}
	for _, id := range r.Shared {
		add(l.Jobs[id])
	}
	if r.State.Terminal() && len(r.Jobs)+len(r.Shared) == 0 {
		made, shared := l.expanded(r.ID)
		for _, spec := range append(made, shared...) {
			add(l.Find(spec))
		}
	}
	return out
}

// NewestRound returns the newest round of a job that exists.
func (l *Ledger) NewestRound(spec events.JobSpec) events.JobSpec {
	for {
		next := l.Find(spec.Again())
		if next == nil {
			return spec
		}
		spec = next.Spec()
	}
}

// Missing returns the jobs that must still be made, each in its round.
func (l *Ledger) Missing(jobs []events.JobSpec, now time.Time) []events.JobSpec {
	var out []events.JobSpec
	for _, spec := range jobs {
		if spec, lacks := l.Lacks(spec, now); lacks {
			out = append(out, spec)
		}
	}
	return l.withoutIdle(out)
}

// withoutIdle leaves out the builds for a parent that none of the other jobs needs.
func (l *Ledger) withoutIdle(jobs []events.JobSpec) []events.JobSpec {
	idle := func(j events.JobSpec) bool { return j.Backfill && j.Recipe != "" }
	if !slices.ContainsFunc(jobs, idle) {
		return jobs
	}
	edges := l.Definitions[jobs[0].Definitions].Edges(jobs)
	needed := make([]bool, len(jobs))
	for i, j := range jobs {
		needed[i] = !idle(j)
	}
	for more := true; more; {
		more = false
		for _, n := range edges {
			if needed[n.Job] && !needed[n.On] {
				needed[n.On], more = true, true
			}
		}
	}
	var left []events.JobSpec
	for i, j := range jobs {
		if needed[i] {
			left = append(left, j)
		}
	}
	return left
}

// Lacks returns the job in its newest round, and whether that round must still be made: because there is none yet, or
// because the round before was cancelled, is no longer wanted, ended by a fault some time ago, or measures less than
// this one would.
func (l *Ledger) Lacks(spec events.JobSpec, now time.Time) (events.JobSpec, bool) {
	faults := 0
	for {
		j := l.Find(spec)
		if j == nil {
			return spec, true
		}
		next := spec.Again()
		if l.Made(next.ID) {
			if j.Faulty() {
				faults++
			}
			spec = next
			continue
		}
		again := !j.State.Terminal() && !l.Wanted(j) || j.State == events.JobCancelled ||
			j.Faulty() && faults < roundsByItself && now.Sub(j.EndedAt) >= againAfter || !l.covered(j.Spec(), spec)
		if !again {
			return spec, false
		}
		spec = next
	}
}

// covered reports whether a job measures every test case that another round of it would. That round may have other
// definitions, or be made for another kind of request.
func (l *Ledger) covered(have, want events.JobSpec) bool {
	if have.Definitions == want.Definitions && have.Artifact.Kind == want.Artifact.Kind {
		return true
	}
	return suite.Covers(l.Definitions[have.Definitions], have, l.Definitions[want.Definitions], want)
}

// Stopped reports whether a request was cancelled.
func (l *Ledger) Stopped(id events.RequestID) bool {
	r, ok := l.Requests[id]
	return ok && r.State == events.StateCancelled
}

// LackError says what the farm lacks to turn requests into jobs. The request is not to blame.
type LackError struct{ Lack, Detail string }

func (e LackError) Error() string { return e.Lack }

// Expand turns a request into jobs with the definitions that it started with or, before its start, with those that it names
// or those of its branch. It returns a LackError when there are no usable definitions. Definitions that the branch never
// used measure nothing for the parent: the parent's own results would be theirs.
func (l *Ledger) Expand(r *request.Request) (own, backfill []events.JobSpec, digest events.Digest, err error) {
	x, digest, err := l.Expansion(r)
	return x.Own, x.Backfill, digest, err
}

// Expansion is Expand with the jobs that are switched off.
func (l *Ledger) Expansion(r *request.Request) (suite.Expansion, events.Digest, error) {
	d, asked, err := l.ForExpansion(r)
	if err != nil {
		return suite.Expansion{}, "", err
	}
	x, err := d.Expansion(asked)
	if r.Pins().Customised {
		x.Backfill, x.OffBackfill = nil, nil
	}
	return x, asked.Definitions, err
}

// ForExpansion returns the definitions that Expand uses, and what they must know about the request. Its errors are those of
// Expand.
func (l *Ledger) ForExpansion(r *request.Request) (suite.Definitions, suite.Request, error) {
	name := r.Artifact.Suite
	digest := r.Definitions
	if digest == "" {
		digest = cmp.Or(r.Pins().Definitions, l.Lines[name].InForce(r.Choice().Branch))
		if why := l.Unusable[digest]; why != "" {
			return suite.Definitions{}, suite.Request{}, LackError{fmt.Sprintf("the definitions of suite %s cannot be used", name), why}
		}
	}
	d, ok := l.Definitions[digest]
	if !ok {
		return d, suite.Request{}, LackError{Lack: fmt.Sprintf("no definitions of suite %s were published", name)}
	}
	requires, err := l.Requires(r)
	if err != nil {
		return d, suite.Request{}, err
	}
	asked := suite.Request{
		ID: r.ID, Artifact: r.Artifact, Parameters: r.Parameters, Definitions: digest, ParentTag: r.Parent, Requires: requires,
		Choice: suite.Choice(r.Choice()),
	}
	if parent, known := l.ParentOf(r); known {
		asked.Parent = &parent.Artifact
	}
	return d, asked, nil
}

// Requires returns the terms that a request and its queue add to those of the definitions. After the start they are
// those that it started with. An error names terms that exclude one another.
func (l *Ledger) Requires(r *request.Request) ([]string, error) {
	queue := l.Queues[r.Queue]
	if r.Definitions != "" || len(queue.Requires) == 0 {
		return r.Requires(), nil
	}
	all, err := match.Join(match.Named{Who: "the request", Requirement: needs(r.Requires())},
		match.Named{Who: "queue " + string(queue.Queue), Requirement: needs(queue.Requires)})
	return all.Terms(), err
}
