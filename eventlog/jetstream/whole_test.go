package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// held is a log that holds events from a sequence on.
type held struct {
	reader
	from events.Seq
	has  []events.Stored
	err  error
	asks int
}

func (h *held) EventAt(_ context.Context, seq events.Seq) (events.Stored, bool, error) {
	h.asks++
	if i := int(seq) - int(h.from); h.err == nil && i >= 0 && i < len(h.has) {
		s := h.has[i]
		s.Seq = seq
		return s, true, nil
	}
	return events.Stored{}, false, h.err
}

func stored(subject events.Subject, id string) events.Stored {
	return events.Stored{Subject: subject, Header: map[string]string{events.HeaderID: id}}
}

// An append is stored when its last event is where it belongs, with its subject and its id. Nothing else will do.
func TestAnAppendIsWholeWithItsLastEvent(t *testing.T) {
	again := errors.New("again")
	ours := []events.Stored{stored("x", "1"), stored("x", "2"), stored("y", "3"), stored("y", "4")}
	for _, tt := range []struct {
		name  string
		has   []events.Stored
		err   error
		alone bool
		// last is where the log is said to end; 0 for an error, which is torn up to cut unless that is 0.
		last, cut events.Seq
	}{
		{name: "whole", has: ours, alone: true, last: 10},
		{name: "whole, on a cluster", has: ours, last: 10},
		{name: "with others behind", has: append(ours[:4:4], stored("z", "9")), alone: true, last: 10},
		{name: "only the first", has: ours[:1], alone: true, cut: 7},
		{name: "all but the last", has: ours[:3], alone: true, cut: 9},
		{name: "others behind the first", has: []events.Stored{ours[0], stored("z", "7"), stored("z", "8"), stored("z", "9")}, alone: true, cut: 7},
		{name: "another event in the last place", has: append(ours[:3:3], stored("y", "9")), alone: true, cut: 9},
		{name: "another subject in the last place", has: append(ours[:3:3], stored("z", "4")), alone: true, cut: 9},
		{name: "only the first, on a cluster", has: ours[:1]},
		{name: "the log does not answer", has: ours, err: nats.ErrTimeout, alone: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := &held{from: 7, has: tt.has, err: tt.err}
			a := appender{reads: log, room: &room{}, torn: &torn{}, alone: tt.alone}
			last, err := a.whole(t.Context(), ours, 7, events.Stored{}, again)
			torn := new(eventlog.TornError)
			switch {
			case tt.last > 0:
				if last != tt.last || err != nil || log.asks != 1 {
					t.Errorf("%d, %v, after %d reads", last, err, log.asks)
				}
			case tt.cut > 0:
				if !errors.As(err, &torn) || torn.First != 7 || torn.Last != tt.cut || torn.End != 10 {
					t.Errorf("%+v, %v", torn, err)
				}
				if a.standing(t.Context()) == nil {
					t.Error("it is not remembered")
				}
				if log.has = ours; a.standing(t.Context()) != nil || a.torn.found.Load() != nil {
					t.Error("it is remembered when the log has the rest")
				}
			default:
				if errors.As(err, &torn) || !errors.Is(err, again) || tt.err != nil && !transient(err) {
					t.Errorf("%v, want a doubt", err)
				}
				if a.torn.found.Load() != nil {
					t.Error("a doubt is remembered")
				}
			}
		})
	}
}

// An acknowledgement that is not about the whole batch leaves it in doubt.
func TestAnAcknowledgementIsOfTheWholeBatch(t *testing.T) {
	a := appender{stream: "EVENTS"}
	for _, tt := range []struct {
		ack acknowledgement
		ok  bool
	}{
		{acknowledgement{Stream: "EVENTS", Seq: 9, Batch: "b", Count: 3}, true},
		{acknowledgement{Stream: "EVENTS", Seq: 9, Batch: "b", Count: 2}, false},
		{acknowledgement{Stream: "EVENTS", Seq: 9, Batch: "c", Count: 3}, false},
		{acknowledgement{Stream: "EVENTS", Seq: 9}, false},
	} {
		data, err := json.Marshal(tt.ack)
		if err != nil {
			t.Fatal(err)
		}
		seq, err := a.committed(&nats.Msg{Data: data}, nil, "b", 3)
		if tt.ok && (seq != 9 || err != nil) || !tt.ok && !errors.Is(err, ErrAgain) {
			t.Errorf("%s: %d, %v", data, seq, err)
		}
	}
}
