package waits

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// The measures of a drawing, in pixels.
const (
	nameWidth   = 260
	chartWidth  = 620
	rowHeight   = 20
	barHeight   = 14
	chartHeight = 90
	pad         = 8
	axisHeight  = 22
	// longestName is how many letters of a name are shown.
	longestName = 34
	// ticks is in how many parts the axis is cut.
	ticks = 6
)

// MaxDrawn is how many jobs a drawing has at most; the later ones are left out.
const MaxDrawn = 200

// SVG returns a drawing of the timeline as an element of a page: a row for each job, with what it did when, and below how many
// jobs ran, waited, were blocked and were skipped. It has no script and no style of its own; its classes are timeline, the words
// of Doing, name, axis and critical. link returns the address of a job; duration names a time.
func (l Timeline) SVG(label string, link func(Timing) string, duration func(ms int64) string) string {
	length := max(l.To.Sub(l.From).Milliseconds(), 1)
	x := func(ms int64) float64 { return nameWidth + float64(ms)/float64(length)*chartWidth }
	rows := l.Rounds[:min(len(l.Rounds), MaxDrawn)]
	chart := float64(pad + len(rows)*rowHeight + pad)
	width, height := nameWidth+chartWidth+4*pad, chart+chartHeight+axisHeight
	critical := map[string]bool{}
	for _, s := range l.Path {
		critical[string(s.Job)] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="timeline" width="%d" height="%.0f" viewBox="0 0 %d %.0f" role="group" aria-label="%s">`+"\n",
		width, height, width, height, escaped(label))
	for i := range int64(ticks + 1) {
		at := length * i / ticks
		fmt.Fprintf(&b, `<line class="axis" x1="%.1f" y1="%d" x2="%.1f" y2="%.1f"/><text class="axis" x="%.1f" y="%.1f">%s</text>`+"\n",
			x(at), pad, x(at), chart+chartHeight, x(at), chart+chartHeight+15, escaped(duration(at)))
	}
	for i, t := range rows {
		y := float64(pad + i*rowHeight)
		class := "name"
		if critical[string(t.Job)] {
			class += " critical"
		}
		fmt.Fprintf(&b, `<a href="%s"><title>%s</title><text class="%s" x="0" y="%.1f">%s</text>`, escaped(link(t)), escaped(t.Name), class, y+barHeight-2, escaped(shortened(t.Name)))
		for _, p := range t.Parts {
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d"><title>%s: %s for %s</title></rect>`,
				p.Doing, x(p.FromMS), y+1, max(x(p.ToMS)-x(p.FromMS), 0.5), barHeight, escaped(t.Name), p.Doing, escaped(duration(p.ToMS-p.FromMS)))
		}
		b.WriteString("</a>\n")
	}
	l.areas(&b, x, chart)
	b.WriteString("</svg>\n")
	return b.String()
}

// areas draws how many jobs did what, on top of one another.
func (l Timeline) areas(b *strings.Builder, x func(int64) float64, top float64) {
	most := 1
	for _, p := range l.Points {
		most = max(most, p.Running+p.Waiting+p.Blocked+p.Skipped)
	}
	length := l.To.Sub(l.From).Milliseconds()
	y := func(jobs int) float64 { return top + chartHeight*(1-float64(jobs)/float64(most)) }
	for _, area := range []struct {
		doing Doing
		jobs  func(Point) int
	}{ // the lower ones are drawn over the higher ones
		{Skipped, func(p Point) int { return p.Running + p.Waiting + p.Blocked + p.Skipped }},
		{Blocked, func(p Point) int { return p.Running + p.Waiting + p.Blocked }},
		{Waiting, func(p Point) int { return p.Running + p.Waiting }},
		{Running, func(p Point) int { return p.Running }},
	} {
		fmt.Fprintf(b, `<path class="%s" d="M%.1f %.1f`, area.doing, x(0), y(0))
		before := 0
		for _, p := range l.Points {
			if jobs := area.jobs(p); jobs != before {
				fmt.Fprintf(b, "H%.1fV%.1f", x(p.AtMS), y(jobs))
				before = jobs
			}
		}
		fmt.Fprintf(b, `H%.1fV%.1fZ"/>`+"\n", x(length), y(0))
	}
	fmt.Fprintf(b, `<text class="axis" x="%d" y="%.1f">%d</text><text class="axis" x="%d" y="%.1f">0</text>`+"\n", nameWidth-20, y(most)+10, most, nameWidth-20, y(0))
}

func shortened(name string) string {
	letters := []rune(name)
	if len(letters) <= longestName {
		return name
	}
	return string(letters[:longestName-1]) + "…"
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes everything
	return b.String()
}
