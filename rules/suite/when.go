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

// parseWhen reads the text of a When. Its error is a whenError, the first one.
func parseWhen(text string) (condition, error) {
	if len(text) > maxWhen {
		return nil, whenError{0, fmt.Sprintf("it has %d characters: use at most %d", len(text), maxWhen)}
	}
	p := whenParser{text: text}
	p.advance()
	c := p.either(0)
	p.expect(tokenEnd, `"and" or "or"`)
	if p.err != nil {
		return nil, p.err
	}
	return c, nil
}

// The tokens of a When beside signs and the words and, or, not, which are themselves.
const (
	tokenEnd   = ""
	tokenName  = "a name"
	tokenValue = "a value"
)

// whenParser reads a When. After the first error there are no more tokens.
type whenParser struct {
	text string
	next int
	err  error
	// token is the current token, at its place; word is what a name or a value says.
	token string
	at    int
	word  string
}

func (p *whenParser) fail(at int, format string, args ...any) {
	if p.err == nil {
		p.err = whenError{at, fmt.Sprintf(format, args...)}
	}
	p.token, p.next = tokenEnd, len(p.text)
}

// advance reads the next token.
func (p *whenParser) advance() {
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
		p.fail(p.at, "write = instead of ==")
	case strings.IndexByte("=()", rest[0]) >= 0:
		p.token, p.next = rest[:1], p.next+1
	case rest[0] == '\'' || rest[0] == '"':
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			p.fail(p.at, "the quote %c is not closed", rest[0])
			return
		}
		p.token, p.word, p.next = tokenValue, rest[1:1+end], p.next+end+2
	default:
		p.name(rest)
	}
}

// name reads a name, or a word such as "and".
func (p *whenParser) name(rest string) {
	end := strings.IndexFunc(rest, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.+", r)
	})
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		p.fail(p.at, "unexpected %q: use names, values in quotes, =, !=, and, or, not and brackets", []rune(rest)[0])
		return
	}
	p.token, p.word, p.next = tokenName, rest[:end], p.next+end
	if p.word == "and" || p.word == "or" || p.word == "not" {
		p.token = p.word
	}
}

// expect reports another token than the wanted one. words are what is wanted.
func (p *whenParser) expect(token, words string) {
	switch {
	case p.token == token:
	case p.token == tokenEnd:
		p.fail(p.at, "it ends where %s is expected", words)
	case p.word != "":
		p.fail(p.at, "unexpected %q: %s is expected", p.word, words)
	default:
		p.fail(p.at, "unexpected %q: %s is expected", p.token, words)
	}
}

func (p *whenParser) either(depth int) condition {
	return p.list("or", func() condition {
		return p.list("and", func() condition { return p.single(depth) })
	})
}

// list reads parts with a word between them.
func (p *whenParser) list(word string, part func() condition) condition {
	parts := []condition{part()}
	for p.token == word {
		p.advance()
		parts = append(parts, part())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return list{parts, word == "or"}
}

func (p *whenParser) single(depth int) condition {
	if depth > maxWhenDepth {
		p.fail(p.at, "brackets and \"not\" are too deep inside of each other: use at most %d", maxWhenDepth)
	}
	switch p.token {
	case "not":
		p.advance()
		return negation{p.single(depth + 1)}
	case "(":
		p.advance()
		c := p.either(depth + 1)
		p.expect(")", `")"`)
		p.advance()
		return c
	}
	return p.comparison()
}

func (p *whenParser) comparison() condition {
	p.expect(tokenName, "a name")
	c := comparison{name: p.word, at: p.at}
	p.advance()
	if p.token != "!=" {
		p.expect("=", "= or !=")
	}
	c.unequal = p.token == "!="
	p.advance()
	if p.token == tokenName {
		p.fail(p.at, "write the value in quotes: '%s'", p.word)
	}
	p.expect(tokenValue, "a value in quotes")
	c.value, c.atValue = p.word, p.at
	p.advance()
	return c
}

// whenPlace returns where in a When an error is, from 0.
func whenPlace(err error) int {
	var e whenError
	if errors.As(err, &e) {
		return e.at
	}
	return 0
}
