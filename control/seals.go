package control

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// seals are those of the definitions of a suite. A key makes one seal of definitions, always the same.
type seals map[events.Digest][]events.Seal

// with returns the seals after f happened. It may change s.
func (s seals) with(f events.Fact) seals {
	published, ok := f.(events.DefinitionsPublished)
	if !ok || s.has(published.Digest, published.Seal) {
		return s
	}
	if s == nil {
		s = seals{}
	}
	s[published.Digest] = append(s[published.Digest], *published.Seal)
	return s
}

// has reports whether definitions have a seal; no seal is one that all have.
func (s seals) has(digest events.Digest, seal *events.Seal) bool {
	return seal == nil || slices.Contains(s[digest], *seal)
}

// Sealed reports whether definitions in use have a seal, or whether there is none to add. Those that their branch does not use
// get none.
func (p *Published) Sealed(branch string, digest events.Digest, seal *events.Seal) bool {
	return p.lines[branch].Digest != digest || p.seals.has(digest, seal)
}
