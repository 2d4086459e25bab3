package scheduler

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// month is a policy that retires jobs after 30 days.
var month = Policy{MaxInProgress: 1, ExpansionRetry: time.Minute, Retention: 30 * 24 * time.Hour}

func begin(t *testing.T, log *memory.Log, p Policy) (stop func()) {
	t.Helper()
	return beginLooking(t, log, p, time.Minute)
}

// beginLooking is begin for a scheduler that looks so often.
func beginLooking(t *testing.T, log *memory.Log, p Policy, tick time.Duration) (stop func()) {
	t.Helper()
	ended, cancel := follow(t, log, Config{Log: log, OfflineAfter: time.Minute, Logger: slog.New(slog.DiscardHandler), Policy: p}, tick)
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// endOneJob creates a request and cancels it, which ends its job, and returns the request.
func endOneJob(t *testing.T, log *memory.Log, tag events.Tag) events.RequestID {
	t.Helper()
	id := ask(t, log, control.NewRequest{Kind: events.Master, Tag: tag})
	pass(10 * time.Minute)
	c := &control.Control{Log: log, Clock: time.Now}
	if _, _, err := c.CancelRequest(t.Context(), control.By{Actor: "test", Source: "test"}, id, "not needed"); err != nil {
		t.Fatal(err)
	}
	pass(10 * time.Minute)
	return id
}

// retirements returns when jobs were retired, and the times in the facts.
func retirements(t *testing.T, log *memory.Log) (at []time.Time, before []string) {
	t.Helper()
	cursor, err := log.Follow(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq := events.Seq(0); seq < head.Last; {
		stored, err := cursor.Next(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range stored {
			e, err := events.Decode(m)
			if err != nil {
				t.Fatal(err)
			}
			if f, ok := e.Fact.(events.JobsRetired); ok {
				at, before = append(at, e.Time), append(before, f.EndedBefore)
			}
			seq = m.Seq
		}
	}
	return at, before
}

func TestJobsAreRetiredOnceADayAndOnlyWhenThereAreAny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(memory.Config{})
		defer begin(t, log, month)()
		defer begin(t, log, month)() // a second scheduler changes nothing
		first := time.Now()
		endOneJob(t, log, "a")
		pass(6 * time.Hour)
		endOneJob(t, log, "b")
		pass(29 * 24 * time.Hour)
		if at, _ := retirements(t, log); len(at) != 0 {
			t.Errorf("retired too early, at %v", at)
		}
		endOneJob(t, log, "c")
		pass(60 * 24 * time.Hour)

		at, before := retirements(t, log)
		var after []string
		for i := range at {
			after = append(after, at[i].Sub(first).Truncate(time.Hour).String())
			limit, err := time.Parse(time.RFC3339, before[i])
			if err != nil || at[i].Sub(limit) < month.Retention || at[i].Sub(limit) > month.Retention+time.Second {
				t.Errorf("at %v what ended before %s was retired, %v", at[i], before[i], err)
			}
		}
		// a after 30 days and the rest of its hour, b and c each at the retirement of the next day.
		if diff := cmp.Diff([]string{"721h0m0s", "745h0m0s", "1423h0m0s"}, after); diff != "" {
			t.Errorf("retirements (-want +got):\n%s", diff)
		}
	})
}

func TestNothingIsRetiredForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(memory.Config{})
		defer beginLooking(t, log, Policy{MaxInProgress: 1, ExpansionRetry: time.Minute}, time.Hour)()
		endOneJob(t, log, "a")
		pass(900 * 24 * time.Hour)
		if at, _ := retirements(t, log); len(at) != 0 {
			t.Errorf("retired at %v", at)
		}
	})
}

// A new scheduler reads from the log what was retired, and that the job exists.
func TestARetiredJobIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(memory.Config{})
		stop := begin(t, log, month)
		endOneJob(t, log, "a")
		pass(32 * 24 * time.Hour)
		stop()
		defer begin(t, log, month)()
		pass(10 * 24 * time.Hour)
		if at, _ := retirements(t, log); len(at) != 1 {
			t.Errorf("retired at %v, want once", at)
		}
		// The job was cancelled: a try of the same artifact makes it in its next round.
		id := ask(t, log, control.NewRequest{Kind: events.Try, Tag: "a", Key: "again"})
		pass(time.Hour)
		if f, ok := last(t, log, id).(events.JobsCreated); !ok || len(f.Jobs) != 1 || f.Jobs[0].Round != 1 {
			t.Errorf("the last word is %#v", f)
		}
	})
}

// A fact of a writer with a wrong clock does not stop retention for ever.
func TestRetentionWithWildClocks(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := newState()
	s.Retention.Hours = []int64{now.Add(-40*24*time.Hour).Unix() / 3600}
	for _, test := range []struct {
		last time.Time
		due  bool
	}{
		{time.Time{}, true},
		{now.Add(-25 * time.Hour), true},
		{now.Add(-23 * time.Hour), false},
		{now.Add(2 * time.Second), false},
		{now.Add(1000 * time.Hour), true},
	} {
		s.Retention.Last = test.last
		if _, due := decideRetention(s, month, now); due != test.due {
			t.Errorf("the last was at %v: due %t, want %t", test.last, due, test.due)
		}
	}
}
