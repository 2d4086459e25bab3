package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGitHubIsConfigured(t *testing.T) {
	text := `
[github]
repo = "rust-lang/rust"
suite = "rustc"
bot = "rust-timer"
bot_id = 41
merge_bots = [2, 3]
users = [7]
accounts = true
users_url = "https://team-api.example/perf.json"
try_branches = ["automation/bors/try"]
hook = 9
[github.labels]
waiting = "S-waiting-on-perf"
[github.app]
id = 1
installation = 2
key_file = "/etc/tacho/app.pem"
`
	c, err := Load(file(t, text), env(map[string]string{
		"HOME": "/h", "TACHO_WEBHOOK_SECRET": "hush", "TACHO_MERGE_BOT_ID": "5", "TACHO_BOT": "perf", "TACHO_GITHUB_REPO": "a/b",
	}))
	if err != nil {
		t.Fatal(err)
	}
	g := c.GitHub
	if g.Repo != "a/b" || g.Bot != "perf" || len(g.MergeBots) != 1 || g.MergeBots[0] != 5 || len(g.Associations) != 3 || !g.Accounts || g.App.Installation != 2 {
		t.Errorf("%+v", g)
	}
	if secret, err := g.WebhookSecret(); err != nil || string(secret) != "hush" {
		t.Errorf("%q, %v", secret, err)
	}
	shown, err := c.Redacted().TOML()
	if err != nil || strings.Contains(string(shown), "hush") {
		t.Errorf("%v\n%s", err, shown)
	}
	if _, err := Load(file(t, string(shown)), env(map[string]string{"HOME": "/h"})); err != nil {
		t.Errorf("what is shown is no valid file: %v", err)
	}
}

func TestTheWebhookSecretMayBeInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for content, want := range map[string]string{"hush\n": "hush", "two words\r\n": "two words"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if secret, err := (GitHub{SecretFile: path}).WebhookSecret(); err != nil || string(secret) != want {
			t.Errorf("%q, %v", secret, err)
		}
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (GitHub{SecretFile: path}).WebhookSecret(); err == nil {
		t.Error("an empty secret is taken")
	}
	if _, err := (GitHub{SecretFile: path + "x"}).WebhookSecret(); err == nil {
		t.Error("a missing file is taken")
	}
}

func TestGitHubThatCannotWorkIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"api":         {`api = "ftp://x"`, "github.api"},
		"user":        {`site = "https://u:p@x"`, "github.site"},
		"repo":        {`repo = "rust"`, "owner/name"},
		"bot":         {`bot = "@tacho"`, "github.bot"},
		"no bot":      {`bot = ""`, "github.bot"},
		"association": {`associations = ["BOSS"]`, "BOSS"},
		"app":         {"[github.app]\nid = 1", "key_file"},
		"merge bot":   {`merge_bots = [0]`, "merge_bots"},
		"unknown":     {`secret = "x"`, "unknown key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(file(t, "[github]\n"+tc.text+"\n"), env(map[string]string{"HOME": "/h"}))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := Load("", env(map[string]string{"HOME": "/h", "TACHO_MERGE_BOT_ID": "bors"})); err == nil {
		t.Error("a name is taken for a number")
	}
}
