package suite

import (
	"fmt"
	"regexp"
	"strings"
)

// A branch as git and config have it, with wildcards.
var branchForm = regexp.MustCompile(`^[A-Za-z0-9._/+@*?-]{1,128}$`)

// CheckBranchPattern says how a pattern of names of branches is written, if this is none.
func CheckBranchPattern(pattern string) error {
	switch {
	case !branchForm.MatchString(pattern):
		return fmt.Errorf("use up to 128 letters, digits and \"._/+@-\", * for any characters and ? for one")
	case strings.Contains(pattern, "**"):
		return fmt.Errorf("write one * instead of several, it stands for slashes, too")
	}
	return nil
}

// BranchMatches reports whether a name is one of those that a pattern of a [[branch]] describes: * is any characters,
// or none, also slashes; ? is one character.
func BranchMatches(pattern, name string) bool {
	at, back, from := 0, -1, 0
	for i := 0; i < len(name); {
		switch {
		case at < len(pattern) && pattern[at] == '*':
			back, from = at, i
			at++
		case at < len(pattern) && (pattern[at] == '?' || pattern[at] == name[i]):
			at++
			i++
		case back >= 0: // the last * takes one character more
			from++
			at, i = back+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[at:], "*") == ""
}

// wildcards counts the characters of a pattern that stand for others.
func wildcards(pattern string) int {
	return strings.Count(pattern, "*") + strings.Count(pattern, "?")
}

// moreSpecific reports whether a pattern has more literal characters than another one, or as many and fewer wildcards.
func moreSpecific(a, b string) bool {
	wa, wb := wildcards(a), wildcards(b)
	if la, lb := len(a)-wa, len(b)-wb; la != lb {
		return la > lb
	}
	return wa < wb
}

// commonName returns a name that both patterns match, if there is one.
func commonName(a, b string) (name string, ok bool) {
	seen := make(map[[2]int]bool)
	var from func(i, j int) (string, bool)
	from = func(i, j int) (string, bool) {
		if i == len(a) && j == len(b) {
			return "", true
		}
		if seen[[2]int{i, j}] {
			return "", false
		}
		seen[[2]int{i, j}] = true
		starA, starB := i < len(a) && a[i] == '*', j < len(b) && b[j] == '*'
		if starA {
			if rest, ok := from(i+1, j); ok {
				return rest, true
			}
		}
		if starB {
			if rest, ok := from(i, j+1); ok {
				return rest, true
			}
		}
		if i == len(a) || j == len(b) || starA && starB {
			return "", false
		}
		char, nextI, nextJ := a[i], i+1, j+1
		switch {
		case starA:
			char, nextI = b[j], i
		case starB:
			nextJ = j
		case char == '?':
			char = b[j]
		case b[j] != '?' && b[j] != char:
			return "", false
		}
		if char == '?' {
			char = 'x'
		}
		rest, ok := from(nextI, nextJ)
		return string(char) + rest, ok
	}
	return from(0, 0)
}
