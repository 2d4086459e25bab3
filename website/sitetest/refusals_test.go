package sitetest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website"
	"github.com/tachobench/tacho/website/client"
)

func TestRefusalsSayWhatIsWrongAndWhatToDo(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	s.machines()
	wish := `{"suite":"go","kind":"master","tag":"go1.50"}`
	for name, c := range map[string]struct {
		method, path, body string
		header             map[string]string
		status             int
		says               string
	}{
		"no such path":        {path: "/api/v1/nothing", status: 404, says: "there is no /api/v1/nothing"},
		"wrong method":        {method: "DELETE", path: "/api/v1/queue", status: 405, says: "use GET"},
		"unknown parameter":   {path: "/api/v1/requests?stat=completed", status: 400, says: `unknown parameter "stat": use state, kind`},
		"parameter twice":     {path: "/api/v1/requests?kind=try&kind=master", status: 400, says: "2 times"},
		"unknown state":       {path: "/api/v1/requests?state=done", status: 400, says: "waiting_for_artifacts, artifacts_ready, in_progress"},
		"limit too large":     {path: "/api/v1/jobs?limit=5000", status: 400, says: "at most 1000"},
		"no lane":             {path: "/api/v1/jobs?lane=amd64", status: 400, says: "target/set"},
		"no number":           {path: "/api/v1/events?after=x", status: 400, says: "whole number"},
		"after and before":    {path: "/api/v1/events?after=1&before=3", status: 400, says: "not both"},
		"unknown request":     {path: "/api/v1/requests/r0", status: 404, says: "request r0: not found"},
		"unknown job":         {path: "/api/v1/jobs/j0", status: 404, says: "job j0: not found"},
		"log of unknown job":  {path: "/api/v1/jobs/j0/log", status: 404, says: "job j0: not found"},
		"unknown event":       {path: "/api/v1/events/99999", status: 404, says: "event 99999: not found"},
		"no event":            {path: "/api/v1/events/x", status: 400, says: "no sequence"},
		"unknown definitions": {path: "/api/v1/definitions/00", status: 404, says: "not found"},
		"nothing to compare":  {path: "/api/v1/compare", status: 400, says: "which artifacts"},
		"unknown metric":      {path: "/api/v1/compare?b=" + string(sha("b")) + "&metric=cycles", status: 404, says: "metrics are binary-size, instructions:u, wall-time"},
		"unknown parent":      {path: "/api/v1/compare?b=" + string(sha("a")), status: 404, says: "no parent"},
		"unknown format":      {path: "/api/v1/compare?b=" + string(sha("b")) + "&format=xml", status: 400, says: "json, text, markdown, csv"},
		"no token":            {method: "POST", path: "/api/v1/requests", body: wish, header: map[string]string{"Content-Type": "application/json"}, status: 401, says: "TACHO_TOKEN"},
		"wrong token":         {method: "POST", path: "/api/v1/requests", body: wish, header: map[string]string{"Authorization": "Bearer no"}, status: 401, says: "token is missing or wrong"},
		"not declared":        {method: "POST", path: "/api/v1/requests", body: wish, header: map[string]string{"Authorization": "Bearer " + token}, status: 415, says: "Content-Type: application/json"},
		"unknown field":       {method: "POST", path: "/api/v1/requests", body: `{"suit":"go"}`, header: permitted(), status: 400, says: `unknown field "suit"`},
		"mistyped field":      {method: "POST", path: "/api/v1/requests", body: `{"pr":"seven"}`, header: permitted(), status: 400, says: `field "pr" cannot be a string`},
		"not JSON":            {method: "POST", path: "/api/v1/requests", body: `{"suite":`, header: permitted(), status: 400, says: "breaks off"},
		"two values":          {method: "POST", path: "/api/v1/requests", body: wish + wish, header: permitted(), status: 400, says: "something follows"},
		"large body":          {method: "POST", path: "/api/v1/requests", body: strings.Repeat(" ", 70_000), header: permitted(), status: 413, says: "larger than"},
		"unknown kind":        {method: "POST", path: "/api/v1/requests", body: `{"suite":"go","kind":"nightly","tag":"x"}`, header: permitted(), status: 400, says: "use master, try or release"},
		"unknown suite":       {method: "POST", path: "/api/v1/requests", body: `{"suite":"c","kind":"master","tag":"x"}`, header: permitted(), status: 404, says: "tacho suite publish"},
		"unknown profile":     {method: "POST", path: "/api/v1/requests", body: `{"suite":"go","kind":"master","tag":"x","parameters":{"profiles":["fast"]}}`, header: permitted(), status: 400, says: "fast"},
		"no text in a path":   {path: "/api/v1/requests/a%00b", status: 400, says: "the path of the URL is not a valid text"},
		"no text in a log":    {path: "/api/v1/jobs/%ff/log", status: 400, says: "the path of the URL is not a valid text"},
		"no text in a query":  {path: "/api/v1/results?tag=%ff", status: 400, says: `parameter "tag" is not a valid text`},
		"tag is a path":       {method: "POST", path: "/api/v1/requests/" + string(st.try) + "/artifacts-ready", body: `{"tag":"../x"}`, header: permitted(), status: 400, says: "starting with a letter or digit"},
		"parent is a path":    {method: "POST", path: "/api/v1/requests/" + string(st.try) + "/artifacts-ready", body: `{"tag":"x","parent_tag":"../x"}`, header: permitted(), status: 400, says: "starting with a letter or digit"},
		"cancel nothing":      {method: "POST", path: "/api/v1/requests/r0/cancel", header: permitted(), status: 404, says: "there is no request r0"},
		"lane held":           {method: "POST", path: "/api/v1/collectors", body: `{"name":"amd-9","target":"linux-amd64","set":0}`, header: permitted(), status: 409, says: "deactivate it first"},
		"bad seal":            {method: "POST", path: "/api/v1/definitions?seal=x", body: string(st.suite.Canonical()), header: permitted(), status: 400, says: "it is no seal"},
		"bad definitions":     {method: "POST", path: "/api/v1/definitions", body: `{"version":1,"colour":"red"}`, header: permitted(), status: 400, says: "colour"},
		"cannot verify":       {method: "POST", path: "/api/v1/replay/verify", header: permitted(), status: 501, says: "tacho replay --verify"},
		"cannot check":        {method: "POST", path: "/api/v1/log/check", header: permitted(), status: 501, says: "tacho log check"},
		"cannot back up":      {method: "POST", path: "/api/v1/log/backup", header: permitted(), status: 501, says: "tacho backup"},
	} {
		t.Run(name, func(t *testing.T) {
			method := c.method
			if method == "" {
				method = http.MethodGet
			}
			resp, body := s.do(method, c.path, c.body, c.header)
			e := refusal(t, body)
			if said := e.Message + ": " + e.Next; resp.StatusCode != c.status || !strings.Contains(said, c.says) {
				t.Errorf("%d, want %d with %q: %s", resp.StatusCode, c.status, c.says, body)
			}
			if strings.Contains(body, token) {
				t.Error("the token is in the answer")
			}
		})
	}
	if after := s.head(); after != st.head() {
		t.Errorf("a refused command recorded something")
	}
}

