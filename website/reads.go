package website

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/room"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/website/client"
)

func (s *Server) status(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.statuses(r)
}

// statusText returns the status as JSON.
func (s *Server) statusText(r *http.Request) (json.RawMessage, error) {
	status, err := s.seen(r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(status)
}

// seen returns the status with the heartbeats of this moment.
func (s *Server) seen(r *http.Request) (client.Status, error) {
	rows, err := s.Reader.Status(r.Context(), s.Clock())
	if errors.Is(err, readmodel.ErrNotFound) {
		return client.Status{}, wrong(http.StatusServiceUnavailable, "wait a moment, and see /readyz if it lasts", "the projector has not begun to fill the tables")
	}
	if err != nil {
		return client.Status{}, err
	}
	rows.Alerts = s.joined(rows.Alerts)
	there, removed := present(rows.Collectors)
	return client.Status{
		Version: s.Version, Now: s.Clock().UTC(), Status: rows, Collectors: s.beats.join(there), RemovedCollectors: removed, Outputs: s.stored(), Room: s.places(), Scrub: s.scrubbed(),
	}, nil
}

// places returns how full the log, its disk and the database are, as far as that is known.
func (s *Server) places() []room.Place {
	if s.Config.Room == nil {
		return nil
	}
	return s.Config.Room()
}

// scrubbed says how far the log is read in the background.
func (s *Server) scrubbed() *client.Scrub {
	if s.Config.Scrub == nil {
		return nil
	}
	return s.Config.Scrub()
}

// stored returns how full the store of outputs is; nil if it has none, so that a farm without builds hears nothing of it.
func (s *Server) stored() *client.Outputs {
	if s.Config.Outputs == nil {
		return nil
	}
	u, known := s.Config.Outputs()
	if !known || u.Outputs == 0 && u.Uploads == 0 {
		return nil
	}
	return &client.Outputs{Outputs: u.Outputs, Bytes: u.Bytes, NeededBytes: u.Needed, LimitBytes: u.Limit, UploadBytes: u.Uploads}
}

// queue answers without parameters with as many places as a page may have: a program that knows no pages gets all of a
// usual queue.
func (s *Server) queue(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	after, most := p.small("after"), cmp.Or(p.limit(), readmodel.QueuePage)
	if p.err != nil {
		return nil, p.err
	}
	found, err := s.Reader.QueueAfter(r.Context(), after, most)
	if err != nil {
		return nil, err
	}
	places := make([]client.QueuePlace, len(found.List))
	for i, q := range found.Seen(s.Clock()) {
		places[i] = client.PlaceOf(q)
	}
	return paged(places, most, "after", func(q client.QueuePlace) string { return strconv.Itoa(q.Position) }), nil
}

func requestStates() []events.RequestState {
	return []events.RequestState{
		events.StateWaitingForArtifacts, events.StateArtifactsReady, events.StateInProgress, events.StateCompleted, events.StateFailed,
		events.StateCancelled, events.StateExpired, events.StateSuperseded,
	}
}

func requestKinds() []events.RequestKind {
	return []events.RequestKind{events.Master, events.Try, events.Release}
}

// requestFilter reads which requests are wanted, for the API and the page.
func (s *Server) requestFilter(r *http.Request, p *params) (readmodel.RequestFilter, error) {
	tag, err := s.artifactNamed(r, p, "tag")
	if err != nil {
		return readmodel.RequestFilter{}, err
	}
	f := readmodel.RequestFilter{
		State: choice(p, "state", requestStates()), Kind: choice(p, "kind", requestKinds()),
		Suite: events.SuiteName(p.text("suite")), Tag: tag, PR: p.small("pr"), Account: events.AccountName(p.text("account")),
		Queue: events.QueueName(p.text("queue")), Priority: choice(p, "priority", events.Priorities), Together: p.text("set"), Before: p.seq("before"), Limit: p.limit(),
	}
	return f, p.err
}

func (s *Server) requests(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	f, err := s.requestFilter(r, p)
	if err != nil {
		return nil, err
	}
	list, err := s.Reader.Requests(r.Context(), f)
	return paged(list, f.Limit, "before", func(q readmodel.Request) string { return sequence(q.CreatedSeq) }), err
}

func (s *Server) request(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.requestShown(r)
}

// requestShown reads one request, for the API and the page.
func (s *Server) requestShown(r *http.Request) (readmodel.RequestJobs, error) {
	found, err := s.Reader.FindRequest(r.Context(), r.PathValue("request"))
	if err != nil {
		return readmodel.RequestJobs{}, err
	}
	found.Rest, err = s.Reader.Rest(r.Context(), found.Request, s.waits())
	if err != nil {
		return readmodel.RequestJobs{}, err
	}
	found.Stages, err = s.Reader.Stages(r.Context(), found.Request, s.Clock())
	return found, err
}

func (s *Server) jobs(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	named, err := s.requestNamed(r, p, "request")
	if err != nil {
		return nil, err
	}
	f := readmodel.JobFilter{
		Request: named, Open: p.flag("open"), Lane: p.lane("lane"), Limit: p.limit(), After: p.jobPlace("after"),
		State: choice(p, "state", []events.JobState{
			events.JobQueued, events.JobInProgress, events.JobSuccess, events.JobFailure, events.JobCancelled,
			events.JobState(graph.Blocked), events.JobState(graph.Skipped),
		}),
	}
	if p.err != nil {
		return nil, p.err
	}
	list, err := s.Reader.Jobs(r.Context(), f)
	return paged(list, f.Limit, "after", jobPlace), err
}

func (s *Server) job(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.Reader.FindJob(r.Context(), r.PathValue("job"))
}

func (s *Server) whyJob(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.Reader.Why(r.Context(), r.PathValue("job"), s.waits())
}

// waits returns how long the scheduler lets matched jobs wait for a better machine.
func (s *Server) waits() match.Waits {
	return match.Waits{Now: s.Clock(), Affinity: s.AffinityWait, Room: s.RoomWait}
}

func (s *Server) collectors(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	all := p.flag("all")
	if p.err != nil {
		return nil, p.err
	}
	rows, err := s.Reader.Collectors(r.Context())
	if err != nil {
		return nil, err
	}
	if !all {
		rows, _ = present(rows)
	}
	return s.beats.join(rows), nil
}

func (s *Server) results(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	tag, err := s.artifactNamed(r, p, "tag")
	if err != nil {
		return nil, err
	}
	if tag == "" {
		return nil, wrong(http.StatusBadRequest, "add tag=…", "results of which artifact?")
	}
	suites, err := s.tables().Suites(r.Context(), events.SuiteName(p.text("suite")))
	if err != nil {
		return nil, err
	}
	for _, name := range suites {
		list, err := s.long.Results(r.Context(), name, tag)
		if err != nil || len(list) > 0 {
			return list, err
		}
	}
	return nil, s.tables().Unmeasured(r.Context(), suites, tag)
}

func (s *Server) durations(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	target := events.Target(p.text("target"))
	if target == "" {
		return nil, wrong(http.StatusBadRequest, "add target=…", "durations on which target?")
	}
	suite := events.SuiteName(p.text("suite"))
	if suite == "" {
		var err error
		if suite, err = s.onlySuite(r.Context()); err != nil {
			return nil, err
		}
	}
	return s.long.Durations(r.Context(), suite, target)
}

func (s *Server) uses(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	suite := events.SuiteName(p.text("suite"))
	if suite == "" {
		var err error
		if suite, err = s.onlySuite(r.Context()); err != nil {
			return nil, err
		}
	}
	return s.Reader.Uses(r.Context(), suite)
}

func (s *Server) parkedEvents(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	parks, err := s.Control.Parked(r.Context())
	if err != nil {
		return nil, err
	}
	list := make([]client.Park, 0, len(parks))
	for _, p := range parks {
		list = append(list, client.Park{First: p.First, Last: p.Last, ID: p.ID, Type: p.Type, Reason: p.Reason, Seq: p.Seq, Since: p.Time, Actor: p.Actor})
	}
	return list, nil
}

func (s *Server) wantedVersion(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	list, err := s.Reader.Events(r.Context(), readmodel.EventFilter{Subject: events.VersionSubject(), Limit: 1})
	if err != nil || len(list) == 0 {
		return client.WantedVersion{}, err
	}
	var wanted events.VersionWanted
	if err := json.Unmarshal(list[0].Data, &wanted); err != nil {
		return nil, fmt.Errorf("read the wanted version: %w", err)
	}
	return client.WantedVersion{
		Version: wanted.Version, Reason: wanted.Reason, Seq: list[0].Seq, Actor: list[0].Actor, Since: &list[0].StoredAt,
	}, nil
}

func (s *Server) events(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	f, err := eventFilter(p)
	if err != nil {
		return nil, err
	}
	var list []readmodel.Event
	direction := "before"
	if p.text("after") != "" {
		direction = "after"
	}
	if direction == "after" && f.After == 0 {
		list, _, err = s.long.Page(r.Context(), f, readmodel.Extent{}) // Events would take 0 for "the newest first"
	} else {
		list, err = s.long.Events(r.Context(), f)
	}
	return paged(list, f.Limit, direction, func(e readmodel.Event) string { return sequence(e.Seq) }), err
}

func (s *Server) event(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	text := r.PathValue("seq")
	seq, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "name the sequence of an event, such as events/1", "%q is no sequence", text)
	}
	return s.long.Event(r.Context(), events.Seq(seq))
}

// definitions answers without parameters with as many as a page may have, as queue does.
func (s *Server) definitions(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	f := readmodel.DefinitionFilter{Suite: events.SuiteName(p.text("suite")), Before: p.seq("before"), Limit: cmp.Or(p.limit(), maxLimit)}
	if p.err != nil {
		return nil, p.err
	}
	list, err := s.Reader.Definitions(r.Context(), f)
	return paged(list, f.Limit, "before", func(d readmodel.Definition) string { return sequence(d.Seq) }), err
}

func (s *Server) definition(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.Reader.Definition(r.Context(), events.Digest(r.PathValue("digest")))
}

func (s *Server) branches(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.Reader.Branches(r.Context(), events.SuiteName(r.PathValue("suite")))
}
