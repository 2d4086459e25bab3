package supervisor

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// shop serves files and their checksums, by path.
type shop struct {
	*httptest.Server
	files map[string][]byte
	// spoil, if set, may answer instead.
	spoil func(w http.ResponseWriter, r *http.Request) bool
}

func newShop(t *testing.T) *shop {
	s := &shop{files: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := s.files[strings.TrimSuffix(r.URL.Path, ".sha256")]
		switch {
		case s.spoil != nil && s.spoil(w, r):
		case !ok:
			http.NotFound(w, r)
		case strings.HasSuffix(r.URL.Path, ".sha256"):
			fmt.Fprintf(w, "%x  tacho\n", sha256.Sum256(content))
		default:
			_, _ = w.Write(content) // a client that is gone is the client's matter
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func tarball(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, f := range [][2]string{{"LICENSE", "MIT"}, {name, content}} {
		if err := w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o755, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDownloadsOfEveryForm(t *testing.T) {
	s := newShop(t)
	s.files["/v2/"+runtime.GOOS+"/"+runtime.GOARCH+"/tacho"] = []byte("program")
	s.files["/v2.tar.gz"] = tarball(t, "tacho-v2/tacho", "program")
	s.files["/v2.tgz"] = tarball(t, "./tacho", "program")
	s.files["/v2.zip"] = zipped(t, "bin/tacho", "program")
	for _, template := range []string{"/{version}/{os}/{arch}/tacho", "/{version}.tar.gz", "/{version}.tgz", "/{version}.zip", "/{version}.zip?key=1"} {
		path, err := Download{Template: s.URL + template}.Get(t.Context(), "v2", t.TempDir())
		if err != nil {
			t.Fatalf("%s: %v", template, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "program" {
			t.Errorf("%s: %q, %v", template, text, err)
		}
	}
}

func TestDownloadsSayWhyAVersionCannotBeHad(t *testing.T) {
	for what, c := range map[string]struct {
		file  string
		spoil func(w http.ResponseWriter, r *http.Request) bool
		want  string
	}{
		"not there": {"/v9", nil, "/v9.sha256: the server answers 404 Not Found"},
		"no checksum": {"/v2", func(w http.ResponseWriter, r *http.Request) bool {
			none := strings.HasSuffix(r.URL.Path, ".sha256")
			if none {
				http.NotFound(w, r)
			}
			return none
		}, "/v2.sha256: the server answers 404"},
		"a page instead of a checksum": {"/v2", func(w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprint(w, "<html>")
			return true
		}, "does not begin with a SHA-256"},
		"wrong checksum": {"/v2", func(w http.ResponseWriter, r *http.Request) bool {
			wrong := strings.HasSuffix(r.URL.Path, ".sha256")
			if wrong {
				fmt.Fprintf(w, "%x", sha256.Sum256([]byte("other")))
			}
			return wrong
		}, "is not what its checksum says"},
		"refused": {"/v2", func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		}, "403 Forbidden"},
		"no program in it": {"/empty.tar.gz", nil, "holds no program tacho"},
		"no archive":       {"/bad.tar.gz", nil, "the archive is damaged"},
		"no zip archive":   {"/bad.zip", nil, "the archive is damaged"},
		"half an archive":  {"/half.tar.gz", nil, "unexpected EOF"},
	} {
		t.Run(what, func(t *testing.T) {
			s := newShop(t)
			s.spoil = c.spoil
			whole := tarball(t, "tacho", strings.Repeat("program", 1000))
			s.files = map[string][]byte{
				"/v2": []byte("program"), "/empty.tar.gz": tarball(t, "tachometer", "x"), "/bad.tar.gz": []byte("x"), "/bad.zip": []byte("x"),
				"/half.tar.gz": whole[:len(whole)-20],
			}
			version := strings.TrimPrefix(c.file, "/")
			_, err := Download{Template: s.URL + "/{version}"}.Get(t.Context(), version, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A broken download, and a server that fails for a moment, are tried again at once.
func TestABrokenDownloadIsTriedAgain(t *testing.T) {
	for what, spoil := range map[string]func(w http.ResponseWriter, r *http.Request){
		"truncated": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "7")
			fmt.Fprint(w, "pro")
		},
		"500":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"cut short": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(what, func(t *testing.T) {
			s := newShop(t)
			s.files["/v2"] = []byte("program")
			var times atomic.Int32
			s.spoil = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, ".sha256") || times.Add(1) > 2 {
					return false
				}
				spoil(w, r)
				return true
			}
			path, err := Download{Template: s.URL + "/{version}"}.Get(t.Context(), "v2", t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "program" || times.Load() != 3 {
				t.Errorf("%q after %d tries, %v", text, times.Load(), err)
			}
		})
	}
}

func TestADownloadedVersionIsStarted(t *testing.T) {
	s, shop := newSite(t), newShop(t)
	shop.files["/tacho-v2.tar.gz"] = tarball(t, "tacho", programText("v2"))
	s.config.Source = Download{Template: shop.URL + "/tacho-{version}.tar.gz"}
	s.start()
	s.awaitJournal("started v1", 1)
	s.want("v2")
	s.write("plan/leave-v1", "")
	s.awaitJournal("started v2", 1)
	s.end()
}

func TestTemplatesAreChecked(t *testing.T) {
	for template, want := range map[string]string{
		"https://x/{version}/tacho-{os}-{arch}.zip": "", "http://u:p@x:80/{version}": "",
		"https://x/tacho": "does not contain {version}", "ftp://x/{version}": "not an http or https URL", "{version}": "not an http or https URL",
		"https://u:secret@x/tacho": "https://x/tacho does not contain",
	} {
		err := CheckTemplate(template)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", template, err, want)
		}
	}
}
