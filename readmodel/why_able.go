package readmodel

import (
	"fmt"
	"slices"
)

// Collectors of earlier versions cannot build, nor use what others built. They get no such job (rules/ledger/inputs.go), and
// the scheduler gives them what is behind it.

// builds reports whether only a collector that knows builds gets the job.
func (r whyRows) builds() bool { return r.job.Built != nil || r.job.Chunks > 0 || r.uses }

// knows reports whether a collector knows what the job needs of it.
func (r whyRows) knows(builds bool) bool { return builds || !r.builds() }

// unable reports whether the collector that serves the lane of the job does not know how to execute it, and names it.
func (r whyRows) unable(w *Why) bool {
	serves := slices.DeleteFunc(slices.Clone(r.machines), func(m WhyMachine) bool { return !m.Serves || r.knows(m.Builds) })
	if len(serves) == 0 {
		return false
	}
	w.Machines = serves
	return true
}

// whyUses says whether a job uses what others built.
type whyUses struct {
	Uses bool `db:"uses"`
}

// unableWords names collectors that do not know builds, and says what to do.
func unableWords(list []WhyMachine) string {
	words := make([]string, len(list))
	for i, m := range list {
		words[i] = fmt.Sprintf("%s runs version %s", m.Name, m.Version)
		if m.Version == "" {
			words[i] = fmt.Sprintf("%s runs a version that it does not name", m.Name)
		}
	}
	return someOf(words, len(words)) + "; update it: `tacho collector want VERSION` does so under a supervisor"
}
