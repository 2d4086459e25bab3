package command

import (
	"fmt"
	"strings"
	"unicode"
)

// Refusal says why the bot does not carry out a comment that asks for something.
type Refusal struct {
	// Word is the word that was not understood, as it was written; empty if something is missing.
	Word string
	// Sentence is the answer, in Markdown: one sentence that names the wrong word and what to write instead. It
	// shortens what it repeats of the comment and shows it as code, so that it mentions no person and hides nothing.
	Sentence string
}

func (r *Refusal) Error() string { return r.Sentence }

// refuse formats the sentence of a refusal.
func refuse(word, format string, pieces ...any) *Refusal {
	said := fmt.Sprintf(format, pieces...) + "."
	first := strings.IndexFunc(said, unicode.IsLetter)
	if first == 0 {
		said = strings.ToUpper(said[:1]) + said[1:]
	}
	return &Refusal{Word: strings.ReplaceAll(word, string(hidden), "`"), Sentence: said}
}

// example returns a comment that the bot would understand, quoted.
func (g Grammar) example(text string) string { return quote("@" + g.Bot + " " + text) }

// quoted is how many characters of a comment are repeated at most.
const quoted = 120

// quote returns text as code in Markdown, on one line.
func quote(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > quoted {
			b.WriteRune('…')
			break
		}
		switch {
		case r == '`' || r == hidden:
			b.WriteByte('\'')
		case r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return "`" + b.String() + "`"
}

// either lists values in the form of a sentence: `a`, `b` or `c`.
func either(values []string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = quote(v)
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// suggest returns what the author probably meant, in parentheses; empty if no valid word is near.
func suggest(word string, valid []string) string {
	if near := nearest(word, valid); near != "" {
		return " (did you mean " + quote(near) + "?)"
	}
	return ""
}

// nearest returns the valid word that a person most likely meant: at most a third of its letters, and at least
// one, are wrong, missing, too many or swapped with their neighbour (of five letters: two).
func nearest(word string, valid []string) string {
	best, fewest := "", 0
	for _, v := range valid {
		allowed := max(1, (len(v)+1)/3)
		if diff := len(word) - len(v); diff > allowed || -diff > allowed {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(v)); d <= allowed && (best == "" || d < fewest) {
			best, fewest = v, d
		}
	}
	return best
}

// distance returns how many bytes to change, insert, remove or swap between a and b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
