package poller

import (
	"context"
	"iter"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// Source is a list of artifacts elsewhere.
type Source interface {
	// Newest yields artifacts, the newest first: commits in first-parent order from the tip of a branch, or releases.
	// It does only the work that the consumed artifacts need. An error is the last thing that it yields.
	Newest(ctx context.Context) iter.Seq2[Artifact, error]
}

// Artifact is one artifact of a source, with the names that its request will have.
type Artifact struct {
	// Kind is master for commits and release for releases.
	Kind events.RequestKind `json:"kind"`
	Tag  events.Tag         `json:"tag"`
	// Parent is the first parent of a commit; empty for a root and for releases.
	Parent events.Tag `json:"parent_tag,omitempty"`
	// PR is the pull request that a commit merged; 0 for none.
	PR int `json:"pr,omitempty"`
	// ReleasedOn is the date of a release (YYYY-MM-DD); empty if the source does not tell it.
	ReleasedOn string `json:"released_on,omitempty"`
	// At is when a commit was committed; zero for releases.
	At time.Time `json:"at,omitzero"`
}

func (a Artifact) request(name events.SuiteName) control.NewRequest {
	// An existing request for the commit stays as it is: the first request for it may say more, or less.
	return control.NewRequest{
		Suite: name, Kind: a.Kind, Tag: a.Tag, Parent: a.Parent, PR: a.PR, ReleasedOn: a.ReleasedOn, AsItIs: true,
	}
}

// one yields only an error.
func one(err error) iter.Seq2[Artifact, error] {
	return func(yield func(Artifact, error) bool) { yield(Artifact{}, err) }
}

// all yields artifacts without an error.
func all(artifacts []Artifact) iter.Seq2[Artifact, error] {
	return func(yield func(Artifact, error) bool) {
		for _, a := range artifacts {
			if !yield(a, nil) {
				return
			}
		}
	}
}
