package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	secretOfHook = "the secret of the outgoing hook"
	tokenOfHook  = "token-in-the-url-of-the-hook"
)

// hears adds a hook to the configuration.
func (s *site) hears(name, url, more string) {
	s.t.Helper()
	file := filepath.Join(s.dir, name+".secret")
	if err := os.WriteFile(file, []byte(secretOfHook+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.replace("quick.toml", "[scheduler]\n", fmt.Sprintf("[[hook]]\nname = %q\nurl = \"%s/%s\"\nsecret_file = %q\n%s\n[scheduler]\n", name, url, tokenOfHook, file, more))
}

// A program of others learns of the requests of one queue, each event once by its id, also when tacho is killed.
func TestAHookTellsOfTheRequestsOfAQueue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var mu sync.Mutex
	var heard []string
	known := map[string]bool{}
	to := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		mac := hmac.New(sha256.New, []byte(secretOfHook))
		mac.Write(body)
		if signed := fmt.Sprintf("sha256=%x", mac.Sum(nil)); err != nil || req.Header.Get("X-Tacho-Signature-256") != signed {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if id := req.Header.Get("ce-id"); !known[id] {
			known[id] = true
			heard = append(heard, strings.TrimPrefix(req.Header.Get("ce-type"), "dev.tacho."))
		}
	}))
	t.Cleanup(to.Close)
	s.hears("ci", to.URL, `on = ["request.*", "job.finished"]`+"\nqueue = \"bisect\"")
	s.start()
	s.must("queue", "set", "bisect", "--weight", "50")
	s.must("request", "master", "v1", "--wait")
	life := strings.Fields("request.created.v1 request.admitted.v1 request.started.v1 job.finished.v1 job.finished.v1 job.finished.v1 job.finished.v1 request.completed.v1")
	hears := func(want []string) {
		t.Helper()
		s.eventually("the hook told all", 30*time.Second, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(heard) >= len(want)
		})
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(heard, want) {
			t.Errorf("heard %q\nwant %q", heard, want)
		}
	}
	s.must("request", "release", "v2", "--queue", "bisect", "--wait")
	hears(life)
	s.killUp()
	s.must("request", "release", "v3", "--queue", "bisect", "--wait")
	hears(append(life, life...))

	resp, err := http.Get(s.url() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.Body.Close() != nil || !strings.Contains(string(text), `tacho_hook_posts_total{hook="ci",result="delivered"}`) {
		t.Errorf("metrics, %v:\n%s", err, text)
	}
	doctor, _, _ := s.run("doctor")
	if shown := doctor + s.must("config") + string(text) + s.log.String(); !strings.Contains(doctor, "hook ci") || strings.Contains(shown, tokenOfHook) || strings.Contains(shown, secretOfHook) {
		t.Errorf("shown:\n%s", shown)
	}
}

func TestAHookWithoutASecretDoesNotStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hears("ci", "https://ci.example", `on = ["job.*"]`)
	if err := os.Remove(filepath.Join(s.dir, "ci.secret")); err != nil {
		t.Fatal(err)
	}
	_, errs, code := s.run("up", "--listen", "127.0.0.1:0")
	if code != 2 || !strings.Contains(errs, "hook ci: secret_file") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if out, _, _ := s.run("doctor"); !strings.Contains(out, "openssl rand") {
		t.Errorf("the doctor says:\n%s", out)
	}
}
