package readmodel

import (
	"context"

	"github.com/tachobench/tacho/rules/match"
)

// Offers returns what the machines have that were not removed and have an active collector, by name.
func (r *Reader) Offers(ctx context.Context) ([]match.Offer, error) {
	rows, err := all[MachineRow](ctx, r.pool, "offers")
	offers := make([]match.Offer, len(rows))
	for i, m := range rows {
		offers[i] = m.Offer()
	}
	return offers, err
}
