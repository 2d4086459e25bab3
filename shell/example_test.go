package shell_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

// A shell reads the log into a ledger. A part waits for an event, then looks at the ledger.
func ExampleShell() {
	ctx, stop := context.WithCancel(context.Background())
	log := memory.New(memory.Config{})
	s := shell.New(shell.Config{Log: log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()

	fact := events.RequestCreated{RequestID: "r1", Suite: "rustc", Kind: events.Master, Tag: "1234abc", Key: "1234abc", State: events.StateArtifactsReady}
	event := eventlog.NewEvent(fact, eventlog.Meta{Source: "example", Actor: "cli:alice"}, time.Now())
	seq, err := log.Append(ctx, eventlog.Append{Subject: fact.Subject(), Events: []events.Event{event}})
	if err == nil {
		err = s.Wait(ctx, seq)
	}
	s.View(func(l *ledger.Ledger) { fmt.Println(l.Requests["r1"].State, len(l.Pending), err) })
	stop()
	fmt.Println(<-ended)
	// Output:
	// artifacts_ready 1 <nil>
	// <nil>
}
