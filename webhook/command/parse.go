package command

import (
	"github.com/tachobench/tacho/events"
)

// MaxComment is how many bytes a comment may have: GitHub's 65,536 characters at four bytes each. A longer text is
// not a comment of GitHub and asks for nothing.
const MaxComment = 4 * 65_536

// MaxTriage is how many SHAs one triage may name.
const MaxTriage = 50

// Grammar is what differs between farms: the name of the bot, and the names in its suite.
type Grammar struct {
	// Bot is the name after the "@", such as "tacho". Without one, no comment asks for anything.
	Bot string
	// Targets, Backends and Profiles are the values that the keys of these names accept. The fourth key, benchmarks,
	// takes name globs.
	Targets  Set[events.Target]
	Backends Set[events.Backend]
	Profiles Set[events.Profile]
	// Graphs are the graphs of the suite, Options those of its options that requests may set.
	Graphs  []string
	Options []Option
}

// Set is the set of values that one key accepts.
type Set[T ~string] struct {
	// Usual values are measured unless a request says otherwise, OnRequest ones only if the request names them. Both
	// are always known, and are returned in the spelling that they have here.
	Usual, OnRequest []T
	// An Open set also accepts other names, as they are written.
	Open bool
}

// known returns all named values, the usual ones first.
func (s Set[T]) known() []T {
	return append(append([]T{}, s.Usual...), s.OnRequest...)
}

// Addressed reports whether a comment asks the bot for anything, sense or nonsense. That is exactly when Read returns
// a command or a refusal. Addressed does not look at the content of the command, so the caller can check first
// whether the author may ask.
func (g Grammar) Addressed(comment string) bool {
	if g.Bot == "" || len(comment) > MaxComment {
		return false
	}
	asked, alone := g.mentions(visible(comment))
	return alone || len(asked) > 0
}

// Read returns what a comment asks for; nil without an error means nothing. The error is always a *[Refusal].
// The same text and grammar always give the same answer, in time linear in the length of the text.
func (g Grammar) Read(comment string) (Command, error) {
	if g.Bot == "" || len(comment) > MaxComment {
		return nil, nil
	}
	asked, alone := g.mentions(visible(comment))
	switch {
	case len(asked) > 1:
		return nil, refuse(asked[1].word, "one comment can ask for one thing, and I do not know whether you mean %s or %s: "+
			"write a new comment for each", quote(asked[0].String()), quote(asked[1].String()))
	case len(asked) == 1:
		c, refusal := g.parse(asked[0])
		if refusal != nil {
			return nil, refusal
		}
		return c, nil
	case alone:
		return nil, refuse("", "I am here; write a command after my name: %s, as in %s", either(words()), g.example(queueWord))
	}
	return nil, nil
}
