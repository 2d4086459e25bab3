package suite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

func small(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/small.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// lineOf returns the number of the first line of text that holds part, from 1.
func lineOf(t *testing.T, text, part string) int {
	t.Helper()
	before, _, ok := strings.Cut(text, part)
	if !ok {
		t.Fatalf("no %q in the file", part)
	}
	return strings.Count(before, "\n") + 1
}

// Each case changes one thing in a good file. The problem must be reported on the changed line.
func TestEachMistakeIsReportedOnItsLine(t *testing.T) {
	for _, c := range []struct {
		old, with string
		want      string
	}{
		{`version = 1`, `version = 7`, `version is 7: this program reads versions 1 to 2`},
		{`name = "small"`, `name = "Small.Suite"`, `name "Small.Suite": use 1 to 64 lower-case letters, digits, '_' or '-', starting with a letter or digit`},
		{`primary_target = "linux-amd64"`, `primary_target = "linux-riscv"`, `unknown primary_target "linux-riscv": use linux-amd64 or linux-arm64`},
		{`sources = { root = "shipped" }`, `sources = { root = "" }`, `sources.root is missing`},
		{`sources = { root = "shipped" }`, `sources = { root = "shipped", directory = "/etc" }`, `sources.directory "/etc": use a relative path with slashes and without ".."`},
		{`iterations = 3, timeout = "5m"`, `iterations = 1001, timeout = "5m"`, `iterations is 1001: use 1 to 1000`},
		{`iterations = 3, timeout = "5m"`, `iterations = 3, timeout = "5 minutes"`, `timeout "5 minutes": use a duration above 0, such as "90s" or "5m"`},
		{`iterations = 3, timeout = "5m"`, `iterations = 3, timeout = "2000000h"`, `timeout "2000000h": use a duration of at most 24h: it limits one command`},
		{`sources = { root = "shipped" }`, `sources = { root = "mine", revision = "main" }`, `sources.revision "main": use the whole hash of a commit, as git rev-parse HEAD prints it`},
		{
			`defaults = { iterations = 3, timeout = "5m" }`, `defaults = { iterations = 3, timeout = "5m" }` + "\n" + `demo = { parent = "go1", child = "" }`,
			`demo.child: tag "": use 1 to 128 letters, digits, '.', '_', '+' or '-', starting with a letter or digit`,
		},
		{
			`defaults = { iterations = 3, timeout = "5m" }`, `defaults = { iterations = 3, timeout = "5m" }` + "\n" + `demo = { parent = "go1", child = "go1" }`,
			`demo.child is demo.parent: name two artifacts to compare`,
		},
		{
			`defaults = { iterations = 3, timeout = "5m" }`, `defaults = { iterations = 3, timeout = "5m" }` + "\n" + `demo = { parent = "go1", child = "go2", benchmarks = ["tab*", "nothing*"] }`,
			`demo.benchmarks: benchmarks "nothing*" matches nothing: use tables, Generics, json or sort, or patterns with *`,
		},
		{`master = ["primary", "secondary"]`, `master = ["primary", "tertiary"]`, `unknown category "tertiary": use primary, secondary or stable`},
		{`release = ["stable"]`, `nightly = ["stable"]`, `unknown kind of request "nightly": use master, try or release`},
		{`release = ["stable"]`, `release = []`, `categories.release is missing: list what a release request measures of primary, secondary or stable`},
		{`kind = "go-toolchain"`, `kind = "docker"`, `unknown artifact.kind "docker": use go-toolchain, url, git, path or built`},
		{`driver = "go-build"`, `driver = "make"`, `unknown driver "make": use go-build, rust or command`},
		{`probe = ["bin/go", "version"]`, `probe = ["/bin/go"]`, `artifact.probe must begin with a command relative to the artifact, such as "bin/go"`},
		{`probe = ["bin/go", "version"]`, `urls = ["https://x/{tag}"]`, `artifact.urls is only for artifacts of kind "url", but this is of kind "go-toolchain": remove it`},
		{`sets = 2`, `sets = 0`, `sets of target "linux-amd64" is 0: use 1 to 256`},
		{`sets = 2`, `sets = 3`, `set 2 of target "linux-amd64" holds no benchmark: lower sets or move benchmarks to it`},
		{`arch = "arm64"`, `arch = ""`, `arch is missing`},
		{`profile = "opt"`, `profile = "fast"`, `unknown profile of kind runtime "fast": use debug, opt or race`},
		{`requests = ["master", "try"]`, `requests = ["pr"]`, `unknown kind of request "pr": use master, try or release`},
		{`scenarios = ["full"]`, `scenarios = ["ful"]`, `unknown scenario "ful": use full, incr-full or incr-patched`},
		{`scenarios = ["full"]`, `scenarios = ["full", "full"]`, `scenario "full" is there twice`},
		{`scenarios = ["full"]`, `scenarios = ["full", "incr-patched"]`, `profile "race": scenario "incr-patched" needs a filled cache: a scenario with cache = "empty" must come before it`},
		{`scenarios = ["full"]`, `components = ["race"]`, `components are only for artifacts of kind "url", but these are of kind "go-toolchain": remove them`},
		{`cache = "patched"`, `cache = "hot"`, `unknown cache "hot": use none, empty, warm or patched`},
		{`unit = "s"`, `unit = "ms"`, `unknown unit "ms": use s, bytes or count`},
		{`class = "time"`, `class = ""`, `class is missing: use exact, count or time`},
		{`better = "lower"`, `better = "less"`, `unknown better "less": use lower or higher`},
		{`floor = 0.01`, `floor = 2.0`, `floor of metric "wall-time" is 2: use a share from 0 to below 1, such as 0.002`},
		{`floor = 0.01`, `floor = nan`, `floor of metric "wall-time" is NaN: use a share from 0 to below 1, such as 0.002`},
		{`name = "Generics"`, `name = "TABLES"`, `benchmark "TABLES" is there twice: the first is on line 80`},
		{`name = "Generics"`, `name = "a/b"`, `benchmark "a/b": use up to 128 letters, digits and ":._+-", starting with a letter or digit`},
		{`sets = { linux-amd64 = 1, linux-arm64 = 0 }`, `sets = { linux-amd64 = 2, linux-arm64 = 0 }`, `benchmark "Generics" is in set 2 of target "linux-amd64", whose sets are 0 to 1`},
		{`sets = { linux-amd64 = 1, linux-arm64 = 0 }`, `sets = { linux-amd64 = 1 }`, `benchmark "Generics" has no set on target "linux-arm64": every benchmark of kind "compile" needs one`},
		{`sets = { linux-amd64 = 1, linux-arm64 = 0 }`, `sets = { linux-amd64 = 1, linux-arm64 = 0, linux-riscv = 0 }`, `unknown target "linux-riscv": use linux-amd64 or linux-arm64`},
		{`exclude_profiles = ["debug"]`, `exclude_profiles = ["dbg"]`, `unknown profile "dbg": use debug, opt or race`},
		{`exclude_profiles = ["debug"]`, `exclude_scenarios = ["incr"]`, `unknown scenario "incr": use full, incr-full or incr-patched`},
		{
			`exclude_profiles = ["debug"]`, `patches = ["p"]` + "\n" + `exclude_scenarios = ["incr-full"]`,
			`benchmark "Generics" under profile "debug": scenario "incr-patched" needs a filled cache: a scenario with cache = "empty" must come before it`,
		},
		{`iterations = 1`, `iterations = 0`, `iterations is 0: use 1 to 1000`},
		{`timeout = "90s"`, `timeout = "-1s"`, `timeout "-1s": use a duration above 0, such as "90s" or "5m"`},
		{`env = ["GOGC=off"]`, `env = ["GOGC"]`, `env "GOGC": use NAME=value`},
		{`source = "generics"`, `source = "../generics"`, `source "../generics": use a relative path with slashes and without ".."`},
		{`patches = ["0-println.patch"]`, `patches = ["a", "a"]`, `patch "a" is there twice: it can be applied only once`},
		{`prepare = ["go", "run", "./generate"]`, `command = ["go"]`, `command is only for driver "command", but benchmark "tables" has driver "go-build"`},
		{`prepare = ["go", "run", "./generate"]`, `parse = "benchfmt"`, `parse is only for driver "command", but benchmark "tables" has driver "go-build"`},
		{`command = ["{artifact}/bin/go", "test", "-bench", "."]`, `command = ["{toolchain}/bin/go"]`, `unknown field {toolchain}: use {artifact} or {source}`},
		{`command = ["{artifact}/bin/go", "test", "-bench", "."]`, `command = ["{artifact/bin/go"]`, `"{artifact/bin/go" has an unmatched brace`},
		{`parse = "benchfmt"`, `parse = "xml"`, `unknown parse "xml": use jsonlines, benchfmt or benchlib`},
		{`driver = "command"`, `drover = "command"`, `unknown key "benchmark.drover"`},
		{`kind = "runtime"`, `kind = "walltime"`, `unknown kind "walltime": use compile or runtime`},
		{`iterations = 1`, `iterations = "one"`, `iterations is "one": use a number, such as 5, or a table, such as { min = 5, max = 30, until = "0.5 %" }`},
		{`iterations = 1`, `iterations = 1.5`, `iterations is "1.5": use a number, such as 5, or a table, such as { min = 5, max = 30, until = "0.5 %" }`},
		{`iterations = 1`, `iterations = "5"`, `iterations is a text: use a number, such as 5, or a table, such as { min = 5, max = 30, until = "0.5 %" }`},
		{`iterations = 1`, `iterations = [5]`, `benchmark.iterations cannot be of type array`},
		{`iterations = 1`, `iterations = { min = 5, max = 30, until = "0.5 %" }`, `iterations is a table: write version = 2 at the head of the file, so that programs that do not know it refuse the file`},
		{`iterations = 1`, `iterations = { min = 0, max = 30, until = "0.5 %" }`, `iterations.min is 0: use 1 or more`},
		{`iterations = 1`, `iterations = { min = 5, max = 4, until = "0.5 %" }`, `iterations.max is 4, below min: use 5 to 1000`},
		{`iterations = 1`, `iterations = { min = 5, max = 1001, until = "0.5 %" }`, `iterations.max is 1001: use at most 1000`},
		{`iterations = 1`, `iterations = { min = 5, max = 30 }`, `iterations.until "": use a part in percent above 0, such as "0.5 %"`},
		{`iterations = 1`, `iterations = { min = 5, max = 30, until = "0 %" }`, `iterations.until "0 %": use a part in percent above 0, such as "0.5 %"`},
		{`iterations = 1`, `iterations = { min = 5, max = 30, until = "1%", budget = "0s" }`, `iterations.budget "0s": use a duration above 0 and of at most 24h, such as "2m"`},
		{`iterations = 1`, `iterations = { min = 5, max = 30, until = "1%", most = 3 }`, `unknown key "benchmark.most"`},
		{`iterations = 1`, `iterations = { min = "5", max = 30, until = "1%" }`, `benchmark.iterations.min cannot be of type string`},
		{`timeout = "90s"`, `timeout = ;`, `unexpected character U+003B ';' at start of value`},
	} {
		t.Run(c.with, func(t *testing.T) {
			good := small(t)
			bad := strings.Replace(good, c.old, c.with, 1)
			line := lineOf(t, bad, c.with) + strings.Count(c.with, "\n")
			_, err := Load("small.toml", []byte(bad), nil)
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v, want problems", err)
			}
			for _, p := range problems {
				if p.Line == line && p.Column > 0 && p.Message == c.want {
					return
				}
			}
			t.Errorf("want line %d: %s\ngot:\n%v", line, c.want, err)
		})
	}
}

