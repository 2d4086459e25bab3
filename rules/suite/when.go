package suite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The limits of a When.
const (
	maxWhen      = 1024
	maxWhenDepth = 16
)

// The names that a When may use beside those of options.
const (
	whenProfile = "profile"
	whenBackend = "backend"
	whenTarget  = "target"
	whenRequest = "request"
)

// condition is a When that was read:
//
//	either  = both { "or" both }
//	both    = single { "and" single }
//	single  = "not" single | "(" either ")" | NAME ( "=" | "!=" ) 'VALUE'
type condition interface {
	// holds reports whether it is true, and which of the facts decide it: "option pgo = off".
	holds(fact func(name string) string) (ok bool, because []string)
	// comparisons calls f for every comparison in it.
	comparisons(f func(comparison))
}

// comparison compares a name with a value. at is its place in the text, from 0, and atValue that of the value.
type comparison struct {
	name, value string
	unequal     bool
	at, atValue int
}

func (c comparison) holds(fact func(string) string) (bool, []string) {
	value := fact(c.name)
	why := c.name + " = " + value
	if !slices.Contains(whenNames(), c.name) {
		why = "option " + why
	}
	return (value == c.value) != c.unequal, []string{why}
}

func (c comparison) comparisons(f func(comparison)) { f(c) }

type negation struct{ of condition }

func (n negation) holds(fact func(string) string) (bool, []string) {
	ok, why := n.of.holds(fact)
	return !ok, why
}

func (n negation) comparisons(f func(comparison)) { n.of.comparisons(f) }

// list is true if all of its parts are, or one of them if it is an alternative.
type list struct {
	parts       []condition
	alternative bool
}

// holds tells why with the first part that decides, or with all of them if none does.
func (l list) holds(fact func(string) string) (bool, []string) {
	var all []string
	for _, part := range l.parts {
		ok, why := part.holds(fact)
		if ok == l.alternative {
			return ok, why
		}
		for _, w := range why {
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return !l.alternative, all
}

func (l list) comparisons(f func(comparison)) {
	for _, part := range l.parts {
		part.comparisons(f)
	}
}

func whenNames() []string { return []string{whenProfile, whenBackend, whenTarget, whenRequest} }

// whenError is what is wrong with a When, and where, from 0.
type whenError struct {
	at      int
	message string
}

func (e whenError) Error() string { return e.message }

// parseWhen reads the text of a When. Its error is a whenError.
func parseWhen(text string) (condition, error) {
	if len(text) > maxWhen {
		return nil, whenError{0, fmt.Sprintf("it has %d characters: use at most %d", len(text), maxWhen)}
	}
	p := whenParser{text: text}
	if err := p.advance(); err != nil {
		return nil, err
	}
	c, err := p.either(0)
	if err != nil {
		return nil, err
	}
	if p.token != tokenEnd {
		return nil, p.unexpected("\"and\" or \"or\"")
	}
	return c, nil
}

// The tokens of a When beside signs and words, which are themselves.
const (
	tokenEnd   = ""
	tokenWord  = "a word"
	tokenValue = "a value"
)

type whenParser struct {
	text string
	next int
	// token is the current token, at its place, word what it says if it is a word or a value.
	token string
	at    int
	word  string
}

// advance reads the next token.
func (p *whenParser) advance() error {
	for p.next < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.next]) >= 0 {
		p.next++
	}
	p.at, p.word = p.next, ""
	rest := p.text[p.next:]
	switch {
	case rest == "":
		p.token = tokenEnd
	case strings.HasPrefix(rest, "!="):
		p.token, p.next = "!=", p.next+2
	case strings.HasPrefix(rest, "=="):
		return whenError{p.at, "write = instead of =="}
	case strings.IndexByte("=()", rest[0]) >= 0:
		p.token, p.next = rest[:1], p.next+1
	case rest[0] == '\'' || rest[0] == '"':
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return whenError{p.at, fmt.Sprintf("the quote %c is not closed", rest[0])}
		}
		p.token, p.word, p.next = tokenValue, rest[1:1+end], p.next+end+2
	default:
		end := strings.IndexFunc(rest, func(r rune) bool { return !wordRune(r) })
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return whenError{p.at, fmt.Sprintf("unexpected %q: use names, values in quotes, =, !=, and, or, not and brackets", []rune(rest)[0])}
		}
		p.token, p.word, p.next = tokenWord, rest[:end], p.next+end
		if slices.Contains(whenWords(), p.word) {
			p.token = p.word
		}
	}
	return nil
}

func wordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.+", r)
}

func whenWords() []string { return []string{"and", "or", "not"} }

func (p *whenParser) unexpected(wanted string) error {
	switch p.token {
	case tokenEnd:
		return whenError{p.at, "it ends where " + wanted + " is expected"}
	case tokenWord, tokenValue:
		return whenError{p.at, fmt.Sprintf("unexpected %q: %s is expected", p.word, wanted)}
	}
	return whenError{p.at, fmt.Sprintf("unexpected %q: %s is expected", p.token, wanted)}
}

func (p *whenParser) either(depth int) (condition, error) {
	return p.list("or", func() (condition, error) {
		return p.list("and", func() (condition, error) { return p.single(depth) })
	})
}

// list reads parts with a word between them.
func (p *whenParser) list(word string, part func() (condition, error)) (condition, error) {
	var parts []condition
	for {
		c, err := part()
		if err != nil {
			return nil, err
		}
		parts = append(parts, c)
		if p.token != word {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return list{parts, word == "or"}, nil
}

func (p *whenParser) single(depth int) (condition, error) {
	if depth == maxWhenDepth {
		return nil, whenError{p.at, fmt.Sprintf("too many brackets or \"not\" inside of each other: use at most %d", maxWhenDepth)}
	}
	switch p.token {
	case "not":
		if err := p.advance(); err != nil {
			return nil, err
		}
		c, err := p.single(depth + 1)
		return negation{c}, err
	case "(":
		if err := p.advance(); err != nil {
			return nil, err
		}
		c, err := p.either(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.token != ")" {
			return nil, p.unexpected("\")\"")
		}
		return c, p.advance()
	case tokenWord:
		return p.comparison()
	}
	return nil, p.unexpected("a name")
}

func (p *whenParser) comparison() (condition, error) {
	c := comparison{name: p.word, at: p.at}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.token != "=" && p.token != "!=" {
		return nil, p.unexpected("= or !=")
	}
	c.unequal = p.token == "!="
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.token == tokenWord {
		return nil, whenError{p.at, fmt.Sprintf("write the value in quotes: '%s'", p.word)}
	}
	if p.token != tokenValue {
		return nil, p.unexpected("a value in quotes")
	}
	c.value, c.atValue = p.word, p.at
	return c, p.advance()
}

// whenPlace returns where in a When an error is, from 1.
func whenPlace(err error) int {
	var e whenError
	if errors.As(err, &e) {
		return e.at + 1
	}
	return 1
}
