package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tacho.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVariablesStandOverTheFileAndTheFileOverTheDefaults(t *testing.T) {
	path := file(t, "listen = \"127.0.0.1:9\"\nsuites = [\"rustc\"]\n[scheduler]\noffline_after = \"90s\"\n[sources]\nrustc-perf = \"/srv/p\"\n")
	c, err := Load(path, env(map[string]string{"HOME": "/h", "TACHO_SUITE": "go:mine.toml", "TACHO_TOKEN": "t"}))
	if err != nil {
		t.Fatal(err)
	}
	want := Default("/h/.local/share/tacho")
	want.Listen, want.Suites, want.Token = "127.0.0.1:9", []string{"go", "mine.toml"}, "t"
	want.Scheduler.OfflineAfter, want.Sources = Duration(90*time.Second), map[string]string{"rustc-perf": "/srv/p"}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key":   {"lisen = \"x\"\n", ":1:1: unknown key"},
		"nested":        {"[scheduler]\nmax_in_progres = 2\n", ":2:1: unknown key"},
		"syntax":        {"listen = \n", ":1:"},
		"duration":      {"[scheduler]\noffline_after = \"soon\"\n", "soon"},
		"out of bounds": {"[scheduler]\nmax_in_progress = 0\n", "scheduler.max_in_progress"},
		"beats":         {"[collector]\nbeat_every = \"2m\"\n", "collector.beat_every"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(file(t, tc.text), env(map[string]string{"HOME": "/h"}))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
	if _, err := Load("", env(nil)); err == nil || !strings.Contains(err.Error(), "TACHO_DATA") {
		t.Errorf("got %v", err)
	}
}

func TestNoSecretIsShown(t *testing.T) {
	c, err := Load("", env(map[string]string{
		"HOME": "/h", "TACHO_TOKEN": "secret-1", "TACHO_DATABASE_URL": "postgres://u:secret-2@h/d", "TACHO_NATS_URL": "nats://u:secret-3@h",
	}))
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Redacted().TOML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "secret-") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	again := Default("")
	if err := decode("shown", text, &again); err != nil {
		t.Errorf("what is shown is no valid file: %v", err)
	}
}
