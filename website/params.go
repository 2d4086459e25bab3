package website

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tachobench/tacho/events"
)

// maxLimit bounds every list that a caller may ask for.
const maxLimit = 1000

// params reads the query of a call and remembers the first error in it.
type params struct {
	values url.Values
	err    error
}

// query returns the parameters of a call. It refuses parameters that the route does not know: otherwise a misspelt
// filter would select everything.
func query(r *http.Request, known []parameter) *params {
	p := &params{}
	var err error
	if p.values, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		p.fail("the query of the URL cannot be read")
	}
	var names, prefixes []string
	for _, k := range known {
		names = append(names, k.name)
		if k.prefix != "" {
			prefixes = append(prefixes, k.prefix)
		}
	}
	if !legible(r.URL.Path) {
		p.err = illegible()
	}
	for name, values := range p.values {
		switch {
		case !slices.Contains(names, name) && !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }):
			p.fail("unknown parameter %q: use %s", excerpt(name), orNone(names))
		case len(values) > 1:
			p.fail("parameter %q is given %d times", excerpt(name), len(values))
		case !legible(name) || !legible(values[0]):
			p.fail("parameter %q is not a valid text: send UTF-8 without the character 0", excerpt(name))
		}
	}
	return p
}

// legible reports whether the tables can hold a text. Postgres takes only UTF-8 without the character 0, and would
// answer with a fault.
func legible(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func illegible() error {
	return wrong(http.StatusBadRequest, "send UTF-8 without the character 0", "the path of the URL is not a valid text")
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = wrong(http.StatusBadRequest, "see /openapi.json for the parameters", "%s", fmt.Sprintf(format, args...))
	}
}

func (p *params) text(name string) string { return p.values.Get(name) }

// number returns a whole number, 0 or more; 0 if it is not given.
func (p *params) number(name string) uint64 {
	text := p.values.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		p.fail("parameter %s is %q and must be a whole number", name, text)
	}
	return n
}

func (p *params) seq(name string) events.Seq { return events.Seq(p.number(name)) }

func (p *params) small(name string) int {
	n := p.number(name)
	if n > 1<<31-1 {
		p.fail("parameter %s is too large", name)
		return 0
	}
	return int(n)
}

func (p *params) limit() int {
	n := p.number("limit")
	if n > maxLimit {
		p.fail("parameter limit is %d and must be at most %d: ask for further pages", n, maxLimit)
	}
	return int(min(n, maxLimit))
}

// flag reports whether a parameter is "1", "true" or the like; false if it is not given.
func (p *params) flag(name string) bool {
	text := p.values.Get(name)
	if text == "" {
		return false
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		p.fail("parameter %s is %q and must be 1 or 0", name, text)
	}
	return on
}

// lane reads a lane in the form "target/set"; nil if it is not given or wrong.
func (p *params) lane(name string) *events.Lane {
	text := p.values.Get(name)
	if text == "" {
		return nil
	}
	target, set, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(set, 10, 31)
	if err != nil || events.CheckToken("target", target) != nil {
		p.fail("parameter %s is %q and must be target/set, such as linux-amd64/0", name, text)
		return nil
	}
	return &events.Lane{Target: events.Target(target), Set: events.Set(n)}
}

// choice returns a value of a closed set; "" if it is not given.
func choice[T ~string](p *params, name string, valid []T) T {
	v := T(p.values.Get(name))
	if v != "" && !slices.Contains(valid, v) {
		words := make([]string, len(valid))
		for i, w := range valid {
			words[i] = string(w)
		}
		p.fail("parameter %s is %q and must be one of %s", name, v, strings.Join(words, ", "))
	}
	return v
}
