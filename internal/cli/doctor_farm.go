package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/website/client"
)

// doctorFarm says how full the running farm is and what on it has a limit; nothing if no Tacho is found.
func (p *Program) doctorFarm(ctx context.Context) []node.Finding {
	if _, runs := datadir.Dir(p.config.Data).Find(); !runs && p.config.Server == "" {
		return nil
	}
	cl, err := p.client()
	if err != nil {
		return []node.Finding{{What: "server", Verdict: "note", Detail: err.Error()}}
	}
	status, err := cl.Status(ctx)
	if err != nil {
		return []node.Finding{{What: "server", Verdict: "note", Detail: fmt.Sprintf("does not answer: %v", err), Next: "check server (--server, TACHO_SERVER), and that it runs"}}
	}
	out := roomFindings(status.Room)
	shares, err := cl.Shares(ctx)
	if err != nil {
		return append(out, node.Finding{What: "server", Verdict: "note", Detail: err.Error()})
	}
	for _, tier := range []struct {
		name  string
		floor int
	}{{"default", shares.FloorDefault}, {"idle", shares.FloorIdle}} {
		if tier.floor == 0 {
			out = append(out, node.Finding{
				What: "floors", Verdict: "note", Detail: fmt.Sprintf("the floor of the tier %s is 0 %%: its jobs may wait for ever", tier.name),
				Next: fmt.Sprintf("`tacho share policy --floor %s=0.5%%` gives it a small part", tier.name),
			})
		}
	}
	collectors, err := cl.Collectors(ctx, false)
	if err != nil {
		return append(out, node.Finding{What: "server", Verdict: "note", Detail: err.Error()})
	}
	var loose []string
	for _, c := range collectors {
		if limitsOf(c) != "" {
			loose = append(loose, string(c.Machine))
		}
	}
	if len(loose) > 0 {
		slices.Sort(loose)
		out = append(out, node.Finding{
			What: "limits", Verdict: "note", Detail: "what jobs reserve is not enforced, and they can use more, on: " + strings.Join(slices.Compact(loose), ", "),
			Next: "`tacho machine show NAME` says why",
		})
	}
	return out
}

// limitsOf says why the collector of a machine does not enforce what its jobs reserve; "" if it does, or if it is not known.
func limitsOf(c client.Collector) string {
	if enforced, why, known := c.Enforced(); known && !enforced {
		return why
	}
	return ""
}
