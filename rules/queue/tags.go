package queue

import "github.com/tachobench/tacho/events"

// Tags tell of which artifacts a request has ended, so that children need not wait for them any more. An artifact is
// done once a request for it was measured to its end. One whose requests were all withdrawn (cancelled, expired,
// superseded) is done as long as no other request for it waits. The zero value knows none.
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

// Enter notes that a request for an artifact is in a state, Leave that it is in it no more. An artifact that is not known
// yet has no tag, and nobody waits for it.
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

// Leave is what comes before another Enter of the same request.
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

// Done reports whether nobody needs to wait for an artifact.
func (t *Tags) Done(suite events.SuiteName, tag events.Tag) bool {
	s := t.tags[artifactTag{suite, tag}]
	return s.measured || s.withdrawn && s.pending == 0
}
