package sitetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

const (
	answered = events.OutboxKey("answer-1122334455667788")
	told     = events.DeliveryID("72d3162e-cc78-11e3-81ab-4c9367dc0958")
	forged   = events.DeliveryID("83d3162e-cc78-11e3-81ab-4c9367dc0958")

	reportText = `Finished benchmarking commit ` + "`bbbbbbbbbb`" + ` with parent ` + "`aaaaaaaaaa`" + `: [comparison](https://perf.example/compare)

### Overall result: ❌ regressions – needs a person

| wall-time | mean | range | count |
|:--|--:|--:|--:|
| Regressions ❌ (primary) | +4.00% | [+3.90%, +4.10%] | 3 |
| Improvements ✅ (primary) | – | – | 0 |
`
	// hostile is a text that tries to become more than text.
	hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'` + "\u202e" + `{{.}} ](javascript:alert(3))`
)

// github tells what GitHub delivered, and what Tacho said there, about a request of pull request 14.
func (st *story) github() (report events.OutboxKey) {
	st.t.Helper()
	payload := fmt.Sprintf(`{"action":"created","comment":{"body":%q,"user":{"login":"alice"}},"issue":{"number":14}}`, "@tacho queue\n"+hostile)
	st.tell(events.DeliveryReceived{Hook: "7", Delivery: told, Event: "issue_comment", Size: len(payload), Digest: "d", Payload: events.RawJSON(payload)})
	st.tell(
		events.DeliveryHandled{
			Hook: "7", Delivery: told, Outcome: events.DeliveryAccepted, Reason: "a member of rust-lang/rust may do that", Repo: "rust-lang/rust", PR: 14,
			Comment: 99, Sender: "alice", SenderID: 5, Command: "queue profiles=debug", Requests: []events.RequestID{st.child},
		},
		events.CommentWanted{
			Key: answered, Revision: 1, Purpose: events.CommentAnswer, Repo: "rust-lang/rust", PR: 14, RequestID: st.child, Temporary: true,
			Body: "Awaiting the try build of this pull request. It will be compared with its parent.",
		},
	)
	st.clock.advance(2 * time.Second)
	st.tell(events.CommentAttempted{Key: answered, Revision: 1, Attempt: 1, Instance: "i1"}, events.CommentPosted{
		Key: answered, Revision: 1, CommentID: 41, URL: "https://github.com/rust-lang/rust/pull/14#issuecomment-41",
	})
	report = events.ReportKey(st.child)
	st.clock.advance(20 * time.Minute)
	st.tell(events.CommentWanted{
		Key: report, Revision: 1, Purpose: events.CommentReport, Repo: "rust-lang/rust", PR: 14, RequestID: st.child, Body: reportText,
		AddLabels: []string{"perf-regression"}, RemoveLabels: []string{"S-waiting-on-perf"},
	})
	st.tell(events.CommentAttempted{Key: report, Revision: 1, Attempt: 1, Instance: "i1"}, events.CommentPosted{
		Key: report, Revision: 1, CommentID: 42, URL: "https://github.com/rust-lang/rust/pull/14#issuecomment-42",
	}, events.LabelsSet{Key: report, Revision: 1}, events.CommentMinimised{Key: answered})
	st.clock.advance(time.Minute)
	st.tell(events.DeliveryReceived{Hook: "7", Delivery: forged, Event: hostile, Size: 5, Digest: "d", Raw: []byte("\xff\x00" + hostile)})
	st.tell(
		events.DeliveryHandled{
			Hook: "7", Delivery: forged, Outcome: events.DeliveryRefused, Reason: "there is no profile " + hostile, Repo: "rust-lang/rust", PR: 15,
			Comment: 100, Sender: hostile, SenderID: 6, Command: "queue profiles=" + hostile, Requests: []events.RequestID{events.RequestID(hostile)},
		},
		events.CommentWanted{
			Key: "answer-99", Revision: 1, Purpose: events.CommentAnswer, Repo: "rust-lang/rust", PR: 15, Body: "There is no profile " + hostile,
			AddLabels: []string{hostile},
		},
	)
	st.tell(events.CommentAttempted{Key: "answer-99", Revision: 1, Attempt: 1, Instance: "i1"}, events.CommentPostponed{
		Key: "answer-99", Revision: 1, Attempt: 1, Reason: "GitHub answers 502: " + hostile, Until: st.clock.read().Add(3 * time.Minute).Format(time.RFC3339),
	})
	st.tell(events.CommentWanted{Key: "answer-98", Revision: 1, Purpose: events.CommentAnswer, Repo: "rust-lang/rust", PR: 15, Body: "A link that is none."})
	st.tell(events.CommentPosted{Key: "answer-98", Revision: 1, CommentID: 43, URL: "javascript:alert(4)"})
	st.tell(events.DeliveryReceived{Hook: "7", Delivery: "94d3162e", Event: "check_suite", Size: 19, Digest: "d", Payload: events.RawJSON(`{"action":"waiting"}`)})
	return report
}

