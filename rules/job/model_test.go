package job

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// sequences is how many sequences of commands one check draws; rapid runs a hundred checks.
const sequences = 100

// account is what a lane has spent on its current place, counted from the facts.
type account struct{ attempts, lost int }

// Any commands on a lane by any collector, with old tokens too: attempts are counted without a gap, crashes are counted
// apart, a job that has used up its crashes does not run again, and a place ends once.
func TestBudgetsAreKeptUnderRandomCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range sequences {
			spend(t)
		}
	})
}

func spend(t *rapid.T) {
	h := &history{}
	spent, ended := map[uint64]*account{}, map[uint64]bool{}
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		place := h.state.Place + uint64(rapid.IntRange(0, 2).Draw(t, "ahead"))
		token := events.Seq(rapid.IntRange(0, int(h.seq)).Draw(t, "token"))
		if rapid.IntRange(0, 2).Draw(t, "honest") > 0 {
			token = h.state.Token
		}
		facts, _ := h.do(attemptCommand(t, place, token))
		for _, f := range facts {
			look(t, f, spent, ended)
		}
	}
}

func attemptCommand(t *rapid.T, place uint64, token events.Seq) Command {
	at := start.Add(time.Duration(rapid.IntRange(-300, 300).Draw(t, "minutes")) * time.Minute)
	switch rapid.IntRange(0, 6).Draw(t, "command") {
	case 0, 1, 2:
		return Dequeue{
			Place: place, Job: spec(events.JobID(rune('a' + place))), MaxAttempts: 3, Collector: "c0",
			Instance: rapid.SampledFrom([]string{"i1", "i2"}).Draw(t, "instance"),
		}
	case 3:
		return Finish{Token: token, Outcome: events.Success, At: at}
	case 4:
		return Lose{Token: token, Reason: "silence"}
	case 5:
		return Release{Token: token, Reason: "503", Transient: rapid.Bool().Draw(t, "transient"), At: at, Deadline: 2 * time.Hour}
	}
	return Withdraw{Place: place, Job: spec(events.JobID(rune('a' + place))), Reason: "cancelled"}
}

func look(t *rapid.T, f events.Fact, spent map[uint64]*account, ended map[uint64]bool) {
	of := func(place uint64) *account {
		if spent[place] == nil {
			spent[place] = &account{}
		}
		return spent[place]
	}
	// A lane's work has only these facts.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDequeued:
		a := of(f.Place)
		a.attempts++
		if f.Attempt != a.attempts || f.Lost != a.lost || f.Lost >= 3 || ended[f.Place] {
			t.Fatalf("%+v, after %+v, ended %v", f, *a, ended[f.Place])
		}
	case events.AttemptLost:
		a := of(f.Place)
		a.lost++
		if f.Attempt != a.attempts || f.Lost != a.lost || ended[f.Place] {
			t.Fatalf("%+v, after %+v", f, *a)
		}
	case events.AttemptReleased:
		if a := of(f.Place); f.Attempt != a.attempts || f.Lost != a.lost || ended[f.Place] {
			t.Fatalf("%+v, after %+v", f, *a)
		}
	case events.JobFinished:
		if a := of(f.Place); f.Attempt != a.attempts || f.Lost != a.lost || ended[f.Place] {
			t.Fatalf("%+v, after %+v", f, *a)
		}
		if f.Fault == events.ErrorExhausted && f.Lost < 3 {
			t.Fatalf("%+v: exhausted too early", f)
		}
		ended[f.Place] = true
	}
}
