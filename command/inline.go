package command

import "strings"

// hidden stands in visible text for each byte of code.
const hidden = '\x00'

// element is inline HTML that is not said: what begins and ends it, and what each of its bytes becomes.
type element struct {
	begins, ends string
	becomes      byte
}

func elements() []element {
	return []element{{"<!--", "-->", ' '}, {"<code>", "</code>", hidden}, {"<pre>", "</pre>", hidden}, {"<samp>", "</samp>", hidden}}
}

// withoutCode covers the inline code and HTML comments of a paragraph. What is opened first wins; what is never
// closed is text. Each kind of opening is looked for only as long as there is an end for it, so that the time
// is linear whatever is left open.
func withoutCode(paragraph string) string {
	if strings.IndexByte(paragraph, '`') < 0 && strings.IndexByte(paragraph, '<') < 0 {
		return paragraph
	}
	text, small := []byte(paragraph), lower(paragraph)
	last := lastRuns(paragraph)
	kinds := elements()
	for i := 0; i < len(text); {
		switch text[i] {
		case '\\':
			i += 2
		case '`':
			n := run(small[i:])
			if last[n] <= i {
				i += n
				continue
			}
			end := closingRun(small, i+n, n)
			cover(text[i:end], hidden)
			i = end
		case '<':
			end := i + 1
			for k, kind := range kinds {
				if !strings.HasPrefix(small[i:], kind.begins) {
					continue
				}
				// The shortest comment is <!-->.
				length := strings.Index(small[i+2:], kind.ends)
				if length < 0 {
					kinds[k].begins = "\x00"
					continue
				}
				end = i + 2 + length + len(kind.ends)
				cover(text[i:end], kind.becomes)
				break
			}
			i = end
		default:
			i++
		}
	}
	return string(text)
}

// lastRuns returns where the last run of backticks of each length begins.
func lastRuns(s string) map[int]int {
	last := map[int]int{}
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		n := run(s[i:])
		last[n] = i
		i += n
	}
	return last
}

// closingRun returns the end of the next run of exactly n backticks at or after i, of which there is one.
func closingRun(s string, i, n int) int {
	for i < len(s) {
		if s[i] != '`' {
			i++
			continue
		}
		m := run(s[i:])
		i += m
		if m == n {
			break
		}
	}
	return i
}

// cover replaces every byte but the ends of lines.
func cover(text []byte, by byte) {
	for i := range text {
		if text[i] != '\n' {
			text[i] = by
		}
	}
}
