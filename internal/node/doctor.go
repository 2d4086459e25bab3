package node

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

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/phrase"
)

// Finding is what Examine found out about one thing.
type Finding struct {
	What string `json:"what"`
	// Verdict is "good", "note" (works, with a limit) or "bad".
	Verdict string `json:"verdict"`
	Detail  string `json:"detail"`
	// Next says what to do about it.
	Next string `json:"next,omitempty"`
}

// Examine looks at everything that Tacho needs on this machine.
func (h *Host) Examine(ctx context.Context) []Finding {
	findings := []Finding{h.doctorData(), h.doctorSpace()}
	findings = append(findings, h.doctorOutputs()...)
	findings = append(findings, doctorGit())
	findings = append(findings, h.doctorMeasuring(ctx)...)
	findings = append(findings, h.doctorTLS()...)
	findings = append(findings, h.doctorServices(ctx)...)
	findings = append(findings, h.doctorGitHub(ctx)...)
	findings = append(findings, h.doctorHooks()...)
	findings = append(findings, h.doctorSeals()...)
	return append(findings, h.doctorSuites())
}

func (h *Host) doctorData() Finding {
	f := Finding{What: "data directory", Verdict: "good", Detail: h.Config.Data}
	if err := h.data().Make(); err != nil {
		return Finding{What: f.What, Verdict: "bad", Detail: err.Error()}
	}
	if r, ok := h.data().Find(); ok {
		f.Detail += fmt.Sprintf(", in use by process %d at %s", r.PID, r.URL)
	}
	return f
}

func (h *Host) doctorSpace() Finding {
	const least = 5 << 30
	var st syscall.Statfs_t
	dir := h.Config.Data
	if err := syscall.Statfs(dir, &st); err != nil {
		return Finding{What: "disk", Verdict: "bad", Detail: err.Error()}
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	f := Finding{What: "disk", Verdict: "good", Detail: fmt.Sprintf("%d GiB free under %s", free>>30, dir)}
	if free < least {
		f.Verdict, f.Next = "note", "artifacts and the log need room: free some, or choose another directory with --data"
	}
	return f
}

// doctorOutputs says how large the store of outputs may become on this machine.
func (h *Host) doctorOutputs() []Finding {
	c := h.Config.NATS
	var st syscall.Statfs_t
	if c.URL != "" || syscall.Statfs(h.Config.Data, &st) != nil { // it is elsewhere, or doctorSpace has said what is wrong
		return nil
	}
	most, free := c.BlobBytes+c.UploadBytes, int64(st.Bavail)*int64(st.Bsize)
	f := Finding{What: "outputs", Verdict: "good", Detail: fmt.Sprintf("builds may take %s of the disk for outputs and %s for uploads", phrase.Bytes(c.BlobBytes), phrase.Bytes(c.UploadBytes))}
	if most > free {
		f.Verdict, f.Detail = "note", f.Detail+", more than the "+phrase.Bytes(free)+" that are free"
		f.Next = "if suites have builds: free some, or lower nats.blob_bytes and nats.upload_bytes"
	}
	return []Finding{f}
}

// doctorServices tries the NATS and Postgres that the configuration names.
func (h *Host) doctorServices(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var out []Finding
	if h.Config.NATS.URL != "" {
		f := Finding{What: "NATS", Verdict: "good", Detail: config.NATSHosts(h.Config.NATS.URL)}
		nc, err := h.connectCore(ctx, 0)
		if err != nil {
			f.Verdict, f.Detail = "bad", err.Error()
		} else {
			nc.Close()
		}
		out = append(out, f)
	}
	switch {
	case h.Config.Database.URL != "":
	case h.Config.NATS.URL != "": // a collector has no tables
		return out
	default:
		return append(out, h.doctorPostgres())
	}
	f := Finding{What: "Postgres", Verdict: "good"}
	conn, err := pgx.Connect(ctx, h.Config.Database.URL)
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
func (h *Host) doctorGitHub(ctx context.Context) []Finding {
	c := h.Config.GitHub
	if c.Repo == "" {
		return nil
	}
	f := Finding{What: "GitHub", Verdict: "good"}
	if !writesComments(c) {
		f.Verdict, f.Detail = "note", fmt.Sprintf("%s: %s", c.Repo, howWritten(c, githubapi.Account{}))
		f.Next = "set TACHO_GITHUB_TOKEN or github.app, and leave github.dry_run out"
		return []Finding{f}
	}
	api, err := gitHub(c)
	if err != nil {
		return []Finding{{What: f.What, Verdict: "bad", Detail: err.Error()}}
	}
	self, err := askWho(ctx, api, c)
	if err != nil {
		return []Finding{{What: f.What, Verdict: "bad", Detail: err.Error()}}
	}
	f.Detail = fmt.Sprintf("%s: %s", c.Repo, howWritten(c, self))
	return []Finding{f}
}

func (h *Host) doctorPostgres() Finding {
	f := Finding{What: "Postgres", Verdict: "good"}
	candidates := []string{h.Config.Database.Bin}
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return Finding{What: f.What, Verdict: "bad", Detail: err.Error()}
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

func (h *Host) doctorSuites() Finding {
	suites, err := LoadSuites(h.Config.Suites)
	if err != nil {
		return Finding{What: "suites", Verdict: "bad", Detail: err.Error()}
	}
	var known []string
	for _, d := range suites {
		known = append(known, fmt.Sprintf("%s (%s)", d.Name, phrase.Count(len(d.Benchmarks), "benchmark")))
	}
	return Finding{What: "suites", Verdict: "good", Detail: strings.Join(known, ", ")}
}
