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
	// pending counts the requests that have not ended.
	pending int
}

// Enter records that a request for an artifact is now in this state. An empty tag is ignored: the artifact is not known
// yet, and no request waits for it.
func (t *Tags) Enter(suite events.SuiteName, tag events.Tag, state events.RequestState) {
	t.change(suite, tag, func(s *tagState) {
		switch {
		case !state.Terminal():
			s.pending++
		case state == events.StateCompleted || state == events.StateFailed:
			s.measured = true
		default:
			s.withdrawn = true
		}
	})
}

// Leave records that a request is no longer in this state. Call it before the next Enter of the same request.
func (t *Tags) Leave(suite events.SuiteName, tag events.Tag, state events.RequestState) {
	t.change(suite, tag, func(s *tagState) {
		if state != "" && !state.Terminal() {
			s.pending--
		}
	})
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
	s := t.tags[artifactTag{suite, tag}]
	return s.measured || s.withdrawn && s.pending == 0
}
