package projector_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// TestLogThatIsNotTheOne starts a projector with another log than the one that filled the tables.
func TestLogThatIsNotTheOne(t *testing.T) {
	log := walk(t, 1, 120)
	changed := func(i int, change func(*events.Stored)) []events.Stored {
		list := append([]events.Stored(nil), log...)
		list[i].Header = maps.Clone(list[i].Header)
		change(&list[i])
		return list
	}
	cut := newFeed("log", log...)
	cut.first = 10
	for name, c := range map[string]struct {
		log  *feed
		want error
	}{
		"another identity": {newFeed("another", log...), projector.ErrLogReplaced},
		"shorter":          {newFeed("log", log[:119]...), projector.ErrLogRegressed},
		"empty":            {newFeed("log"), projector.ErrLogRegressed},
		"without its head": {cut, projector.ErrLogCut},
		"another id at the cursor": {newFeed("log", changed(119, func(s *events.Stored) {
			s.Header[events.HeaderID] = "other"
		})...), projector.ErrLogChanged},
		"other data at the cursor": {newFeed("log", changed(119, func(s *events.Stored) {
			s.Data = []byte(`{}`)
		})...), projector.ErrLogChanged},
	} {
		t.Run(name, func(t *testing.T) {
			url := project(t, log, 1000)
			if err := start(t, projector.Config{Log: c.log, URL: url}).wait(t); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestGapStopsTheProjector(t *testing.T) {
	log := walk(t, 1, 60)
	holed := append(append([]events.Stored(nil), log[:30]...), log[31:]...)
	url := database(t)
	r := open(t, url)
	p := start(t, projector.Config{Log: newFeed("log", holed...), URL: url, BatchSize: 7})
	var gap *eventlog.GapError
	if err := p.wait(t); !errors.As(err, &gap) || gap.Want != 31 || gap.Got != 32 {
		t.Errorf("got %v", err)
	}
	checkSeq(t, r, 30)
}

// TestUnknownTypeHoldsTheProjector: the projector stays at an unknown type on a subject that only the core writes. The tables
// have everything before the event, and nothing after it.
func TestUnknownTypeHoldsTheProjector(t *testing.T) {
	for _, on := range []events.Subject{events.RequestSubject("r1"), events.RegistrySubject("eider-0"), events.LaneSubject(lanes[0]), events.AlertSubject("a")} {
		t.Run(on.Family(), func(t *testing.T) {
			log := walk(t, 1, 60)
			header := maps.Clone(log[39].Header)
			header[events.HeaderType] = events.TypePrefix + "request.teleported.v1"
			log[39].Header, log[39].Subject = header, on
			url := database(t)
			r := open(t, url)
			stays := make(chan *events.NewerError, 1)
			p := start(t, projector.Config{Log: newFeed("log", log...), URL: url, Newer: func(at *events.NewerError) { stays <- at }})
			if at := <-stays; at.Seq != 40 || at.Subject != on || at.Type != "request.teleported.v1" {
				t.Errorf("it stays at %+v", at)
			}
			checkSeq(t, r, 39)
			if err := p.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOtherTablesStopTheProjector: a program that does not know a column would leave it empty.
func TestOtherTablesStopTheProjector(t *testing.T) {
	log := walk(t, 1, 60)
	url := project(t, log, 1000)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `ALTER TABLE tacho_g1.alert ADD COLUMN newer bigint`); err != nil {
		t.Fatal(err)
	}
	err = start(t, projector.Config{Log: newFeed("log", log...), URL: url}).wait(t)
	if !errors.Is(err, readmodel.ErrOtherTables) || !strings.Contains(err.Error(), "column newer of table alert has no field in readmodel.Alert") {
		t.Errorf("got %v", err)
	}
}

// TestSecondProjectorIsFenced lets two projectors write the same tables: one of them stops, and every event
// took effect once.
func TestSecondProjectorIsFenced(t *testing.T) {
	log := walk(t, 5, 2000)
	url := database(t)
	r := open(t, url)
	a := start(t, projector.Config{Log: newFeed("log", log...), URL: url, BatchSize: 1})
	b := start(t, projector.Config{Log: newFeed("log", log...), URL: url, BatchSize: 1})
	var fenced *running
	select {
	case <-a.done:
		fenced, a = a, b
	case <-b.done:
		fenced = b
	}
	if !errors.Is(fenced.err, projector.ErrFenced) {
		t.Fatalf("got %v", fenced.err)
	}
	a.await(t, r, events.Seq(len(log)))
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	verify(t, newFeed("log", log...), url)
}
