package suite

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// building returns the small suite in version 2, of artifacts from git, with a kind that builds.
func building(t *testing.T, kind string) string {
	t.Helper()
	text := strings.Replace(small(t), "version = 1", "version = 2", 1)
	from := strings.Index(text, "[artifact]")
	to := from + strings.Index(text[from:], "\n\n")
	text = text[:from] + "[artifact]\nkind = \"git\"\ndriver = \"go-build\"\nrepository = \"https://example.com/p.git\"\nbuild = [\"make\"]" + text[to:]
	return text + "\n[[kind]]\nname = \"build\"\nprofile = \"debug\"\ndoes = \"build\"\n" + kind
}

const dist = `steps = [["make", "lib"], ["make", "PREFIX={source}", "dist-{tokens}"]]
source = "lint"
tokens = { min = 2, max = 4 }
outputs = [{ name = "lib", paths = ["lib/**"], after = 1 }, { name = "program", paths = ["dist/**", "*.txt"] }]
uploads = [{ name = "log", paths = ["**/*.log"] }]
checkouts = [{ repository = "https://example.com/q.git", revision = "{tag}", path = "third/q" }]
retries = 2
success = { retry_exit = [75] }
`

func TestAKindBuilds(t *testing.T) {
	d, err := Load("small.toml", []byte(building(t, dist)), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Steps(events.JobSpec{Kind: "build", Artifact: events.Artifact{Tag: "v2"}})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Builds || len(p.Outputs) != 2 || p.Outputs[0].After != 1 || p.Outputs[1].Name != "program" || p.Uploads[0].Name != "log" || p.Steps[1][2] != "dist-{tokens}" {
		t.Errorf("%+v", p)
	}
	again, err := Parse(d.Canonical())
	if err != nil || again.Digest() != d.Digest() {
		t.Errorf("read again: %v", err)
	}
}

func TestWrongBuildsAreRefused(t *testing.T) {
	const rest = "\nsteps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"p\"] }]"
	for _, test := range []struct{ kind, want string }{
		{"steps = [[\"make\"]]", `kind "build" has does = "build" and no outputs`},
		{"tokens = { min = 0 }" + rest, `tokens of kind "build" have min = 0`},
		{"tokens = { max = 2 }" + rest, `tokens of kind "build" have min = 0`},
		{"tokens = { min = 3, max = 2 }" + rest, `tokens of kind "build" have max = 2 below min = 3`},
		{"tokens = { min = 3, max = 0 }" + rest, `have max = 0 below min = 3`},
		{"tokens = { min = 5000 }" + rest, `use at most 4096`},
		{"retries = -1" + rest, `retries of kind "build" is -1`},
		{"retries = 1" + rest, `kind "build" has retries, and no command can ask for another try`},
		{"steps = [[\"make\", \"{artifact}\"]]\noutputs = [{ name = \"p\", paths = [\"p\"] }]", `unknown field {artifact}: use {tag}, {target}, {profile}, {backend} or {tokens}`},
		{"steps = [[\"make\", \"{job}\"]]\noutputs = [{ name = \"p\", paths = [\"p\"] }]", `unknown field {job}`},
		{"steps = [[\"make\", \"{input:q}\"]]\noutputs = [{ name = \"p\", paths = [\"p\"] }]", `{input:q} is no output that kind "build" needs: write needs`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"../p\"] }]", `path "../p" has a step up`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"a/../../p\"] }]", `has a step up`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"/p\"] }]", `path "/p" is absolute`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"./p\"] }]", `path "./p" has an empty step: write "p"`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"a**\"] }]", `path "a**" has ** beside other characters`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"[a\"] }]", `path "[a" has a bracket or a backslash without its end`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"\"] }]", `path "" is empty`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [] }]", `"p" has no paths`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p/q\", paths = [\"p\"] }]", `name "p/q"`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"p\"], size = 1 }]", `unknown key "kind.size"`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"p\"] }, { name = \"p\", paths = [\"q\"] }]", `"p" is the name of two outputs or uploads`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"p\"] }]\nuploads = [{ name = \"p\", paths = [\"q\"] }]", `"p" is the name of two outputs or uploads`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"dist/**\"] }, { name = \"q\", paths = [\"dist/bin/*.so\"] }]", `path "dist/bin/*.so" of output "q" may match what "dist/**" of output "p" matches`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"p\"], after = 2 }]", `output "p" is stored after step 2, and kind "build" has steps 1 to 1`},
		{"steps = [[\"make\"]]\noutputs = [{ name = \"p\", paths = [\"p\"] }]\nuploads = [{ name = \"u\", paths = [\"u\"], after = 1 }]", `upload "u" has after`},
		{"checkouts = [{ repository = \"\", revision = \"{tag}\", path = \"a\" }]" + rest, `has no repository`},
		{"checkouts = [{ repository = \"r\", revision = \"--x\", path = \"a\" }]" + rest, `revision "--x" of a checkout`},
		{"checkouts = [{ repository = \"r\", revision = \"{tag}\", path = \"../a\" }]" + rest, `path of a checkout "../a"`},
		{"checkouts = [{ repository = \"r\", revision = \"{tag}\", path = \".\" }]" + rest, `is the directory of the steps itself`},
		{"checkouts = [{ repository = \"r\", revision = \"{tag}\", path = \"a\" }, { repository = \"r\", revision = \"{tag}\", path = \"a/b\" }]" + rest, `overlap: use two directories`},
	} {
		t.Run(test.want, func(t *testing.T) {
			_, err := Load("small.toml", []byte(building(t, test.kind+"\n")), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "small.toml:") {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := Load("small.toml", []byte(strings.Replace(building(t, dist), "version = 2", "version = 1", 1)), nil)
	if err == nil || !strings.Contains(err.Error(), `kind "build" has does = "build": write version = 2`) || !strings.Contains(err.Error(), `kind "build" has uploads: write version = 2`) {
		t.Errorf("version 1: %v", err)
	}
	_, err = Load("small.toml", []byte(commanding(t, dist)), nil)
	if err == nil || !strings.Contains(err.Error(), `outputs is only for kinds with does = "build"`) {
		t.Errorf("outputs of commands: %v", err)
	}
}

func TestPathsMatch(t *testing.T) {
	for _, test := range []struct {
		globs, name    string
		matches, below bool
	}{
		{"dist", "dist", true, true},
		{"dist", "dist/bin/x", true, true},
		{"dist/**", "dist", false, true},
		{"dist/**", "dist/a", true, true},
		{"dist/**", "dist/a/b/c", true, true},
		{"**", "a\nb", true, true},
		{"**/*.so", "x.so", true, true},
		{"**/*.so", "a/b/x.so", true, true},
		{"**/*.so", "a/b/x.a", false, true},
		{"a/**/b/**/c", "a/x/b/c", true, true},
		{"a/**/b", "a/b", true, true},
		{"a/*/b", "a/x/y/b", false, false},
		{"a/b", "c", false, false},
		{"a?[x-z]", "a1y", true, true},
		{"*", ".hidden", true, true},
	} {
		p, err := ParsePaths([]string{test.globs})
		if err != nil {
			t.Fatal(err)
		}
		if m, b := p.Match(test.name); m != test.matches || b != test.below {
			t.Errorf("%s, %q: %v, %v", test.globs, test.name, m, b)
		}
	}
}

func TestNoGlobTakesExponentialTime(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	hard, err := ParsePaths([]string{strings.Repeat("**/a*a*a*/", 18) + "b", strings.Repeat("a*", 90) + "b"})
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := hard.Match(strings.Repeat(strings.Repeat("a", 250)+"/", 15) + "c"); m {
		t.Error("it matches")
	}
	if !overlap(hard.globs[0], strings.Split(strings.Repeat("**/a*a*a*/", 18)+"c", "/")) {
		t.Error("they do not overlap, and the first may match a directory around what the second matches")
	}
	if overlap(hard.globs[1], []string{strings.Repeat("a*", 90) + "c"}) {
		t.Error("names with other ends overlap")
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Two globs that match one path overlap.
func TestGlobsOfOnePathOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "b", "*", "?", "[ab]", "a*", "*b", "**", `\a`})
		glob := rapid.Custom(func(t *rapid.T) []string { return rapid.SliceOfN(part, 1, 4).Draw(t, "parts") })
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 1, 4).Draw(t, "name"), "/")
		a, errA := parseGlob(path.Join(glob.Draw(t, "a")...))
		b, errB := parseGlob(path.Join(glob.Draw(t, "b")...))
		if errA != nil || errB != nil {
			t.Fatal(fmt.Sprint(errA, errB))
		}
		inA, _ := matchGlob(a, strings.Split(name, "/"))
		inB, _ := matchGlob(b, strings.Split(name, "/"))
		if inA && inB && !overlap(a, b) {
			t.Fatalf("%s is matched by %q and %q, which do not overlap", name, a, b)
		}
	})
}

func FuzzGlobs(f *testing.F) {
	f.Add("dist/**/*.so", "dist/a/x.so")
	f.Add("[a-", "\\")
	f.Fuzz(func(t *testing.T, glob, name string) {
		p, err := ParsePaths([]string{glob})
		if err != nil {
			return
		}
		if m, below := p.Match(name); m && !below {
			t.Errorf("%q, %q", glob, name)
		}
		characters(strings.Join(p.globs[0], "/"))
	})
}
