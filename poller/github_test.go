package poller

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGitHubYieldsWhatGitYields(t *testing.T) {
	r := newRepository(t)
	history := r.chain(1, "")
	for i := range 130 {
		on := history[len(history)-1]
		side := r.chain(i%3, on)
		if len(side) == 0 {
			history = append(history, r.commit(fmt.Sprintf("Squashed (#%d)", i+1), on))
			continue
		}
		history = append(history, r.commit(fmt.Sprintf("Merge pull request #%d from x/y", i+1), on, side[len(side)-1]))
	}
	r.push("main", history[len(history)-1])
	a := newAPI(t, r.url)
	fromGit := yields(t, r.source(t, ""), history)
	from := a.github(t, time.Now, "", "")
	fromAPI := yields(t, from, history)
	if diff := cmp.Diff(fromGit, fromAPI); diff != "" {
		t.Error(diff)
	}
	full, _ := a.counts()
	if full < 3 {
		t.Errorf("%d pages were read of some 260 commits", full)
	}
	// An unchanged page is not sent again.
	yields(t, from, history)
	if again, unchanged := a.counts(); again != full || unchanged != full {
		t.Errorf("%d pages in full and %d unchanged, want %d and %d", again, unchanged, full, full)
	}
	if _, err := take(t, a.github(t, time.Now, "gone", "")); err == nil || !strings.Contains(err.Error(), "branch gone") {
		t.Errorf("a branch that is not there: %v", err)
	}
}

func TestGitHubGetsTheTokenAndNobodyElse(t *testing.T) {
	r := newRepository(t)
	history := r.chain(2, "")
	r.push("main", history[1])
	a := newAPI(t, r.url)
	a.token = "secret"
	yields(t, a.github(t, time.Now, "main", "secret"), history)
	_, err := take(t, a.github(t, time.Now, "main", "wrong-secret"))
	if err == nil || !strings.Contains(err.Error(), "TACHO_GITHUB_TOKEN") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	// A redirect to another host gets no token.
	other := newAPI(t, r.url)
	other.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("another host got the token")
		}
		http.Error(w, "{}", http.StatusTeapot)
	}
	a.set(func(a *api) {
		a.answer = func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.server.URL+r.URL.Path, http.StatusMovedPermanently)
		}
	})
	if _, err := take(t, a.github(t, time.Now, "main", "secret")); err == nil {
		t.Error("it worked")
	}
}

// A push between two pages must not make commits disappear.
func TestGitHubReadsThePagesOfOneCommit(t *testing.T) {
	r := newRepository(t)
	history := r.chain(250, "")
	r.push("main", history[239])
	a := newAPI(t, r.url)
	n := 0
	for got, err := range a.github(t, time.Now, "main", "").Newest(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 50 {
			r.push("main", history[249])
		}
		if want := history[239-n]; got.Tag != want {
			t.Fatalf("commit %d is %s, want %s", n, got.Tag, want)
		}
		n++
	}
	if n != 240 {
		t.Errorf("%d commits", n)
	}
}

func TestGitHubLeavesALimitedServerAlone(t *testing.T) {
	r := newRepository(t)
	history := r.chain(150, "")
	r.push("main", history[149])
	// The API client uses the real clock.
	start := time.Now().Truncate(time.Second)
	now := start
	a := newAPI(t, r.url)
	a.set(func(a *api) { a.remaining, a.reset = 1, start.Add(time.Hour) })
	from := a.github(t, func() time.Time { return now }, "main", "")
	asked := 0
	for range 3 {
		_, err := take(t, from)
		var limited *LimitedError
		if !errors.As(err, &limited) || !limited.Until.Equal(start.Add(time.Hour)) {
			t.Fatalf("got %v, want a limit until %v", err, start.Add(time.Hour))
		}
		full, unchanged := a.counts()
		if asked = full + unchanged; asked != 1 {
			t.Fatalf("the server was asked %d times, want once", asked)
		}
	}
	// An hour later the poll works again.
	now = start.Add(time.Hour)
	a.set(func(a *api) { a.remaining, a.reset = 60, time.Now().Add(2*time.Hour) })
	yields(t, a.github(t, func() time.Time { return now }, "main", ""), history)
}

