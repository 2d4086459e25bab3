package eventlog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// ends are what a log says of its end, one answer after the other; the last one stays.
type ends struct {
	sole  bool
	says  []events.Seq
	asked int
}

func (e *ends) Head(context.Context) (eventlog.Head, error) {
	e.asked++
	return eventlog.Head{Identity: "log", Last: e.says[min(e.asked, len(e.says))-1], Sole: e.sole}, nil
}

// One late answer decides nothing. A log that keeps saying that it ends early is believed, at once if it has one server.
func TestAnEarlierEndIsBelievedLate(t *testing.T) {
	for name, tc := range map[string]struct {
		log   ends
		want  events.Seq
		takes time.Duration
	}{
		"as far as known":        {ends{says: []events.Seq{7}}, 7, 0},
		"a server that was away": {ends{says: []events.Seq{3, 3, 9}}, 9, 500 * time.Millisecond},
		"cut, several servers":   {ends{says: []events.Seq{3}}, 3, 4750 * time.Millisecond},
		"cut, one server":        {ends{sole: true, says: []events.Seq{3}}, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				head, err := eventlog.HeadAt(t.Context(), &tc.log, 7)
				if took := time.Since(began); err != nil || head.Last != tc.want || took != tc.takes {
					t.Errorf("event %d after %s, %v", head.Last, took, err)
				}
			})
		})
	}
}
