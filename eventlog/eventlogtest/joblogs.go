package eventlogtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

func keepsOutput(t *testing.T, s Subject) {
	ctx := bounded(t)
	lane := events.Lane{Target: events.Target(name(t, "t")), Set: 0}
	read := func() (texts []string) {
		must(t, s.JobLogs.ReadLog(ctx, lane, "j1", false, func(c eventlog.LogChunk) error {
			if texts = append(texts, c.Text); c.Number != len(texts) {
				t.Errorf("chunk %d has the number %d", len(texts), c.Number)
			}
			return nil
		}))
		return texts
	}
	if got := read(); len(got) != 0 {
		t.Fatalf("output before any: %q", got)
	}
	write := func(job events.JobID, number int, text string) {
		must(t, s.JobLogs.WriteLog(ctx, lane, eventlog.LogChunk{JobID: job, Attempt: 1, Number: number, Time: time.Now().UTC(), Text: text}))
	}
	write("j1", 1, "one\n")
	write("j2", 1, "another job\n")
	write("j1", 2, "two\n")
	want := []string{"one\n", "two\n"}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Fatalf("output (-want +got):\n%s", diff)
	}
	enough := errors.New("enough")
	if err := s.JobLogs.ReadLog(ctx, lane, "j1", false, func(eventlog.LogChunk) error { return enough }); !errors.Is(err, enough) {
		t.Fatalf("the reader's error: %v", err)
	}
	// A follower gets the stored chunks and the new ones.
	following, stop := context.WithCancel(ctx)
	defer stop()
	texts, done := make(chan string, 10), make(chan error)
	go func() {
		done <- s.JobLogs.ReadLog(following, lane, "j1", true, func(c eventlog.LogChunk) error { texts <- c.Text; return nil })
	}()
	got := []string{<-texts, <-texts}
	write("j1", 3, "three\n")
	got = append(got, <-texts)
	if diff := cmp.Diff(append(want, "three\n"), got); diff != "" {
		t.Fatalf("followed (-want +got):\n%s", diff)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("follow ended with %v", err)
	}
}
