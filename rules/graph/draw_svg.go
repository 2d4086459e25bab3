package graph

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tachobench/tacho/events"
)

// The measures of a drawing, in pixels.
const (
	letter    = 7.3 // the width of a letter of a name
	boxPad    = 12
	boxLow    = 28 // the height of a box without a state
	boxHigh   = 44
	betweenY  = 12
	betweenX  = 56
	margin    = 8
	arrowHead = 5
	// longest is how many letters of a name are shown.
	longest = 48
)

// fileStyle is for a drawing that stands alone. On a page the style of the page counts.
const fileStyle = `.graph{--card:#fff;--ink:#1b2a2c;--line:#8a979a;--good:#1d7a3c;--bad:#b3261e;--busy:#9a5b00;--idle:#0b6b63;--off:#66707a;background:#f6f7f4}
@media (prefers-color-scheme:dark){.graph{--card:#182122;--ink:#e4ebe8;--line:#66757a;--good:#7fd491;--bad:#ff9a90;--busy:#f5bd63;--idle:#7fd6c8;--off:#9aa7ac;background:#101718}}
.graph .job{color:var(--off)}.graph .success{color:var(--good)}.graph .failure{color:var(--bad)}.graph .in_progress,.graph .mixed{color:var(--busy)}.graph .queued{color:var(--idle)}
.graph rect{fill:var(--card);stroke:currentColor}.graph .name{fill:var(--ink);font:12px monospace}.graph .says{fill:currentColor;font:12px sans-serif}
.graph path{fill:none;stroke:var(--line);stroke-width:1.3}.graph .ended{stroke-dasharray:5 4}
`

// spot is where a box stands.
type spot struct{ x, y, width float64 }

// SVG returns the drawing as an element of a page: no script, no style of its own, its classes are graph, job, the states,
// name, says and ended. Jobs stand to the right of what they need. A dashed line means that any end of the job is enough.
// label says what is drawn. The same drawing gives the same bytes.
func (d Drawing) SVG(label string) string { return d.svg(label, "") }

// File returns the drawing as a file, with a style that fits light and dark.
func (d Drawing) File(label string) string { return d.svg(label, "<style>"+fileStyle+"</style>\n") }

func (d Drawing) svg(label, style string) string {
	spots, width, height := d.place()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="graph" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="group" aria-label="%s">`+"\n%s",
		width, height, width, height, escaped(label), style)
	for _, l := range d.Lines {
		from, to := spots[l.On], spots[l.Job]
		d.line(&b, l, from.x+from.width, from.y+d.boxHeight()/2, to.x, to.y+d.boxHeight()/2)
	}
	for i, box := range d.Boxes {
		d.box(&b, box, spots[i])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// boxHeight returns the height of the boxes, which all have a state or none.
func (d Drawing) boxHeight() float64 {
	if slices.ContainsFunc(d.Boxes, func(b Box) bool { return len(b.Counts) > 0 || b.Optional }) {
		return boxHigh
	}
	return boxLow
}

// says returns the second text of a box: its mark and its words.
func (b Box) says() string {
	var words []string
	if w := b.Words(); w != "" {
		mark := ""
		for _, s := range drawnStates {
			if s.state == b.State {
				mark = s.mark + " "
			}
		}
		words = append(words, mark+w)
	}
	if b.Optional {
		words = append(words, "optional")
	}
	return strings.Join(words, " · ")
}

func (d Drawing) box(b *strings.Builder, box Box, at spot) {
	class := "job"
	if slices.ContainsFunc(drawnStates, func(s struct{ state, mark string }) bool { return s.state == box.State }) {
		class += " " + box.State
	}
	if box.Link != "" {
		fmt.Fprintf(b, `<a href="%s">`, escaped(box.Link))
	}
	says := box.says()
	title := box.Name
	for _, more := range []string{says, box.Note} {
		if more != "" {
			title += " · " + more
		}
	}
	fmt.Fprintf(b, `<g class="%s"><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" rx="6"/><text class="name" x="%.1f" y="%.1f">%s</text>`,
		class, escaped(title), at.x, at.y, at.width, d.boxHeight(), at.x+boxPad, at.y+18, escaped(cut(box.Name)))
	if says != "" {
		fmt.Fprintf(b, `<text class="says" x="%.1f" y="%.1f">%s</text>`, at.x+boxPad, at.y+35, escaped(cut(says)))
	}
	b.WriteString("</g>")
	if box.Link != "" {
		b.WriteString("</a>")
	}
	b.WriteString("\n")
}

// line draws a line with the head of an arrow.
func (d Drawing) line(b *strings.Builder, l Line, x1, y1, x2, y2 float64) {
	class, until := "", "needs"
	if l.Until == events.UntilEnded {
		class, until = ` class="ended"`, "waits for any end of"
	}
	middle := (x1 + x2) / 2
	fmt.Fprintf(b, `<g><title>%s %s %s</title><path%s d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/><path d="M%.1f %.1fL%.1f %.1fL%.1f %.1f"/></g>`+"\n",
		escaped(d.Boxes[l.Job].Name), until, escaped(d.Boxes[l.On].Name), class, x1, y1, middle, y1, middle, y2, x2, y2,
		x2-arrowHead, y2-arrowHead, x2, y2, x2-arrowHead, y2+arrowHead)
}

// place returns where the boxes stand: in columns by their steps, in each column those first that need what stands high.
func (d Drawing) place() (spots []spot, width, height float64) {
	needs := make([]Need, len(d.Lines))
	for i, l := range d.Lines {
		needs[i] = Need{Job: l.Job, On: l.On}
	}
	var columns [][]int
	for i, step := range Steps(len(d.Boxes), needs) {
		for len(columns) <= step {
			columns = append(columns, nil)
		}
		columns[step] = append(columns[step], i)
	}
	on := make([][]int, len(d.Boxes))
	for _, l := range d.Lines {
		on[l.Job] = append(on[l.Job], l.On)
	}
	high, tallest := d.boxHeight(), 0
	for _, column := range columns {
		tallest = max(tallest, len(column))
	}
	tall := float64(tallest)*(high+betweenY) - betweenY
	spots = make([]spot, len(d.Boxes))
	x := float64(margin)
	for _, column := range columns {
		if len(column) == 0 {
			continue
		}
		mean := map[int]float64{}
		for _, i := range column {
			for _, o := range on[i] {
				mean[i] += spots[o].y / float64(len(on[i]))
			}
		}
		slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
		wide := 0.0
		for _, i := range column {
			wide = max(wide, d.Boxes[i].width())
		}
		y := margin + (tall-float64(len(column))*(high+betweenY)+betweenY)/2
		for _, i := range column {
			spots[i] = spot{x, y, wide}
			y += high + betweenY
		}
		x += wide + betweenX
	}
	return spots, max(x-betweenX, 0) + margin, max(tall, 0) + 2*margin
}

// width returns how wide the box must be for its texts.
func (b Box) width() float64 {
	letters := max(utf8.RuneCountInString(cut(b.Name)), utf8.RuneCountInString(cut(b.says())))
	return float64(letters)*letter + 2*boxPad
}

// cut cuts a long text.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	return string([]rune(s)[:longest-1]) + "…"
}

// escaped returns a text for an element or an attribute. What XML cannot hold becomes U+FFFD.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes all
	return b.String()
}
