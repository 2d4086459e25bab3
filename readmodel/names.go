package readmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// People use the names that lists and pages print: the id of a request or job, the tag or key of a request, the tag
// of an artifact, or the beginning of an id or tag, because lists cut the hashes of commits.

const (
	// shortest is the least length of a beginning: a shorter one would soon be the beginning of another name too.
	shortest = 4
	// candidatesShown is how many things an AmbiguousError names at most.
	candidatesShown = 10
)

// AmbiguousError means that several things have the name.
type AmbiguousError struct {
	// What says what they are: "requests", "jobs" or "artifacts".
	What, Name string
	// Candidates has some of them, each with a name of its own; More is set if there are others.
	Candidates []string
	More       bool
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s is the name of several %s", e.Name, e.What)
}

func ambiguous(what, name string, candidates []string) error {
	e := &AmbiguousError{What: what, Name: name, Candidates: candidates}
	if e.More = len(candidates) > candidatesShown; e.More {
		e.Candidates = candidates[:candidatesShown]
	}
	return e
}

// namedRequest is a request that a name may mean.
type namedRequest struct {
	ID    events.RequestID    `db:"request_id"`
	Suite events.SuiteName    `db:"suite"`
	Kind  events.RequestKind  `db:"kind"`
	Tag   events.Tag          `db:"tag"`
	Key   string              `db:"key"`
	State events.RequestState `db:"state"`
}

func (r namedRequest) String() string {
	of := string(r.Tag)
	if of == "" {
		of = "key " + r.Key
	}
	return fmt.Sprintf("%s (%s %s of suite %s, %s)", r.ID, r.Kind, of, r.Suite, r.State)
}

// FindRequest returns the request that a name means. It tries in this order: the request of that id; the newest request
// of that tag; the newest of that key; the newest of the only tag, or the request of the only id, that begins with the
// name. Errors: AmbiguousError, ErrNotFound.
func (r *Reader) FindRequest(ctx context.Context, name string) (RequestJobs, error) {
	id, err := r.FindRequestID(ctx, name)
	if err != nil {
		return RequestJobs{}, err
	}
	return r.Request(ctx, id)
}

// FindRequestID is FindRequest for callers that need only the id.
func (r *Reader) FindRequestID(ctx context.Context, name string) (events.RequestID, error) {
	named, err := r.requestsNamed(ctx, name)
	if err != nil {
		return "", err
	}
	return named[0].ID, nil
}

// RequestToChange is FindRequestID for callers that want to change the request: the name is also ambiguous
// if an older request of that name has not ended.
func (r *Reader) RequestToChange(ctx context.Context, name string) (events.RequestID, error) {
	named, err := r.requestsNamed(ctx, name)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(named[1:], func(n namedRequest) bool { return !n.State.Terminal() }) {
		return "", ambiguous("requests", name, asTexts(named))
	}
	return named[0].ID, nil
}

// requestsNamed returns the requests of one id, tag or key, newest first, or an error.
func (r *Reader) requestsNamed(ctx context.Context, name string) ([]namedRequest, error) {
	list, err := all[namedRequest](ctx, r.pool, "find_request", name, strings.TrimPrefix(name, "key "), candidatesShown+1)
	if err != nil {
		return nil, err
	}
	is := []func(namedRequest) bool{
		func(n namedRequest) bool { return string(n.ID) == name },
		func(n namedRequest) bool { return string(n.Tag) == name },
		func(namedRequest) bool { return true },
	}
	for _, same := range is {
		if slices.ContainsFunc(list, same) {
			return slices.DeleteFunc(list, func(n namedRequest) bool { return !same(n) }), nil
		}
	}
	if len(name) >= shortest {
		list, err = all[namedRequest](ctx, r.pool, "find_request_beginning", name, candidatesShown+1)
	}
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fmt.Errorf("request %s: %w", name, ErrNotFound)
	}
	first := list[0]
	for _, n := range list[1:] {
		if n.Tag != first.Tag || !strings.HasPrefix(string(n.Tag), name) {
			return nil, ambiguous("requests", name, asTexts(list))
		}
	}
	return list, nil
}

func asTexts(list []namedRequest) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.String()
	}
	return out
}

// FindJob returns the job of that id, or else of the only id that begins with the name, with its attempts and errors.
// Errors: AmbiguousError, RetiredError, ErrNotFound.
func (r *Reader) FindJob(ctx context.Context, name string) (JobHistory, error) {
	found, missing := r.Job(ctx, events.JobID(name))
	var retired *RetiredError
	if !errors.Is(missing, ErrNotFound) || errors.As(missing, &retired) || len(name) < shortest {
		return found, missing
	}
	ids, err := values[string](ctx, r.pool, "find_job_beginning", name, candidatesShown+1)
	switch {
	case err != nil:
		return JobHistory{}, err
	case len(ids) == 0:
		return JobHistory{}, missing
	case len(ids) == 1:
		return r.Job(ctx, events.JobID(ids[0]))
	}
	return JobHistory{}, ambiguous("jobs", name, ids)
}

// FindTag returns the tag of the artifact that a name means: the name itself, or else the only tag of a request or of its
// parent that begins with the name. If no tag begins with it, FindTag returns the name: the caller says what is missing.
// Errors: AmbiguousError.
func (r *Reader) FindTag(ctx context.Context, name events.Tag) (events.Tag, error) {
	if len(name) < shortest {
		return name, nil
	}
	found, err := values[string](ctx, r.pool, "find_tag", name, candidatesShown+1)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0 || found[0] == string(name):
		return name, nil
	case len(found) == 1:
		return events.Tag(found[0]), nil
	}
	return "", ambiguous("artifacts", string(name), found)
}
