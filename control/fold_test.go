package control

import (
	"context"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// folded is the state of an aggregate and its version.
type folded[S any] struct {
	state S
	seq   events.Seq
}

func fold[S any](ctx context.Context, log eventlog.Log, subject events.Subject, evolve func(S, events.Recorded) S) (folded[S], error) {
	var out folded[S]
	history, err := log.Read(ctx, subject)
	for _, e := range history {
		if out.seq = e.Seq; e.Fact != nil {
			out.state = evolve(out.state, e)
		}
	}
	return out, err
}

func foldRequest(ctx context.Context, log eventlog.Log, id events.RequestID) (folded[request.Request], error) {
	known, err := requestIn(ctx, log, id)
	return folded[request.Request]{known.Request, known.version}, err
}
