package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/eventlogtest"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// tb is what the helpers need of a test; it may be one of rapid.
type tb interface {
	Helper()
	Fatal(...any)
}

// said puts facts into a log as an earlier version did: a collector's standing on its own subject.
func said(t tb, log *memory.Log, facts ...events.Fact) {
	t.Helper()
	for _, f := range facts {
		e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
		m, err := eventlogtest.Earlier(e)
		if err != nil {
			if m, err = events.Encode(e); err != nil {
				t.Fatal(err)
			}
		}
		log.Put(m)
	}
}

func openRegistry(log eventlog.Log) error {
	return OpenRegistry(context.Background(), log, by, time.Now)
}

// opened checks that the registry was opened once, and returns the number of collectors that were copied.
func opened(t tb, log *memory.Log) int {
	t.Helper()
	history, err := log.Read(context.Background(), events.RegistryOpenedSubject())
	if err != nil || len(history) != 1 {
		t.Fatal("the registry was opened so often:", len(history), err)
	}
	return history[0].Fact.(events.RegistryOpened).Collectors
}

// followed folds the whole log like a part that follows it.
func followed(t tb, log eventlog.Log) map[events.CollectorName]job.Standing {
	t.Helper()
	var reader events.Reader
	out := map[events.CollectorName]job.Standing{}
	err := upToHead(context.Background(), log, func(m events.Stored) error {
		e, litter, err := reader.Understand(m)
		if family := m.Subject.Family(); err == nil && litter == "" && (family == "registry" || family == "collector") {
			name := events.CollectorName(m.Subject.Last())
			out[name] = job.Stand(out[name], e.Fact, e.Time)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func registered(name events.CollectorName) events.CollectorRegistered {
	return events.CollectorRegistered{Name: name, Target: "here", NKey: "KEY-" + string(name)}
}

func TestTheRegistryOfANewLogIsOpenedOnce(t *testing.T) {
	log := memory.New(memory.Config{})
	for range 3 {
		if err := openRegistry(log); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened(t, log); n != 0 || last(t, log) != 1 {
		t.Errorf("%d copies, %d events", n, last(t, log))
	}
}

func TestWhatStandsOnAnEarlierLogIsCopiedWithTheOpening(t *testing.T) {
	log := memory.New(memory.Config{})
	said(
		t, log, registered("a"), events.LaneAssigned{Lane: events.Lane{Target: "here"}, Name: "a"},
		events.CollectorOnline{Name: "a", Instance: "i1"},
		events.CollectorRegistered{Name: "b", Target: "here", Standby: true}, events.CollectorQuarantined{Name: "b", Reason: "3 jobs failed"},
		events.CollectorActivated{Name: "nobody"},
		// What a collector writes about itself gives it neither another lane nor another key.
		events.CollectorRegistered{Name: "a", Target: "there", NKey: "STOLEN"},
	)
	log.Put(events.Stored{Subject: events.CollectorSubject("a")})
	if err := openRegistry(log); err != nil {
		t.Fatal(err)
	}
	if n := opened(t, log); n != 2 {
		t.Errorf("%d were copied, want those that were registered", n)
	}
	c := &Control{Log: log, Clock: time.Now}
	if s := standing(t, c, "a"); !s.Takes() || !s.Online || s.Registered.NKey != "KEY-a" || s.Registered.Target != "here" {
		t.Errorf("%+v", s)
	}
	if s := standing(t, c, "b"); s.Takes() || s.Reason != "3 jobs failed" || s.Since.IsZero() || s.KeySince.IsZero() {
		t.Errorf("%+v", s)
	}
	// From here on a collector's word about its standing does not count.
	said(t, log, events.CollectorActivated{Name: "b"}, events.CollectorActivated{Name: "nobody"})
	if s, f := standing(t, c, "b"), followed(t, log)["b"]; s.Takes() || f.Takes() {
		t.Errorf("it let itself in: %+v, %+v", s, f)
	}
	for _, do := range []func() (Answer, error){
		func() (Answer, error) { return c.ActivateCollector(t.Context(), by, "b") },
		func() (Answer, error) { return c.DeactivateCollector(t.Context(), by, "a", Deactivation{Now: true}) },
		func() (Answer, error) { return c.RotateKey(t.Context(), by, "a", newKey(t), "") },
	} {
		if answer, err := do(); err != nil || answer.Existed {
			t.Errorf("%+v %v", answer, err)
		}
	}
	if err := openRegistry(log); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(followed(t, log)["a"], standing(t, c, "a")); diff != "" {
		t.Errorf("who follows and who reads differ (-follows +reads):\n%s", diff)
	}
}

// earlierFact draws a fact about a collector that an earlier version could write.
func earlierFact(names []events.CollectorName) *rapid.Generator[events.Fact] {
	return rapid.Custom(func(t *rapid.T) events.Fact {
		name := rapid.SampledFrom(names).Draw(t, "name")
		instance := rapid.SampledFrom([]string{"i1", "i2"}).Draw(t, "instance")
		switch rapid.IntRange(0, 7).Draw(t, "fact") {
		case 0:
			f := registered(name)
			f.Set = events.Set(rapid.IntRange(0, 1).Draw(t, "set"))
			return f
		case 1:
			return events.CollectorActivated{Name: name}
		case 2:
			return events.CollectorDeactivated{Name: name, Reason: "new disk", Now: rapid.Bool().Draw(t, "now")}
		case 3:
			return events.CollectorDraining{Name: name, Reason: "new kernel"}
		case 4:
			return events.CollectorQuarantined{Name: name, Reason: "3 jobs failed"}
		case 5:
			return events.CollectorOffline{Name: name, Instance: instance}
		case 6:
			return events.CollectorUpdating{Name: name, Instance: instance}
		}
		return events.CollectorOnline{Name: name, Instance: instance}
	})
}

// The opening never changes a standing, neither for a part that follows the log nor for one that reads the aggregates.
// Times are copied to the second.
func TestTheOpeningChangesTheStandingOfNobody(t *testing.T) {
	names := []events.CollectorName{"a", "b", "c"}
	toTheSecond := func(s job.Standing) job.Standing {
		s.Since, s.KeySince = s.Since.UTC().Truncate(time.Second), s.KeySince.UTC().Truncate(time.Second)
		return s
	}
	rapid.Check(t, func(rt *rapid.T) {
		log := memory.New(memory.Config{})
		said(rt, log, rapid.SliceOfN(earlierFact(names), 0, 30).Draw(rt, "said")...)
		before := followed(rt, log)
		if err := openRegistry(log); err != nil {
			rt.Fatal(err)
		}
		after := followed(rt, log)
		c := &Control{Log: log}
		for _, name := range names {
			want := toTheSecond(before[name])
			if want.Registered == nil {
				continue
			}
			read, err := c.Standing(t.Context(), name)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(want, toTheSecond(after[name])); diff != "" {
				rt.Fatalf("%s for who follows (-before +after):\n%s", name, diff)
			}
			if diff := cmp.Diff(want, toTheSecond(read)); diff != "" {
				rt.Fatalf("%s for who reads (-before +after):\n%s", name, diff)
			}
		}
	})
}

func TestSeveralProcessesOpenTheRegistryAtOnce(t *testing.T) {
	log := memory.New(memory.Config{})
	for i := range 5 {
		said(t, log, registered(events.CollectorName(fmt.Sprint("c", i))))
	}
	var all sync.WaitGroup
	ended := make(chan error, 8)
	for range cap(ended) {
		all.Go(func() { ended <- openRegistry(log) })
	}
	all.Wait()
	close(ended)
	for err := range ended {
		if err != nil {
			t.Error(err)
		}
	}
	if n := opened(t, log); n != 5 || last(t, log) != 11 {
		t.Errorf("%d copies, %d events", n, last(t, log))
	}
}

// dying is a log whose process dies at an append: before the append is stored, or right after.
type dying struct {
	*memory.Log
	at     int
	stored bool
}

var errDied = errors.New("killed")

func (l *dying) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if l.at--; l.at != 0 {
		return l.Log.Append(ctx, parts...)
	}
	if l.stored {
		if _, err := l.Log.Append(ctx, parts...); err != nil {
			return 0, err
		}
	}
	return 0, errDied
}

// A large farm is copied in three appends. A process that dies between two of them leaves a registry that is not open;
// the next start copies the rest. What a collector writes in between changes nothing.
func TestAnOpeningThatWasKilledIsMendedByTheNextStart(t *testing.T) {
	const collectors = 2*eventlog.MaxBatch + 3
	for at := 1; at <= 3; at++ {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("append %d, stored %v", at, stored), func(t *testing.T) {
				log := memory.New(memory.Config{})
				for i := range collectors {
					name := events.CollectorName(fmt.Sprintf("c%05d", i))
					said(t, log, registered(name), events.CollectorQuarantined{Name: name, Reason: "3 jobs failed"})
				}
				if err := openRegistry(&dying{Log: log, at: at, stored: stored}); !errors.Is(err, errDied) {
					t.Fatal(err)
				}
				copied := at > 1 || stored
				said(t, log, events.CollectorActivated{Name: "c00000"})
				for range 2 {
					if err := openRegistry(log); err != nil {
						t.Fatal(err)
					}
				}
				if n := opened(t, log); n != collectors || last(t, log) != events.Seq(3*collectors+2) {
					t.Errorf("%d copies, %d events", n, last(t, log))
				}
				follows, reads := followed(t, log)["c00000"], standing(t, &Control{Log: log}, "c00000")
				if follows.Takes() == copied || reads.Takes() == copied {
					t.Errorf("who follows takes it for %+v, who reads for %+v", follows, reads)
				}
			})
		}
	}
}

// Unreadable events come without a fact.
func TestDefinitionsThatCannotBeReadAreNoCrash(t *testing.T) {
	c, log := start(t)
	history, err := log.Read(t.Context(), events.SuiteSubject("small"))
	if err != nil {
		t.Fatal(err)
	}
	broken, err := events.Encode(history[0].Event)
	if err != nil {
		t.Fatal(err)
	}
	broken.Data = []byte("{")
	log.Put(broken)
	if d, err := c.Definitions(t.Context(), "small", ""); err != nil || d.Digest() != definitions().Digest() {
		t.Errorf("%s, %v; want those before it", d.Digest(), err)
	}
	if answer, err := c.Publish(t.Context(), by, definitions()); err != nil || !answer.Existed {
		t.Errorf("%+v %v", answer, err)
	}
}
