package suite

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Paths are globs for the paths of a tree. * ? and [...] stand for a part of a name, ** for any number of directories. A
// directory that a glob matches comes with all that is in it. No glob takes exponential time.
type Paths struct{ globs [][]string }

const (
	anyDirectories = "**"
	maxGlob        = 200
)

// ParsePaths reads globs. The error tells the first one that is none.
func ParsePaths(globs []string) (Paths, error) {
	var p Paths
	for _, g := range globs {
		names, err := parseGlob(g)
		if err != nil {
			return Paths{}, err
		}
		p.globs = append(p.globs, names)
	}
	return p, nil
}

// parseGlob returns the names of a glob. A last ** is *: both match all that is in the directory.
func parseGlob(glob string) ([]string, error) {
	wrong := func(why string) ([]string, error) { return nil, fmt.Errorf("path %.100q %s", glob, why) }
	switch {
	case glob == "":
		return wrong("is empty: write a path or a glob, such as \"dist/**\"")
	case len(glob) > maxGlob:
		return wrong(fmt.Sprintf("has %d bytes: use at most %d", len(glob), maxGlob))
	case strings.ContainsRune(glob, 0):
		return wrong("has a zero byte")
	case path.IsAbs(glob):
		return wrong("is absolute: write it relative to the directory in which the steps run")
	}
	names := strings.Split(glob, "/")
	for _, name := range names {
		_, err := path.Match(name, "")
		switch {
		case name == "..":
			return wrong("has a step up: outputs are in the directory in which the steps run")
		case name == "." || name == "":
			return wrong(fmt.Sprintf("has an empty step: write %q", path.Clean(glob)))
		case name != anyDirectories && strings.Contains(name, anyDirectories):
			return wrong("has ** beside other characters: write it between slashes, such as \"dist/**/*.so\"")
		case err != nil:
			return wrong("has a bracket or a backslash without its end")
		}
	}
	if last := len(names) - 1; names[last] == anyDirectories {
		names[last] = "*"
	}
	return names, nil
}

// Match reports whether a path or a directory around it is matched, and else whether something below it can be.
func (p Paths) Match(name string) (matches, below bool) {
	for _, glob := range p.globs {
		m, b := matchGlob(glob, strings.Split(name, "/"))
		matches, below = matches || m, below || b
	}
	return matches, below
}

// matchGlob keeps the set of places in the glob that the names so far can lead to.
func matchGlob(glob, names []string) (matches, below bool) {
	at := reach(glob, make([]bool, len(glob)+1), 0)
	for _, name := range names {
		next := make([]bool, len(glob)+1)
		for i, here := range at[:len(glob)] {
			if !here {
				continue
			}
			if glob[i] == anyDirectories {
				next = reach(glob, next, i)
			} else if ok, _ := path.Match(glob[i], name); ok {
				next = reach(glob, next, i+1)
			}
		}
		if at = next; at[len(glob)] {
			return true, true
		}
	}
	return false, slices.Contains(at, true)
}

// reach adds a place, and those that follow when ** stands for no directory.
func reach(glob []string, at []bool, i int) []bool {
	for at[i] = true; i < len(glob) && glob[i] == anyDirectories; at[i] = true {
		i++
	}
	return at
}

// overlap reports whether two globs may match the same path, or one a path below what the other matches. Of brackets it
// only knows that they stand for one character.
func overlap(a, b []string) bool {
	// can[j] says that what is left of a and b[j:] have a path in common.
	can := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		before := slices.Clone(can)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) || j == len(b):
				can[j] = true
			case a[i] == anyDirectories || b[j] == anyDirectories:
				can[j] = before[j] || can[j+1]
			default:
				can[j] = before[j+1] && namesOverlap(characters(a[i]), characters(b[j]))
			}
		}
	}
	return can[0]
}

const (
	anyText      = utf8.MaxRune + 1
	anyCharacter = utf8.MaxRune + 2
)

// characters returns the characters of a valid glob for a name.
func characters(glob string) []rune {
	var all []rune
	for r := []rune(glob); len(r) > 0; r = r[1:] {
		switch r[0] {
		case '*':
			all = append(all, anyText)
		case '?':
			all = append(all, anyCharacter)
		case '[':
			for r = r[1:]; len(r) > 1 && r[0] != ']'; r = r[1:] {
				if r[0] == '\\' {
					r = r[1:]
				}
			}
			all = append(all, anyCharacter)
		case '\\':
			r = r[1:]
			all = append(all, r[0])
		default:
			all = append(all, r[0])
		}
	}
	return all
}

// namesOverlap reports whether a name can be matched by both.
func namesOverlap(a, b []rune) bool {
	// can[j] says that what is left of a and b[j:] have a name in common.
	can := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		before := slices.Clone(can)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				can[j] = true
			case i < len(a) && a[i] == anyText:
				can[j] = before[j] || j < len(b) && can[j+1]
			case j < len(b) && b[j] == anyText:
				can[j] = can[j+1] || i < len(a) && before[j]
			case i == len(a) || j == len(b):
				can[j] = false
			default:
				can[j] = (a[i] == b[j] || a[i] == anyCharacter || b[j] == anyCharacter) && before[j+1]
			}
		}
	}
	return can[0]
}
