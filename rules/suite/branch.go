package suite

import "strings"

// branchMatches reports whether a name is one of those that a pattern of a [[branch]] describes: * is any characters,
// or none, also slashes; ? is one character.
func branchMatches(pattern, name string) bool {
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
