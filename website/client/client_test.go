package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := New(s.URL+"/", "secret")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestURLsAreUnderstoodOrRefused(t *testing.T) {
	for given, want := range map[string]string{
		"http://host:1/": "http://host:1/requests", "host:1": "http://host:1/requests", "https://host/tacho": "https://host/tacho/requests",
	} {
		c, err := New(given, "")
		if err != nil || c.URL("/requests") != want {
			t.Errorf("%s: %v", given, err)
		}
	}
	for _, given := range []string{"", "ftp://host", "http://", "http://a b"} {
		if _, err := New(given, ""); err == nil || !strings.Contains(err.Error(), "http://host:port") {
			t.Errorf("%q: %v", given, err)
		}
	}
}

func TestNobodyAnswers(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	c, err := New(s.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Queue(within(t))
	var lost *UnreachableError
	if !errors.As(err, &lost) || !strings.HasPrefix(err.Error(), "no Tacho answers at "+s.URL+": start one with `tacho up`") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Queue(ctx); !errors.Is(err, context.Canceled) || errors.As(err, &lost) {
		t.Errorf("a caller that gave up: %v", err)
	}
}

func TestAnswersThatSayNo(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want *Error
	}{
		"Tacho's":       {`{"error":"no such thing","next":"look elsewhere"}`, &Error{Status: 404, Message: "no such thing", Next: "look elsewhere"}},
		"without next":  {`{"error":"no such thing"}`, &Error{Status: 404, Message: "no such thing", Next: ""}},
		"a proxy's":     {"<html>Not Found</html>", &Error{Status: 404, Message: "URL answered 404 Not Found to GET /api/v1/queue", Next: "check that the URL is that of a Tacho"}},
		"a plain one":   {"not here\n", &Error{Status: 404, Message: "URL answered 404 Not Found to GET /api/v1/queue: not here", Next: "check that the URL is that of a Tacho"}},
		"another JSON":  {`{"message":"no"}`, &Error{Status: 404, Message: `URL answered 404 Not Found to GET /api/v1/queue: {"message":"no"}`, Next: "check that the URL is that of a Tacho"}},
		"nothing at al": {"", &Error{Status: 404, Message: "URL answered 404 Not Found to GET /api/v1/queue", Next: "check that the URL is that of a Tacho"}},
	} {
		tacho := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, c.body)
		})
		_, err := tacho.Queue(within(t))
		var got *Error
		if !errors.As(err, &got) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got.Message = strings.ReplaceAll(got.Message, strings.TrimSuffix(tacho.URL("/"), "/"), "URL")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheTokenTravelsWithWritesOnly(t *testing.T) {
	var seen []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+r.Header.Get(ActorHeader))
		fmt.Fprint(w, `{}`)
	})
	c.Actor = "cli:alice"
	ctx := within(t)
	if _, err := c.After(7).Status(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateRequest(ctx, control.NewRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DrainCollector(ctx, "a/b", ""); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"GET /api/v1/status?wait_for=7  ", "POST /api/v1/requests Bearer secret cli:alice",
		"POST /api/v1/collectors/a%2Fb/drain Bearer secret cli:alice",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

var errEnough = errors.New("enough")

func TestAStreamThatBreaksIsTakenUpWhereItWas(t *testing.T) {
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		switch len(asked) {
		case 1: // breaks before the first event
			fmt.Fprint(w, "event: start\ndata: {\"seq\":4}\n\n")
		case 2: // breaks in the middle of an event
			fmt.Fprint(w, ": alive\n\nevent: event\nid: 5\ndata: {\"seq\":5}\n\nevent: event\nid: 6\ndata: {\"se")
		default:
			fmt.Fprint(w, "event: later\ndata: x\n\nevent: event\ndata: {\"seq\":6}\n\n")
		}
	})
	var got []events.Seq
	err := c.FollowEvents(within(t), EventQuery{Type: "request.created.v1"}, func(e readmodel.Event) error {
		if got = append(got, e.Seq); len(got) == 2 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
	if diff := cmp.Diff([]events.Seq{5, 6}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"type=request.created.v1", "after=4&type=request.created.v1", "after=5&type=request.created.v1"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestAStreamThatIsRefusedIsNotTriedAgain(t *testing.T) {
	tries := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		tries++
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"wrong"}`)
	})
	err := c.FollowEvents(within(t), EventQuery{}, func(readmodel.Event) error { return nil })
	var e *Error
	if !errors.As(err, &e) || tries != 1 {
		t.Errorf("%d tries: %v", tries, err)
	}
}

func TestMessagesOfAStream(t *testing.T) {
	text := "data: one\n\n: a comment\n\nevent: two\nid: 7\ndata:2\ndata: more\n\nevent: none\n\ndata: not ended"
	want := []message{{"", "one"}, {"two", "2\nmore"}}
	var got []message
	err := scan(iotest.OneByteReader(strings.NewReader(text)), func(m message) error {
		got = append(got, m)
		return nil
	})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(message{})); diff != "" || err == nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func FuzzMessagesOfAStream(f *testing.F) {
	f.Add("event: event\ndata: {}\n\n")
	f.Add("data\ndata:\n\n:\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		err := scan(strings.NewReader(text), func(m message) error {
			if m.data == "" || len(m.data)+len(m.name) > len(text) {
				t.Fatalf("%q gives %+v", text, m)
			}
			return nil
		})
		if err == nil {
			t.Fatal("a stream has no end of its own")
		}
	})
}

// A write that is redirected becomes a read. Its answer must not be taken for the answer of the write.
func TestACommandThatIsSentOnWasNotCarriedOut(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/tacho"+r.URL.Path, http.StatusMovedPermanently)
			return
		}
		fmt.Fprint(w, `{"version":"v1","seq":7}`)
	})
	answer, err := c.WantVersion(within(t), events.VersionWanted{Version: "v9"})
	if err == nil || !strings.Contains(err.Error(), "was not carried out") || !strings.Contains(err.Error(), "/tacho/api/v1/wanted-version") {
		t.Errorf("%+v: %v", answer, err)
	}
}

// A stream that broke is resumed, and a server that has too many readers says when.
func TestAStreamWaitsAsLongAsItIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c, err := New("http://tacho", "")
		if err != nil {
			t.Fatal(err)
		}
		c.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) *http.Response {
			answer := httptest.NewRecorder()
			if calls++; calls == 2 || calls == 3 {
				answer.Header().Set("Retry-After", "20")
				answer.WriteHeader(http.StatusTooManyRequests)
				fmt.Fprint(answer, `{"error":"too many streams","next":"come again in 20 s"}`)
			} else {
				fmt.Fprintf(answer, "event: event\ndata: {\"seq\":%d}\n\n", calls)
			}
			return answer.Result()
		})}
		var waits []string
		c.Waits = func(err error, pause time.Duration) {
			var no *Error
			if errors.As(err, &no) {
				waits = append(waits, fmt.Sprint(err, " ", pause >= 20*time.Second))
			}
		}
		began := time.Now()
		err = c.FollowEvents(t.Context(), EventQuery{}, func(e readmodel.Event) error {
			if e.Seq == 4 {
				return errEnough
			}
			return nil
		})
		if took := time.Since(began); !errors.Is(err, errEnough) || took < 40*time.Second || took > time.Minute {
			t.Errorf("after %s: %v", took, err)
		}
		want := "too many streams: come again in 20 s true"
		if diff := cmp.Diff([]string{want, want}, waits); diff != "" {
			t.Error(diff)
		}
	})
}

// roundTrip answers requests without a server.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := f(r)
	resp.Request = r
	return resp, nil
}

func TestTooManyReadersSayWhenToComeBack(t *testing.T) {
	calls := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":"too many","next":"wait"}`)
	})
	want := &Error{Status: http.StatusTooManyRequests, Message: "too many", Next: "wait", RetryAfter: 7 * time.Second}
	_, listed := c.Events(within(t), EventQuery{})
	followed := c.FollowEvents(within(t), EventQuery{}, func(readmodel.Event) error { return nil })
	for _, err := range []error{listed, followed} {
		var got *Error
		if !errors.As(err, &got) || cmp.Diff(want, got) != "" {
			t.Errorf("%v", err)
		}
	}
	if calls != 2 {
		t.Errorf("asked %d times", calls)
	}
}

func TestAStreamOutlivesAMomentWithoutTables(t *testing.T) {
	calls := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"error":"Postgres cannot be reached"}`)
			return
		}
		fmt.Fprintf(w, "event: event\ndata: {\"seq\":%d}\n\n", calls)
	})
	enough := errors.New("enough")
	err := c.FollowEvents(within(t), EventQuery{}, func(e readmodel.Event) error {
		if e.Seq == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}
