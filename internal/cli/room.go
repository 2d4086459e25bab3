package cli

import (
	"cmp"

	"github.com/tachobench/tacho/internal/room"
)

// roomTable prints how full things are.
func (p *Program) roomTable(places []room.Place) error {
	var rows [][]string
	for _, r := range places {
		rows = append(rows, []string{r.About, r.Use(), cmp.Or(r.Full, r.Growth(), "-")})
	}
	return table(p.Stdout, []string{"WHAT", "USED", "GROWTH"}, rows)
}
