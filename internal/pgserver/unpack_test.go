package pgserver

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type packed struct {
	name, content string
	mode          int64
}

func pack1(t testing.TB, files ...packed) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{tw.Close(), gz.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestUnpackRecreatesLinks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "native")
	archive := pack1(t,
		packed{"package/package.json", "{}", 0o644},
		packed{"package/native/bin/postgres", "program", 0o755},
		packed{"package/native/lib/libpq.so.5.17", "library", 0o644},
		packed{"package/native/pg-symlinks.json", `[{"source":"native/lib/libpq.so.5.17","target":"native/lib/libpq.so.5"}]`, 0o644},
	)
	if err := unpack(bytes.NewReader(archive), dir); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(dir, "bin", "postgres")); err != nil || st.Mode().Perm()&0o111 == 0 {
		t.Errorf("postgres: %v, %v; want a program", st, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "package.json")); err == nil {
		t.Error("a file from outside native was unpacked")
	}
	moved := dir + "-moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(moved, "lib", "libpq.so.5")); err != nil || string(b) != "library" {
		t.Errorf("through the link: %q, %v; want the library", b, err)
	}
}

func TestUnpackStaysInside(t *testing.T) {
	for name, files := range map[string][]packed{
		"file":   {{"package/native/../../escaped", "x", 0o644}},
		"target": {{"package/native/pg-symlinks.json", `[{"source":"native/a","target":"native/../../escaped"}]`, 0o644}},
		"source": {{"package/native/pg-symlinks.json", `[{"source":"../../etc/passwd","target":"native/escaped"}]`, 0o644}},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			if err := unpack(bytes.NewReader(pack1(t, files...)), filepath.Join(base, "native")); err == nil {
				t.Error("unpack succeeded")
			}
			for _, at := range []string{base, filepath.Dir(base), filepath.Join(base, "native")} {
				if _, err := os.Lstat(filepath.Join(at, "escaped")); err == nil {
					t.Errorf("something was written to %s", at)
				}
			}
		})
	}
}

func TestIntegrity(t *testing.T) {
	sum := sha512.Sum512([]byte("archive"))
	right := integrity("sha512-" + base64.StdEncoding.EncodeToString(sum[:]))
	if err := right.check([]byte("archive")); err != nil {
		t.Error(err)
	}
	for _, wrong := range []integrity{right[:40], "", "sha1-abc", integrity(strings.Repeat("x", 99))} {
		if err := wrong.check([]byte("archive")); err == nil {
			t.Errorf("check with %q succeeded", wrong)
		}
	}
	if err := right.check([]byte("other")); err == nil {
		t.Error("check of another archive succeeded")
	}
}

func TestLockIsComplete(t *testing.T) {
	lock, err := readLock()
	if err != nil {
		t.Fatal(err)
	}
	if lock.Version == "" || strings.ContainsAny(lock.Version, "^~*") {
		t.Errorf("version %q is not exact", lock.Version)
	}
	for _, os := range []string{"linux", "darwin"} {
		for _, arch := range []string{"amd64", "arm64"} {
			coded, ok := strings.CutPrefix(string(lock.Packages[npmPlatform(os, arch)]), "sha512-")
			if b, err := base64.StdEncoding.DecodeString(coded); !ok || err != nil || len(b) != sha512.Size {
				t.Errorf("%s/%s: no SHA-512 in the lock", os, arch)
			}
		}
	}
}

func FuzzParseLinks(f *testing.F) {
	f.Add([]byte(`[{"source":"native/lib/a.so.1","target":"native/lib/a.so"}]`))
	f.Add([]byte(`[{"source":"native/../x","target":"native//y"}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		links, err := parseLinks(b)
		if err != nil {
			return
		}
		for _, l := range links {
			if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
				t.Errorf("%+v leads out", l)
			}
		}
		if _, err := json.Marshal(links); err != nil {
			t.Error(err)
		}
	})
}
