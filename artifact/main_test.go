package artifact

import (
	"archive/tar"
	stdbytes "bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tachobench/tacho/rules/suite"
	"github.com/ulikunitz/xz"
)

// helperVariable makes the test binary a helper process: a second collector, or one on a small disk.
const helperVariable = "TACHO_ARTIFACT_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperVariable) {
	case "":
		os.Exit(m.Run())
	case "hold":
		holdForever()
	case "use":
		useForever()
	case "small disk":
		onSmallDisk()
	}
}

// file is an entry of a test archive. A name that ends in "/" is a directory; link is a symbolic link's target.
type file struct {
	name, content, link string
	typeflag            byte
	size                int
}

func tarball(t testing.TB, files ...file) []byte {
	t.Helper()
	var buf stdbytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		content := []byte(f.content)
		if f.size > 0 {
			content = stdbytes.Repeat([]byte("tacho "), f.size/6+1)[:f.size]
		}
		h := &tar.Header{Name: f.name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}
		switch {
		case f.typeflag != 0:
			h.Typeflag, h.Linkname, h.Size = f.typeflag, f.link, 0
		case f.link != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, f.link, 0
		case strings.HasSuffix(f.name, "/"):
			h.Typeflag, h.Size = tar.TypeDir, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var buf stdbytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func xzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var buf stdbytes.Buffer
	w, err := xz.NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// component returns the archive of one component, in the form that the Rust project publishes.
func component(t testing.TB, name string, files ...file) []byte {
	t.Helper()
	top := name + "-nightly-x86_64/"
	all := []file{
		{name: top},
		{name: top + "install.sh", content: "#!/bin/sh\n"},
		{name: top + "components", content: name + "\n"},
		{name: top + "version", content: "1.97.0-nightly\n"},
		{name: top + name + "/manifest.in", content: "file:bin/" + name + "\n"},
	}
	for _, f := range files {
		f.name = top + name + "/" + f.name
		all = append(all, f)
	}
	return xzipped(t, tarball(t, all...))
}

// server is an HTTP server whose answers a test sets, and which remembers its requests.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	files  map[string][]byte
	answer map[string]http.HandlerFunc
	asked  []string
	agents map[string]bool
}

func newServer(t testing.TB) *server {
	s := &server{files: map[string][]byte{}, answer: map[string]http.HandlerFunc{}, agents: map[string]bool{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	s.agents[r.UserAgent()] = true
	content, there := s.files[r.URL.Path]
	answer := s.answer[r.URL.Path]
	s.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case there:
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method != http.MethodHead {
			w.Write(content)
		}
	default:
		http.NotFound(w, r)
	}
}

func (s *server) set(path string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
}

func (s *server) on(path string, answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer[path] = answer
}

// downloads returns the URLs of the GET requests since the last call, without checksums.
func (s *server) downloads() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, a := range s.asked {
		if p, ok := strings.CutPrefix(a, "GET "); ok && !strings.HasSuffix(p, ".sha256") {
			got = append(got, p)
		}
	}
	s.asked = nil
	return got
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// rust returns a source with the layout of the Rust project's servers.
func (s *server) rust() suite.Artifact {
	return suite.Artifact{
		Kind: suite.ArtifactURL,
		URLs: []string{
			s.URL + "/builds/{tag}/{component}-{channel}-{target}.tar.xz",
			s.URL + "/dist/{component}-{tag}-{target}.tar.xz",
		},
		Channels:   []string{"nightly", "beta"},
		Components: []string{"rustc", "rust-std", "rust-src"},
		NoTarget:   []string{"rust-src"},
		Probe:      []string{"bin/rustc", "-vV"},
	}
}

// publish puts a whole toolchain on the server.
func (s *server) publish(t testing.TB, tag, channel string) {
	at := "/builds/" + tag + "/"
	s.set(at+"rustc-"+channel+"-x86_64.tar.xz", component(t, "rustc",
		file{name: "bin/rustc", content: "#!/bin/sh\necho rustc " + tag + " $1\n"},
		file{name: "lib/librustc_driver.so", content: "driver"},
		file{name: "lib/rustlib/x86_64/lib/libdriver.so", link: "../../../librustc_driver.so"}))
	s.set(at+"rust-std-"+channel+"-x86_64.tar.xz", component(t, "rust-std", file{name: "lib/rustlib/x86_64/lib/libstd.rlib", size: 20_000}))
	s.set(at+"rust-src-"+channel+".tar.xz", component(t, "rust-src", file{name: "lib/rustlib/src/lib.rs", content: "// std"}))
	s.set(at+"clippy-"+channel+"-x86_64.tar.xz", component(t, "clippy", file{name: "bin/clippy-driver", content: "#!/bin/sh\n"}))
}

func rustRef(s *server, tag string) Ref {
	return Ref{Suite: "rustc", Source: s.rust(), Tag: eventsTag(tag), Target: "x86_64"}
}

// program returns a source of single archives, which hold a file of some size.
func (s *server) program() suite.Artifact {
	return suite.Artifact{Kind: suite.ArtifactURL, URLs: []string{s.URL + "/{tag}.tar.gz"}}
}

func programRef(s *server, tag string) Ref {
	return Ref{Suite: "program", Source: s.program(), Tag: eventsTag(tag), Target: "any"}
}

func (s *server) publishProgram(t testing.TB, tag string, bytes int) {
	s.set("/"+tag+".tar.gz", gzipped(t, tarball(t, file{name: tag + "/bin/program", size: bytes})))
}

func open(t testing.TB, c Config) *Store {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func acquire(t testing.TB, s *Store, ref Ref) (dir, version string, release func()) {
	t.Helper()
	dir, version, release, err := s.Acquire(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return dir, version, release
}

// leftovers returns the keys of entries that are not complete.
func leftovers(t testing.TB, s *Store) []string {
	t.Helper()
	keys, err := s.keys("")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, key := range keys {
		if m, err := s.readManifest(key); m == nil || err != nil {
			left = append(left, key)
		}
	}
	return left
}

// tree returns the files below dir with their contents; links as "-> target".
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	walk(t, dir, func(name, content string) { got[name] = content })
	return got
}

func names(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
