package projector_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// told holds the event that a projector stays at.
type told struct {
	mu sync.Mutex
	at events.Seq
}

func (n *told) note(at *events.NewerError) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.at = 0
	if at != nil {
		n.at = at.Seq
	}
}

func (n *told) is(at events.Seq) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.at == at
}

// A strange event at a random place, in an append that began before it and ends after it: the tables stay before it and
// can be read, go on when it is parked, and stay when it is parked no more. A replay always gives the same tables.
func TestTablesStayAtAnEventThatTheyDoNotKnow(t *testing.T) {
	const length = 80
	for _, seed := range []uint64{uint64(time.Now().UnixNano())} {
		r := rand.New(rand.NewPCG(seed, 5))
		list := walk(t, seed, length)
		strange := events.Seq(30 + r.IntN(length-40))
		first, last := strange-events.Seq(r.IntN(3)), strange+events.Seq(r.IntN(3))
		for seq := first; seq <= last; seq++ {
			header := maps.Clone(list[seq-1].Header)
			if header == nil { // litter may have none
				header = map[string]string{}
			}
			header[events.HeaderBatch] = events.InBatch(int(seq-first)+1, int(last-first)+1)
			list[seq-1].Header = header
		}
		on := []events.Subject{events.RequestSubject("r1"), events.LaneSubject(lanes[0])}[r.IntN(2)]
		list[strange-1].Subject, list[strange-1].Header[events.HeaderType] = on, events.TypePrefix+"request.teleported.v1"
		now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
		log := memory.New(memory.Config{Clock: func() time.Time { return now }})
		for _, s := range list[:strange] { // it is there at the start
			log.Put(s)
		}
		url := database(t)
		tables, newer := open(t, url), &told{}
		p := begin(t, projector.New(projector.Config{Log: log, URL: url, BatchSize: 1 + r.IntN(9), Newer: newer.note}).Keep)
		until := func(what string, is func() bool) {
			t.Helper()
			soon, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			for !is() {
				select {
				case <-p.done:
					t.Fatalf("seed %d: the projector has ended: %v", seed, p.err)
				case <-time.After(10 * time.Millisecond):
				case <-soon.Done():
					t.Fatalf("seed %d: not so: %s", seed, what)
				}
			}
		}
		same := func() {
			t.Helper()
			report, err := projector.Replay(t.Context(), log, url, projector.ReplayOptions{Verify: true})
			if err != nil || !report.Identical() {
				t.Fatalf("seed %d: %+v, %v", seed, report, err)
			}
		}
		stays := func() {
			t.Helper()
			until("it stays", func() bool { return newer.is(strange) })
		}
		goesOn := func() {
			t.Helper()
			head, _ := log.Head(t.Context())
			until("it goes on", func() bool {
				if !newer.is(0) {
					return false
				}
				c, err := cursor(t.Context(), tables)
				return err == nil && c == head.Last
			})
		}
		stays()
		checkSeq(t, tables, strange-1)
		for _, s := range list[strange:] { // others go on
			log.Put(s)
		}
		same()
		c, by := &control.Control{Log: log, Clock: func() time.Time { return now }}, control.By{Actor: "test", Source: "test"}
		if _, err := c.Park(t.Context(), by, strange, "not yet"); err != nil {
			t.Fatal(err)
		}
		goesOn()
		same()
		for seq := first; seq <= last; seq++ {
			if e, err := tables.Event(t.Context(), seq); err != nil || e.Parked != "parked: not yet" {
				t.Errorf("seed %d: event %d is archived as %+v, %v", seed, seq, e, err)
			}
		}
		if _, err := c.Unpark(t.Context(), by, strange, "yet"); err != nil {
			t.Fatal(err)
		}
		stays()
		checkSeq(t, tables, length+1) // what they held stays
		same()
		if _, err := c.Park(t.Context(), by, strange, "again"); err != nil {
			t.Fatal(err)
		}
		goesOn()
		same()
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	}
}

func cursor(ctx context.Context, r *readmodel.Reader) (events.Seq, error) {
	c, err := r.Cursor(ctx)
	return c.Seq, err
}
