package website

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
)

// requestToChange returns the id of the request that the path of a command names. If the name is an id in the log, it
// is that request, even if the tables do not have it yet. Any other name is looked up as for readers, once the tables
// hold everything that was recorded before the command.
func (s *Server) requestToChange(r *http.Request) (events.RequestID, error) {
	name := r.PathValue("request")
	if id := events.RequestID(name); events.CheckToken("request", name) == nil {
		if _, found, err := s.Control.Log.Last(r.Context(), events.RequestSubject(id)); found || err != nil {
			return id, err
		}
	}
	if err := s.caughtUp(r.Context()); err != nil {
		return "", err
	}
	id, err := s.Reader.RequestToChange(r.Context(), name)
	if errors.Is(err, readmodel.ErrNotFound) {
		return "", wrong(http.StatusNotFound, "see `tacho request list`", "there is no request %s", name)
	}
	return id, err
}

// caughtUp waits, for a bounded time, until the tables hold what the log holds now.
func (s *Server) caughtUp(ctx context.Context) error {
	head, err := s.Log.Head(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.WaitFor, errWaitedLong)
	defer cancel()
	return late(s.Reader.WaitFor(ctx, head.Last), "name the request by its id, or the suite, or see /readyz", head.Last, s.WaitFor)
}

// late returns the error of a wait for the tables in words. Other errors stay as they are.
func late(err error, next string, seq events.Seq, after time.Duration) error {
	if errors.Is(err, errWaitedLong) {
		return wrong(http.StatusGatewayTimeout, next, "the tables did not reach event %d of the log after %s", seq, after)
	}
	return err
}

// requestNamed returns the id of the request that a parameter names. If no request has the name, it returns the name,
// which then selects nothing.
func (s *Server) requestNamed(r *http.Request, p *params, parameter string) (events.RequestID, error) {
	name := p.text(parameter)
	if name == "" || p.err != nil {
		return "", p.err
	}
	id, err := s.Reader.FindRequestID(r.Context(), name)
	if errors.Is(err, readmodel.ErrNotFound) {
		return events.RequestID(name), nil
	}
	return id, err
}

// artifactNamed returns the tag of the artifact that a parameter names.
func (s *Server) artifactNamed(r *http.Request, p *params, parameter string) (events.Tag, error) {
	name := events.Tag(p.text(parameter))
	if name == "" || p.err != nil {
		return "", p.err
	}
	return s.Reader.FindTag(r.Context(), name)
}

// comparisonOf reads which artifacts to compare, and how.
func (s *Server) comparisonOf(r *http.Request, p *params) (q comparison.Query, err error) {
	q = wantedOf(p)
	for _, tag := range []*events.Tag{&q.A, &q.B} {
		if *tag != "" && err == nil {
			*tag, err = s.long.FindTag(r.Context(), *tag)
		}
	}
	return q, err
}

// abbreviated replaces the cut hash of a commit, as lists print it, by the full one if that artifact is known. Other
// tags stay as they are: a caller may ask for an artifact that is new.
func (s *Server) abbreviated(ctx context.Context, tags ...*events.Tag) error {
	for _, tag := range tags {
		if n := len(*tag); n < shortHash || n >= fullHash || !isHex(*tag) {
			continue
		}
		full, err := s.Reader.FindTag(ctx, *tag)
		if err != nil {
			return err
		}
		if len(full) == fullHash && isHex(full) {
			*tag = full
		}
	}
	return nil
}

// fullHash is the length of the hash of a commit; shortHash, the least length that Tacho and Git show.
const fullHash, shortHash = 40, 7

func isHex(tag events.Tag) bool { return strings.Trim(string(tag), "0123456789abcdef") == "" }

// onlySuite returns the suite for a call that names none. It fails if there are several.
func (s *Server) onlySuite(ctx context.Context) (events.SuiteName, error) {
	suites, err := s.tables().Suites(ctx, "")
	if err != nil {
		return "", err
	}
	if len(suites) > 1 {
		return "", wrong(http.StatusBadRequest, "name one of "+listed(suites), "which suite? There are %d", len(suites))
	}
	return suites[0], nil
}

func listed(suites []events.SuiteName) string {
	names := make([]string, len(suites))
	for i, name := range suites {
		names[i] = string(name)
	}
	return strings.Join(names, ", ")
}
