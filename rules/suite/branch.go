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

// commonName returns a name that both patterns match, if there is one. It takes steps for each pair of characters, and no more:
// a file may have 2,000 pairs of patterns.
func commonName(a, b string) (name string, ok bool) {
	// common tells for each beginning of both whether what is left of them has a common name. It is filled from the end.
	width := len(b) + 1
	common := make([]bool, (len(a)+1)*width)
	common[len(common)-1] = true
	for j := len(b) - 1; j >= 0 && b[j] == '*'; j-- {
		common[len(a)*width+j] = true // a star is no character
	}
	for i := len(a) - 1; i >= 0; i-- {
		row, next := common[i*width:(i+1)*width], common[(i+1)*width:(i+2)*width]
		char := a[i]
		row[len(b)] = char == '*' && next[len(b)]
		for j := len(b) - 1; j >= 0; j-- {
			switch {
			case char == '*' || b[j] == '*': // it is no character, or the next one of the other and maybe more
				row[j] = next[j] || row[j+1]
			case b[j] == char || char == '?' || b[j] == '?':
				row[j] = next[j+1]
			}
		}
	}
	if !common[0] {
		return "", false
	}
	var chars []byte
	for i, j := 0, 0; i < len(a) || j < len(b); {
		starA, starB := i < len(a) && a[i] == '*', j < len(b) && b[j] == '*'
		at := i*width + j
		switch {
		case starA && common[at+width]:
			i++
		case starB && common[at+1]:
			j++
		case starA:
			chars, j = append(chars, b[j]), j+1
		case starB:
			chars, i = append(chars, a[i]), i+1
		default:
			char := a[i]
			if char == '?' {
				char = b[j]
			}
			chars, i, j = append(chars, char), i+1, j+1
		}
	}
	return strings.ReplaceAll(string(chars), "?", "x"), true
}
