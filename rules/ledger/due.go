package ledger

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/request"
)

// The scheduler asks after each event which requests need a decision. So the ledger keeps them apart: a farm with
// thousands of requests in progress must not be slower for each.

// noteDue notes whether a request is in progress and waits for no required job.
func (l *Ledger) noteDue(id events.RequestID) { note(l.Due, id, l.Running[id] && l.Open[id] == 0) }

// noteLate notes whether a request in progress has yet to ask for what its parent lacks, and whether that is known.
func (l *Ledger) noteLate(id events.RequestID) {
	r, ok := l.Requests[id]
	if !ok || r.Parent == "" {
		return
	}
	parent := ArtifactKey{r.Artifact.Suite, r.Parent}
	asks := l.Running[id] && !l.Backfilled[id]
	_, known := l.ByTag[parent]
	note(l.Late, id, asks && known)
	children := l.children[parent]
	if children == nil {
		children = map[events.RequestID]bool{}
	}
	note(children, id, asks && !known)
	if l.children[parent] = children; len(children) == 0 {
		delete(l.children, parent)
	}
}

// noteParent notes that an artifact has a request now, for those that wait for it as their parent.
func (l *Ledger) noteParent(key ArtifactKey) {
	for id := range l.children[key] {
		l.noteLate(id)
	}
}

// EntryOf returns what the order of a queue needs to know of a request.
func EntryOf(r *request.Request) queue.Entry {
	return queue.Entry{
		ID: r.ID, Kind: r.Kind, State: r.State, Suite: r.Artifact.Suite, Tag: r.Artifact.Tag, Parent: r.Parent,
		PR: r.PR, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, ReleasedOn: r.ReleasedOn, Priority: r.Priority,
	}
}

// front notes in the front what has become of a request, after Tags knows it.
func (l *Ledger) front(before, after *request.Request) {
	if l.Front == nil {
		return
	}
	if after.State == events.StateArtifactsReady {
		l.Front.Put(EntryOf(after), &l.Tags)
	} else {
		l.Front.Remove(after.ID)
	}
	l.Front.Parent(after.Artifact.Suite, after.Artifact.Tag, &l.Tags)
	if before.Artifact != after.Artifact {
		l.Front.Parent(before.Artifact.Suite, before.Artifact.Tag, &l.Tags)
	}
}

func note[K comparable](set map[K]bool, id K, in bool) {
	if in {
		set[id] = true
	} else {
		delete(set, id)
	}
}
