package sitetest

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// retire takes the jobs that have ended by now out of the tables.
func (st *story) retire() {
	st.t.Helper()
	st.clock.advance(time.Minute)
	st.tell(events.JobsRetired{EndedBefore: st.clock.read().Format(time.RFC3339)})
}

// next ends the request in progress, and begins the next one.
func (st *story) next() {
	st.t.Helper()
	st.tell(events.JobFinished{
		Lane: st.work.Lane(), Place: st.places[st.work.Lane()], JobID: st.work.ID, RequestID: st.running, Collector: "amd-0", Token: st.token, Attempt: 1,
		Outcome: events.Success, Measured: 9, DurationMS: 100_000,
	}, events.RequestCompleted{RequestID: st.running, Jobs: 2})
	st.running = st.master(sha("d"), sha("c"), 15)
	st.work = st.start(st.running)[0]
	st.token = st.dequeue(st.work, "amd-0")
}

func (st *story) queue() []client.QueuePlace {
	st.t.Helper()
	places, err := st.now().Queue(st.ctx)
	if err != nil {
		st.t.Fatal(err)
	}
	return places
}

// TestEstimatesAsTimePasses: nothing happens, and still the estimates move with the clock.
func TestEstimatesAsTimePasses(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.next()
	early := st.queue()
	if early[0].Overrun || early[0].EndEarliest == nil || early[0].StartEarliest != nil || early[1].StartEarliest == nil {
		t.Errorf("the request in progress and the one behind it: %+v, %+v", early[0], early[1])
	}
	s.clock.advance(30 * time.Minute)
	now := s.clock.read()
	late := st.queue()
	if !late[0].Overrun || late[1].Overrun || late[0].EstimatedEnd.Before(now) || late[1].EstimatedStart.Before(now) {
		t.Errorf("after half an hour in which nothing was heard: %+v, %+v", late[0], late[1])
	}
	if last := late[len(late)-1]; last.State != events.StateWaitingForArtifacts || last.EstimatedEnd != nil || last.EndLatest != nil {
		t.Errorf("of what waits for artifacts nothing is known: %+v", last)
	}
	status, err := s.now().Status(s.ctx)
	if err != nil || !status.Queue[0].Overrun || status.Queue[0].EstimatedEnd.Before(now) {
		t.Errorf("the status: %+v, %v", status.Queue, err)
	}
	for _, path := range []string{"/", "/requests/" + string(st.running)} {
		if _, page := s.get(path); !strings.Contains(page, "running longer than expected") {
			t.Errorf("%s does not say that the request overruns", path)
		}
	}
}

// TestWhyThereIsNoEnd: a required job waits on a lane whose collector is gone.
func TestWhyThereIsNoEnd(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.next()
	st.tell(events.CollectorDeactivated{Name: "spare", Reason: "broken"})
	st.tell(events.CollectorSilent{Name: "amd-1", Instance: "i2", Reason: "silence"})
	want := "no collector serves " + events.Lane{Target: machine, Set: 1}.String()
	places := st.queue()
	if places[0].EstimatedEnd != nil || places[0].NoEnd != want || places[1].EstimatedStart != nil || !strings.Contains(places[1].NoEnd, want) {
		t.Errorf("the request in progress and the one behind it: %+v, %+v", places[0], places[1])
	}
	for _, path := range []string{"/", "/requests/" + string(st.running), "/requests/" + string(st.release)} {
		if _, page := s.get(path); !strings.Contains(page, "no end: ") || !strings.Contains(page, want) {
			t.Errorf("%s does not say why there is no end", path)
		}
	}
	s.online("amd-1", "2")
	if again := st.queue(); again[0].EstimatedEnd == nil || again[0].NoEnd != "" {
		t.Errorf("the collector is back: %+v", again[0])
	}
}

func TestTheStatusPageShowsRanges(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	b := browse(t)
	s.machines()
	st.next()
	st.request(control.NewRequest{Suite: "go", Kind: events.Master, Tag: sha("e"), Parent: sha("d"), PR: 16})
	s.clock.advance(-time.Minute)
	b.do(t, chromedp.Navigate(s.http.URL), chromedp.WaitVisible(chromedp.CSS("#queue .window")))
	b.keepPicture(t, "estimates")
	if n := value[int](t, b, `document.querySelectorAll("#queue .window").length`); n < 3 {
		t.Errorf("%d ranges in the queue", n)
	}
	s.clock.advance(25 * time.Minute)
	b.do(t, chromedp.Navigate(s.http.URL), chromedp.WaitVisible(chromedp.CSS("#queue .overrun")), chromedp.WaitVisible(chromedp.CSS(".running .overrun")))
	b.keepPicture(t, "estimates-overrun")
	if n := value[int](t, b, `document.querySelectorAll("#queue .overrun").length`); n != 1 {
		t.Errorf("%d places overrun", n)
	}
}

func TestRetiredJobsAreSaidToBe(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	jobs, err := s.now().Jobs(s.ctx, client.JobQuery{Request: st.parent})
	if err != nil || len(jobs) != 2 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	st.retire()

	var gone *client.Error
	if _, err = s.now().Job(s.ctx, jobs[0].ID); !errors.As(err, &gone) || gone.Status != http.StatusGone || gone.RequestID != st.parent ||
		!strings.Contains(gone.Error(), "left the tables") || !strings.Contains(gone.Error(), "tacho trace "+string(jobs[0].ID)) {
		t.Errorf("the job: %v", err)
	}
	if _, err := s.client.JobLog(s.ctx, jobs[0].ID, false, &strings.Builder{}); !errors.As(err, &gone) || gone.Status != http.StatusGone {
		t.Errorf("its output: %v", err)
	}
	if answer, page := s.get("/jobs/" + string(jobs[0].ID)); answer.StatusCode != http.StatusGone || !strings.Contains(page, "left the tables") {
		t.Errorf("its page: %s: %s", answer.Status, page)
	}
	found, err := s.client.Request(s.ctx, string(st.parent))
	if err != nil || found.Jobs.Retired != 2 || found.Jobs.Success != 2 || found.Jobs.Total != 2 || len(found.JobList) != 0 {
		t.Errorf("its request: %+v, %v", found, err)
	}
	if _, page := s.get("/requests/" + string(st.parent)); !strings.Contains(page, "2 jobs ended long ago and left the tables") {
		t.Error("the page of the request does not say where its jobs are")
	}
	if _, err := s.client.Compare(s.ctx, client.CompareQuery{A: sha("a"), B: sha("b")}); err != nil {
		t.Errorf("results are compared as before: %v", err)
	}
}
