package posting

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// A line that has nothing to post still moves its place, so that the next start does not read all of that again.
func TestThePlaceMovesWithoutPosts(t *testing.T) {
	log, place := memory.New(memory.Config{}), filepath.Join(t.TempDir(), "new", "place")
	read := make(chan events.Seq, 2*saveEvery)
	begin := func() (stop func()) {
		return goes(t, New(Config{
			What: "it", URL: "http://127.0.0.1:1", Place: place, Log: log, Note: func(context.Context, Post, error) {}, Logger: slog.New(slog.DiscardHandler),
			Take: func(_ context.Context, m events.Stored) (Post, bool, error) {
				read <- m.Seq
				return Post{}, false, nil
			},
		}, nil).Run)
	}
	stop := begin()
	until(t, func() bool { return at(place).Identity != "" })
	var last events.Seq
	for last < saveEvery+500 {
		var batch []events.Event
		for i := range 500 {
			batch = append(batch, eventlog.NewEvent(events.JobsRetired{EndedBefore: fmt.Sprint(i)}, eventlog.Meta{Source: "test", Actor: "test"}, time.Now()))
		}
		var err error
		if last, err = log.Append(t.Context(), eventlog.Append{Subject: events.RetentionSubject(), Expected: last, Events: batch}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, func() bool { return at(place).Seq == saveEvery })
	for seq := events.Seq(1); seq <= last; seq++ {
		if got := <-read; got != seq {
			t.Fatalf("it reads %d, want %d", got, seq)
		}
	}
	stop()
	begin()
	if got := <-read; got != saveEvery+1 {
		t.Errorf("after a start it reads %d", got)
	}
}

// What is urgent is posted at once, beside what the log has, and moves no place.
func TestUrgentPostsMoveNoPlace(t *testing.T) {
	log, place := memory.New(memory.Config{}), filepath.Join(t.TempDir(), "place")
	bodies := make(chan int64, 1)
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { bodies <- req.ContentLength }))
	t.Cleanup(to.Close)
	var noted []error
	urgent := make(chan Post, 1)
	line := New(Config{
		What: "it", URL: to.URL, Place: place, Log: log, Logger: slog.New(slog.DiscardHandler),
		Note: func(_ context.Context, _ Post, err error) { noted = append(noted, err) },
		Take: func(context.Context, events.Stored) (Post, bool, error) { return Post{}, false, nil },
	}, urgent)
	stop := goes(t, line.Run)
	urgent <- Post{Body: []byte("{}")}
	if n := <-bodies; n != 2 {
		t.Errorf("a body of %d bytes came", n)
	}
	until(t, func() bool { return at(place).Identity != "" })
	stop()
	if p := at(place); p.Seq != 0 || slices.ContainsFunc(noted, func(err error) bool { return err != nil }) {
		t.Errorf("the place is %+v, noted %v", p, noted)
	}
}

// A log that lost events ends the line: to go on would skip them.
func TestACutLogEndsTheLine(t *testing.T) {
	log, place := memory.New(memory.Config{}), filepath.Join(t.TempDir(), "place")
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := (Place{Identity: head.Identity, Seq: 7}).write(place); err != nil {
		t.Fatal(err)
	}
	err = New(Config{What: "it", Place: place, Log: log, Logger: slog.New(slog.DiscardHandler)}, nil).Run(t.Context())
	if err == nil || !fatal(err) {
		t.Errorf("got %v", err)
	}
}

func at(file string) Place {
	p, err := ReadPlace(file)
	if err != nil {
		return Place{}
	}
	return p
}

func goes(t *testing.T, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var task sync.WaitGroup
	task.Go(func() {
		if err := run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); task.Wait() })
	t.Cleanup(stop)
	return stop
}

func until(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for !holds() {
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Fatal("waiting in vain")
		}
	}
}
