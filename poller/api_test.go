package poller

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// api is the part of GitHub's API that lists commits, on top of a bare repository: pages, ETags, limits and failures.
type api struct {
	t      testing.TB
	repo   string
	server *httptest.Server

	mu sync.Mutex
	// token, if set, is required in every request. answer, if set, answers instead of the list.
	token  string
	answer http.HandlerFunc
	// remaining counts the requests left until reset; answers 304 are free. A zero reset means no limit.
	remaining int
	reset     time.Time
	// full and unchanged count answers 200 and 304.
	full, unchanged int
}

func newAPI(t testing.TB, repo string) *api {
	a := &api{t: t, repo: repo}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repos/o/r/commits", a.commits)
	a.server = httptest.NewServer(mux)
	t.Cleanup(a.server.Close)
	return a
}

func (a *api) set(f func(*api)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a)
}

func (a *api) counts() (full, unchanged int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.full, a.unchanged
}

func (a *api) commits(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answer != nil {
		a.answer(w, r)
		return
	}
	if a.token != "" && r.Header.Get("Authorization") != "Bearer "+a.token {
		http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	if !a.reset.IsZero() {
		w.Header().Set("X-RateLimit-Limit", "60")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(a.reset.Unix(), 10))
		if a.remaining == 0 {
			w.Header().Set("X-RateLimit-Remaining", "0")
			http.Error(w, `{"message":"API rate limit exceeded"}`, http.StatusForbidden)
			return
		}
	}
	body, last, err := a.page(r)
	if err != nil {
		http.Error(w, `{"message":"Not Found"}`, http.StatusNotFound)
		return
	}
	etag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(body))
	w.Header().Set("ETag", etag)
	same := r.Header.Get("If-None-Match") == etag
	if !a.reset.IsZero() {
		if !same {
			a.remaining--
		}
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(a.remaining))
	}
	if same {
		a.unchanged++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	a.full++
	if !last {
		next := *r.URL
		q := next.Query()
		page, _ := strconv.Atoi(q.Get("page"))
		q.Set("page", strconv.Itoa(max(page, 1)+1))
		next.RawQuery = q.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<%s%s>; rel="next"`, a.server.URL, next.String()))
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(body); err != nil {
		a.t.Log(err)
	}
}

// page returns one page of all commits that a branch or commit reaches, by date, as GitHub lists them.
func (a *api) page(r *http.Request) (body []byte, last bool, err error) {
	at := r.URL.Query().Get("sha")
	if at == "" {
		at = "HEAD"
	}
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	page = max(page, 1)
	out, err := exec.Command("git", "--git-dir="+a.repo, "log", "-z", "--format=%H%n%P%n%ct%n%B",
		"--skip="+strconv.Itoa((page-1)*size), "-n", strconv.Itoa(size+1), at, "--").Output()
	if err != nil {
		return nil, false, err
	}
	type sha struct {
		SHA string `json:"sha"`
	}
	type signature struct {
		Date time.Time `json:"date"`
	}
	type inner struct {
		Message   string    `json:"message"`
		Committer signature `json:"committer"`
	}
	type commit struct {
		SHA     string `json:"sha"`
		Commit  inner  `json:"commit"`
		Parents []sha  `json:"parents"`
	}
	var commits []commit
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		fields := strings.SplitN(record, "\n", 4)
		seconds, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return nil, false, err
		}
		c := commit{SHA: fields[0], Commit: inner{fields[3], signature{time.Unix(seconds, 0).UTC()}}}
		for _, p := range strings.Fields(fields[1]) {
			c.Parents = append(c.Parents, sha{p})
		}
		commits = append(commits, c)
	}
	last = len(commits) <= size
	body, err = json.Marshal(commits[:min(size, len(commits))])
	return body, last, err
}

// github returns the source, with a transport of its own.
func (a *api) github(t testing.TB, clock func() time.Time, branch, token string) *GitHub {
	t.Helper()
	base := &http.Transport{DisableKeepAlives: true}
	g, err := NewGitHub(GitHubConfig{
		HTTP: NewClient(NewTransport(base, clock)), API: a.server.URL, Token: token, Repository: "o/r", Branch: branch,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}
