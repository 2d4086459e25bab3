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

func TestVariablesOverrideFilesAndFilesDefaults(t *testing.T) {
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
		"no unit":       {"[scheduler]\nartifact_deadline = 30\n", "scheduler.artifact_deadline: 30 has no unit"},
		"in a list":     {"[[poller]]\nname = \"x\"\ninterval = 120\n", "poller.interval: 120 has no unit"},
		"negative":      {"[scheduler]\nartifact_deadline = \"-1h\"\n", "scheduler.artifact_deadline"},
		"everywhere":    {"listen = \"\"\n", "listen: name an address"},
		"link":          {"[watchdog]\nlink = \"javascript:alert(1)\"\n", "watchdog.link"},
		"half an app":   {"[github.app]\ninstallation = 3\nkey_file = \"k\"\n", "github.app"},
		"negative app":  {"[github.app]\nid = -1\ninstallation = 3\nkey_file = \"k\"\n", "github.app"},
		"hook":          {"[github]\nhook = -3\n", "github.hook"},
		"account":       {"[github]\nusers = [-1]\n", "github.users"},
		"suite":         {"[github]\nsuite = \"A b\"\n", "github.suite"},
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

// A secret that was read from a file ends in a line feed. People do not see it, and a header cannot hold it.
func TestSecretsOfFilesMayEndInALineFeed(t *testing.T) {
	c, err := Load("", env(map[string]string{
		"HOME": "/h", "TACHO_TOKEN": "a\n", "TACHO_GITHUB_TOKEN": "b\r\n", "TACHO_WEBHOOK_SECRET": " c\n",
	}))
	if err != nil || c.Token != "a" || c.GitHub.Token != "b" || c.GitHub.Secret != " c" {
		t.Errorf("%q, %q, %q: %v", c.Token, c.GitHub.Token, c.GitHub.Secret, err)
	}
}

func TestNoSecretIsShown(t *testing.T) {
	c, err := Load("", env(map[string]string{
		"HOME": "/h", "TACHO_TOKEN": "secret-1", "TACHO_DATABASE_URL": "postgres://u:secret-2@h/d", "TACHO_NATS_URL": "nats://u:secret-3@h",
		"TACHO_SERVER": "https://u:secret-4@h",
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

func TestSecretsInLists(t *testing.T) {
	for in, want := range map[string]string{
		"":               "",
		"nats://h:4222":  "nats://h:4222",
		"h1:4222, h2":    "nats://h1:4222,nats://h2",
		"nats://a:s1@h1": "nats://a:xxxxx@h1",
		"nats://a:s1@h1:1,nats://b:s2@h2:2,tls://c:s3@h3": "nats://a:xxxxx@h1:1,nats://b:xxxxx@h2:2,tls://c:xxxxx@h3",
		"a:s1@h1:1,b:s2@h2:2":                             "nats://a:xxxxx@h1:1,nats://b:xxxxx@h2:2",
		"nats://s1@h1":                                    "nats://xxxxx@h1",
		"nats://a:s1/x@h1,nats://h2":                      "(not a list of URLs)",
		"nats://a:1/s1@h1":                                "(not a list of URLs)",
		"nats://a:s1@h1,":                                 "(not a list of URLs)",
	} {
		if got := RedactNATS(in); got != want {
			t.Errorf("RedactNATS(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"":                                  "",
		"postgres://u:s1@h/d":               "postgres://u:xxxxx@h/d",
		"postgres://h/d?password=s1&user=u": "postgres://h/d?password=xxxxx&user=u",
		"postgres://u:s1@h1:1,h2:2/d":       "postgres://u:xxxxx@h1:1,h2:2/d", "postgres://u:1/s1@h/d": "(not a plain URL)",
		"host=h password=s1 dbname=d":                          "host=h password=xxxxx dbname=d",
		`host=h PASSWORD = 's1 \' s2' sslpassword=s3 dbname=d`: "host=h PASSWORD = xxxxx sslpassword=xxxxx dbname=d",
		`password=s1\ s2 host=h`:                               "password=xxxxx host=h",
	} {
		if got := RedactDatabase(in); got != want {
			t.Errorf("RedactDatabase(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	_, err := Load("", env(map[string]string{"HOME": "/h", "TACHO_NATS_URL": "nats://ok:1,nats://u:secret/4@h"}))
	if err == nil || !strings.Contains(err.Error(), "TACHO_NATS_URL") || !strings.Contains(err.Error(), "server 2") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// For any list, no password in it is shown.
func FuzzRedactNATS(f *testing.F) {
	f.Add("nats://a:secret@h1:1,nats://b:secret@h2:2")
	f.Add("a:secret@h1 , secret@h2")
	f.Add("nats://a:%73ecret@h?x=secret")
	f.Fuzz(func(t *testing.T, list string) {
		servers, err := NATSServers(list)
		if err != nil {
			return
		}
		shown, err := NATSServers(RedactNATS(list))
		if err != nil || len(shown) != len(servers) {
			t.Fatalf("%q is shown as %q", list, RedactNATS(list))
		}
		for i, u := range shown {
			if u.User == nil {
				continue
			}
			if p, ok := u.User.Password(); ok && p != hidden || !ok && u.User.Username() != hidden {
				t.Errorf("server %d of %q is shown as %s", i+1, list, u)
			}
		}
	})
}
