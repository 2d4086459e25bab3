package control

import (
	"context"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

func alert(message string) events.AlertRaised {
	return events.AlertRaised{Kind: events.AlertSource, About: "rust-master", Message: message, Action: "look"}
}

func last(t testing.TB, log *memory.Log) events.Seq {
	t.Helper()
	head, err := log.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return head.Last
}

func TestAnAlertStandsUntilItIsCleared(t *testing.T) {
	c, log := start(t)
	const key = events.AlertKey("source-rust-master")
	raise := func(message string) func() (Answer, error) {
		return func() (Answer, error) { return c.RaiseAlert(t.Context(), by, alert(message)) }
	}
	clear := func() (Answer, error) { return c.ClearAlert(t.Context(), by, key, "it works again") }
	for _, step := range []struct {
		name     string
		do       func() (Answer, error)
		recorded events.Seq
	}{
		{"clear what never stood", clear, 0},
		{"raise", raise("it is down"), 1},
		{"raise in the same words", raise("it is down"), 0},
		{"raise in other words", raise("it is still down"), 1},
		{"clear", clear, 1},
		{"clear again", clear, 0},
		{"raise anew", raise("it is still down"), 1},
	} {
		before := last(t, log)
		answer, err := step.do()
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := last(t, log) - before; got != step.recorded || answer.Existed != (step.recorded == 0) {
			t.Errorf("%s: %d events (%+v), want %d", step.name, got, answer, step.recorded)
		}
	}
	stands, err := fold(t.Context(), log, events.AlertSubject(key), evolveAlert)
	if err != nil || stands.state == nil || stands.state.Message != "it is still down" || stands.state.Key != key {
		t.Errorf("%+v stands (%v)", stands.state, err)
	}
}

func TestAnAlertThatSaysNothingIsRefused(t *testing.T) {
	c, _ := start(t)
	_, err := c.RaiseAlert(t.Context(), by, events.AlertRaised{Kind: events.AlertSource})
	refused(t, err, Invalid, "what is wrong")
	_, err = c.RaiseAlert(t.Context(), by, events.AlertRaised{Key: "no token", Kind: events.AlertSource, Message: "m"})
	refused(t, err, Invalid, "no token")
	_, err = c.ClearAlert(t.Context(), by, "", "why")
	refused(t, err, Invalid, "alert")
}

// However many writers raise and clear at once, the log never has the same fact twice in a row.
func TestAlertsAreNotRepeated(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, log := start(t)
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"", "down", "down for long"}), 1, 12).Draw(rt, "steps")
		var all sync.WaitGroup
		for _, message := range steps {
			all.Go(func() {
				var err error
				if message == "" {
					_, err = c.ClearAlert(t.Context(), by, "source-rust-master", "it works again")
				} else {
					_, err = c.RaiseAlert(t.Context(), by, alert(message))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		history, err := log.Read(t.Context(), events.AlertSubject("source-rust-master"))
		if err != nil {
			rt.Fatal(err)
		}
		var before events.Fact = events.AlertCleared{}
		for _, e := range history {
			_, cleared := e.Fact.(events.AlertCleared)
			_, clear := before.(events.AlertCleared)
			if cleared && clear || e.Fact == before {
				rt.Fatalf("event %d repeats %+v", e.Seq, before)
			}
			before = e.Fact
		}
	})
}
