package queue

import (
	"cmp"
	"strings"
)

// compareVersions orders the names of releases as people read them, for any project. Numbers are ordered by value
// (1.9.0 before 1.10.0, go1.9 before go1.25.3, beta-2025-06-01 before beta-2025-10-01), and a pre-release comes before
// its release (go1.25rc1 before go1.25, 1.90.0-beta.2 before 1.90.0). It is a total order: only equal names are equal.
func compareVersions(a, b string) int {
	x, y := a, b
	for x != "" || y != "" {
		var s, t part
		s, x = cutPart(x)
		t, y = cutPart(y)
		if c := s.compare(t); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b) // such as 1.01 and 1.1
}

// part is a run of digits, a run of letters, one other byte, or the end.
type part struct {
	class partClass
	text  string
}

type partClass int8

// The order of the classes puts "1.25rc1" and "1.25-rc1" before "1.25", and that before "1.25.1".
const (
	preMark partClass = iota // "-" and "~"
	letters
	end
	mark
	digits
)

func (p part) compare(q part) int {
	if p.class == digits && q.class == digits {
		// Without leading zeros the longer number is the larger, however long it is.
		s, t := strings.TrimLeft(p.text, "0"), strings.TrimLeft(q.text, "0")
		return cmp.Or(cmp.Compare(len(s), len(t)), cmp.Compare(s, t))
	}
	return cmp.Or(cmp.Compare(p.class, q.class), cmp.Compare(p.text, q.text))
}

// cutPart returns the first part of s, and the rest.
func cutPart(s string) (part, string) {
	if s == "" {
		return part{class: end}, ""
	}
	class := classOf(s[0])
	n := 1
	if class == digits || class == letters {
		for n < len(s) && classOf(s[n]) == class {
			n++
		}
	}
	return part{class, s[:n]}, s[n:]
}

func classOf(c byte) partClass {
	switch {
	case '0' <= c && c <= '9':
		return digits
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return letters
	case c == '-', c == '~':
		return preMark
	}
	return mark
}
