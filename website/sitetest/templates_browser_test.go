package sitetest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A person chooses without scripts of any kind, sees what comes of it, and asks for it.
func TestABrowserChoosesAndAsks(t *testing.T) {
	s := open(t, nil)
	d := s.choices()
	b := browse(t)
	fits := func(name string) {
		t.Helper()
		for _, width := range []int64{1280, 400} {
			b.do(t, chromedp.EmulateViewport(width, 900))
			b.keepPicture(t, name+"-"+map[int64]string{1280: "wide", 400: "phone"}[width])
			wider := value[int](t, b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
			if wider > 0 {
				t.Errorf("%s is %d pixels wider than a screen of %d", name, wider, width)
			}
		}
		b.do(t, chromedp.EmulateViewport(1280, 900))
	}
	b.do(t, chromedp.Navigate(s.http.URL+"/templates"), chromedp.WaitVisible(chromedp.CSS("#suite-choices")))
	fits("templates")
	b.press(t, `#suite-choices a[href="/templates/choices/quick"]`, "#plan-heading")
	fits("template-quick")
	b.do(t, chromedp.Navigate(s.http.URL+"/templates/choices/full?kind=try"), chromedp.WaitVisible(chromedp.CSS("#plan-heading")))
	b.do(t, chromedp.SetValue(chromedp.CSS(`select[name="option.pgo"]`), "on"))
	b.press(t, "#choose button", `a[href*="option.pgo=on"]`)
	fits("template-full")
	b.do(t, chromedp.SetValue(chromedp.CSS(`select[name="branch"]`), "release/*"))
	b.press(t, "#choose button", `select[name="option.pgo"][disabled]`)
	fits("template-release")
	b.do(t, chromedp.Navigate(s.http.URL+"/login?next=/templates/choices"), chromedp.SendKeys(chromedp.CSS("input[name=token]"), token), chromedp.Click(chromedp.CSS("main button")),
		chromedp.WaitVisible(chromedp.CSS("#submit")))
	b.do(t, chromedp.Navigate(s.http.URL+"/templates/choices/full?kind=try&option.pgo=on"), chromedp.WaitVisible(chromedp.CSS("#submit")))
	b.do(t, chromedp.SendKeys(chromedp.CSS("#submit input[name=tag]"), "bad tag"))
	b.press(t, "#submit button", "#refused")
	b.mu.Lock()
	if len(b.problems) != 1 || !strings.Contains(b.problems[0], "status of 400") {
		t.Errorf("the console says %q, and not that the form is wrong", b.problems)
	}
	b.problems = nil
	b.mu.Unlock()
	if typed := value[string](t, b, `document.querySelector("#submit input[name=tag]").value`); typed != "bad tag" {
		t.Errorf("the page forgot what was typed, and has %q", typed)
	}
	fits("template-refused")
	b.do(t, chromedp.SetValue(chromedp.CSS("#submit input[name=tag]"), "go1.50"))
	b.press(t, "#submit button", "#request")
	found, err := s.now().Request(s.ctx, "go1.50")
	if err != nil || found.Choice == nil || found.Choice.Graph != "full" || found.Choice.Options["pgo"] != "on" {
		t.Fatalf("%v: %+v", err, found.Choice)
	}
	b.do(t, chromedp.Navigate(s.http.URL+"/templates/choices/full?branch=release/*"), chromedp.WaitVisible(chromedp.CSS("#submit input[name=name]")))
	b.do(t, chromedp.SendKeys(chromedp.CSS("#submit input[name=name]"), "release/7"), chromedp.SendKeys(chromedp.CSS("#submit input[name=tag]"), "go1.51"))
	b.press(t, "#submit button", "#request")
	found, err = s.now().Request(s.ctx, "go1.51")
	if err != nil || found.Choice == nil || found.Choice.Branch != "release/7" {
		t.Fatalf("%v: %+v", err, found.Choice)
	}
	s.starts(found.ID, d)
	b.do(t, chromedp.Navigate(s.http.URL+"/requests/"+string(found.ID)), chromedp.WaitVisible(chromedp.CSS("#off")), chromedp.Click(chromedp.CSS("#off summary")))
	fits("template-request")
}
