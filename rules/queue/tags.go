package queue

import "github.com/tachobench/tacho/events"

// Tags says which artifacts are done, so that children need not wait for them any more. An artifact is done once a
// request for it has completed or failed. An artifact whose requests were withdrawn (cancelled, expired, superseded) is
// done while no other request for it is pending. The zero value knows no artifacts.
type Tags struct {
	tags map[artifactTag]tagState
}

type artifactTag struct {
	suite events.SuiteName
	tag   events.Tag
}

type tagState struct {
	measured, withdrawn bool
	// pending counts the requests that have not ended, running and ready those of them in these states.
	pending, running, ready int32
}

func (s *tagState) count(state events.RequestState, n int32) {
	if state == "" || state.Terminal() {
		return
	}
	s.pending += n
	// The others wait for artifacts.
	//exhaustive:ignore
	switch state {
	case events.StateInProgress:
		s.running += n
	case events.StateArtifactsReady:
		s.ready += n
	}
}

func (s tagState) done() bool { return s.measured || s.withdrawn && s.pending == 0 }

// Enter records that a request for an artifact is now in this state. An empty tag is ignored: the artifact is not known
// yet, and no request waits for it.
func (t *Tags) Enter(suite events.SuiteName, tag events.Tag, state events.RequestState) {
	t.change(suite, tag, func(s *tagState) {
		s.count(state, 1)
		switch {
		case !state.Terminal():
		case state == events.StateCompleted || state == events.StateFailed:
			s.measured = true
		default:
			s.withdrawn = true
		}
	})
}

// Leave records that a request is no longer in this state. Call it before the next Enter of the same request.
func (t *Tags) Leave(suite events.SuiteName, tag events.Tag, state events.RequestState) {
	t.change(suite, tag, func(s *tagState) { s.count(state, -1) })
}

func (t *Tags) change(suite events.SuiteName, tag events.Tag, change func(*tagState)) {
	if tag == "" {
		return
	}
	if t.tags == nil {
		t.tags = map[artifactTag]tagState{}
	}
	key := artifactTag{suite, tag}
	s := t.tags[key]
	change(&s)
	t.tags[key] = s
}

// Done reports whether children need not wait for the artifact.
func (t *Tags) Done(suite events.SuiteName, tag events.Tag) bool {
	return t.tags[artifactTag{suite, tag}].done()
}

// parent returns what an artifact is for the requests that have it as parent.
func (t *Tags) parent(of artifactTag) parentIs {
	switch s := t.tags[of]; {
	case of.tag == "":
		return absent
	case s.done():
		return done
	case s.pending == 0:
		return unknown
	case s.running > 0:
		return inProgress
	case s.ready > 0:
		return pending
	}
	return unready
}
