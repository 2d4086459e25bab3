package node

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/internal/turns"
)

// doctorMeasuring looks at what collectors need. A machine that has only the parts of a cluster needs none of it.
func (h *Host) doctorMeasuring(ctx context.Context) []Finding {
	if h.Config.NATS.URL != "" && h.Config.Database.URL != "" && len(turns.Users(h.turns())) == 0 {
		return []Finding{{
			What: "measuring", Verdict: "good", Detail: "was not looked at: log and tables are on servers of their own, and no collector runs here",
			Next: "run `tacho doctor` where collectors run",
		}}
	}
	findings := append(doctorTools(), h.doctorBuilds(ctx)...)
	findings = append(findings, h.doctorCounting(ctx))
	return append(findings, doctorMetrics(ctx)...)
}

type tool struct{ name, use, install string }

func (t tool) find() Finding {
	path, err := exec.LookPath(t.name)
	if err != nil {
		return Finding{What: t.name, Verdict: "note", Detail: "not found; it " + t.use, Next: t.install}
	}
	return Finding{What: t.name, Verdict: "good", Detail: path}
}

// doctorGit looks for git, which pollers and collectors use.
func doctorGit() Finding {
	return tool{"git", "fetches commits, for suites with the artifact kind git and for pollers", "apt-get install git"}.find()
}

func doctorTools() []Finding {
	return []Finding{
		tool{"go", "fetches Go toolchains, for suites with the artifact kind go-toolchain", "install Go from https://go.dev/dl"}.find(),
		tool{"valgrind", "counts instructions where the processor does not (collector.instructions)", "apt-get install valgrind"}.find(),
	}
}

func doctorMetrics(ctx context.Context) []Finding {
	have, missing := measure.Probe(ctx)
	list := make([]string, 0, len(have))
	for _, m := range have {
		list = append(list, string(m))
	}
	out := []Finding{{What: "metrics", Verdict: "good", Detail: strings.Join(list, ", ")}}
	reasons := map[string][]string{}
	for _, m := range slices.Sorted(maps.Keys(missing)) {
		reasons[missing[m]] = append(reasons[missing[m]], string(m))
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		out = append(out, Finding{What: "missing metrics", Verdict: "note", Detail: strings.Join(reasons[reason], ", ") + ": " + reason})
	}
	return out
}
