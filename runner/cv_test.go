package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"os/exec"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/measure"
)

func TestCV(t *testing.T) {
	cache := os.Getenv("X_CACHE")
	base := []string{"PATH=/usr/local/go/bin:/usr/bin:/bin", "HOME=/tmp/gr/cv", "GOROOT=/usr/local/go", "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOPROXY=off", "GOENV=off", "GOWORK=off"}
	for _, prog := range []string{"generics", "inlining"} {
		dir := "/tmp/gr/cv/" + prog
		// direct compile
		cmd := exec.Command("sh", "-c", "go list -deps -export -f '{{if and .Standard .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}' . > /tmp/gr/cv/importcfg && ls *.go | grep -v gen.go")
		cmd.Dir = dir
		cmd.Env = append(append([]string{}, base...), "GOCACHE=/tmp/gr/cv/listcache", "GOFLAGS=-trimpath -buildvcs=false -mod=mod")
		out, err := cmd.Output()
		if err != nil { t.Fatal(err) }
		files := strings.Fields(string(out))
		for _, gogc := range []string{"", "GOGC=off"} {
		for _, mode := range []string{"build-1", "compile-1"} {
			if prog == "manypkgs" && strings.HasPrefix(mode, "compile") { continue }
			v := map[events.Metric][]float64{}
			for i := 0; i < 10; i++ {
				n := mode[len(mode)-1:]
				env := append(append([]string{}, base...), "GOCACHE=/tmp/gr/cv/gocache", "GOMAXPROCS="+n, "GOFLAGS=-trimpath -buildvcs=false -mod=mod -p="+n)
				if gogc != "" { env = append(env, gogc) }
				var c measure.Cmd
				if mode[0] == 'b' {
					os.RemoveAll("/tmp/gr/cv/gocache"); os.RemoveAll("/tmp/gr/cv/out")
					if o, err := exec.Command("cp", "-al", cache, "/tmp/gr/cv/gocache").CombinedOutput(); err != nil { t.Fatal(string(o)) }
					c = measure.Cmd{Path: "/usr/local/go/bin/go", Args: []string{"build", "-o", "/tmp/gr/cv/out/", "."}, Dir: dir, Env: env, DisableASLR: true}
				} else {
					args := append([]string{"-o", "/tmp/gr/cv/o.a", "-trimpath", "/tmp/gr/cv", "-p", "main", "-complete", "-lang=go1.21", "-c="+n, "-nolocalimports", "-importcfg", "/tmp/gr/cv/importcfg", "-pack"}, files...)
					c = measure.Cmd{Path: "/usr/local/go/pkg/tool/linux_amd64/compile", Args: args, Dir: dir, Env: env, DisableASLR: true}
				}
				o, err := (&measure.Runner{}).Run(context.Background(), c)
				if err != nil || o.ExitCode != 0 { t.Fatal(err, string(o.Stderr)) }
				for k, x := range o.Metrics { v[k] = append(v[k], x) }
			}
			line := ""
			for _, m := range []events.Metric{"wall-time", "task-clock", "user-time", "page-faults", "max-rss"} {
				mean, sd := stats(v[m])
				line += " | " + string(m) + " " + f(mean) + " " + f(100*sd/mean) + "%"
			}
			t.Logf("%-9s %-10s %-8s%s", prog, mode, gogc, line)
		}}
	}
	_ = filepath.Join
}
