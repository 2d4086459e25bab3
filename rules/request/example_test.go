package request_test

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// Decide returns facts or a refusal. Evolve makes the next state from the facts.
func ExampleDecide() {
	var r request.Request
	for _, command := range []request.Command{
		request.Create{Suite: "rustc", Kind: events.Master, Key: "1234abc", Tag: "1234abc"},
		request.Cancel{Reason: "a typo"},
		request.Cancel{Reason: "again"},
		request.Start{},
	} {
		facts, err := request.Decide(r, command)
		for _, f := range facts {
			r = request.Evolve(r, f, time.Time{})
		}
		fmt.Printf("%d facts: %s %v\n", len(facts), r.State, err)
	}
	// Output:
	// 1 facts: artifacts_ready <nil>
	// 1 facts: cancelled <nil>
	// 0 facts: cancelled <nil>
	// 0 facts: cancelled request r9f1d3b017d9affbe cannot start: it is cancelled
}