func TestLimitsOfAllKinds(t *testing.T) {
	now := time.Unix(946684800, 0)
	for name, tc := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   time.Duration
	}{
		"seconds":                   {http.StatusForbidden, map[string]string{"Retry-After": "30"}, "", 30 * time.Second},
		"a date":                    {http.StatusServiceUnavailable, map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:02:00 GMT"}, "", 2 * time.Minute},
		"for ever":                  {http.StatusTooManyRequests, map[string]string{"Retry-After": "99999999999"}, "", time.Hour},
		"too many and nothing said": {http.StatusTooManyRequests, nil, "", time.Minute},
		"the primary limit":         {http.StatusForbidden, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "946685400"}, "", 10 * time.Minute},
		"a clock that is behind":    {http.StatusForbidden, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "946684000"}, "", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			a := newAPI(t, "")
			a.answer = func(w http.ResponseWriter, _ *http.Request) {
				asked++
				for k, v := range tc.header {
					w.Header().Set(k, v)
				}
				http.Error(w, tc.body, tc.status)
			}
			clock := now
			from := a.github(t, func() time.Time { return clock }, "", "")
			for range 2 {
				_, err := take(t, from)
				var limited *LimitedError
				if !errors.As(err, &limited) || !limited.Until.Equal(now.Add(tc.want)) {
					t.Fatalf("got %v, want a limit until %v", err, now.Add(tc.want))
				}
			}
			if asked != 1 {
				t.Errorf("the server was asked %d times", asked)
			}
			if clock = now.Add(tc.want); true {
				_, _ = take(t, from)
			}
			if asked != 2 {
				t.Errorf("it was not asked again after the pause")
			}
		})
	}
}

// GitHub may refuse because of a secondary limit without saying for how long.
func TestTheSecondaryLimitOfGitHub(t *testing.T) {
	a := newAPI(t, "")
	a.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"You have exceeded a secondary rate limit.","documentation_url":"https://docs.github.com/rest/overview/resources-in-the-rest-api#secondary-rate-limits"}`)
	}
	before := time.Now()
	_, err := take(t, a.github(t, time.Now, "", ""))
	var limited *LimitedError
	if !errors.As(err, &limited) || limited.Until.Before(before.Add(time.Minute)) {
		t.Errorf("got %v", err)
	}
}

func TestGitHubSaysWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"not found":  {http.NotFound, "knows no repository o/r"},
		"a fault":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "502"},
		"no JSON":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "invalid character"},
		"no commits": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") }, "no commits"},
		"an end in the middle": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `[{"sha":"aa","parents":[{"sha":"bb"}],"commit":{"committer":{"date":"2000-01-01T00:00:00Z"}}}]`)
		}, "bb is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, "")
			a.answer = tc.answer
			if _, err := take(t, a.github(t, time.Now, "", "")); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
	for _, c := range []GitHubConfig{{Repository: "x"}, {Repository: "a/b/c"}, {Repository: "a/b", API: "no url"}} {
		if _, err := NewGitHub(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

func TestAnswersThatAreKeptAreBounded(t *testing.T) {
	tr := NewTransport(nil, time.Now)
	for i := range 40 {
		tr.put(fmt.Sprint(i), answer{body: make([]byte, 1<<20)})
		tr.put("0", answer{body: make([]byte, i)})
	}
	if tr.bytes > mostKept || len(tr.kept) != len(tr.order) || len(tr.kept) > 34 {
		t.Errorf("%d bytes of %d answers are kept", tr.bytes, len(tr.kept))
	}
	sum := 0
	for _, a := range tr.kept {
		sum += len(a.body)
	}
	if sum != tr.bytes {
		t.Errorf("%d bytes are counted and %d are there", tr.bytes, sum)
	}
}

func TestPullRequestsOfMessages(t *testing.T) {
	for message, want := range map[string]int{
		"Auto merge of #123 - user:branch, r=reviewer\n\nRollup (#9)": 123,
		"Merge pull request #45 from user/branch\n\nTitle":            45,
		"Make it faster (#67)":                  67,
		"Make it faster (#67)\r\n\r\nText (#8)": 67,
		"\nMake it faster (#67)":                67,
		"Revert \"Make it faster (#67)\" (#68)": 68,
		"Revert \"Make it faster (#67)\"":       0,
		"Make it faster\n\n(#67)":               0,
		"Follow Merge pull request #45 from x":  0,
		"See (#67) for more":                    0,
		"Too large (#99999999999999999999)":     0,
		"":                                      0,
	} {
		if got := pullRequest(message); got != want {
			t.Errorf("pullRequest(%q) = %d, want %d", message, got, want)
		}
	}
}

func FuzzPullRequest(f *testing.F) {
	f.Add("Auto merge of #123 - user:branch, r=reviewer")
	f.Add("Merge pull request #45 from user/branch")
	f.Add("Make it faster (#67)\n")
	f.Fuzz(func(t *testing.T, message string) {
		n := pullRequest(message)
		if n < 0 || n > 0 && !strings.Contains(message, "#") {
			t.Errorf("pullRequest(%q) = %d", message, n)
		}
		if got := pullRequest(message + "\n\nmore (#1)"); strings.TrimSpace(message) != "" && got != n {
			t.Errorf("%q: text after the first line changes %d to %d", message, n, got)
		}
	})
}
