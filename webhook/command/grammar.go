package command

import (
	"github.com/tachobench/tacho/events"
)

// MaxComment is how many bytes of text are read: GitHub's 65,536 characters, if each takes four bytes. What is
// longer is no comment of GitHub's and asks for nothing.
const MaxComment = 4 * 65_536

// MaxTriage is how many SHAs one triage may name.
const MaxTriage = 50

// Grammar is what differs between farms: the name of the bot, and what its suite knows.
type Grammar struct {
	// Bot is the name after the "@", such as "tacho". Without one, no comment asks for anything.
	Bot string
	// Targets, Backends and Profiles are what may stand after the keys of these names. The fourth key,
	// benchmarks, takes name globs.
	Targets  Set[events.Target]
	Backends Set[events.Backend]
	Profiles Set[events.Profile]
}

// Set is what may stand after one key.
type Set[T ~string] struct {
	// Usual values are measured unless a request says otherwise, OnRequest ones only when it names them. Both
	// are known in any case, and are returned as they are spelled here.
	Usual, OnRequest []T
	// Open sets take other names too, as they are written.
	Open bool
}

// known returns all values that have a name here, the usual ones first.
func (s Set[T]) known() []T {
	return append(append([]T{}, s.Usual...), s.OnRequest...)
}

// Addressed reports whether a comment asks the bot for anything, sense or nonsense. It is so exactly when Read
// answers with a command or a refusal, and is decided without looking at what is asked for: whether the author
// may ask can be settled before.
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
		return nil, refuse("", "I am here, and do what stands after my name: %s, as in %s", either(words()), g.example(queueWord))
	}
	return nil, nil
}