func TestAllMistakesAreReportedInOneGo(t *testing.T) {
	bad := `version = 7
colour = "red"
[[target]]
name = "A"
[[metric]]
name = "m"
unit = "ms"
class = "time"
better = "lower"
`
	_, err := Load("dir/bad.toml", []byte(bad), nil)
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"dir/bad.toml: name is missing",
		"dir/bad.toml: there is no [[benchmark]]: at least one is needed",
		"dir/bad.toml:1:1: version is 7: this program reads versions 1 to 2",
		"dir/bad.toml:2:1: unknown key \"colour\"",
		"dir/bad.toml:4:1: target \"A\": use 1 to 64 lower-case letters, digits, '_' or '-', starting with a letter or digit",
		"dir/bad.toml:3:3: os is missing",
		"dir/bad.toml:7:1: unknown unit \"ms\": use s, bytes or count",
	} {
		if !strings.Contains(err.Error()+"\n", want+"\n") {
			t.Errorf("missing: %s", want)
		}
	}
	for i := 1; i < len(problems); i++ {
		if problems[i].Line < problems[i-1].Line {
			t.Errorf("not in the order of lines:\n%v", err)
			break
		}
	}
	if t.Failed() {
		t.Logf("got:\n%v", err)
	}
}

func TestArtifactsNeedWhatTheirKindNeeds(t *testing.T) {
	for _, c := range []struct{ artifact, want string }{
		{`kind = "path"`, `artifact.path is missing: artifacts of kind "path" need it`},
		{`kind = "git"`, `artifact.repository is missing: artifacts of kind "git" need it`},
		{`kind = "url"`, `artifact.urls is missing: artifacts of kind "url" need it`},
		{"kind = \"url\"\nurls = [\"https://x/{tag}/{component}\"]", `artifact.components is missing: artifacts of kind "url" need it`},
		{"kind = \"url\"\nurls = [\"https://x/{channel}\"]", `artifact.channels is missing: artifacts of kind "url" need it`},
		{"kind = \"url\"\nurls = [\"https://x/{sha}\"]", `unknown field {sha}: use {tag}, {component}, {channel} or {target}`},
		{"kind = \"url\"\nurls = [\"/x/{tag}\"]", `URL "/x/{tag}": use a whole http or https address`},
		{
			"kind = \"url\"\nurls = [\"https://x/{component}\"]\ncomponents = [\"rustc\"]\nno_target = [\"rust-src\"]",
			`unknown component "rust-src": use rustc`,
		},
		{"kind = \"path\"\npath = [\"go/{tag}\"]", `path "go/{tag}" is relative, and the collector that looks for it has no directory for that: write a whole path, such as "/opt/{tag}", or one below the home directory, such as "~/{tag}"`},
		{"kind = \"path\"\npath = [\"/opt/{tag}\", \"{tag}/bin\"]", `path "{tag}/bin" is relative`},
		{"kind = \"path\"\npath = [\"~alice/{tag}\"]", `path "~alice/{tag}" is relative`},
		{"kind = \"path\"\npath = [\"~/go/{tag}/{component}\"]", `unknown field {component}: use {tag} or {target}`},
	} {
		bad := strings.Replace(small(t), `kind = "go-toolchain"`, c.artifact, 1)
		_, err := Load("small.toml", []byte(bad), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\nwant: %s\ngot:  %v", c.artifact, c.want, err)
		}
	}
}

