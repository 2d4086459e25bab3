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
	// Newest yields artifacts, the newest first: commits in first-parent order from the tip of a branch, or
	// releases. It does no more work than what is taken from it needs. An error is the last thing that it yields.
	Newest(ctx context.Context) iter.Seq2[Artifact, error]
}

// Artifact is one artifact of a source, named as its request will be.
type Artifact struct {
	// Kind is master for commits and release for releases.
	Kind events.RequestKind `json:"kind"`
	Tag  events.Tag         `json:"tag"`
	// Parent is the first parent of a commit; empty for a root and for releases.
	Parent events.Tag `json:"parent_tag,omitempty"`
	// PR is the pull request that a commit merged; 0 for none.
	PR int `json:"pr,omitempty"`
	// ReleasedOn is the date of a release (YYYY-MM-DD); empty when the source does not say.
	ReleasedOn string `json:"released_on,omitempty"`
	// At is when a commit was committed; zero for releases.
	At time.Time `json:"at,omitzero"`
}

func (a Artifact) request(name events.SuiteName) control.NewRequest {
	// A commit that is there already is taken as it is: who asked for it first may have said more, or less.
	return control.NewRequest{
		Suite: name, Kind: a.Kind, Tag: a.Tag, Parent: a.Parent, PR: a.PR, ReleasedOn: a.ReleasedOn, AsItIs: true,
	}
}

// one yields nothing but an error.
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
