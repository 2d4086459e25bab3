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

// Requirements counts the different requirements that requests have which have not ended, and reports whether terms, in
// canonical form, are one of them.
func (r *Reader) Requirements(ctx context.Context, terms []string) (count int, known bool, err error) {
	rows, err := all[requirements](ctx, r.pool, "requirements", terms)
	if err != nil {
		return 0, false, err
	}
	return rows[0].Count, rows[0].Known, nil
}

type requirements struct {
	Count int  `db:"count"`
	Known bool `db:"known"`
}
