package command

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// The lengths of commit names: the shortest abbreviation that git makes by itself, the shortest that git accepts, and
// a whole SHA-1.
const (
	abbreviated = 7
	shortest    = 4
	whole       = 40
)

// parse reads a command from a mention.
func (g Grammar) parse(a addressed) (Command, *Refusal) {
	word := strings.ToLower(a.word)
	if slices.ContainsFunc(a.arguments, func(s string) bool { return strings.ContainsRune(s, hidden) }) && word != helpWord {
		return nil, refuse("", "I do not read code, and there is some after %s: write it again without backticks", quote(a.word))
	}
	switch word {
	case queueWord:
		p, c, refusal := g.parameters(queueWord, a.arguments)
		return Queue{p, c}, refusal
	case buildWord:
		return g.build(a.arguments)
	case triageWord:
		return g.triage(a.arguments)
	case retryWord:
		return g.retry(a.arguments)
	case noiseWord:
		return g.noise(a.arguments)
	case priorityWord:
		return g.priority(a.arguments)
	case cancelWord:
		return Cancel{}, g.nothingAfter(cancelWord, a.arguments)
	case statusWord:
		return Status{}, g.nothingAfter(statusWord, a.arguments)
	case helpWord:
		// A person who needs help gets it, whatever else the line says.
		return Help{}, nil
	}
	return nil, refuse(a.word, "I do not know the command %s%s: use %s", quote(a.word), suggest(a.word, words()), either(words()))
}

func (g Grammar) nothingAfter(word string, arguments []string) *Refusal {
	if len(arguments) == 0 {
		return nil
	}
	return refuse(arguments[0], "%s takes nothing after it, and I do not know what to do with %s: write %s",
		quote(word), quote(arguments[0]), g.example(word))
}

func (g Grammar) build(arguments []string) (Command, *Refusal) {
	example := g.example(buildWord + " 1a2b3c4d")
	if len(arguments) == 0 || strings.Contains(arguments[0], "=") && !strings.Contains(arguments[0], "/") {
		return nil, refuse("", "%s needs the SHA or the URL of a commit right after it: write it as in %s", quote(buildWord), example)
	}
	sha, ok := commit(arguments[0], abbreviated)
	switch {
	case !ok && strings.Contains(arguments[0], "/"):
		return nil, refuse(arguments[0], "%s is not the URL of a commit (https://github.com/owner/name/commit/SHA): "+
			"copy it from the page of the commit, or write its SHA as in %s", quote(arguments[0]), example)
	case !ok || !isHex(sha):
		return nil, refuse(arguments[0], "%s is not a SHA, which has 7 to 40 hex digits: write one as in %s", quote(arguments[0]), example)
	case len(arguments) > 1 && !strings.Contains(arguments[1], "=") && !prose(arguments[1]):
		return nil, refuse(arguments[1], "%s takes one commit, and %s is a second: write a new comment for each",
			quote(buildWord), quote(arguments[1]))
	}
	p, c, refusal := g.parameters(buildWord+" "+sha, arguments[1:])
	return Build{events.Tag(sha), p, c}, refusal
}

func (g Grammar) triage(arguments []string) (Command, *Refusal) {
	example := g.example(triageWord + " 1a2b3c4d 5e6f7a8b")
	var shas []events.Tag
	for _, argument := range arguments {
		sha, ok := commit(argument, shortest)
		switch {
		case !ok && strings.Contains(argument, "=") && !strings.Contains(argument, "/"):
			return nil, refuse(argument, "%s takes SHAs and no parameters such as %s: write it as in %s",
				quote(triageWord), quote(argument), example)
		case !ok:
			return nil, refuse(argument, "%s is neither a SHA nor the URL of a commit: write it as in %s", quote(argument), example)
		}
		if !slices.Contains(shas, events.Tag(sha)) {
			shas = append(shas, events.Tag(sha))
		}
		if len(shas) > MaxTriage {
			return nil, refuse(argument, "%s takes at most %d SHAs at once: name the others in a new comment", quote(triageWord), MaxTriage)
		}
	}
	if len(shas) == 0 {
		return nil, refuse("", "%s needs the SHAs of the unrolled builds after it: write them as in %s", quote(triageWord), example)
	}
	return Triage{SHAs: shas}, nil
}

// commit returns the name of a commit, in lower case, from a word or from the URL of the commit's page. The name has
// at least atLeast letters and digits; in a URL it has only hex digits.
func commit(word string, atLeast int) (sha string, ok bool) {
	if strings.Contains(word, "/") {
		if word, ok = commitOfPage(word); !ok {
			return "", false
		}
	}
	return strings.ToLower(word), atLeast <= len(word) && len(word) <= whole && all(word, letterOrDigit)
}

// commitOfPage returns the SHA in the URL of a commit, alone or in a pull request, on any host.
func commitOfPage(page string) (sha string, ok bool) {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "", false
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case slices.Contains(parts, ""):
		return "", false
	case len(parts) == 4 && parts[2] == "commit":
		sha = parts[3]
	case len(parts) == 6 && parts[2] == "pull" && parts[4] == "commits":
		sha = parts[5]
	}
	return sha, sha != "" && isHex(sha)
}

func isHex(s string) bool {
	return all(s, func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' })
}

func letterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func all(s string, of func(byte) bool) bool {
	for i := range len(s) {
		if !of(s[i]) {
			return false
		}
	}
	return true
}
