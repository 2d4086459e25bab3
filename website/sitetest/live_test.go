package sitetest

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website"
	"github.com/tachobench/tacho/website/client"
)

// at selects the link to a request in a table.
func at(table string, id events.RequestID) string {
	return table + ` a[href="/requests/` + string(id) + `"]`
}

// A reader of a page keeps their place, whatever appears, moves or disappears around it.
func TestAnUpdateLeavesAReaderWhereTheyAre(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	waiting := st.request(control.NewRequest{Suite: "go", Kind: events.Release, Tag: "go1.99.1", ReleasedOn: "2026-11-21"})
	older := st.master(sha("d"), sha("c"), 15)
	s.machines()
	b := browse(t)
	// Narrow enough for the tables to be scrolled.
	b.do(t, chromedp.EmulateViewport(1000, 500), chromedp.Navigate(s.http.URL), chromedp.WaitVisible(chromedp.CSS(at("#queue", waiting))),
		chromedp.WaitVisible(chromedp.CSS(".live.on")))
	value[bool](t, b, `(() => {
		const link = document.querySelector('`+at("#queue", waiting)+`');
		link.focus();
		window.link = link;
		window.row = link.closest("tr");
		const said = document.createRange();
		said.selectNodeContents(row.querySelector("td.wide"));
		getSelection().removeAllRanges();
		getSelection().addRange(said);
		window.said = getSelection().toString();
		document.querySelector("details").open = true;
		document.styleSheets[0].insertRule("#queue { min-width: 3000px }");
		link.scrollIntoView({ block: "center" });
		document.querySelector("#queue").parentNode.scrollLeft = 700;
		window.top0 = link.getBoundingClientRect().top;
		return true;
	})()`)

	// One ahead of it goes away, one is added, and another one moves ahead of it.
	if _, err := s.client.CancelRequest(s.ctx, older, "not needed"); err != nil {
		t.Fatal(err)
	}
	newer := st.master(sha("e"), sha("c"), 16)
	if _, err := s.client.ArtifactsReady(s.ctx, st.try, client.Artifacts{Tag: sha("f"), ParentTag: sha("c")}); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.WaitVisible(chromedp.CSS(at("#queue", newer))), chromedp.WaitNotPresent(chromedp.CSS(at("#queue", older))),
		chromedp.WaitVisible(chromedp.CSS(`#queue tr[data-request="`+string(st.try)+`"] .state.artifacts_ready`)))
	for what, kept := range map[string]string{
		"the focus":              `document.activeElement === link && link.isConnected && link.getAttribute("href") === "/requests/` + string(waiting) + `"`,
		"the row":                `document.querySelector('` + at("#queue", waiting) + `').closest("tr") === row`,
		"the selection":          `said.length > 10 && getSelection().toString() === said`,
		"what was opened":        `document.querySelector("details").open`,
		"the place in the table": `document.querySelector("#queue").parentNode.scrollLeft === 700`,
		"the place on the page":  `Math.abs(link.getBoundingClientRect().top - top0) < 2`,
	} {
		if !value[bool](t, b, kept) {
			t.Errorf("the page lost %s", what)
		}
	}
	b.isAsSent(t)
}

// A row stays the row of its request in every list.
func TestARowStaysThatOfItsRequest(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	s.machines()
	b := browse(t)
	b.do(t, chromedp.Navigate(s.http.URL+"/requests"), chromedp.WaitVisible(chromedp.CSS(".live.on")))
	value[bool](t, b, `(() => { document.querySelector('`+at("#requests", st.child)+`').focus(); return true })()`)
	newer := st.master(sha("e"), sha("c"), 16)
	b.do(t, chromedp.WaitVisible(chromedp.CSS(at("#requests", newer))))
	if href := value[string](t, b, `document.activeElement.getAttribute("href") ?? document.activeElement.localName`); href != "/requests/"+string(st.child) {
		t.Errorf("the focus is on %s, want that on %s", href, st.child)
	}
	b.isAsSent(t)
}

// isAsSent fails unless the page is what the server sends, except for what the reader opened.
func (b *browser) isAsSent(t *testing.T) {
	t.Helper()
	differs, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`(async () => {
		const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
		const plain = (e) => e.outerHTML.replace(/>\s+/g, ">").replace(/\s+</g, "<").replaceAll(' open=""', "");
		for (const e of document.querySelectorAll("[data-live]")) {
			const [is, sent] = [plain(e), plain(page.getElementById(e.id))];
			for (let i = 0; i < Math.max(is.length, sent.length); i++) {
				if (is[i] !== sent[i]) return "is " + is.slice(i - 60, i + 60) + "\nsent " + sent.slice(i - 60, i + 60);
			}
		}
		return "";
	})()`, chromedp.EvalAwaitPromise))
	if err != nil || differs != "" {
		t.Errorf("the page is not as the server sends it, %v:\n%s", err, differs)
	}
}

// The badge says that a page is live only while the server says that it is there.
func TestTheBadgeOfASilentStreamIsNotLive(t *testing.T) {
	s := open(t, func(c *website.Config) { c.AliveEvery = 100 * time.Millisecond })
	st := s.story()
	s.machines()
	var silent atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w = &hush{w, &silent}
		}
		s.server.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	b := browse(t)
	b.do(t, chromedp.Navigate(front.URL), chromedp.WaitVisible(chromedp.CSS(".live.on")))
	silent.Store(true)
	b.do(t, chromedp.WaitVisible(chromedp.CSS(".live.off")))
	if says := value[string](t, b, `document.getElementById("live").textContent`); says != "not live, reconnecting" {
		t.Errorf("the badge says %q", says)
	}
	newer := st.master(sha("e"), sha("c"), 16)
	silent.Store(false)
	b.do(t, chromedp.WaitVisible(chromedp.CSS(".live.on")), chromedp.WaitVisible(chromedp.CSS(at("#queue", newer))))
}

// hush drops what is written, like a network that has forgotten a connection.
type hush struct {
	http.ResponseWriter
	silent *atomic.Bool
}

func (h *hush) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *hush) Write(p []byte) (int, error) {
	if h.silent.Load() {
		return len(p), nil
	}
	return h.ResponseWriter.Write(p)
}
