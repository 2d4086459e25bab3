package graph

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
)

// DOT returns the drawing in the language of Graphviz. A dashed arrow means that any end of the job is enough. The note of a
// box is shown to who points at it.
func (d Drawing) DOT() string {
	var b strings.Builder
	b.WriteString("digraph jobs {\n  rankdir=LR;\n  node [shape=box];\n")
	for i, box := range d.Boxes {
		text := box.Name
		if words := box.Words(); words != "" {
			text += "\n" + words
		}
		style := ""
		if box.Optional {
			style = ", style=dashed"
		}
		if box.Note != "" {
			style += ", tooltip=" + dotText(box.Note)
		}
		fmt.Fprintf(&b, "  %d [label=%s%s];\n", i, dotText(text), style)
	}
	for _, l := range d.Lines {
		style := ""
		if l.Until == events.UntilEnded {
			style = " [style=dashed]"
		}
		fmt.Fprintf(&b, "  %d -> %d%s;\n", l.On, l.Job, style)
	}
	b.WriteString("}\n")
	return b.String()
}

// dotText returns a text as a quoted string of DOT.
func dotText(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