func TestABrokenSourceIsAProblemOfItsBenchmark(t *testing.T) {
	text := small(t)
	_, err := Load("small.toml", []byte(text), func(b BenchmarkDef) (events.Digest, error) {
		if b.Name == "Generics" {
			return "", fmt.Errorf("program %s: there is none", b.Source)
		}
		return "d", nil
	})
	want := Problems{{"small.toml", lineOf(t, text, `source = "generics"`), 1, "program generics: there is none"}}
	var got Problems
	errors.As(err, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPositionsOfNestedKeys(t *testing.T) {
	p := locate([]byte("a.b = 1\n[t.u]\nx = [1,\n  { y = 2 }]\n[[l]]\nk = 1\n[l.sub]\nz = 3\n[[l]]\n[[l.in]]\n  Q = 4\n"))
	want := positions{
		"a": {1, 1}, "a.b": {1, 3}, "t": {2, 2}, "t.u": {2, 4}, "t.u.x": {3, 1}, "t.u.x[0]": {3, 6}, "t.u.x[1]": {4, 3},
		"t.u.x[1].y": {4, 5}, "l": {5, 3}, "l[0]": {5, 3}, "l[0].k": {6, 1}, "l[0].sub": {7, 4}, "l[0].sub.z": {8, 1},
		"l[1]": {9, 3}, "l[1].in": {10, 5}, "l[1].in[0]": {10, 5}, "l[1].in[0].q": {11, 3},
	}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(position{})); diff != "" {
		t.Error(diff)
	}
	if got := p.at("l[1].in[0].missing.deeper[3]"); got != (position{10, 5}) {
		t.Errorf("a missing key is reported at %v", got)
	}
}
