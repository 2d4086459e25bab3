package sitetest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website"
)

// known are the alerts that the process knows by itself.
type known struct {
	mu   sync.Mutex
	list []readmodel.Alert
}

func (k *known) set(list ...readmodel.Alert) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = list
}

func (k *known) get() []readmodel.Alert {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.list
}

func offlineAlert() events.AlertRaised {
	return events.AlertRaised{
		Key: "offline-amd-1", Kind: events.AlertOffline, About: "amd-1",
		Message: "Collector amd-1 of lane linux-amd64/1 is offline: it sends no heartbeat.",
		Action:  "Start it on its machine with `tacho collector run amd-1`, or say that it is <not> to be expected with `tacho collector deactivate amd-1`.",
	}
}

func away(s *site) readmodel.Alert {
	return readmodel.Alert{
		Key: "unreachable", Kind: events.AlertUnreachable, Message: "The log has not answered since 2026-11-21 09:05:00 UTC.",
		Action: "Check that NATS runs.", RaisedAt: s.clock.read(),
	}
}

func TestAlertsAreShownWithWhatToDo(t *testing.T) {
	s := open(t, nil)
	s.story()
	if _, page := s.get("/"); strings.Contains(page, "Needs a person") {
		t.Error("a farm that is well asks for a person")
	}
	s.tell(offlineAlert())
	s.tell(events.AlertRaised{Key: "lag", Kind: events.AlertLag, Message: "The tables are late.", Action: "Wait."})
	s.clock.advance(time.Minute)
	s.tell(events.AlertCleared{Key: "lag", Reason: "the tables are up to date again"})

	standing, err := s.now().Alerts(s.ctx, 0)
	if err != nil || len(standing) != 1 || standing[0].Key != "offline-amd-1" || !standing[0].Standing() {
		t.Fatalf("%+v, %v", standing, err)
	}
	all, err := s.client.Alerts(s.ctx, 5)
	if err != nil || len(all) != 2 || all[1].Standing() || all[1].ClearedReason != "the tables are up to date again" {
		t.Errorf("%+v, %v", all, err)
	}
	status, err := s.client.Status(s.ctx)
	if err != nil || len(status.Alerts) != 1 || len(status.PastAlerts) != 1 {
		t.Errorf("%+v, %v", status.Alerts, err)
	}
	_, page := s.get("/")
	for _, want := range []string{
		"Needs a person", "is offline: it sends no heartbeat", "<code>tacho collector run amd-1</code>", "is &lt;not&gt; to be expected",
		"Over in the last day: 1 alert", "the tables are up to date again",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	s.clock.advance(25 * time.Hour)
	if _, page := s.get("/"); strings.Contains(page, "Over in the last day") {
		t.Error("the page shows what was over long ago")
	}
	if resp, _ := s.get("/api/v1/alerts?past=100000"); resp.StatusCode != 400 {
		t.Errorf("%s", resp.Status)
	}
}

func TestAnAlertThatTheLogCannotBeToldIsShownEverywhere(t *testing.T) {
	var local known
	// The log says nothing of it, so that the page hears of it with the next sign of life.
	s := open(t, func(c *website.Config) { c.Alerts, c.AliveEvery = local.get, 3*time.Second })
	s.story()
	s.machines()
	b := browse(t)
	b.do(t, chromedp.Navigate(s.http.URL), chromedp.WaitVisible(chromedp.CSS(".live.on")))
	local.set(away(s))
	for path, want := range map[string]string{
		"/healthz": "unreachable: The log has not answered", "/readyz": "The log has not answered", "/api/v1/alerts": "The log has not answered",
		"/api/v1/status": "The log has not answered", "/": "only this process knows it", "/requests/none": "The log has not answered",
	} {
		if _, body := s.get(path); !strings.Contains(body, want) {
			t.Errorf("%s does not say %q: %.300s", path, want, body)
		}
	}
	b.do(t, chromedp.WaitVisible(chromedp.CSS("#alert-unreachable")))
	s.tell(events.AlertRaised{Key: "unreachable", Kind: events.AlertUnreachable, Message: "from then to then"})
	list, err := s.now().Alerts(s.ctx, 0)
	if err != nil || len(list) != 1 || list[0].RaisedSeq != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	local.set()
	if _, body := s.get("/healthz"); body != "ok\n" {
		t.Errorf("/healthz: %q", body)
	}
}

func TestAlertsFitEveryScreen(t *testing.T) {
	var local known
	s := open(t, func(c *website.Config) { c.Alerts = local.get })
	s.story()
	local.set(away(s))
	s.tell(offlineAlert())
	s.tell(events.AlertRaised{
		Key: "stalled", Kind: events.AlertStalled,
		Message: "Nothing has moved since 2026-11-21 08:30:00 UTC, and there is work: request r1234567890abcdef for go1.25 waits for collector amd-1, which has job j1234567890abcdef and is not heard.",
		Action:  "Look at what it waits for, with `tacho status` and the output of the part or collector that is named; then start, activate or replace that.",
	})
	s.tell(events.AlertRaised{Key: "lag", Kind: events.AlertLag, Message: "The tables have been at event 50 since 2026-11-21 08:30:00 UTC, and the log has newer events.", Action: "Wait."})
	s.clock.advance(4 * time.Minute)
	s.tell(events.AlertCleared{Key: "lag", Reason: "the tables are up to date again"})
	s.machines()
	b := browse(t)
	for _, screen := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"light", 1280, 900, "light"}, {"dark", 1280, 900, "dark"}, {"phone", 390, 844, "light"}} {
		b.do(t, chromedp.EmulateViewport(screen.width, screen.height), scheme(screen.scheme), chromedp.Navigate(s.http.URL),
			chromedp.WaitVisible(chromedp.CSS("#alert-stalled")))
		value[bool](t, b, `document.querySelector("#past-alerts").open = true`)
		b.keepPicture(t, "alerts-"+screen.name)
		if wider := value[int](t, b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wider > 0 {
			t.Errorf("the page is %d pixels wider than a screen of %d", wider, screen.width)
		}
	}
}
