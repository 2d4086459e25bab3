package artifact

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tachobench/tacho/events"
)

func eventsTag(s string) events.Tag { return events.Tag(s) }

func walk(t testing.TB, dir string, see func(name, content string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(path)
			see(name, "-> "+target)
			return err
		}
		b, err := os.ReadFile(path)
		see(name, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestArchivesBecomeOneTree(t *testing.T) {
	web := newServer(t)
	web.publish(t, "abc", "beta")
	s := open(t, Config{})
	if ready, err := s.Ready(t.Context(), rustRef(web, "abc")); !ready || err != nil {
		t.Fatalf("ready: %v, %v", ready, err)
	}
	dir, version, release := acquire(t, s, rustRef(web, "abc"))
	if version != "rustc abc -vV" {
		t.Errorf("version %q", version)
	}
	want := []string{"bin/rustc", "lib/librustc_driver.so", "lib/rustlib/src/lib.rs", "lib/rustlib/x86_64/lib/libdriver.so", "lib/rustlib/x86_64/lib/libstd.rlib"}
	if diff := cmp.Diff(want, names(tree(t, dir))); diff != "" {
		t.Error(diff)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "lib/rustlib/x86_64/lib/libdriver.so")); string(got) != "driver" {
		t.Errorf("through the link: %q, %v", got, err)
	}
	if !web.agents["tacho"] || len(web.agents) != 1 {
		t.Errorf("user agents %v", web.agents)
	}
	release()
	release()
	web.downloads()
	again, _, _ := acquire(t, s, rustRef(web, "abc"))
	if got := web.downloads(); again != dir || got != nil {
		t.Errorf("fetched again: %v to %s", got, again)
	}
}

func TestMoreComponentsFetchOnlyThose(t *testing.T) {
	web := newServer(t)
	web.publish(t, "abc", "nightly")
	s := open(t, Config{})
	dir, _, release := acquire(t, s, rustRef(web, "abc"))
	before := tree(t, dir)
	used, err := s.usage("")
	if err != nil {
		t.Fatal(err)
	}
	web.downloads()
	more := rustRef(web, "abc")
	more.Components = []string{"clippy"}
	with, _, _ := acquire(t, s, more)
	if diff := cmp.Diff([]string{"/builds/abc/clippy-nightly-x86_64.tar.xz"}, web.downloads()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("the artifact in use has changed: %s", diff)
	}
	if got := len(tree(t, with)); got != len(before)+1 {
		t.Errorf("%d files with clippy, %d without", got, len(before))
	}
	now, err := s.usage("")
	if err != nil || now <= used || now > used+64<<10 {
		t.Errorf("usage %d, then %d, %v: shared files are counted once", used, now, err)
	}
	release()
	fresh := open(t, Config{})
	wide, _, _ := acquire(t, fresh, more)
	web.downloads()
	narrow, _, _ := acquire(t, fresh, rustRef(web, "abc"))
	if got := web.downloads(); narrow != wide || got != nil {
		t.Errorf("an artifact with more components was not used: %v", got)
	}
}

func TestWithoutHardLinksEverythingIsFetched(t *testing.T) {
	web := newServer(t)
	web.publish(t, "abc", "nightly")
	s := open(t, Config{})
	dir, _, _ := acquire(t, s, rustRef(web, "abc"))
	f := &fetching{store: s, key: "other", room: &room{store: s, key: "other"}}
	// Something is in the way. It stands for any reason why a file system refuses links.
	if err := os.MkdirAll(filepath.Join(f.root(), "bin/rustc"), 0o755); err != nil {
		t.Fatal(err)
	}
	shared, err := f.link(dir, []part{{From: "x"}})
	if shared || err != nil || f.Parts != nil {
		t.Errorf("shared %v, %v, %v", shared, err, f.Parts)
	}
	if left := tree(t, f.root()); len(left) != 0 {
		t.Errorf("left %v", names(left))
	}
}

func TestComponentsComeFromOnePlace(t *testing.T) {
	web := newServer(t)
	web.publish(t, "abc", "nightly")
	web.publish(t, "abc", "beta")
	delete(web.files, "/builds/abc/rust-std-nightly-x86_64.tar.xz")
	s := open(t, Config{})
	acquire(t, s, rustRef(web, "abc"))
	for _, u := range web.downloads() {
		if !strings.Contains(u, "beta") {
			t.Errorf("downloaded %s", u)
		}
	}
}

func TestStatusDecidesTheError(t *testing.T) {
	for _, c := range []struct {
		name      string
		answer    http.HandlerFunc
		permanent bool
		notThere  bool
		says      string
	}{
		{"404", status(404), true, true, "does not exist"},
		{"410", status(410), true, true, "does not exist"},
		{"403", status(403), true, false, "403 Forbidden"},
		{"401", status(401), true, false, "401 Unauthorized"},
		{"400", status(400), true, false, "400 Bad Request"},
		{"429", status(429), false, false, "429 Too Many Requests"},
		{"500", status(500), false, false, "500 Internal"},
		{"503", status(503), false, false, "503 Service Unavailable"},
		{"hang up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, false, "EOF"},
		{"not an archive", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html>there is no such thing here</html>")
		}, true, false, "damaged"},
		{"no HEAD", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(405)
				return
			}
			w.WriteHeader(404)
		}, true, true, "does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := newServer(t)
			web.on("/x.tar.gz", c.answer)
			s := open(t, Config{})
			_, _, _, err := s.Acquire(t.Context(), programRef(web, "x"))
			if err == nil || Permanent(err) != c.permanent || isNotThere(err) != c.notThere || !strings.Contains(err.Error(), c.says) {
				t.Errorf("permanent %v, not there %v: %v", Permanent(err), isNotThere(err), err)
			}
			if got := leftovers(t, s); got != nil {
				t.Errorf("left %v", got)
			}
			ready, err := s.Ready(t.Context(), programRef(web, "x"))
			if c.notThere && (ready || err != nil) || !c.notThere && c.name != "not an archive" && err == nil {
				t.Errorf("ready: %v, %v", ready, err)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	web := newServer(t)
	web.Close()
	s := open(t, Config{})
	_, _, _, err := s.Acquire(t.Context(), programRef(web, "x"))
	if err == nil || Permanent(err) {
		t.Errorf("got %v", err)
	}
}

func TestHalfADownloadIsNone(t *testing.T) {
	for _, kind := range []string{"short body", "close-delimited", "cut archive"} {
		t.Run(kind, func(t *testing.T) {
			web := newServer(t)
			web.publishProgram(t, "x", 3_000_000)
			whole := web.files["/x.tar.gz"]
			web.on("/x.tar.gz", func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					return
				}
				switch kind {
				case "short body":
					w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
				case "close-delimited":
					conn, buf, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					buf.WriteString("HTTP/1.0 200 OK\r\n\r\n")
					buf.Write(whole[:len(whole)/2])
					buf.Flush()
					return
				}
				w.Write(whole[:len(whole)/2])
			})
			s := open(t, Config{})
			_, _, _, err := s.Acquire(t.Context(), programRef(web, "x"))
			if err == nil || Permanent(err) {
				t.Errorf("got %v", err)
			}
			if got := leftovers(t, s); got != nil {
				t.Errorf("left %v", got)
			}
			web.on("/x.tar.gz", nil)
			dir, _, _ := acquire(t, s, programRef(web, "x"))
			if got := tree(t, dir)["bin/program"]; len(got) != 3_000_000 {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

func TestStalledDownloadIsGivenUp(t *testing.T) {
	web := newServer(t)
	web.on("/x.tar.gz", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		w.WriteHeader(200)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	s := open(t, Config{Stall: 50_000_000})
	_, _, _, err := s.Acquire(t.Context(), programRef(web, "x"))
	if err == nil || Permanent(err) || !strings.Contains(err.Error(), "nothing has come for 50ms") {
		t.Errorf("got %v", err)
	}
}

func TestChecksumOfTheServerCounts(t *testing.T) {
	web := newServer(t)
	web.publishProgram(t, "x", 1000)
	good := fmt.Sprintf("%x", sha256.Sum256(web.files["/x.tar.gz"]))
	web.set("/x.tar.gz.sha256", []byte(strings.Repeat("0", 64)+"  x.tar.gz\n"))
	s := open(t, Config{})
	_, _, _, err := s.Acquire(t.Context(), programRef(web, "x"))
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), good) {
		t.Fatalf("got %v", err)
	}
	if got := leftovers(t, s); got != nil {
		t.Errorf("left %v", got)
	}
	web.set("/x.tar.gz.sha256", []byte(good+"  x.tar.gz\n"))
	acquire(t, s, programRef(web, "x"))
	h, err := s.find(family(programRef(web, "x")), func(manifest) bool { return true })
	if err != nil || !h.Parts[0].Verified || string(h.Parts[0].SHA256) != good {
		t.Errorf("recorded %+v, %v", h, err)
	}
	h.lock.Release()
}

func TestUnsafeArchivesAreRefused(t *testing.T) {
	for _, f := range []file{
		{name: "../x", content: "x"},
		{name: "/etc/x", content: "x"},
		{name: "a/../../x", content: "x"},
		{name: "a", link: "/etc/passwd"},
		{name: "a/b", link: "../../x"},
		{name: "x/rustc/bin/deep", link: "../../../x"},
		{name: "x", link: "../x", typeflag: '1'},
		{name: "dev", typeflag: '3'},
		{name: "pipe", typeflag: '6'},
	} {
		t.Run(f.name+" "+f.link, func(t *testing.T) {
			web := newServer(t)
			web.set("/x.tar.gz", gzipped(t, tarball(t, f)))
			s := open(t, Config{})
			_, _, _, err := s.Acquire(t.Context(), programRef(web, "x"))
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "not safe") || refused.What == "" {
				t.Errorf("got %v", err)
			}
			if got := leftovers(t, s); got != nil {
				t.Errorf("left %v", got)
			}
		})
	}
}

func TestTwoStoresFetchOnce(t *testing.T) {
	web := newServer(t)
	web.publish(t, "abc", "nightly")
	asked, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	path := "/builds/abc/rustc-nightly-x86_64.tar.xz"
	content := web.files[path]
	web.on(path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			once.Do(func() { close(asked) })
			<-proceed
		}
		w.Write(content)
	})
	dir := t.TempDir()
	waits := make(chan string, 10)
	first := open(t, Config{Dir: dir})
	var done sync.WaitGroup
	use := func(s *Store) {
		if _, _, release, err := s.Acquire(t.Context(), rustRef(web, "abc")); err != nil {
			t.Error(err)
		} else {
			release()
		}
	}
	done.Go(func() { use(first) })
	<-asked
	// Open sweeps the cache. It must not touch the entry that the first store is making.
	second := open(t, Config{Dir: dir, Progress: func(text string) { waits <- text }})
	done.Go(func() { use(second) })
	if line := <-waits; !strings.Contains(line, "waiting for another process") {
		t.Errorf("progress %q", line)
	}
	close(proceed)
	done.Wait()
	if got := web.downloads(); len(got) != 3 {
		t.Errorf("downloads %v", got)
	}
}
