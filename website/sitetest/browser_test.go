package sitetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// browser is a tab of a headless Chromium that remembers what its console said.
type browser struct {
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// browse starts Chromium: TACHO_CHROMIUM, or the one in PATH. A missing one fails the test.
func browse(t *testing.T) *browser {
	t.Helper()
	path, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	// Its own processes may write there until the very end, later than t.TempDir would have it.
	profile, err := os.MkdirTemp("", "tacho-chromium")
	if err != nil {
		t.Fatal(err)
	}
	allocator, release := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(patience))
	tab, closeTab := chromedp.NewContext(allocator)
	ctx, cancel := context.WithTimeout(tab, 10*patience) // of all that the test does
	t.Cleanup(func() {
		if err := chromedp.Cancel(tab); err != nil {
			t.Logf("close the browser: %v", err)
		}
		cancel()
		closeTab()
		release()
		if err := os.RemoveAll(profile); err != nil {
			t.Logf("remove the browser's profile: %v", err)
		}
	})
	b := &browser{ctx: ctx}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return b
}

func chromium() (string, error) {
	if path := os.Getenv("TACHO_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium in PATH: install it (Debian: apt-get install chromium) or name it with TACHO_CHROMIUM")
}

func (b *browser) listen(event any) {
	var problem string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		problem = "console." + string(e.Type)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

// do runs actions and then insists on a quiet console.
func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		t.Fatalf("the console says: %s", strings.Join(b.problems, "; "))
	}
}

// press clicks until something is visible. A page that is just being replaced by a newer one can lose a click.
func (b *browser) press(t *testing.T, button, until string) {
	t.Helper()
	begin := time.Now()
	for {
		b.briefly(chromedp.Click(chromedp.CSS(button)))
		if b.briefly(chromedp.WaitVisible(chromedp.CSS(until))) {
			return
		}
		if time.Since(begin) > 2*patience {
			t.Fatalf("%s was pressed, and %s does not come", button, until)
		}
	}
}

// briefly tries an action for some seconds.
func (b *browser) briefly(action chromedp.Action[chromedp.Void]) bool {
	ctx, cancel := context.WithTimeout(b.ctx, patience/6)
	defer cancel()
	return chromedp.Do(ctx, action) == nil
}

// value evaluates an expression on the page.
func value[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// keepPicture keeps a picture of the whole page where TACHO_SCREENSHOTS asks for it.
func (b *browser) keepPicture(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("TACHO_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}

func TestThePageShowsANewRequestWithoutAReload(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	s.machines()
	b := browse(t)
	b.do(t, chromedp.Navigate(s.http.URL), chromedp.WaitVisible(chromedp.CSS("#queue")), chromedp.WaitVisible(chromedp.CSS(".live.on")))
	value[bool](t, b, `window.same = document.querySelector("details").open = true`)

	id := st.request(control.NewRequest{Suite: "go", Kind: events.Release, Tag: "go1.99.1", ReleasedOn: "2026-11-21"})
	b.do(t, chromedp.WaitVisible(chromedp.CSS(`#queue tr[data-request="`+string(id)+`"]`)))
	if !value[bool](t, b, `window.same === true`) {
		t.Error("the page was loaded again")
	}
	if !value[bool](t, b, `document.querySelector("details").open`) {
		t.Error("the page forgot what was open")
	}
}

func TestEveryPageFitsEveryScreen(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.tell(events.ErrorRecorded{
		Lane: st.work.Lane(), JobID: st.work.ID, Artifact: st.work.Artifact, Collector: "amd-0", Token: st.token, Attempt: 1,
		Kind: events.ErrorBenchmark, Context: "generics", Message: "exit status 2\n./main.go:12:2: undefined: <frobnicate>",
	})
	st.share()
	graphed := st.master(sha("e"), "", 17)
	needs := st.graph(graphed)
	s.machines()
	b := browse(t)
	pages := map[string]string{
		"graph": "/requests/" + string(graphed), "needs": "/jobs/" + string(needs[1].ID),
		"status": "/", "requests": "/requests", "request": "/requests/" + string(st.running), "job": "/jobs/" + string(st.work.ID),
		"collectors": "/collectors", "compare": "/compare?a=" + string(sha("a")) + "&b=" + string(sha("b")), "form": "/compare", "shares": "/shares", "waits": "/waits",
	}
	b.fitsEveryScreen(t, s, pages)
}

// fitsEveryScreen opens pages on a large screen and a phone.
func (b *browser) fitsEveryScreen(t *testing.T, s *site, pages map[string]string) {
	t.Helper()
	for _, screen := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"light", 1280, 900, "light"}, {"dark", 1280, 900, "dark"}, {"phone", 390, 844, "light"}} {
		for name, path := range pages {
			b.do(t, chromedp.EmulateViewport(screen.width, screen.height), scheme(screen.scheme), chromedp.Navigate(s.http.URL+path),
				chromedp.WaitVisible(chromedp.CSS("main")))
			b.keepPicture(t, name+"-"+screen.name)
			wider := value[int](t, b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
			if wider > 0 {
				t.Errorf("%s is %d pixels wider than a screen of %d", path, wider, screen.width)
			}
		}
	}
}

func TestThePageSaysWhenItIsNotLive(t *testing.T) {
	s := open(t, nil)
	s.story()
	b := browse(t)
	b.do(t, chromedp.Navigate(s.http.URL), chromedp.WaitVisible(chromedp.CSS(".live.on")))
	s.http.CloseClientConnections()
	s.http.Close()
	if err := chromedp.Do(b.ctx, chromedp.WaitVisible(chromedp.CSS(".live.off"))); err != nil {
		t.Fatal(err)
	}
}
