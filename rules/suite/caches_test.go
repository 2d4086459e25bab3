package suite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// cached returns the small suite with matched jobs of kind runtime, which have two caches.
func cached(t testing.TB) string {
	t.Helper()
	text := small(t)
	for old, with := range map[string]string{
		`requests = ["master", "try"]`: `requests = ["master", "try"]` + "\n" + `lanes = "any"` + "\n" + `caches = ["git/linux", "ccache/{parent}"]`,
		`parse = "benchfmt"`:           `prepare = ["make", "-C", "{cache:git/linux}", "CACHE={cache:ccache/{parent}}"]`,
	} {
		text = strings.Replace(text, old, with, 1)
	}
	if _, err := Load("small.toml", []byte(text), nil); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCachesAreNamedWhereNothingIsMeasured(t *testing.T) {
	prepare := `prepare = ["make", "-C", "{cache:git/linux}", "CACHE={cache:ccache/{parent}}"]`
	command := `command = ["{artifact}/bin/go", "test", "-bench", "."]`
	artifact := "kind = \"go-toolchain\"\nprobe = [\"bin/go\", \"version\"]"
	git := "kind = \"git\"\nrepository = \"https://example.org/x.git\"\n"
	none := ` names a cache, but measured commands get none: what they find there would change what is measured; use {cache:NAME} in prepare or artifact.build`
	for name, tc := range map[string]struct{ old, with, want string }{
		"another cache":         {prepare, `prepare = ["make", "{cache:git/bsd}"]`, `{cache:git/bsd} is not in the caches of kind "runtime": add it there`},
		"a parent's cache":      {prepare, `prepare = ["make", "{cache:ccache/{tag}}"]`, `{cache:ccache/{tag}} is not in the caches of kind "runtime": add it there`},
		"a way out":             {prepare, `prepare = ["make", "{cache:../../home}"]`, `{cache:../../home} is not in the caches of kind "runtime": add it there`},
		"no end":                {prepare, `prepare = ["make", "{cache:git/linux"]`, `"{cache:git/linux" has a {cache:…} without its end`},
		"a kind without caches": {`env = ["GOGC=off"]`, `prepare = ["{cache:git/linux}"]`, `{cache:git/linux} is not in the caches of kind "compile": add it there`},
		"a way out of a kind":   {`"git/linux"`, `"../linux"`, `cache "../linux" of kind "runtime": write words of letters, digits, '.', '_', '+' and '-', joined by '/', with {tag} or {parent} in them`},
		"the command":           {command, `command = ["make", "{cache:git/linux}"]`, `"{cache:git/linux}"` + none},
		"the environment":       {command, command + "\n" + `env = ["CCACHE_DIR={cache:git/linux}"]`, `"CCACHE_DIR={cache:git/linux}"` + none},
		"arguments":             {command, command + "\n" + `args = ["{cache:git/linux}"]`, `"{cache:git/linux}"` + none},
		"a profile":             {`args = ["-race"]`, `args = ["{cache:git/linux}"]`, `"{cache:git/linux}"` + none},
		"a backend":             {`name = "gc"`, "name = \"gc\"\nargs = [\"{cache:git/linux\"]", `"{cache:git/linux"` + none},
		"a build":               {artifact, git + `build = ["make", "{cache:git/linux}"]`, ""},
		"a build, another":      {artifact, git + `build = ["make", "{cache:git/bsd}"]`, `{cache:git/bsd} is not in the caches of any kind: add it there`},
	} {
		t.Run(name, func(t *testing.T) {
			good := cached(t)
			bad := strings.Replace(good, tc.old, tc.with, 1)
			if bad == good {
				t.Fatalf("no %q in the file", tc.old)
			}
			_, err := Load("small.toml", []byte(bad), nil)
			if tc.want == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v, want problems", err)
			}
			line := lineOf(t, bad, tc.with) + strings.Count(tc.with, "\n")
			for _, p := range problems {
				if p.Message == tc.want && p.Line == line {
					return
				}
			}
			t.Errorf("want line %d: %s\ngot:\n%v", line, tc.want, err)
		})
	}
}

func TestAJobHasTheCachesOfItsKind(t *testing.T) {
	d, err := Load("small.toml", []byte(cached(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := d.Kind("runtime")
	for parent, want := range map[events.Tag]map[string]string{
		"v1": {"git/linux": "git/linux", "ccache/{parent}": "ccache/v1"},
		"":   {"git/linux": "git/linux"},
	} {
		own, _, err := d.Expand(Request{ID: "r1", Artifact: events.Artifact{Suite: "small", Tag: "v2", Kind: events.Try}, ParentTag: parent})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, spec := range own {
			if spec.Kind == "runtime" {
				found = true
				if diff := cmp.Diff(want, kind.CachesOf(spec)); diff != "" {
					t.Errorf("with parent %q (-want +got):\n%s", parent, diff)
				}
			}
		}
		if !found {
			t.Errorf("with parent %q there is no job", parent)
		}
	}
}

func FuzzCaches(f *testing.F) {
	for _, seed := range []string{"{cache:git/linux}", "a{cache:x/{tag}}b", "{cache:", "{cache:{}", "{cache:../x}", "{cache:a}{cache:{b}c}", "cache:/a/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, argument string) {
		got, err := ReplaceCaches([]string{argument}, func(name string) (string, error) {
			if CheckCache(name) == nil && (!filepath.IsLocal(name) || strings.Contains(name, "..") && name != filepath.Clean(name)) {
				t.Errorf("%q may name a cache", name)
			}
			return "/dir", nil
		})
		switch {
		case err == nil && NamesCache(strings.ReplaceAll(got[0], "/dir", "")) && !strings.Contains(argument, "/dir"):
			t.Errorf("%q became %q", argument, got)
		case !NamesCache(argument) && (err != nil || got[0] != argument):
			t.Errorf("%q became %q, %v", argument, got, err)
		}
	})
}
