package suite

import (
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
)

// Lines says which definitions each branch of a suite uses, by branch. Those of branch "" serve the branches that have
// none of their own. It is folded from the events of the suite; nil is a suite without events.
type Lines map[string]Line

// Line is what one branch uses.
type Line struct {
	// Digest names the definitions; empty for none of its own.
	Digest events.Digest `json:"digest,omitzero"`
	// Published names those that were published for it last. A promotion may have moved it to others since.
	Published events.Digest `json:"published,omitzero"`
	// Revision and File are those of the file that was read last from a repository, used or rejected.
	Revision string `json:"revision,omitzero"`
	File     string `json:"file,omitzero"`
	// Problems are those of that file if it was rejected; nil if it was not.
	Problems []string `json:"problems,omitempty"`
}

// Evolve returns the lines after f happened. It leaves l as it is.
func (l Lines) Evolve(f events.Fact) Lines {
	// Only the facts of a suite concern it.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.DefinitionsPublished:
		if f.Aside {
			return l // no branch uses them
		}
		line := l[f.Branch]
		line.Digest, line.Published = f.Digest, f.Digest
		if f.File != "" {
			line.Revision, line.File, line.Problems = f.Revision, f.File, nil
		}
		return l.with(f.Branch, line)
	case events.DefinitionsPromoted:
		line := l[f.Branch]
		line.Digest = f.Digest
		return l.with(f.Branch, line)
	case events.DefinitionsRejected:
		line := l[f.Branch]
		line.Revision, line.File, line.Problems = f.Revision, f.File, slices.Clip(f.Problems)
		return l.with(f.Branch, line)
	}
	return l
}

func (l Lines) with(branch string, line Line) Lines {
	out := maps.Clone(l)
	if out == nil {
		out = Lines{}
	}
	out[branch] = line
	return out
}

// InForce returns the definitions that a branch uses: its own, or those of branch "". It returns "" if there are none.
func (l Lines) InForce(branch string) events.Digest {
	if own := l[branch].Digest; own != "" {
		return own
	}
	return l[""].Digest
}

// Branches returns the branches that have definitions of their own, in order.
func (l Lines) Branches() []string {
	var out []string
	for _, branch := range slices.Sorted(maps.Keys(l)) {
		if branch != "" && l[branch].Digest != "" {
			out = append(out, branch)
		}
	}
	return out
}
