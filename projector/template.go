package projector

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/queue"
)

// template is a sort of request. Its made holds the jobs that the newest started request of the sort was given. A
// request of the sort that has not started is expected to get the same.
type template struct {
	suite events.SuiteName
	kind  events.RequestKind
	// parameters is a hash of what the requests ask for; empty for requests without parameters.
	parameters string
}

type made struct {
	owner events.RequestID
	jobs  []madeJob
}

type madeJob struct {
	queue.Sort
	optional bool
	cases    int
	matched  *readmodel.ExpectedMatch
}

func (j *jobRow) made() madeJob {
	return madeJob{Sort: j.sort(), optional: j.Optional, cases: j.Cases, matched: j.match()}
}

// maxTemplates bounds the sorts that are kept of one suite. Requests of further ones are not expected to get any jobs.
const maxTemplates = 256

// newTemplate returns the sort of a request: its parameters, its graph and its options. It ignores benchmarks: they choose
// what jobs measure, and not which jobs there are. It ignores branches and definitions that are named, of which there is no end. The hash has one length,
// whatever the parameters are.
func newTemplate(r *requestRow) template {
	t, p := template{suite: r.Suite, kind: r.Kind}, r.Parameters
	var asked []byte
	if len(p.Targets)+len(p.Backends)+len(p.Profiles) > 0 {
		asked = fmt.Appendf(asked, "%q %q %q", sorted(p.Targets), sorted(p.Backends), sorted(p.Profiles))
	}
	if c := r.Choice; c != nil && (c.Graph != "" || len(c.Options) > 0) {
		asked = fmt.Appendf(asked, " %q %q", c.Graph, c.Options) // maps are printed in order
	}
	if asked != nil {
		sum := sha256.Sum256(asked)
		t.parameters = hex.EncodeToString(sum[:])
	}
	return t
}

func sorted[T cmp.Ordered](list []T) []T { return slices.Compact(slices.Sorted(slices.Values(list))) }

// startTemplate makes a request that starts the template of its sort, with the jobs that it has already. A request that
// shares jobs of others is given fewer jobs than the next one will be, so it is used only if the sort has no template.
func (s *state) startTemplate(r *requestRow, f events.RequestStarted) {
	key := newTemplate(r)
	if len(f.Shared) > 0 && s.templates[key] != nil || s.templates[key] == nil && s.countTemplates(r.Suite) >= maxTemplates {
		return
	}
	// Jobs that came before the start in the same batch belong to the template too. Ended jobs do not: they are
	// in the state by chance.
	var jobs []*jobRow
	for _, j := range s.jobs {
		if j.RequestID == r.ID && !j.Backfill && !j.State.Terminal() {
			jobs = append(jobs, j)
		}
	}
	byCreation(jobs)
	t := &made{owner: r.ID}
	for _, j := range jobs {
		t.jobs = append(t.jobs, j.made())
	}
	s.templates[key], s.dirtyTemplates[key] = t, true
}

func (s *state) countTemplates(suite events.SuiteName) (count int) {
	for t := range s.templates {
		if t.suite == suite {
			count++
		}
	}
	return count
}

// growTemplate adds a job to the template of its request.
func (s *state) growTemplate(j *jobRow) {
	for key, t := range s.templates {
		if t.owner == j.RequestID && !j.Backfill {
			t.jobs, s.dirtyTemplates[key] = append(t.jobs, j.made()), true
		}
	}
}

// template returns the template of a request and those of its jobs that the request is expected to be given; nil if no
// request of the suite was given jobs yet. It prefers the template of the same kind and parameters, then the one of the
// same kind without parameters, with the jobs that fit. It looks at the other kinds in the same way, and at last takes
// the template with the most jobs.
func (s *state) template(r *requestRow) (*made, []madeJob) {
	key := newTemplate(r)
	for _, kind := range []events.RequestKind{r.Kind, events.Master, events.Try, events.Release} {
		key.kind = kind
		if t := s.templates[key]; t != nil && len(t.jobs) > 0 {
			return t, t.jobs
		}
		if t := s.templates[template{suite: r.Suite, kind: kind}]; t != nil {
			if jobs := t.fitting(r.Parameters); len(jobs) > 0 {
				return t, jobs
			}
		}
	}
	var largest *made
	for key, t := range s.templates {
		if key.suite == r.Suite && len(t.jobs) > 0 && (largest == nil || t.larger(largest)) {
			largest = t
		}
	}
	if largest == nil {
		return nil, nil
	}
	if jobs := largest.fitting(r.Parameters); len(jobs) > 0 {
		return largest, jobs
	}
	return largest, largest.jobs
}

// larger orders templates by their number of jobs, then by their request's id.
func (t *made) larger(o *made) bool {
	return cmp.Or(cmp.Compare(len(t.jobs), len(o.jobs)), cmp.Compare(t.owner, o.owner)) > 0
}

// fitting returns the jobs of a template that the parameters of a request would ask for again.
func (t *made) fitting(p events.Parameters) []madeJob {
	if len(p.Targets)+len(p.Backends)+len(p.Profiles) == 0 {
		return t.jobs
	}
	var fit []madeJob
	for _, j := range t.jobs {
		if allows(p.Targets, j.Lane.Target) && allows(p.Backends, j.Backend) && allows(p.Profiles, j.Profile) {
			fit = append(fit, j)
		}
	}
	return fit
}

func allows[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }
