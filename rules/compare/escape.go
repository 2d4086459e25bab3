package compare

import (
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxName is how many characters of foreign text are shown.
const maxName = 200

var (
	// plainCell matches text that may go into a table as it is: a number with its unit, or words.
	plainCell = regexp.MustCompile(`^([-+]?[0-9][0-9.,+-]*(e[-+]?[0-9]+)?( ?[A-Za-zµ%×/]+)?|[a-z, ]+|-)$`)
	// plainURL matches a URL without a character that could end it early.
	plainURL = regexp.MustCompile(`^https?://[A-Za-z0-9._~:/?#\[\]!$&*+,;=%-]+$`)
	// plainProse matches a sentence without anything that Markdown or GitHub interpret.
	plainProse = regexp.MustCompile(`^[A-Za-z0-9 .,:;()+%-]*$`)
	commitSHA  = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// maxURL bounds the URLs that are linked.
const maxURL = 1000

// clip returns the first line of foreign text, up to a bound, without characters that could end code or move a cursor.
func clip(s string) string {
	s, _, _ = strings.Cut(strings.TrimLeft(s, "\r\n"), "\n")
	s = strings.ReplaceAll(printable(strings.TrimRight(s, "\r")), "`", "'")
	if utf8.RuneCountInString(s) > maxName {
		s = string([]rune(s)[:maxName]) + "…"
	}
	return s
}

// code writes foreign text as code, outside of tables. In code nothing is a mention, HTML or a link.
func code(text string) string {
	text = clip(text)
	if strings.TrimSpace(text) == "" {
		return "(nothing)"
	}
	return "`" + text + "`"
}

// codeSpan is code that is safe inside a table too.
func codeSpan(text string) string { return strings.ReplaceAll(code(text), "|", `\|`) }

// codeHTML is code for places that need HTML, such as a summary.
func codeHTML(text string) string { return "<code>" + html.EscapeString(clip(text)) + "</code>" }

// cell writes text in a table: as code, unless it is a number or words that Tacho chose.
func cell(text string) string {
	if plainCell.MatchString(text) {
		return text
	}
	return codeSpan(text)
}

// prose writes a sentence that may contain foreign words: as code, unless it is harmless.
func prose(text string) string {
	if plainProse.MatchString(text) && len(text) < 2*maxName && !strings.Contains(text, "www.") && !strings.Contains(text, "GH-") {
		return text
	}
	return code(text)
}

// commit writes an artifact. The SHA of a commit stays plain, because GitHub links it.
func commit(tag string) string {
	if commitSHA.MatchString(tag) {
		return tag
	}
	return code(tag)
}

// link returns text as a link if the URL is a safe one. text must already be Markdown.
func link(text, url string) string {
	if len(url) > maxURL || !plainURL.MatchString(url) {
		return text
	}
	return "[" + text + "](" + url + ")"
}
