package artifact

import (
	"archive/zip"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tachobench/tacho/rules/suite"
)

func goRef(tag string) Ref {
	return Ref{Suite: "go", Source: suite.Artifact{Kind: suite.ArtifactGoToolchain}, Tag: eventsTag(tag), Target: "any"}
}

// goMachine sets the environment so that the go command has empty caches and uses this proxy.
func goMachine(t *testing.T, proxy string) {
	cache := t.TempDir()
	t.Cleanup(func() {
		// The go command makes read-only directories.
		if err := removeAll(cache); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("GOMODCACHE", cache)
	t.Setenv("GOPROXY", proxy)
	t.Setenv("GOTOOLCHAIN", "local")
	t.Setenv("GOENV", "off")
}

func goModule(version string) string {
	return "v0.0.1-" + version + "." + runtime.GOOS + "-" + runtime.GOARCH
}

// toolchainZip writes a module that the go command accepts as a toolchain.
func toolchainZip(t *testing.T, path, version string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for name, content := range map[string]string{
		"bin/go":           "#!/bin/sh\necho \"$GOROOT\"\n",
		"bin/gofmt":        "",
		"pkg/tool/compile": "",
		"lib/x":            "",
		"VERSION":          version + "\ntime 2026-01-01T00:00:00Z\n",
	} {
		w, err := z.Create("golang.org/toolchain@" + goModule(version) + "/" + name)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestGoToolchainIsFetchedByGo(t *testing.T) {
	// The go command does not check modules from a directory against the checksum database.
	proxy := t.TempDir()
	at := filepath.Join(proxy, "golang.org/toolchain/@v", goModule("go1.99.1"))
	toolchainZip(t, at+".zip", "go1.99.1")
	for ext, content := range map[string]string{".info": `{"Version":"` + goModule("go1.99.1") + `"}`, ".mod": "module golang.org/toolchain\n"} {
		if err := os.WriteFile(at+ext, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	goMachine(t, "file://"+proxy)
	t.Setenv("GOSUMDB", "off")
	var progress []string
	s := open(t, Config{Progress: func(text string) { progress = append(progress, text) }})
	if ready, err := s.Ready(t.Context(), goRef("go1.99.1")); !ready || err != nil {
		t.Errorf("ready: %v, %v", ready, err)
	}
	if ready, err := s.Ready(t.Context(), goRef("go1.99.2")); ready || err != nil {
		t.Errorf("ready: %v, %v", ready, err)
	}
	for _, tag := range []string{"go1.99.1", "1.99.1"} {
		dir, version, _ := acquire(t, s, goRef(tag))
		if !strings.HasPrefix(version, "go1.99.1\n") || !strings.HasSuffix(dir, "toolchain@"+goModule("go1.99.1")) {
			t.Errorf("version %q in %s", version, dir)
		}
	}
	if len(progress) != 1 || !strings.Contains(progress[0], "downloading go1.99.1") {
		t.Errorf("progress %q", progress)
	}
	// A cached toolchain needs no proxy.
	t.Setenv("GOPROXY", "http://127.0.0.1:1")
	if ready, err := s.Ready(t.Context(), goRef("go1.99.1")); !ready || err != nil {
		t.Errorf("ready without a proxy: %v, %v", ready, err)
	}
}

func TestOwnGoIsUsedAsItIs(t *testing.T) {
	goMachine(t, "http://127.0.0.1:1")
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOVERSION").Output()
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSpace(string(out))
	s := open(t, Config{})
	ref := goRef(own)
	ref.Source.Probe = []string{"bin/go", "version"}
	dir, version, _ := acquire(t, s, ref)
	if !strings.HasPrefix(version, "go version "+own) {
		t.Errorf("version %q in %s", version, dir)
	}
}

func TestGoErrorsAreToldApart(t *testing.T) {
	for _, c := range []struct {
		name, tag string
		answer    http.HandlerFunc
		kind      string
	}{
		{"404", "go1.99.1", status(404), "not there"},
		{"410", "go1.99.1", status(410), "not there"},
		{"403", "go1.99.1", status(403), "refused"},
		{"503", "go1.99.1", status(503), "transient"},
		{"429", "go1.99.1", status(429), "transient"},
		{"truncated", "go1.99.1", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			w.Write([]byte("PK\x03\x04"))
		}, "transient"},
		{"hang up", "go1.99.1", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "transient"},
		{"no release", "2038", nil, "not there"},
		{"language version", "go1.bad", nil, "not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := newServer(t)
			at := "/golang.org/toolchain/@v/" + goModule("go1.99.1")
			if c.answer != nil {
				web.on(at+".zip", c.answer)
				web.on(at+".info", c.answer)
			}
			goMachine(t, web.URL)
			s := open(t, Config{})
			_, _, _, err := s.Acquire(t.Context(), goRef(c.tag))
			if got := kindOf(err); got != c.kind {
				t.Errorf("%s: %v", got, err)
			}
			ready, err := s.Ready(t.Context(), goRef(c.tag))
			if got := kindOf(err); ready || c.kind == "not there" && err != nil || c.kind != "not there" && c.kind != got {
				t.Errorf("ready: %v, %s: %v", ready, got, err)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		goMachine(t, "http://127.0.0.1:1")
		_, _, _, err := open(t, Config{}).Acquire(t.Context(), goRef("go1.99.1"))
		if got := kindOf(err); got != "transient" {
			t.Errorf("%s: %v", got, err)
		}
	})
	t.Run("no go", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, _, _, err := open(t, Config{}).Acquire(t.Context(), goRef("go1.99.1"))
		if kindOf(err) != "refused" || !strings.Contains(err.Error(), "install Go 1.21 or newer") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("go of old", func(t *testing.T) {
		dir := t.TempDir()
		script(t, filepath.Join(dir, "go"), "#!/bin/sh\necho "+dir+"\n")
		script(t, filepath.Join(dir, "VERSION"), "go1.19.8\n")
		t.Setenv("PATH", dir)
		_, _, _, err := open(t, Config{}).Acquire(t.Context(), goRef("go1.99.1"))
		if kindOf(err) != "refused" || !strings.Contains(err.Error(), "gives go1.19.8 instead") {
			t.Errorf("got %v", err)
		}
	})
}

func script(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func kindOf(err error) string {
	var full *NoSpaceError
	switch {
	case err == nil:
		return "none"
	case isNotThere(err):
		return "not there"
	case Permanent(err):
		return "refused"
	case errors.As(err, &full):
		return "no space"
	}
	return "transient"
}

// gitIn runs git in a repository and returns its output.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func commit(t *testing.T, dir, content string) string {
	t.Helper()
	script(t, filepath.Join(dir, "make.sh"), content)
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "--quiet", "-m", "x")
	return gitIn(t, dir, "rev-parse", "HEAD")
}

func TestGitCommitIsBuilt(t *testing.T) {
	repository := t.TempDir()
	gitIn(t, repository, "init", "--quiet", "-b", "main")
	first := commit(t, repository, "#!/bin/sh\nmkdir -p bin && printf '#!/bin/sh\\necho one' > bin/program && chmod +x bin/program\n")
	s := open(t, Config{})
	ref := func(tag string) Ref {
		return Ref{Suite: "p", Source: suite.Artifact{
			Kind: suite.ArtifactGit, Repository: "file://" + repository, Build: []string{"./make.sh"}, Probe: []string{"bin/program"},
		}, Tag: eventsTag(tag), Target: "any"}
	}
	if ready, err := s.Ready(t.Context(), ref(first)); !ready || err != nil {
		t.Errorf("ready: %v, %v", ready, err)
	}
	_, version, _ := acquire(t, s, ref(first))
	if version != "one" {
		t.Errorf("version %q", version)
	}
	second := commit(t, repository, "#!/bin/sh\necho will not build; exit 3\n")
	gitIn(t, repository, "tag", "v2")
	for _, tag := range []string{second, "v2"} {
		_, _, _, err := s.Acquire(t.Context(), ref(tag))
		if kindOf(err) != "refused" || !strings.Contains(err.Error(), "will not build") || !strings.Contains(err.Error(), second[:12]) {
			t.Errorf("got %v", err)
		}
	}
	for _, tag := range []string{strings.Repeat("0", 40), "v3"} {
		if _, _, _, err := s.Acquire(t.Context(), ref(tag)); kindOf(err) != "not there" {
			t.Errorf("got %v", err)
		}
		if ready, err := s.Ready(t.Context(), ref(tag)); ready || err != nil {
			t.Errorf("ready: %v, %v", ready, err)
		}
	}
	if got := leftovers(t, s); got != nil {
		t.Errorf("left %v", got)
	}
	gone := ref("v9")
	gone.Source.Repository = "file://" + filepath.Join(repository, "nothing")
	if _, _, _, err := s.Acquire(t.Context(), gone); kindOf(err) != "not there" {
		t.Errorf("got %v", err)
	}
	gone.Source.Repository = "http://127.0.0.1:1/x.git"
	if _, _, _, err := s.Acquire(t.Context(), gone); kindOf(err) != "transient" {
		t.Errorf("got %v", err)
	}
}

func TestPathIsUsedWhereItIs(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	dir := filepath.Join(home, "toolchains", "stable-x86_64")
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	script(t, filepath.Join(dir, "bin", "rustc"), "#!/bin/sh\necho rustc 1.95.0\n")
	s := open(t, Config{})
	ref := func(tag string) Ref {
		return Ref{Suite: "r", Source: suite.Artifact{
			Kind: suite.ArtifactPath, Path: []string{"/nowhere/{tag}", "~/toolchains/{tag}-{target}"}, Probe: []string{"bin/rustc"},
		}, Tag: eventsTag(tag), Target: "x86_64"}
	}
	got, version, _ := acquire(t, s, ref("stable"))
	if got != dir || version != "rustc 1.95.0" {
		t.Errorf("%q in %s", version, got)
	}
	_, _, _, err := s.Acquire(t.Context(), ref("nightly"))
	if kindOf(err) != "not there" || !strings.Contains(err.Error(), "/nowhere/nightly, "+home+"/toolchains/nightly-x86_64") {
		t.Errorf("got %v", err)
	}
	if ready, err := s.Ready(t.Context(), ref("nightly")); ready || err != nil {
		t.Errorf("ready: %v, %v", ready, err)
	}
	script(t, filepath.Join(dir, "bin", "rustc"), "#!/bin/sh\necho no libc >&2; exit 1\n")
	if _, _, _, err := s.Acquire(t.Context(), ref("stable")); kindOf(err) != "refused" || !strings.Contains(err.Error(), "no libc") {
		t.Errorf("got %v", err)
	}
}
