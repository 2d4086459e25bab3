package pgserver

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fakeBin makes a directory with the named programs and returns its real path.
func fakeBin(t *testing.T, dir string, programs ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if err := os.WriteFile(filepath.Join(dir, p), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func TestOnPathFollowsLinks(t *testing.T) {
	base := t.TempDir()
	lib := fakeBin(t, filepath.Join(base, "lib", "15", "bin"), "postgres", "initdb")
	lone := fakeBin(t, filepath.Join(base, "lone"), "postgres")
	linked := fakeBin(t, filepath.Join(base, "linked"))
	if err := os.Symlink(filepath.Join(lib, "postgres"), filepath.Join(linked, "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(lib)
	path := strings.Join([]string{"", ".", filepath.Join(base, "missing"), lone, linked}, string(os.PathListSeparator))
	if got, ok := onPath(path); !ok || string(got) != lib {
		t.Errorf("onPath = %q, %v; want %q", got, ok, lib)
	}
	if got, ok := onPath(lone); ok {
		t.Errorf("onPath = %q although there is no initdb", got)
	}
}

func TestNewestComparesNumbers(t *testing.T) {
	base := t.TempDir()
	for _, v := range []string{"9.6", "15", "8.4"} {
		fakeBin(t, filepath.Join(base, v, "bin"), "postgres", "initdb")
	}
	fakeBin(t, filepath.Join(base, "17", "bin"), "psql") // clients only
	want := filepath.Join("15", "bin")
	if got, ok := newest(filepath.Join(base, "*", "bin")); !ok || !strings.HasSuffix(string(got), want) {
		t.Errorf("newest = %q, %v; want ...%s", got, ok, want)
	}
	fakeBin(t, filepath.Join(base, "brew", "postgresql@16", "bin"), "postgres", "initdb")
	fakeBin(t, filepath.Join(base, "brew", "postgresql@9.6", "bin"), "postgres", "initdb")
	want = filepath.Join("postgresql@16", "bin")
	if got, ok := newest(filepath.Join(base, "brew", "postgresql@*", "bin")); !ok || !strings.HasSuffix(string(got), want) {
		t.Errorf("newest = %q, %v; want ...%s", got, ok, want)
	}
}

func TestFindKeepsTheOrder(t *testing.T) {
	base := t.TempDir()
	named := fakeBin(t, filepath.Join(base, "named"), "postgres", "initdb")
	path := fakeBin(t, filepath.Join(base, "path"), "postgres", "initdb")
	place := fakeBin(t, filepath.Join(base, "lib", "15", "bin"), "postgres", "initdb")
	pattern := filepath.Join(base, "lib", "*", "bin")
	for _, tc := range []struct{ named, path, pattern, want string }{
		{named, path, pattern, named},
		{"", path, pattern, path},
		{"", "", pattern, place},
	} {
		got, err := find(t.Context(), Config{BinDir: tc.named}, tc.path, []string{tc.pattern})
		if err != nil || string(got) != tc.want {
			t.Errorf("find(%q, %q, %q) = %q, %v; want %q", tc.named, tc.path, tc.pattern, got, err, tc.want)
		}
	}
}

func TestNothingFoundNamesTheInstallLine(t *testing.T) {
	t.Setenv("PATH", "") // no npm either
	_, err := find(t.Context(), Config{Cache: t.TempDir()}, "", nil)
	if err == nil || !strings.Contains(err.Error(), "npm is not installed") || !strings.Contains(err.Error(), installLine(runtime.GOOS)) {
		t.Errorf("find = %v, want the line that installs PostgreSQL", err)
	}
	for goos, want := range map[string]string{"linux": "apt-get install postgresql", "darwin": "brew install postgresql"} {
		if got := installLine(goos); got != want {
			t.Errorf("installLine(%s) = %q, want %q", goos, got, want)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for line, want := range map[string]version{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": {"15", "15.18"},
		"postgres (PostgreSQL) 17.10\n":                          {"17", "17.10"},
		"postgres (PostgreSQL) 19devel":                          {"19", "19devel"},
		"postgres (PostgreSQL) 18beta1":                          {"18", "18beta1"},
		"postgres (PostgreSQL) 9.6.24":                           {"9.6", "9.6.24"},
	} {
		if got, err := parseVersion(line); err != nil || got != want {
			t.Errorf("parseVersion(%q) = %+v, %v; want %+v", line, got, err, want)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("postgres (PostgreSQL) 15.18 (Debian)")
	f.Add("(PostgreSQL) 99999999999999999999")
	f.Fuzz(func(t *testing.T, line string) {
		v, err := parseVersion(line)
		if err == nil && (v.major == "" || !strings.HasPrefix(v.full, v.major[:1])) {
			t.Errorf("parseVersion(%q) = %+v", line, v)
		}
	})
}

func FuzzParsePID(f *testing.F) {
	for _, seed := range []string{"12\n/data\n", "-12\n", "", "0", "99999999999", " 7 \n", "-2147483648"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if pid := parsePID(b); pid < 0 {
			t.Errorf("parsePID(%q) = %d", b, pid) // would signal a whole process group
		}
	})
}