func TestGitHubInTheAPI(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	report := st.github()
	c := st.now()

	list, err := c.Deliveries(s.ctx, client.DeliveryQuery{})
	if err != nil || len(list) != 3 || list[0].Event != "check_suite" || list[0].Handled() || list[2].ID != told {
		t.Fatalf("%+v, %v", list, err)
	}
	for name, q := range map[string]client.DeliveryQuery{
		"by outcome": {Outcome: events.DeliveryAccepted}, "by pull request": {PR: 14}, "a page on": {Before: list[1].ReceivedSeq, Limit: 1}, "by id": {ID: told},
	} {
		if found, err := c.Deliveries(s.ctx, q); err != nil || len(found) != 1 || found[0].ID != told {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	if found, err := c.Deliveries(s.ctx, client.DeliveryQuery{Waiting: true}); err != nil || len(found) != 1 || found[0].Event != "check_suite" {
		t.Errorf("waiting: %+v, %v", found, err)
	}
	d, err := c.Delivery(s.ctx, "7", told)
	var body struct{ Comment struct{ Body string } }
	if err != nil || json.Unmarshal(d.Body, &body) != nil || body.Comment.Body != "@tacho queue\n"+hostile || d.Text != "" || *d.Comment != 99 {
		t.Errorf("%+v, %v: %s", d, err, d.Body)
	}
	if d, err := c.Delivery(s.ctx, "7", forged); err != nil || d.Body != nil || !strings.HasSuffix(d.Text, hostile) {
		t.Errorf("%+v, %v", d, err)
	}

	all, err := c.Outbox(s.ctx, client.CommentQuery{})
	if err != nil || len(all) != 4 || all[3].Key != answered || all[3].State != readmodel.CommentMinimised {
		t.Fatalf("%+v, %v", all, err)
	}
	for name, q := range map[string]client.CommentQuery{
		"by state": {State: readmodel.CommentPosted, PR: 14}, "by request": {Request: st.child, Limit: 1}, "a page on": {Before: all[1].WantedSeq, Limit: 1},
	} {
		if found, err := c.Outbox(s.ctx, q); err != nil || len(found) != 1 || found[0].Key != report {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	one, err := c.Comment(s.ctx, report)
	if err != nil || one.Body != reportText || *one.CommentID != 42 || one.LabelsRevision != 1 || one.AddLabels[0] != "perf-regression" {
		t.Errorf("%+v, %v", one, err)
	}
	for path, status := range map[string]int{
		"/api/v1/deliveries/7/none": 404, "/api/v1/outbox/none": 404, "/api/v1/deliveries?outcome=odd": 400, "/api/v1/outbox?state=odd": 400,
		"/github/comments/none": 404, "/github/deliveries/7/none": 404, "/github?odd=1": 400, "/api/v1/deliveries?limit=5000": 400,
	} {
		if resp, body := s.get(path); resp.StatusCode != status {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

// A body that is too large for one event is put together again.
func TestALargeDeliveryIsWhole(t *testing.T) {
	s := open(t, nil)
	text := `{"text":"` + strings.Repeat("long ", 60_000) + `"}`
	facts := []events.Fact{events.DeliveryReceived{Hook: "7", Delivery: "big", Event: "push", Size: len(text), Digest: "d", Parts: 2}}
	for i, piece := range []string{text[:200_001], text[200_001:]} {
		facts = append(facts, events.DeliveryPart{Hook: "7", Delivery: "big", Part: i + 1, Raw: []byte(piece)})
	}
	s.tell(facts...)
	s.tell(events.DeliveryHandled{Hook: "7", Delivery: "big", Outcome: events.DeliveryIgnored, Reason: "a push to a branch that nobody polls"})
	if d, err := s.now().Delivery(s.ctx, "7", "big"); err != nil || string(d.Body) != text {
		t.Errorf("%d of %d bytes, %v", len(d.Body), len(text), err)
	}
	if _, page := s.get("/github/deliveries/7/big"); !strings.Contains(page, "This is only the beginning") || len(page) > 200_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

func TestThePagesOfGitHubSayWhatWasSaid(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	if _, page := s.get("/github"); !strings.Contains(page, "GitHub has delivered nothing yet") || !strings.Contains(page, "Tacho had nothing to say yet") {
		t.Error("an empty page says nothing")
	}
	report := st.github()
	s.machines()
	for path, wants := range map[string][]string{
		"/github": {
			"issue_comment", "alice", "queue profiles=debug", "a member of rust-lang/rust may do that", `href="/requests/` + string(st.child) + `"`,
			"Regressions ❌ (primary)", "https://github.com/rust-lang/rust/pull/14#issuecomment-42", "minimised", "postponed", "in 3 min", "perf-regression", "waiting",
		},
		"/requests/" + string(st.child): {"Comments on GitHub", "/github/comments/" + string(report), "#issuecomment-42", "Finished benchmarking commit", "posted"},
		"/github/comments/" + string(report): {
			"posted", "| Regressions ❌ (primary) | &#43;4.00% |", "number 1", "/requests/" + string(st.child), "S-waiting-on-perf", "#issuecomment-42",
		},
		"/github/deliveries/7/" + string(told): {"accepted", "account 5", "&#34;action&#34;: &#34;created&#34;", "99"},
	} {
		_, page := s.get(path)
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
	}
	if _, page := s.get("/github"); strings.Contains(page, `id="untried"`) {
		t.Error("the page wonders about comments that were tried")
	}
	if _, page := s.get("/requests/" + string(st.running)); strings.Contains(page, "Comments on GitHub") {
		t.Error("a request without comments has a place for them")
	}
}

// Without credentials nothing is ever tried, and the page says so.
func TestThePageShowsWhatWouldBeSaid(t *testing.T) {
	s := open(t, nil)
	s.tell(events.CommentWanted{Key: "report-r1", Revision: 1, Purpose: events.CommentReport, Repo: "o/n", PR: 3, RequestID: "r1", Body: reportText})
	s.clock.advance(time.Second)
	s.machines()
	if _, page := s.get("/github"); strings.Contains(page, `id="untried"`) {
		t.Error("the page wonders at once")
	}
	s.clock.advance(time.Minute)
	if _, page := s.get("/github"); !strings.Contains(page, `id="untried"`) || !strings.Contains(page, "Improvements ✅ (primary)") {
		t.Error("the page does not show what would be said")
	}
}

func TestPagesOfManyCommentsAndDeliveries(t *testing.T) {
	s := open(t, nil)
	for i := range 60 {
		s.tell(
			events.DeliveryReceived{Hook: "7", Delivery: events.DeliveryID(fmt.Sprintf("d%02d", i)), Event: "push", Size: 2, Payload: events.RawJSON(`{}`)},
			events.CommentWanted{Key: events.OutboxKey(fmt.Sprintf("answer-%02d", i)), Revision: 1, Purpose: events.CommentAnswer, Repo: "o/n", PR: 3, Body: "hello"},
		)
	}
	s.machines()
	_, first := s.get("/github")
	seen := map[string]bool{}
	for path := "/github"; path != ""; {
		_, page := s.get(path)
		for i := range 60 {
			if id := fmt.Sprintf("answer-%02d", i); strings.Contains(page, `id="outbox-`+id+`"`) {
				if seen[id] {
					t.Errorf("%s stands on two pages", id)
				}
				seen[id] = true
			}
		}
		_, rest, more := strings.Cut(page, `<a href="/github?comments_before=`)
		if path = ""; more {
			number, _, _ := strings.Cut(rest, "#")
			path = "/github?comments_before=" + number
		}
	}
	if len(seen) != 60 || strings.Count(first, `/github/deliveries/7/`) != 50 || !strings.Contains(first, "deliveries_before=") {
		t.Errorf("%d comments on all pages, %d deliveries on the first", len(seen), strings.Count(first, `/github/deliveries/7/`))
	}
}

// foreignElements finds elements that no page of ours has.
const foreignElements = `[...document.querySelectorAll("*")].filter(e => e.localName == "img" || e.localName == "iframe" ||
	e.localName == "script" && !e.getAttribute("src").startsWith("/static/live.js") ||
	[...e.attributes].some(a => a.name.startsWith("on") || /^\s*javascript:/i.test(a.value))).map(e => e.outerHTML).join("\n")`

// What comes from GitHub is text, whatever it looks like: it adds no element, attribute or link to a page.
func TestWhatIsForeignStaysText(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.github()
	st.tell(events.CommentWanted{Key: "answer-97", Revision: 1, Purpose: events.CommentAnswer, Repo: "o/n", PR: 3, RequestID: st.running, Body: hostile})
	st.tell(events.CommentRefused{Key: "answer-97", Revision: 1, Reason: hostile})
	s.machines()
	paths := []string{
		"/github", "/github/comments/answer-97", "/github/comments/answer-98", "/github/comments/answer-99", "/github/deliveries/7/" + string(told),
		"/github/deliveries/7/" + string(forged), "/requests/" + string(st.running),
	}
	for _, path := range paths {
		resp, page := s.get(path)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
		if path != "/github/comments/answer-98" && !strings.Contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;") {
			t.Errorf("%s does not show what was said", path)
		}
	}
	b := browse(t)
	for _, path := range paths {
		b.do(t, chromedp.Navigate(s.http.URL+path), chromedp.WaitVisible(chromedp.CSS("main"))) // with a quiet console
		if odd := value[string](t, b, foreignElements); odd != "" {
			t.Errorf("%s has %s", path, odd)
		}
	}
}

func TestGitHubFitsEveryScreen(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	report := st.github()
	s.machines()
	b := browse(t)
	for _, screen := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"light", 1280, 900, "light"}, {"dark", 1280, 900, "dark"}, {"phone", 390, 844, "light"}} {
		for name, path := range map[string]string{
			"github": "/github", "comment": "/github/comments/" + string(report), "delivery": "/github/deliveries/7/" + string(told),
			"github-request": "/requests/" + string(st.child), "delivery-hostile": "/github/deliveries/7/" + string(forged),
		} {
			b.do(t, chromedp.EmulateViewport(screen.width, screen.height), scheme(screen.scheme), chromedp.Navigate(s.http.URL+path),
				chromedp.WaitVisible(chromedp.CSS("main")))
			value[int](t, b, `document.querySelectorAll("details").forEach(d => d.open = d.id.startsWith("text-report")), 1`)
			b.keepPicture(t, name+"-"+screen.name)
			if wider := value[int](t, b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wider > 0 {
				t.Errorf("%s is %d pixels wider than a screen of %d", path, wider, screen.width)
			}
		}
	}
}
