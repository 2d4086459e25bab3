package artifact

import (
	"archive/tar"
	stdbytes "bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWrappingIsPeeledOff(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []file
		want  []string
	}{
		{"no wrapping", []file{{name: "bin/x"}, {name: "README"}}, []string{"README", "bin/x"}},
		{"bin alone", []file{{name: "./bin/x"}}, []string{"bin/x"}},
		{"named after the release", []file{{name: "go1.25/bin/go"}, {name: "go1.25/VERSION"}}, []string{"VERSION", "bin/go"}},
		{"two names", []file{{name: "x-1.0-linux/x/bin/x"}}, []string{"bin/x"}},
		{"installer", []file{
			{name: "x-1/install.sh"},
			{name: "x-1/components", content: "x\nx-std\n"},
			{name: "x-1/README"},
			{name: "x-1/x/bin/x"},
			{name: "x-1/x/manifest.in"},
			{name: "x-1/x-std/lib/std"},
			{name: "x-1/other/lib/no"},
		}, []string{"bin/x", "lib/std"}},
		{"installer without a list", []file{{name: "x-1/install.sh"}, {name: "x-1/a/bin/a"}, {name: "x-1/b/bin/b"}}, []string{"bin/a", "bin/b"}},
		{"an install.sh of its own", []file{{name: "x/install.sh"}, {name: "x/bin/x"}}, []string{"bin/x", "install.sh"}},
		{"later wins", []file{{name: "bin/x", content: "old"}, {name: "bin/x", link: "y"}}, []string{"bin/x"}},
		{"a single file", []file{{name: "x"}}, []string{"x"}},
		{"nothing", nil, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, err := unpackTo(t, t.TempDir(), tarball(t, c.files...))
			if err != nil {
				t.Fatal(err)
			}
			got := append([]string{}, names(tree(t, root))...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// unpackTo unpacks and arranges an archive in dir.
func unpackTo(t testing.TB, dir string, archive []byte) (root string, err error) {
	t.Helper()
	stage, root := filepath.Join(dir, "stage"), filepath.Join(dir, "root")
	for _, d := range []string{stage, root} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err = unpack("x.tar", stdbytes.NewReader(archive), stage, &room{store: &Store{Config{Dir: dir}}})
	if err == nil {
		err = arrange(stage, root)
	}
	if err == nil {
		err = checkLinks(root)
	}
	return root, err
}

func TestMergingKeepsEveryFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "merge")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		root := filepath.Join(dir, "root")
		want := map[string]bool{}
		for i := range rapid.IntRange(1, 4).Draw(t, "archives") {
			stage := filepath.Join(dir, "stage", string(rune('a'+i)))
			for _, name := range rapid.SliceOfN(rapid.StringMatching(`(bin|lib)(/[xy]){0,2}/[fgh]`), 1, 6).Draw(t, "files") {
				want[name] = true
				if err := os.MkdirAll(filepath.Join(stage, path.Dir(name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(stage, name), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(root, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := arrange(stage, root); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]bool{}
		err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				got[name] = true
			}
			return err
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
	})
}

func FuzzEntryName(f *testing.F) {
	for _, s := range []string{"a", "./a/b/", "../a", "/a", "a/../b", "a//b", ".", "", "a\x00b", "..a/...", `..\a`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := entryName(s)
		if err != nil {
			return
		}
		if !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsRune(name, 0) {
			t.Errorf("%q becomes %q", s, name)
		}
	})
}

// FuzzUnpack unpacks any bytes: nothing is made outside, and no link leads there.
func FuzzUnpack(f *testing.F) {
	f.Add(tarball(f, file{name: "x-1/bin/x", content: "x"}, file{name: "x-1/lib/l", link: "../bin/x"}))
	f.Add(tarball(f, file{name: "a", link: "."}, file{name: "a/b", link: ".."}, file{name: "a/b/c", content: "x"}))
	f.Add(tarball(f, file{name: "d/"}, file{name: "d/l", link: "../d"}, file{name: "d/l/x", content: "x"}, file{name: "h", link: "d/x", typeflag: tar.TypeLink}))
	f.Add(tarball(f, file{name: "l", link: "m"}, file{name: "m", link: "l"}, file{name: "l/x", content: "x"}))
	f.Add(tarball(f, file{name: "../x", content: "x"}))
	f.Add([]byte("no tar"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		dir := t.TempDir()
		inside := filepath.Join(dir, "a", "b")
		if err := os.MkdirAll(inside, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := unpackTo(t, inside, archive)
		for at, only := range map[string]string{dir: "a", filepath.Join(dir, "a"): "b"} {
			list, rerr := os.ReadDir(at)
			if rerr != nil || len(list) != 1 || list[0].Name() != only {
				t.Fatalf("something was made outside, in %s: %v, %v", at, list, rerr)
			}
		}
		var refused *RefusedError
		if err != nil {
			if !errors.As(err, &refused) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("not the archive's fault: %v", err)
			}
			return
		}
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.Type() != fs.ModeSymlink {
				return err
			}
			if to, err := filepath.EvalSymlinks(p); err == nil && to != real && !strings.HasPrefix(to, real+"/") {
				t.Errorf("%s leads to %s", p, to)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
