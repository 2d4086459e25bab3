package eventlog_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// Decide reads one aggregate, asks for facts, and appends them with the version that they were decided on. If another
// writer is first, it decides again.
func ExampleDecide() {
	ctx, log := context.Background(), memory.New(memory.Config{})
	ask := request.Create{Suite: "rustc", Kind: events.Master, Key: "1234abc", Tag: "1234abc"}
	subject := events.RequestSubject(events.NewRequestID(ask.Suite, ask.Kind, ask.Key))
	evolve := func(r request.Request, e events.Recorded) request.Request { return request.Evolve(r, e.Fact, e.Time) }
	for range 2 { // the second time changes nothing
		r, err := eventlog.Decide(ctx, log, subject, evolve, func(r request.Request) (out []events.Event, err error) {
			facts, err := request.Decide(r, ask)
			for _, f := range facts {
				out = append(out, eventlog.NewEvent(f, eventlog.Meta{Source: "example", Actor: "cli:alice"}, time.Now()))
			}
			return out, err
		})
		head, _ := log.Head(ctx)
		fmt.Println(r.State, err, "- events in the log:", head.Last)
	}
	// Output:
	// artifacts_ready <nil> - events in the log: 1
	// artifacts_ready <nil> - events in the log: 1
}
