package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

func TestEventsComeAsStoredInOrderAndSigned(t *testing.T) {
	r := newRig(t)
	r.record(created("r0", "", "")) // before its first start
	to := receive(t)
	c := r.config("ci", to.URL+"/secret-token")
	c.Filter.On = []string{"request.created", "request.cancelled"}
	stop := r.start(c)
	r.record(created("r1", "", ""), events.AlertCleared{Key: "lag"}, events.RequestExpired{RequestID: "r1"}, created("r2", "", ""))
	last := r.record(events.RequestCancelled{RequestID: "r2"})
	for _, want := range r.stored(1, 5) {
		if name := events.NameOf(want); name != "request.created" && name != "request.cancelled" {
			continue
		}
		p := to.got(t)
		if p.body != string(want.Data) || p.path != "/secret-token" {
			t.Errorf("event %d came to %s as %s", want.Seq, p.path, p.body)
		}
		got := map[string]string{}
		for name := range p.header {
			if strings.HasPrefix(name, "Ce-") || strings.HasPrefix(name, "X-") || name == "Content-Type" || name == "User-Agent" {
				got[strings.ToLower(name)] = p.header.Get(name)
			}
		}
		header := map[string]string{
			"ce-specversion": "1.0", "ce-id": want.Header["ce-id"], "ce-type": want.Header["ce-type"], "ce-source": "test", "ce-time": want.Header["ce-time"],
			"ce-subject": want.Header["ce-subject"], "ce-actor": "cli:a%20b", "ce-cause": "0", "ce-root": "tacho%20%22up%22",
			"ce-sequence": fmt.Sprintf("%020d", want.Seq), "content-type": "application/json", "user-agent": "tacho-hook",
			"x-tacho-signature-256": Sign(secret, want.Data),
		}
		if diff := cmp.Diff(header, got); diff != "" {
			t.Errorf("event %d: %s", want.Seq, diff)
		}
	}
	r.reaches(c, last)
	stop()
	if out := r.out.String(); strings.Contains(out, "secret") {
		t.Errorf("the output is:\n%s", out)
	}
}

// The signature is the one of GitHub's documentation of webhooks.
func TestTheSignatureIsThatOfGitHub(t *testing.T) {
	want := "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	if got := Sign([]byte("It's a Secret to Everybody"), []byte("Hello, World!")); got != want {
		t.Errorf("signed %s", got)
	}
}

func TestAHookGoesOnWhereItWas(t *testing.T) {
	r, to := newRig(t), receive(t)
	c := r.config("ci", to.URL)
	stop := r.start(c)
	at := r.record(created("r1", "", ""))
	if p := to.got(t); p.header.Get("ce-subject") != "request.r1" {
		t.Errorf("first %v", p)
	}
	r.reaches(c, at)
	stop()
	r.record(created("r2", "", ""), created("r3", "", ""))
	r.start(c)
	for _, want := range []string{"request.r2", "request.r3"} {
		if p := to.got(t); p.header.Get("ce-subject") != want {
			t.Errorf("then %v, want %s", p.header, want)
		}
	}
}

func TestAFailingReceiverGetsTheSameEventAgain(t *testing.T) {
	r := newRig(t)
	other := receive(t)
	away := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, other.URL, code) }
	}
	back := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, "/moved", code) }
	}
	answers := []http.HandlerFunc{
		status(500), status(404), slow, away(302), away(307), away(308), back(302), back(303), back(301), status(304),
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	to := receive(t, append(answers, back(307))...)
	stop := r.start(r.config("ci", to.URL))
	r.record(created("r1", "", ""), created("r2", "", ""))
	first := to.got(t)
	for range len(answers) + 1 { // the last one is the redirect to /moved
		p := to.got(t)
		if p.id() != first.id() || p.body != first.body {
			t.Fatalf("again %v, first %v", p, first)
		}
		first.path = p.path
	}
	if first.path != "/moved" {
		t.Errorf("a redirect on the same host ends at %s", first.path)
	}
	if p := to.got(t); p.header.Get("ce-subject") != "request.r2" {
		t.Errorf("next %v", p)
	}
	stop()
	if len(other.posts) != 0 {
		t.Error("another host got an event")
	}
	if out := r.out.String(); !strings.Contains(out, "it answers 500") || strings.Contains(out, to.URL) {
		t.Errorf("the output is:\n%s", out)
	}
}

