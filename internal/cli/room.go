package cli

import (
	"cmp"

	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/room"
)

// fullAt is how full, in percent, something is when the doctor notes it.
const fullAt = 80

// roomFindings says how full things are.
func roomFindings(places []room.Place) (out []node.Finding) {
	for _, r := range places {
		f := node.Finding{What: "room", Verdict: "good", Detail: r.About + ": " + r.Use()}
		switch {
		case r.Full != "":
			f.Verdict, f.Detail, f.Next = "bad", f.Detail+": "+r.Full, r.Next
		case r.Percent() >= fullAt:
			f.Verdict, f.Next = "note", r.Next
		}
		out = append(out, f)
	}
	return out
}

// roomTable prints how full things are.
func (p *Program) roomTable(places []room.Place) error {
	var rows [][]string
	for _, r := range places {
		rows = append(rows, []string{r.About, r.Use(), cmp.Or(r.Full, r.Growth(), "-")})
	}
	return table(p.Stdout, []string{"WHAT", "USED", "GROWTH"}, rows)
}
