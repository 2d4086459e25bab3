package sitetest

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/website/client"
)

func TestABrowserLogsInCancelsAndLogsOut(t *testing.T) {
	s := open(t, nil)
	s.published()
	_, aliceToken := s.account("alice", control.AccountChange{})
	id := s.asked("alice", "go1.50")
	b := browse(t)
	b.do(t, chromedp.Navigate(s.http.URL+"/requests/"+string(id)), chromedp.WaitVisible(chromedp.CSS(".who a")))
	b.keepPicture(t, "session-none")
	b.press(t, ".who a", "input[name=token]")
	b.keepPicture(t, "login")
	b.do(t, chromedp.SendKeys(chromedp.CSS("input[name=token]"), aliceToken), chromedp.Click(chromedp.CSS("main button")), chromedp.WaitVisible(chromedp.CSS("#cancel")))
	for _, width := range []int64{1280, 390} {
		b.do(t, chromedp.EmulateViewport(width, 844))
		b.keepPicture(t, "session-"+map[int64]string{1280: "wide", 390: "phone"}[width])
		if wider := value[int](t, b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wider > 0 {
			t.Errorf("the page is %d pixels wider than a screen of %d", wider, width)
		}
	}
	if held := value[string](t, b, `document.cookie`); held != "" {
		t.Errorf("scripts can read the cookie: %s", held)
	}

	// What a person types stays when the page changes by itself.
	b.do(t, chromedp.WaitVisible(chromedp.CSS(".live.on")), chromedp.SendKeys(chromedp.CSS("#cancel input[name=reason]"), "not needed"))
	if _, err := s.client.PrioritiseRequest(s.ctx, id, client.NewPriority{Priority: "low"}); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.WaitReady(chromedp.CSS("#priority option[value=low][selected]")))
	b.press(t, "#cancel button", ".state.cancelled")
	b.keepPicture(t, "session-cancelled")
	if said := value[string](t, b, `document.querySelector("main .callout").textContent`); said != "not needed" {
		t.Errorf("the page gives as reason %q", said)
	}
	if value[bool](t, b, `document.querySelector("main form") !== null`) {
		t.Error("a request that has ended has a button")
	}
	b.press(t, ".who button", ".who a")
	if value[bool](t, b, `document.body.textContent.includes("Logged in")`) {
		t.Error("the session goes on")
	}
}
