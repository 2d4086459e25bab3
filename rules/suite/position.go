package suite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// position is a place in a file; line and column count from 1.
type position struct{ line, column int }

// positions maps the path of each key of a TOML document to its place. Paths look like
// "benchmark[2].exclude_profiles[0]". Keys are in lower case, because the decoder ignores case too.
type positions map[string]position

// locate finds the places of all keys in data, which must be valid TOML.
func locate(data []byte) positions {
	l := locator{found: positions{}, arrays: map[string]int{}, lines: []int{0}}
	l.parser.Reset(data)
	for i, b := range data {
		if b == '\n' {
			l.lines = append(l.lines, i+1)
		}
	}
	table := ""
	for l.parser.NextExpression() {
		switch e := l.parser.Expression(); e.Kind {
		case unstable.Table:
			table = l.key("", e.Key())
		case unstable.ArrayTable:
			table = l.arrayTable(e.Key())
		case unstable.KeyValue:
			l.keyValue(table, e)
		default:
		}
	}
	return l.found
}

// at returns the place of path, or of the innermost table around it that the file has.
func (p positions) at(path string) position {
	for path != "" {
		if pos, ok := p[path]; ok {
			return pos
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			break
		}
		path = path[:cut]
	}
	return position{}
}

type locator struct {
	parser unstable.Parser
	found  positions
	// arrays counts the tables of each array of tables.
	arrays map[string]int
	// lines are where the lines begin. The parser would count them anew for each key.
	lines []int
}

// key notes the place of a dotted key under prefix and returns its path. A table inside an array of tables belongs to
// the last entry.
func (l *locator) key(prefix string, key unstable.Iterator) string {
	path := prefix
	for key.Next() {
		path = join(path, strings.ToLower(string(key.Node().Data)))
		if n, ok := l.arrays[path]; ok {
			path = index(path, n-1)
		}
		l.note(path, key.Node())
	}
	return path
}

func (l *locator) arrayTable(key unstable.Iterator) string {
	path := ""
	for key.Next() {
		path = join(path, strings.ToLower(string(key.Node().Data)))
		if key.IsLast() {
			l.note(path, key.Node())
			l.arrays[path]++
			path = index(path, l.arrays[path]-1)
			l.note(path, key.Node())
			break
		}
		if n, ok := l.arrays[path]; ok {
			path = index(path, n-1)
		}
	}
	return path
}

func (l *locator) keyValue(prefix string, kv *unstable.Node) {
	path := l.key(prefix, kv.Key())
	l.value(path, kv.Value())
	if strings.HasSuffix(path, ".when") || strings.HasSuffix(path, ".iterations") {
		l.text(path, kv.Value())
	}
}

// text notes where the text of a string begins, if each of its characters stands for itself.
func (l *locator) text(path string, v *unstable.Node) {
	if raw := l.parser.Raw(v.Raw); v.Kind != unstable.String || len(raw) < 2 || string(raw[1:len(raw)-1]) != string(v.Data) {
		return
	}
	path = textOf(path)
	l.note(path, v)
	if at, ok := l.found[path]; ok {
		l.found[path] = position{at.line, at.column + 1}
	}
}

// textOf is the path of the text of a string.
func textOf(path string) string { return path + "=" }

func (l *locator) value(path string, v *unstable.Node) {
	switch v.Kind {
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			l.keyValue(path, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next(); i++ {
			l.note(index(path, i), it.Node())
			l.value(index(path, i), it.Node())
		}
	default:
	}
}

// note records the place of node, unless its path is already known: a table may be opened in several places.
func (l *locator) note(path string, node *unstable.Node) {
	if _, known := l.found[path]; known || node.Raw.Length == 0 {
		return
	}
	offset := int(node.Raw.Offset)
	line, begins := slices.BinarySearch(l.lines, offset)
	if !begins {
		line--
	}
	l.found[path] = position{line + 1, offset - l.lines[line] + 1}
}

func join(prefix, key string) string {
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
