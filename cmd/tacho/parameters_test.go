package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/events"
)

// noted is a tool of a toolchain that notes its arguments, and then runs the real tool.
const noted = "#!/bin/sh\nprintf '%%s ' \"$@\" >> %s\necho >> %s\nexec %s \"$@\"\n"

// Each parameter travels from a comment to the command line of the compiler: the target to the lane, the backend and
// the profile to their flags, the benchmarks to the crates that are compiled.
func TestParametersReachTheCompilerFromAComment(t *testing.T) {
	t.Parallel()
	sysroot, err := exec.Command("rustc", "--print", "sysroot").Output()
	if err != nil {
		t.Fatalf("this test needs rustc and cargo: %v", err)
	}
	g := onGitHub(t)
	argv := filepath.Join(g.dir, "argv")
	bin := filepath.Join(g.dir, "artifacts", mergeSHA, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"rustc", "cargo"} {
		real := filepath.Join(strings.TrimSpace(string(sysroot)), "bin", tool)
		if err := os.WriteFile(filepath.Join(bin, tool), fmt.Appendf(nil, noted, argv, argv, real), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("../../collector/definitions/rustc-small.toml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := definitions.Shipped("rustc-small")
	if err != nil {
		t.Fatal(err)
	}
	programs := definitions.ShippedPrograms("rustc-small")
	for _, b := range d.Benchmarks {
		if err := programs.Materialise(b.Source, filepath.Join(g.dir, b.Source)); err != nil {
			t.Fatal(err)
		}
	}
	suite := regexp.MustCompile(`(?ms)^path = \[.*?\]`).ReplaceAllLiteralString(string(text), `path = ["`+filepath.Join(g.dir, "artifacts", "{tag}")+`"]`)
	suite = strings.NewReplacer(`root = "shipped"`, `root = "file"`, `iterations = 5`, `iterations = 1`,
		"[[backend]]\nname = \"llvm\"\n", "[[backend]]\nname = \"llvm\"\n\n[[backend]]\nname = \"other\"\non_request = true\nargs = [\"--cfg\", \"other_backend\"]\n",
	).Replace(suite)
	if err := os.WriteFile(filepath.Join(g.dir, "naps.toml"), []byte(suite), 0o644); err != nil {
		t.Fatal(err)
	}
	g.start()
	g.listen()
	g.repo.Comment(pull, g.alice, "@tacho build "+mergeSHA[:12]+" targets=X86_64-unknown-linux-gnu backends=Other profiles=OPT benchmarks=hel*,none benchmark=x")
	g.awaitComments("a wrong key is refused", func(c []string) bool { return len(c) == 1 && strings.Contains(c[0], "benchmarks") })
	g.repo.Comment(pull, g.alice, "@tacho build "+mergeSHA[:12]+" targets=X86_64-unknown-linux-gnu backends=Other profiles=OPT benchmarks=hel*")
	g.eventually("the request ends", 120*time.Second, func() bool { return g.count("request.completed.v1")+g.count("request.failed.v1") == 1 })

	for _, e := range g.events() {
		// The rest holds no parameters.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.RequestCreated:
			p := f.Parameters
			if fmt.Sprint(p) != "{[x86_64-unknown-linux-gnu] [other] [opt] [hel*]}" {
				t.Errorf("the request has %+v", p)
			}
		case events.JobDispatched:
			j := f.Job
			if j.Target != "x86_64-unknown-linux-gnu" || j.Backend != "other" || j.Profile != "opt" || fmt.Sprint(j.Benchmarks) != "[hel*]" {
				t.Errorf("a job has %+v", j)
			}
		case events.JobFinished:
			if f.Outcome != events.Success {
				t.Errorf("a job ended: %s", f.Reason)
			}
		}
	}
	written, err := os.ReadFile(argv)
	if err != nil {
		t.Fatal(err)
	}
	compiles := 0
	for line := range strings.Lines(string(written)) {
		if !strings.Contains(line, "--crate-name") || strings.Contains(line, "--crate-name ___") {
			continue
		}
		compiles++
		for _, want := range []string{"--crate-name hello", "opt-level=3", "--cfg other_backend"} {
			if !strings.Contains(line, want) {
				t.Errorf("the compiler was called without %q:\n%s", want, line)
			}
		}
	}
	if compiles == 0 {
		t.Errorf("no compile is noted:\n%s", written)
	}
}