func TestASlowReceiverHoldsUpNoOtherHook(t *testing.T) {
	r, well, bad := newRig(t), receive(t), receive(t)
	bad.answer = slow
	c := r.config("bad", bad.URL)
	c.timeout = patience
	r.start(c)
	gone := r.config("gone", "http://127.0.0.1:1")
	r.start(gone)
	r.start(r.config("well", well.URL))
	for i := range 100 {
		r.record(created(events.RequestID(fmt.Sprintf("r%d", i)), "", ""))
	}
	bad.got(t)
	for i := range 100 {
		if p := well.got(t); p.header.Get("ce-subject") != fmt.Sprintf("request.r%d", i) {
			t.Fatalf("post %d is %v", i, p.header)
		}
	}
	if len(bad.posts) != 0 {
		t.Error("the slow one got another event before it answered")
	}
}

var lane = events.Lane{Target: "here", Set: 1}

// life is the life of one job, of a request that has its own.
func (r *rig) life(id events.RequestID, place uint64) {
	job := events.JobID("j-" + id)
	spec := events.JobSpec{ID: job, RequestID: id, Artifact: events.Artifact{Suite: "go", Tag: events.Tag("go-" + id), Kind: events.Release}, Kind: "compile", Target: lane.Target, Set: lane.Set}
	r.record(events.RequestStarted{RequestID: id, Jobs: 1}, events.JobsCreated{RequestID: id, Jobs: []events.JobSpec{spec}}, events.JobDispatched{Place: place, Job: spec})
	token := r.record(events.JobDequeued{Lane: lane, Place: place, Job: spec, Collector: "c", Instance: "i", Attempt: 1})
	r.record(
		events.JobFinished{Lane: lane, Place: place, JobID: "forged", RequestID: id, Collector: "c", Token: token, Attempt: 1},
		events.TestCasesMeasured{Lane: lane, JobID: job, Collector: "c", Token: token, Attempt: 1},
		events.AttemptLost{Lane: lane, Place: place, JobID: job, Collector: "c", Token: token, Attempt: 1, Lost: 1},
	)
	token = r.record(events.JobDequeued{Lane: lane, Place: place, Job: spec, Collector: "c", Instance: "i", Attempt: 2, Lost: 1})
	r.record(
		events.JobFinished{Lane: lane, Place: place, JobID: job, RequestID: id, Collector: "c", Token: token, Attempt: 2, Lost: 1, Outcome: events.Success},
		events.RequestCompleted{RequestID: id, Jobs: 1},
	)
}

