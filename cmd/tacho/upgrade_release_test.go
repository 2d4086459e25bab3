package main

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgserver"
)

// shown returns what a page says, word by word, without its marks and what frames it. How long ago something was is left out, and what
// was changed on purpose: a word, a row that pages of requests have since then, and the advice on what is undecided.
func shown(page string) []string {
	for _, pattern := range []string{`(?s)<div class="callout"><strong>What would help</strong>.*?</div>`, `(?s)<(script|style|header|footer|nav)\b.*?</(script|style|header|footer|nav)>`, `(?s)<[^>]*>`, `([0-9.]+ (s|min|h|d|days?) )+ago`} {
		page = regexp.MustCompile(pattern).ReplaceAllString(page, " ")
	}
	page = strings.Join(strings.Fields(html.UnescapeString(page)), " ")
	page = regexp.MustCompile(`Stages artifact .*? report [0-9.]+ m?s `).ReplaceAllString(page, "")
	return strings.Fields(strings.ReplaceAll(page, "too few samples", "too few measurements"))
}

// page returns a page of a website. A website that is too busy says to ask again, so it is asked again.
func (s *site) page(base, path string) (page string) {
	s.t.Helper()
	s.eventually(path+" answers", time.Minute, func() bool {
		resp, err := http.Get(base + path)
		if err != nil {
			s.t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
			s.t.Fatalf("%s: %s, %v", path, resp.Status, err)
		}
		page = string(body)
		return resp.StatusCode == http.StatusOK
	})
	return page
}

// release puts the data directory of the last version without graphs in place: its log, its tables, and what it was killed
// in the middle of. It returns the pages that it showed.
func (s *site) release() (pages map[string]string) {
	s.t.Helper()
	s.prepare()
	dir := filepath.Join(s.dir, "release")
	err := os.Mkdir(dir, 0o700)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, args := range [][]string{
		{"tar", "-xzf", filepath.Join("testdata", "before-graphs.tar.gz"), "-C", dir, "--no-same-owner"}, {"cp", "-R", filepath.Join(dir, "data") + "/.", s.data()},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			s.t.Fatalf("%v: %s", err, out)
		}
	}
	sql, err := os.ReadFile(filepath.Join(dir, "tables.sql"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.inTables(func(conn *pgx.Conn) {
		if _, err := conn.PgConn().Exec(s.t.Context(), string(sql)).ReadAll(); err != nil {
			s.t.Fatal(err)
		}
	})
	files, err := os.ReadDir(filepath.Join(dir, "pages"))
	if err != nil || len(files) == 0 {
		s.t.Fatalf("%d pages, %v", len(files), err)
	}
	pages = map[string]string{}
	for _, f := range files {
		path, err := url.PathUnescape(f.Name())
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "pages", f.Name()))
		if err != nil {
			s.t.Fatal(err)
		}
		pages[path] = string(text)
	}
	return pages
}

// inTables does something with the tables while nothing else runs.
func (s *site) inTables(do func(*pgx.Conn)) {
	s.t.Helper()
	pg, err := pgserver.Start(s.t.Context(), pgserver.Config{Dir: s.data("postgres")})
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := pgx.Connect(s.t.Context(), pg.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	do(conn)
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		s.t.Error(err)
	}
	if err := pg.Stop(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// TestADirectoryOfTheLastReleaseGoesOn starts with what the last version without graphs left when it was killed: two masters
// that completed, one that failed and was repaired, one that was cancelled, and one whose jobs run. What has ended is shown
// as it was, word by word, what was begun ends, and new requests are compared with old ones.
func TestADirectoryOfTheLastReleaseGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.replace("naps.toml", filepath.Join(s.dir, "artifacts"), "~/artifacts") // as its definitions say
	s.replace("quick.toml", "[scheduler]", "[scheduler]\nretention = \"0s\"")
	s.env = append(s.env, "HOME="+s.dir)
	if err := os.Mkdir(filepath.Join(s.dir, "artifacts", "v4"), 0o755); err != nil {
		t.Fatal(err)
	}
	pages := s.release()
	s.start()
	s.eventually("the tables are filled anew", 30*time.Second, func() bool { return strings.Contains(s.log.String(), "the tables are filled anew") })
	base := (&github{site: s}).url()
	for path, was := range pages {
		before, now := shown(was), shown(s.page(base, path))
		if i := slices.Index(now, "…"); i >= 0 && (i >= len(before) || before[i] != now[i]) { // equal errors, which are the last on a page, are said once since then
			before, now = before[:min(i, len(before))], now[:i]
		}
		if diff := cmp.Diff(before, now); diff != "" {
			t.Errorf("%s, before (-) and now (+):\n%s", path, diff)
		}
	}
	s.eventually("the request that had begun completes", 90*time.Second, func() bool { return s.ended("v3").State == events.StateCompleted })
	s.must("request", "master", "v4", "--parent", "v3", "--wait")
	if out := s.must("compare", "v2", "v4"); !strings.Contains(out, "wall-time") {
		t.Error(out)
	}
	if out := s.must("replay", "--verify"); !strings.Contains(out, "identical") {
		t.Error(out)
	}
	rounds := map[int]int{}
	made := map[events.JobID]events.JobSpec{}
	for _, e := range s.events() {
		f, ok := e.Fact.(events.JobsCreated)
		if !ok {
			continue
		}
		for _, spec := range f.Jobs {
			rounds[spec.Round]++
			want := spec.First()
			for range spec.Round {
				want = made[want].Again().ID
			}
			if spec.ID != want {
				t.Errorf("job %s of round %d would be %s today", spec.ID, spec.Round, want)
			}
			made[spec.ID] = spec
		}
	}
	if rounds[0] < 12 || rounds[1] != 2 {
		t.Errorf("jobs of rounds: %v", rounds)
	}
}