func TestANameOfAPartCannotBeTaken(t *testing.T) {
	s := open(t, nil)
	header := permitted()
	header[client.ActorHeader] = "scheduler"
	resp, body := s.do(http.MethodPost, "/api/v1/requests", `{"suite":"go","kind":"master","tag":"x"}`, header)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "cli:name") {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

func TestWithoutATokenNobodyWrites(t *testing.T) {
	s := open(t, func(c *website.Config) { c.Token = "" })
	for _, given := range []string{"", "Bearer ", "Bearer x"} {
		resp, body := s.do(http.MethodPost, "/api/v1/collectors/amd-0/drain", "", map[string]string{"Authorization": given})
		if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "TACHO_TOKEN") {
			t.Errorf("%q: %s %s", given, resp.Status, body)
		}
	}
}

func TestAReadWaitsForWhatWasWrittenButNotForEver(t *testing.T) {
	s := open(t, func(c *website.Config) { c.WaitFor = 100 * time.Millisecond })
	s.stopProjector()
	if _, err := s.control.Publish(s.ctx, teller(), s.suite); err != nil {
		t.Fatal(err)
	}
	_, err := s.now().Definitions(s.ctx)
	var e *client.Error
	if !errors.As(err, &e) || e.Status != http.StatusGatewayTimeout || !strings.Contains(e.Message, "at event 0 and not at 1") || !strings.Contains(e.Message, "the log ends at 1") {
		t.Errorf("%v", err)
	}
}

func TestReadinessSaysWhatIsNotReady(t *testing.T) {
	s := open(t, func(c *website.Config) { c.MaxLag = 1 })
	s.until(func() bool { resp, _ := s.get("/readyz"); return resp.StatusCode == http.StatusOK })
	s.stopProjector()
	for _, name := range []events.CollectorName{"a", "b"} {
		if _, err := s.control.AddCollector(s.ctx, teller(), control.NewCollector{Name: name, Target: machine, Standby: true}); err != nil {
			t.Fatal(err)
		}
	}
	resp, body := s.get("/readyz")
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "check that the projector runs") {
		t.Errorf("%s: %s", resp.Status, body)
	}
	if resp, body := s.get("/healthz"); resp.StatusCode != http.StatusOK || body != "ok\n" {
		t.Errorf("health: %s %q", resp.Status, body)
	}
}

