package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const goodHook = "[[hook]]\nname = \"ci\"\nurl = \"https://ci.example/secret-token\"\nsecret_file = \"/s\"\non = [\"request.created\", \"job.*\"]\nqueue = \"bisect\"\n"

func TestHooksAreRead(t *testing.T) {
	c, err := Load(file(t, goodHook), env(map[string]string{"HOME": "/h"}))
	if err != nil {
		t.Fatal(err)
	}
	want := []Hook{{Name: "ci", URL: "https://ci.example/secret-token", SecretFile: "/s", On: []string{"request.created", "job.*"}, Queue: "bisect"}}
	if diff := cmp.Diff(want, c.Hooks); diff != "" {
		t.Error(diff)
	}
	text, err := c.Redacted().TOML()
	if err != nil || strings.Contains(string(text), "secret-token") || !strings.Contains(string(text), "https://ci.example/xxxxx") {
		t.Errorf("shown, %v:\n%s", err, text)
	}
	if c.Hooks[0].URL != want[0].URL {
		t.Error("showing it changed it")
	}
	if text, err = Default("/d").TOML(); err != nil || strings.Contains(string(text), "[[hook]]") {
		t.Errorf("without hooks, %v:\n%s", err, text)
	}
}

func TestHooksAreChecked(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"no name":           {`"ci"`, `""`, "hook 1: name"},
		"name of a path":    {`"ci"`, `"../ci"`, "hook 1: name"},
		"two":               {"", goodHook, "hook ci: there are two with this name"},
		"no URL":            {`"https://ci.example/secret-token"`, `""`, "hook ci: url"},
		"another scheme":    {"https:", "ftp:", "hook ci: url"},
		"user":              {"https://", "https://secret-token@", "hook ci: url: write it without a user"},
		"broken URL":        {"https://ci.example/", "https://[", "hook ci: url"},
		"no secret":         {`"/s"`, `""`, "hook ci: secret_file"},
		"on nothing":        {`"request.created", "job.*"`, "", "hook ci: on: name types"},
		"unknown type":      {"request.created", "request.made", `hook ci: on: "request.made" is no type of event: use account.closed, `},
		"with a version":    {"request.created", "request.created.v1", "is no type of event"},
		"unknown pattern":   {"job.*", "work.*", `"work.*" is no type of event`},
		"no such pattern":   {"job.*", "job.[a-f]*", "is no type of event"},
		"no queue":          {`"bisect"`, `"Bi sect"`, "hook ci: queue"},
		"no account":        {`queue = "bisect"`, `account = "A"`, "hook ci: account"},
		"unknown key":       {"queue", "queues", "unknown key"},
		"everything passes": {`"request.created", "job.*"`, `"*"`, ""},
		"main queue passes": {`"bisect"`, `"main"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(file(t, strings.Replace(goodHook, tc.old, tc.new, 1)), env(map[string]string{"HOME": "/h"}))
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret-token")):
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheSecretOfAHookIsInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	long := strings.Repeat("s3cret", 4)
	for text, want := range map[string]string{long: long, long + "\r\n": long, " " + long + " \n": " " + long + " "} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := (Hook{Name: "ci", SecretFile: path}).Secret(); err != nil || string(got) != want {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "\n", "s3cret"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (Hook{Name: "ci", SecretFile: path}).Secret(); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := (Hook{Name: "ci", SecretFile: path + "x"}).Secret(); err == nil || !strings.Contains(fmt.Sprint(err), "hook ci: secret_file") {
		t.Errorf("no file: %v", err)
	}
}
