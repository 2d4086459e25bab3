package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/internal/fakegithub"
)

// secrets are words that must never be readable, by what they are.
type secrets map[string]string

// found names the secrets that a text holds: as they are, or in the forms in which they travel.
func (s secrets) found(text string) (names []string) {
	for name, secret := range s {
		quoted, err := json.Marshal(secret)
		if err != nil {
			panic(err)
		}
		for _, form := range []string{
			secret, strings.Trim(string(quoted), `"`), base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
			fmt.Sprintf("%x", secret),
		} {
			if strings.Contains(text, form) {
				names = append(names, name)
				break
			}
		}
	}
	slices.Sort(names)
	return names
}

// sources are texts that people and programs can read, by their place.
type sources map[string]string

// crawl adds the server's answers for path and for everything that its pages link to.
func (s sources) crawl(t *testing.T, base, path string) {
	t.Helper()
	if _, known := s[path]; known || len(s) > 500 {
		return
	}
	s[path] = "under way"
	resp, err := http.Get(base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	s[path] = fmt.Sprint(resp.Header) + string(text)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="(/[^"#]*)`).FindAllStringSubmatch(string(text), -1) {
		s.crawl(t, base, strings.ReplaceAll(m[1], "&amp;", "&"))
	}
}

// No secret is in an event, a page, an answer, an error or the program's own messages, neither while everything works nor
// while everything fails.
func TestNoSecretIsEverShown(t *testing.T) {
	t.Parallel() // it waits more than it works
	for _, way := range []string{"token", "app"} {
		t.Run(way, func(t *testing.T) { noSecretIsShown(t, way == "app") })
	}
}

func noSecretIsShown(t *testing.T, app bool) {
	g := onGitHub(t)
	const apiToken, alertToken = "api-token-5e0d9c", "alert-token-77ab31"
	hidden := secrets{"webhook secret": hookSecret, "GitHub token": githubToken, "API token": apiToken, "token of the alert webhook": alertToken}
	alerts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(alerts.Close)
	hidden["secret of the hook"], hidden["token of the hook"] = secretOfHook, tokenOfHook
	g.hears("ci", alerts.URL, `on = ["*"]`)
	g.env = append(g.env, "TACHO_TOKEN="+apiToken, "TACHO_ALERT_WEBHOOK="+alerts.URL+"/hooks/"+alertToken)
	if app {
		key := g.useApp()
		for i, line := range strings.Split(key, "\n") {
			if len(line) > 40 { // the lines around the key are not secret
				hidden[fmt.Sprintf("line %d of the App's key", i)] = line
			}
		}
		// Tokens of an installation are made at run time; they begin with this.
		hidden["token of the installation"] = "ghs_0000"
	}
	g.start("--verbose")
	g.listen()
	base := g.url()

	// A comment that is accepted, one that is refused, and a delivery without a signature.
	g.repo.Comment(pull, g.alice, "@tacho queue foo=bar")
	g.repo.Comment(pull, g.alice, "@tacho queue profiles=quick benchmarks=nap-a")
	said := func() int { return len(g.repo.Comments(pull)) - 2 }
	g.eventually("both comments are answered", 60*time.Second, func() bool { return said() == 2 })
	resp, err := http.Post(base+webhookPath, "application/json", strings.NewReader(`{"action":"created"}`))
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		t.Log(err)
	}
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	// GitHub fails in every way. The messages about that must not have the credentials of the requests.
	for _, f := range []fakegithub.Failure{fakegithub.Status(500), fakegithub.Status(401), fakegithub.Garbage(), fakegithub.Drop()} {
		broken := g.server.Break(fakegithub.Fault{Do: f})
		g.repo.Comment(pull, g.alice, "@tacho status")
		g.eventually("GitHub was asked in vain", 60*time.Second, func() bool { return broken.Hits() > 0 })
		broken.Mend()
	}
	if _, errs, code := g.run("collector", "add", "spare", "--target", "here", "--set", "1", "--standby"); code != 0 {
		t.Fatal(errs)
	}
	g.eventually("an alert stands", 60*time.Second, func() bool { return !strings.Contains(g.must("alerts"), "Nothing needs you") })
	g.eventually("the alert webhook fails", 60*time.Second, func() bool { return strings.Contains(g.log.String(), "post to the webhook of alerts") })

	g.eventually("the hook fails", 60*time.Second, func() bool { return strings.Contains(g.log.String(), "post to hook ci") })

	seen := sources{"the answer to an unsigned delivery": string(unsigned), "the program's own log": g.log.String()}
	for _, path := range []string{
		"/", "/github", "/requests", "/openapi.json", "/metrics", "/readyz", "/healthz", "/api/v1/events?after=0&limit=1000", "/api/v1/deliveries", "/api/v1/outbox",
		"/api/v1/status", "/api/v1/alerts", "/api/v1/collectors", "/api/v1/requests", "/nothing", "/api/v1/nothing",
	} {
		seen.crawl(t, base, path)
	}
	for _, args := range [][]string{
		{"config"},
		{"config", "--json"},
		{"doctor"},
		{"status"},
		{"alerts"},
		{"events", "export"},
		{"events", "tail"},
		{"github", "deliveries"},
		{"github", "outbox"},
		{"github", "outbox", "--json"},
		{"queue"},
		{"request", "list"},
		{"poller", "list"},
		{"collector", "list"},
	} {
		out, errs, _ := g.run(args...)
		seen["tacho "+strings.Join(args, " ")] = out + errs
	}
	wrongToken := append(slices.Clone(g.env), "TACHO_TOKEN=not-"+apiToken[:3])
	g.env, wrongToken = wrongToken, g.env
	out, errs, _ := g.run("--server", base, "request", "master", "v1", "--suite", "naps")
	g.env = wrongToken
	seen["a write with the wrong token"] = out + errs
	text, err := os.ReadFile(g.data("running.json"))
	if err != nil {
		t.Fatal(err)
	}
	seen["running.json"] = string(text)

	for _, where := range slices.Sorted(maps.Keys(seen)) {
		if names := hidden.found(seen[where]); len(names) > 0 {
			t.Errorf("%s shows %s", where, strings.Join(names, ", "))
		}
	}
	// Make sure that the test finds secrets, and that it had something to read.
	for name, secret := range hidden {
		if got := hidden.found("xx" + secret + "xx"); !slices.Contains(got, name) {
			t.Errorf("%s would not be found", name)
		}
	}
	if len(seen) < 40 || !strings.Contains(seen["tacho events export"], "foo=bar") || !strings.Contains(seen["/github"], "foo") {
		t.Errorf("%d texts, %d bytes of events", len(seen), len(seen["tacho events export"]))
	}
}

// useApp makes Tacho a GitHub App instead of a user with a token, and returns its private key.
func (g *github) useApp() (key string) {
	g.t.Helper()
	const id = 77
	private, text := fakegithub.NewKey(g.t)
	path := filepath.Join(g.dir, "app.pem")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		g.t.Fatal(err)
	}
	g.bot = g.server.AddApp(id, "tacho-app", &private.PublicKey)
	g.replace("quick.toml", "[github]\n", fmt.Sprintf("[github]\nbot_id = %d\n", g.bot.ID))
	g.replace("quick.toml", "[github.labels]", fmt.Sprintf("[github.app]\nid = %d\ninstallation = %d\nkey_file = %q\n[github.labels]", id, g.server.Install(id, "rust-lang/rust"), path))
	return string(text)
}