// ending is a log that tells only its end.
type ending struct{ atomic.Pointer[eventlog.Head] }

func (e *ending) Head(context.Context) (eventlog.Head, error) { return *e.Load(), nil }

func TestTablesNobodyFillsAreNotReady(t *testing.T) {
	var end ending
	end.Store(&eventlog.Head{})
	s := open(t, func(c *website.Config) { c.Log = &end })
	s.story()
	s.machines()
	if _, err := s.now().Status(s.ctx); err != nil {
		t.Fatal(err)
	}
	older, err := s.log.Head(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	older.Last--
	end.Store(&older)
	if resp, body := s.get("/readyz"); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "it is an older copy") {
		t.Errorf("ahead of the log: %s: %s", resp.Status, body)
	}

	url := pgtest.New(t, "migrated", readmodel.Migrate)
	reader, err := readmodel.OpenPools(t.Context(), url, readmodel.Patient(patience))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	answer := httptest.NewRecorder()
	website.New(website.Config{Reader: reader, Log: &end}).Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "has not begun") {
		t.Errorf("without a projector: %d: %s", answer.Code, answer.Body)
	}
	for current, want := range map[bool]string{false: "nothing is decided and no collector is let in meanwhile", true: "all of the log is read"} {
		answer := httptest.NewRecorder()
		c := website.Config{Reader: reader, Log: &end, Ledger: func() (events.Seq, bool) { return 3, current }}
		website.New(c).Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("the log is read (%t): %s", current, answer.Body)
		}
	}
}

// A page elsewhere whose owner points its name to this machine reads nothing through its visitor's browser.
func TestAForeignNameForThisMachineIsRefused(t *testing.T) {
	s := open(t, func(c *website.Config) { c.Site = "https://Perf.example/tacho" })
	for host, status := range map[string]int{
		"evil.example": 421, "evil.example:8421": 421, "127.0.0.1.evil.example": 421, "evil.example.": 421,
		"localhost:8421": 200, "bench": 200, "127.0.0.1": 200, "[::1]:8421": 200, "tacho.localhost": 200, "perf.example": 200, "perf.example:443": 200,
	} {
		for _, path := range []string{"/api/v1/definitions", "/requests"} {
			req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.http.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != status {
				t.Errorf("%s as %s: %s", path, host, resp.Status)
			}
		}
	}
}

func TestPagesAreGuardedAndUnknownOnesAreNotFound(t *testing.T) {
	s := open(t, nil)
	s.story()
	s.machines()
	for path, status := range map[string]int{
		"/": 200, "/requests": 200, "/requests/" + string(sha("c")): 200, "/collectors": 200, "/compare": 200, "/static/style.css": 200,
		"/requests/r0": 404, "/jobs/j0": 404, "/nothing": 404, "/static/nothing": 404, "/compare?a=x&b=y": 404, "/requests?state=odd": 400, "/metrics": 200,
		"/requests/%00": 400, "/jobs/%ff": 400, "/github/comments/%00": 400, "/github/deliveries/7/%ff": 400, "/compare?b=%00": 400, "/requests?tag=%ff": 400,
	} {
		resp, body := s.get(path)
		if resp.StatusCode != status {
			t.Errorf("%s: %s", path, resp.Status)
		}
		if !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'self'") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, resp.Header)
		}
		if strings.Contains(body, "style=") || strings.Contains(body, "<script>") || strings.Contains(body, token) {
			t.Errorf("%s holds something inline, or the token", path)
		}
	}
	if resp, _ := s.do(http.MethodPost, "/", "", nil); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /: %s", resp.Status)
	}
}

func TestAVerificationIsPassedOnOneAtATime(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	s := open(t, func(c *website.Config) {
		c.Verify = func(context.Context) (any, error) {
			close(began)
			<-end
			return map[string]int{"events": 7}, nil
		}
	})
	first := make(chan string, 1)
	go func() {
		report, err := s.client.VerifyReplay(s.ctx)
		if err != nil {
			report = []byte(err.Error())
		}
		first <- string(report)
	}()
	<-began
	_, err := s.client.VerifyReplay(s.ctx)
	var e *client.Error
	if !errors.As(err, &e) || e.Status != http.StatusConflict {
		t.Errorf("second: %v", err)
	}
	close(end)
	if report := <-first; report != `{"events":7}` {
		t.Errorf("report %s", report)
	}
}