func TestAFilterLeavesEventsOfItsRequests(t *testing.T) {
	lives := strings.Fields("request.created request.started jobs.created job.dispatched job.dequeued test_cases.measured attempt.lost job.dequeued job.finished request.completed")
	for name, tc := range map[string]struct {
		filter Filter
		want   []string
	}{
		"queue":              {Filter{On: []string{"*"}, Queue: "bisect"}, lives},
		"account":            {Filter{On: []string{"*"}, Account: "alice"}, lives},
		"main queue":         {Filter{On: []string{"request.*"}, Queue: events.MainQueue}, []string{"request.created", "request.started", "request.completed"}},
		"some types":         {Filter{On: []string{"job.finished", "attempt.*"}, Queue: "bisect"}, []string{"attempt.lost", "job.finished"}},
		"queue and account":  {Filter{On: []string{"*"}, Queue: "bisect", Account: "alice"}, nil},
		"all but the forged": {Filter{On: []string{"job.finished"}}, []string{"job.finished", "job.finished", "job.finished"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, to := newRig(t), receive(t)
			c := r.config("ci", to.URL)
			c.Filter = tc.filter
			r.start(c)
			r.record(created("r1", "", ""), created("r2", "bisect", "bob"), created("r3", "other", "alice"), events.AlertCleared{Key: "lag"})
			r.life("r2", 1)
			r.life("r3", 2)
			r.life("r1", 3)
			end := created("end", "bisect", "alice")
			r.record(end)
			if c.Filter.Queue == events.MainQueue {
				r.record(created("end2", "", ""))
			}
			var got []string
			for len(got) < len(tc.want) {
				got = append(got, to.got(t).name())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if c.Filter.on("request.created") {
				if p := to.got(t); !strings.Contains(p.body, `"end`) {
					t.Errorf("and then %v", p)
				}
			}
		})
	}
}

// A person is told of an event that is a day old and fails, and that it is over.
func TestAnAlertStandsAfterADayOfFailures(t *testing.T) {
	r := newRig(t)
	var broken atomic.Bool
	broken.Store(true)
	to := receive(t)
	to.answer = func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	}
	var later atomic.Int64
	c := r.config("ci", to.URL)
	c.Clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	alarm := &control.Alarm{
		Control: &control.Control{Log: r.log, Clock: time.Now}, Kind: events.AlertHook, About: c.Name, Action: Action(c.Place), Logger: slog.New(slog.DiscardHandler),
	}
	c.Failing = func(outcome error) { alarm.Note(t.Context(), outcome) }
	r.start(c)
	r.record(created("r1", "", ""))
	alerts := func() []events.Fact {
		all, err := r.log.Read(t.Context(), events.AlertSubject(events.NewAlertKey(events.AlertHook, "ci")))
		if err != nil {
			t.Fatal(err)
		}
		var facts []events.Fact
		for _, e := range all {
			facts = append(facts, e.Fact)
		}
		return facts
	}
	for range 10 {
		to.got(t)
	}
	if a := alerts(); len(a) != 0 {
		t.Fatalf("at once: %+v", a)
	}
	later.Store(int64(25 * time.Hour))
	r.until("the alert stands", func() bool { return len(alerts()) > 0 })
	raised, ok := alerts()[0].(events.AlertRaised)
	if !ok || !strings.Contains(raised.Message, "hook ci cannot deliver event 1 of ") || !strings.Contains(raised.Message, "it answers 502 Bad Gateway") || !strings.Contains(raised.Action, "`hook-ci.place`") {
		t.Errorf("raised %+v", raised)
	}
	for range 10 { // the same words are no new event
		to.got(t)
	}
	broken.Store(false)
	r.until("it is over", func() bool { return len(alerts()) > 1 })
	if a := alerts(); len(a) != 2 || a[1] != (events.AlertCleared{Key: "hook-ci", Reason: "it works again"}) {
		t.Errorf("at last %+v", a)
	}
}

func TestTheAlertOfARemovedHookIsCleared(t *testing.T) {
	r := newRig(t)
	c := &control.Control{Log: r.log, Clock: time.Now}
	by := control.By{Actor: "test", Source: "test", Root: "test"}
	for _, a := range []events.AlertRaised{
		{Kind: events.AlertHook, About: "gone", Message: "m", Action: "a"},
		{Kind: events.AlertHook, About: "kept", Message: "m", Action: "a"},
		{Kind: events.AlertSource, About: "gone", Message: "m", Action: "a"},
	} {
		if _, err := c.RaiseAlert(t.Context(), by, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.shell.Wait(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if err := ClearRemoved(t.Context(), c, r.shell, []string{"kept"}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	cleared := r.stored(3, 1)[0]
	head, err := r.log.Head(t.Context())
	if err != nil || head.Last != 4 || cleared.Subject != events.AlertSubject("hook-gone") || events.NameOf(cleared) != "alert.cleared" {
		t.Errorf("cleared %+v, the log ends at %d, %v", cleared, head.Last, err)
	}
}

func TestReasonsSayTheSameOfTheSame(t *testing.T) {
	for want, err := range map[string]error{
		"it does not answer in time":                          fmt.Errorf("post: %w", context.DeadlineExceeded),
		"it cannot be reached; the messages of Tacho say why": errors.New("read 127.0.0.1:43210: connection reset"),
	} {
		if got := reason(err); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
}

func TestAPlaceThatCannotBeReadIsNotForgotten(t *testing.T) {
	r := newRig(t)
	c := r.config("ci", "http://127.0.0.1:1")
	if err := os.WriteFile(c.Place, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := New(c).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "hook ci: ") || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("got %v", err)
	}
}

// Collectors write some envelopes. Whatever they hold, a header can carry it, and a receiver can read it.
func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"", "cli:alice", "tacho up", "100%", "\r\nX-Evil: 1", "é\x00\xff\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		escaped := escape(value)
		for _, c := range []byte(escaped) {
			if c <= ' ' || c > '~' || c == '"' {
				t.Fatalf("%q is written as %q", value, escaped)
			}
		}
		if back, err := url.PathUnescape(escaped); err != nil || back != value {
			t.Errorf("%q comes back as %q, %v", value, back, err)
		}
	})
}
