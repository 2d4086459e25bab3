package fakegithub

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-github/v62/github"
)

const commentsPath = "/repos/*/*/issues/*/comments"

func (w world) say(ctx context.Context, body string) (*github.Response, error) {
	_, response, err := w.api.Issues.CreateComment(ctx, "rust-lang", "rust", 7, &github.IssueComment{Body: &body})
	return response, err
}

func TestFailuresEndWhenTheyAreSpent(t *testing.T) {
	w, ctx := start(t, Config{}), within(t)
	for _, status := range []int{500, 502, 503, 429, 401} {
		b := w.Break(Fault{Method: "POST", Path: commentsPath, Times: 2, Do: Status(status)})
		for range 2 {
			if response, err := w.say(ctx, "x"); err == nil || response.StatusCode != status {
				t.Errorf("%d: %v", status, err)
			}
			if _, _, err := w.api.Issues.ListComments(ctx, "rust-lang", "rust", 7, nil); err != nil {
				t.Errorf("another method: %v", err)
			}
		}
		if _, err := w.say(ctx, "x"); err != nil || b.Hits() != 2 {
			t.Errorf("%v: %v", b, err)
		}
	}
	if got := len(w.repo.Comments(7)); got != 5 {
		t.Errorf("%d comments", got)
	}
}

func TestLimitsAreWhatTheClientKnows(t *testing.T) {
	w, ctx := start(t, Config{}), within(t)
	w.Break(Fault{Times: 1, Do: SecondaryLimit(7 * time.Second)})
	var secondary *github.AbuseRateLimitError
	if _, err := w.say(ctx, "x"); !errors.As(err, &secondary) || secondary.GetRetryAfter() != 7*time.Second {
		t.Errorf("got %v", err)
	}
	w.api = client(t, w.Server, "/").WithAuthToken("secret") // the other one waits
	w.Break(Fault{Times: 1, Do: PrimaryLimit(time.Now().Add(time.Hour))})
	var primary *github.RateLimitError
	if _, err := w.say(ctx, "x"); !errors.As(err, &primary) || time.Until(primary.Rate.Reset.Time) < 50*time.Minute {
		t.Errorf("got %v", err)
	}
	w.api = client(t, w.Server, "/").WithAuthToken("secret")
	w.Break(Fault{Times: 1, Do: TooManyRequests(time.Minute)})
	if response, err := w.say(ctx, "x"); err == nil || response.StatusCode != 429 || response.Header.Get("Retry-After") != "60" {
		t.Errorf("got %v", err)
	}
	if limits, _, err := w.api.RateLimit.Get(ctx); err != nil || limits.GetCore().Limit != 5000 {
		t.Errorf("got %v, %v", limits, err)
	}
}

func TestWritesLandAndNobodyIsTold(t *testing.T) {
	w, ctx := start(t, Config{}), within(t)
	for n, do := range []Failure{Drop(), Status(502), Garbage()} {
		w.Break(Fault{Method: "POST", Times: 1, Landed: true, Do: do})
		if _, err := w.say(ctx, "x"); err == nil {
			t.Errorf("%d: told", n)
		}
		if got := len(w.repo.Comments(7)); got != n+1 {
			t.Errorf("%d comments after %d", got, n+1)
		}
	}
	w.Break(Fault{Method: "POST", Times: 1, Do: Drop()})
	if _, err := w.say(ctx, "x"); err == nil || len(w.repo.Comments(7)) != 3 {
		t.Errorf("dropped before it landed: %v, %d comments", err, len(w.repo.Comments(7)))
	}
	r := w.Requests("POST", "")
	if len(r) != 4 || r[0].Status != 0 || r[1].Status != 502 {
		t.Errorf("recorded %+v", r)
	}
}

func TestHangingEnds(t *testing.T) {
	w, ctx := start(t, Config{}), within(t)
	b := w.Break(Fault{Do: Hang()})
	done := make(chan error, 1)
	go func() {
		_, err := w.say(ctx, "kept")
		done <- err
	}()
	<-b.Arrived()
	if len(w.repo.Comments(7)) != 0 {
		t.Error("it landed too early")
	}
	b.Mend()
	if err := <-done; err != nil {
		t.Error(err)
	}
	w.Break(Fault{Landed: true, Do: Hang()})
	impatient, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := w.say(impatient, "landed"); !errors.Is(err, context.DeadlineExceeded) || len(w.repo.Comments(7)) != 2 {
		t.Errorf("got %v, %d comments", err, len(w.repo.Comments(7)))
	}
}

// An hour of failures and a slow answer take no time in a bubble, and no goroutine stays behind.
func TestSimulatedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ctx, begin := start(t, Config{InProcess: true}), t.Context(), time.Now()
		b := w.Break(Fault{Method: "POST", Do: Status(http.StatusInternalServerError)})
		time.AfterFunc(time.Hour, b.Mend)
		for {
			if _, err := w.say(ctx, "x"); err == nil {
				break
			}
			time.Sleep(time.Minute)
		}
		if took := time.Since(begin); took < time.Hour || took > time.Hour+time.Minute || b.Hits() < 60 {
			t.Errorf("%v, %v", took, b)
		}
		begin = time.Now()
		w.Break(Fault{Times: 1, Do: Slow(5 * time.Second)})
		if _, err := w.say(ctx, "x"); err != nil || time.Since(begin) != 5*time.Second {
			t.Errorf("%v, %v", err, time.Since(begin))
		}
	})
}
