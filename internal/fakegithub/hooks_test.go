package fakegithub

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-github/v62/github"
)

// receiver is a webhook that checks signatures with the real client's code.
type receiver struct {
	url    string
	status int

	mu  sync.Mutex
	got []*github.IssueCommentEvent
	// guids and payloads are those of all deliveries; hookIDs are the hooks that they name.
	guids, hookIDs []string
	payloads       map[string][]byte
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusAccepted, payloads: map[string][]byte{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Header.Get("X-Hub-Signature") != "" {
			t.Error("signed with SHA-1")
		}
		payload, err := github.ValidatePayload(request, []byte("s3cret"))
		if err != nil {
			t.Error(err)
		}
		event, err := github.ParseWebHook(github.WebHookType(request), payload)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if comment, ok := event.(*github.IssueCommentEvent); ok {
			r.got = append(r.got, comment)
		}
		r.guids = append(r.guids, github.DeliveryID(request))
		r.hookIDs = append(r.hookIDs, request.Header.Get("X-GitHub-Hook-ID"))
		r.payloads[github.WebHookType(request)] = payload
		w.WriteHeader(r.status)
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) last(event string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.payloads[event]
}

func TestHooksHearOfWhatHappens(t *testing.T) {
	w, ctx := start(t, Config{}), t.Context()
	r := receive(t)
	h := w.repo.AddHook(Hook{URL: r.url, Secret: "s3cret", Events: []string{"issue_comment"}})
	c := w.repo.Comment(7, w.alice, "@tacho queue")
	w.repo.Edit(c.ID, w.alice, "@tacho queue again")
	w.repo.Push("master", sha(1), w.alice)
	body := "Queued."
	if _, _, err := w.api.Issues.CreateComment(ctx, "rust-lang", "rust", 7, &github.IssueComment{Body: &body}); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	var said []string
	for _, e := range r.got {
		said = append(said, e.GetAction()+" "+e.GetSender().GetLogin()+" "+e.GetComment().GetBody())
	}
	want := []string{"created alice @tacho queue", "edited alice @tacho queue again", "created tacho[bot] Queued."}
	if !slices.Equal(said, want) {
		t.Errorf("heard %q", said)
	}
	if e := r.got[1]; e.GetChanges().GetBody().GetFrom() != "@tacho queue" || !e.GetIssue().IsPullRequest() || e.GetComment().GetAuthorAssociation() != "MEMBER" {
		t.Errorf("heard %v", e)
	}
	for _, d := range h.Deliveries() {
		if !d.Delivered() || d.StatusCode != http.StatusAccepted {
			t.Errorf("delivery %+v", d)
		}
	}
}

func TestFailedDeliveriesAreRedelivered(t *testing.T) {
	w, ctx := start(t, Config{}), t.Context()
	r := receive(t)
	h := w.repo.AddHook(Hook{URL: r.url, Secret: "s3cret"})
	h.Lose(2)
	for _, body := range []string{"first", "second", "third"} {
		w.repo.Comment(7, w.alice, body)
	}
	list, response, err := w.api.Repositories.ListHookDeliveries(ctx, "rust-lang", "rust", h.ID(), &github.ListCursorOptions{PerPage: 2})
	if err != nil || len(list) != 2 || response.Cursor == "" {
		t.Fatalf("got %v, %v", list, err)
	}
	more, response, err := w.api.Repositories.ListHookDeliveries(ctx, "rust-lang", "rust", h.ID(), &github.ListCursorOptions{Cursor: response.Cursor})
	if err != nil || len(more) != 1 || response.Cursor != "" {
		t.Fatalf("got %v, %v", more, err)
	}
	for _, d := range append(list, more...) {
		failed := d.GetStatusCode() != http.StatusAccepted
		if failed == (d.GetID() == list[0].GetID()) {
			t.Errorf("%v", d)
		}
		if failed {
			// The answer is 202, which the client reports as an error.
			if _, response, _ := w.api.Repositories.RedeliverHookDelivery(ctx, "rust-lang", "rust", h.ID(), d.GetID()); response.StatusCode != http.StatusAccepted {
				t.Errorf("redelivery: %v", response.Status)
			}
		}
	}
	w.Settle()
	again := h.Redeliver(list[0].GetID())
	if !again.Redelivery || again.GUID != list[0].GetGUID() || again.ID == list[0].GetID() {
		t.Errorf("redelivered %+v", again)
	}
	detail, _, err := w.api.Repositories.GetHookDelivery(ctx, "rust-lang", "rust", h.ID(), again.ID)
	if err != nil || detail.Request.Headers["X-GitHub-Delivery"] != again.GUID || detail.Request.RawPayload == nil {
		t.Errorf("got %v, %v", detail, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.got) != 4 || len(slices.Compact(slices.Sorted(slices.Values(r.guids)))) != 3 {
		t.Errorf("%d comments heard, ids %v", len(r.got), r.guids)
	}
	if ids := slices.Compact(slices.Clone(r.hookIDs)); len(ids) != 1 {
		t.Errorf("from hooks %v", ids)
	}
}

func TestReceiversThatFailAreRecorded(t *testing.T) {
	w := start(t, Config{})
	r := receive(t)
	r.status = http.StatusInternalServerError
	h := w.repo.AddHook(Hook{URL: r.url, Secret: "s3cret"})
	gone := w.repo.AddHook(Hook{URL: "http://127.0.0.1:1/"})
	w.repo.CompleteWorkflowRun(Run{Branch: "try", SHA: sha(4), Conclusion: "success", Workflow: "CI", Sender: w.alice})
	w.repo.TellPull(7, "synchronize", w.alice)
	for _, d := range h.Deliveries() {
		if d.Delivered() || d.StatusCode != http.StatusInternalServerError {
			t.Errorf("delivery %+v", d)
		}
	}
	if all := gone.Deliveries(); len(all) != 2 || all[0].StatusCode != http.StatusBadGateway || all[0].Event != "workflow_run" {
		t.Errorf("deliveries %+v", all)
	}
	if d := h.Send("ping", []byte(`{"zen":"Speak like a human."}`)); d.Event != "ping" {
		t.Errorf("delivery %+v", d)
	}
}
