package command

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addressed is a mention that asks for something: the word after the name, and its arguments.
type addressed struct {
	word      string
	arguments []string
}

func (a addressed) String() string {
	return strings.Join(append([]string{a.word}, a.arguments...), " ")
}

// mentions returns the first two mentions that ask for something; two are enough to refuse them all. alone reports
// that a line holds only the name.
func (g Grammar) mentions(lines []string) (asked []addressed, alone bool) {
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if strings.IndexByte(line, '@') < 0 {
			continue
		}
		for at := 0; at < len(line); {
			end, ok := g.name(line, at)
			if !ok {
				at++
				continue
			}
			a, next := addressedBy(line, end)
			switch {
			case a.word == "" && at == 0 && end == len(line):
				alone = true
			case g.asks(line, at, end, a):
				if asked = append(asked, a); len(asked) == 2 {
					return asked, false
				}
			}
			at = next
		}
	}
	return asked, alone
}

// name reports whether line[at:] begins with the name of the bot as a word, and where it ends. A colon or a comma may
// follow the name, as people write to one another.
func (g Grammar) name(line string, at int) (end int, ok bool) {
	if line[at] != '@' {
		return 0, false
	}
	if before, _ := utf8.DecodeLastRuneInString(line[:at]); at > 0 && (wordy(before) || strings.ContainsRune("._%+-/@", before)) {
		return 0, false
	}
	end = at + 1 + len(g.Bot)
	if end > len(line) || !strings.EqualFold(line[at+1:end], g.Bot) {
		return 0, false
	}
	if end < len(line) && (line[end] == ':' || line[end] == ',') {
		end++
	}
	after, _ := utf8.DecodeRuneInString(line[end:])
	return end, end == len(line) || unicode.IsSpace(after)
}

func wordy(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// addressedBy returns the words between the name that ends at line[end] and the next mention of any name, and where
// that mention begins.
func addressedBy(line string, end int) (a addressed, next int) {
	next = len(line)
	for i := end; i < len(line); i++ {
		if line[i] != '@' {
			continue
		}
		if before, _ := utf8.DecodeLastRuneInString(line[:i]); unicode.IsSpace(before) {
			next = i
			break
		}
	}
	if said := strings.Fields(line[end:next]); len(said) > 0 {
		a.word, a.arguments = said[0], said[1:]
	}
	return a, next
}

// asks reports whether the mention line[at:end] asks the bot for something; see the comment of the package.
func (g Grammar) asks(line string, at, end int, a addressed) bool {
	switch {
	case slices.Contains(words(), strings.ToLower(a.word)):
		return true
	case a.word == "" || strings.ContainsRune(a.word, hidden):
		return false
	case line[end-1] == ':' || line[end-1] == ',':
		return false
	case at == 0:
		return true
	}
	near := nearest(a.word, words()) != ""
	return (near || line[0] == '@') && !slices.ContainsFunc(a.arguments, prose)
}

// prose reports whether a word is neither key=value nor the name of a commit.
func prose(word string) bool {
	sha, ok := commit(word, shortest)
	return !(ok && isHex(sha)) && !strings.Contains(word, "=")
}
