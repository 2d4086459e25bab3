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

// Turn notes that a request for an artifact went from one state to another; an empty state is one before its birth, or
// before its artifact was known.
func (t *Tags) Turn(suite events.SuiteName, tag events.Tag, from, to events.RequestState) {
	if tag == "" {
		return
	}
	if t.tags == nil {
		t.tags = map[artifactTag]tagState{}
	}
	key := artifactTag{suite, tag}
	s := t.tags[key]
	if from != "" && !from.Terminal() {
		s.pending--
	}
	switch {
	case to == "":
	case !to.Terminal():
		s.pending++
	case to == events.RequestDone || to == events.RequestFailure:
		s.measured = true
	default:
		s.withdrawn = true
	}
	t.tags[key] = s
}

// Done reports whether nobody needs to wait for an artifact.
func (t *Tags) Done(suite events.SuiteName, tag events.Tag) bool {
	s := t.tags[artifactTag{suite, tag}]
	return s.measured || s.withdrawn && s.pending == 0
}
