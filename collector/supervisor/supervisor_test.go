package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
)

func TestTheOwnProgramRunsWhileNothingElseIsWanted(t *testing.T) {
	s := newSite(t)
	s.start()
	s.awaitJournal("started v1", 1)
	s.end()
	s.awaitJournal("stopped v1", 1)
	if got := s.journal("started"); !cmp.Equal(got, []string{"started v1 {}"}) {
		t.Errorf("got %q", got)
	}
}

func TestACrashedCollectorIsStartedAgain(t *testing.T) {
	s := newSite(t)
	s.write("plan/exit-v1", "1")
	s.start()
	s.awaitJournal("started v1", 4)
	s.end()
	if !strings.Contains(s.output.String(), "last=leaving") {
		t.Errorf("its last line is not told:\n%s", s.output.String())
	}
}

func TestTheWantedVersionStartsWhenTheCollectorLeaves(t *testing.T) {
	s := newSite(t)
	s.config.Source = shelf{"v2": programText("v2"), "v3": programText("v3"), "v4": programText("v4")}
	s.start()
	s.awaitJournal("started v1", 1)
	for _, v := range []string{"v2", "v3", "v4"} {
		before := strings.Fields(s.journal("started")[len(s.journal("started"))-1])[1]
		s.want(v)
		s.write("plan/leave-"+before, "")
		s.awaitJournal("started "+v, 1)
	}
	s.end()
	if diff := cmp.Diff([]string{"current", "v3", "v4"}, s.versions()); diff != "" {
		t.Errorf("the version that runs and the one before are kept (-want +got):\n%s", diff)
	}
	// The next start continues with it, without a source.
	s.config.Source = nil
	s.start()
	s.awaitJournal("started v4", 2)
	s.end()
}

func TestAVersionChangesOnlyWhenTheCollectorLeaves(t *testing.T) {
	s := newSite(t)
	s.config.Source = shelf{"v2": programText("v2")}
	s.want("v2")
	s.write("plan/exit-v1", "1")
	s.start()
	s.awaitJournal("started v1", 3)
	s.end()
	if got := s.journal("started v2"); len(got) > 0 {
		t.Errorf("v1 crashed, perhaps inside a request, and %q", got)
	}
}

func TestTheOwnProgramIsUsedWhenItIsTheWantedOne(t *testing.T) {
	s := newSite(t)
	s.config.Source = shelf{"v2": programText("v2")}
	s.start()
	s.awaitJournal("started v1", 1)
	s.want("v2")
	s.write("plan/leave-v1", "")
	s.awaitJournal("started v2", 1)
	s.want("v1")
	s.write("plan/leave-v2", "")
	s.awaitJournal("started v1", 2)
	s.end()
	if s.read("versions/current") != "v1\n" {
		t.Errorf("current is %q", s.read("versions/current"))
	}
}

func TestTheOldVersionGoesOnWhenTheWantedOneCannotBeHad(t *testing.T) {
	for what, c := range map[string]struct {
		source Source
		want   string
	}{
		"not there":              {shelf{}, "there is no version v2 on the shelf"},
		"another version":        {shelf{"v2": programText("v3")}, "the program says that it is version v3"},
		"no program":             {shelf{"v2": "#!/bin/sh\necho broken; exit 1\n"}, "broken"},
		"not a program":          {shelf{"v2": "\x7fELF"}, "exec format error"},
		"a program that is mute": {shelf{"v2": "#!/bin/sh\n"}, "read what it says"},
		"no source":              {nil, "no source of versions was named"},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			s.config.Source = c.source
			s.want("v2")
			s.write("plan/exit-v1", "75")
			s.start()
			s.awaitJournal("started v1", 2)
			s.end()
			_, told, _ := strings.Cut(s.journal("started v1")[1], "v1 ")
			var o Orders
			if err := json.Unmarshal([]byte(told), &o); err != nil {
				t.Fatal(err)
			}
			if o.Hold != "v2" || !strings.Contains(o.Failed, c.want) || !strings.Contains(o.Failed, "version v2 cannot be had") {
				t.Errorf("got %+v", o)
			}
			if away := time.Until(o.Until); away < 20*time.Minute || away > 2*time.Hour {
				t.Errorf("it is to hold for %s", away)
			}
			if len(s.journal("started v1")) != 2 {
				t.Errorf("it left again:\n%s", s.read("plan/journal"))
			}
		})
	}
}

func TestAVersionThatCouldNotBeHadIsTriedAgain(t *testing.T) {
	s := newSite(t)
	stock := shelf{}
	s.config.Source = stock
	s.config.Pauses.Update = time.Millisecond
	s.want("v2")
	s.write("plan/exit-v1", "75")
	s.start()
	s.awaitJournal("started v1", 2)
	s.end()
	stock["v2"] = programText("v2")
	s.start()
	s.awaitJournal("started v2", 1)
	s.end()
}

func TestACollectorThatIsOutWaitsForItsActivation(t *testing.T) {
	for what, leave := range map[string]func(*control.Control) error{
		"drained": func(c *control.Control) error {
			_, err := c.DrainCollector(t.Context(), by, name, "reboot")
			return err
		},
		"deactivated": func(c *control.Control) error {
			_, err := c.DeactivateCollector(t.Context(), by, name, control.Deactivation{Reason: "reboot"})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			s.write("plan/exit-v1", "0")
			if err := leave(s.control); err != nil {
				t.Fatal(err)
			}
			s.start()
			s.eventually("it waits", func() bool {
				return strings.Contains(s.output.String(), "it was "+what+" (reboot): let it run again with `tacho collector activate eider-1`")
			})
			if got := s.journal("started"); len(got) > 0 {
				t.Errorf("got %q", got)
			}
			if _, err := s.control.ActivateCollector(t.Context(), by, name); err != nil {
				t.Fatal(err)
			}
			s.awaitJournal("started v1", 1)
			s.end()
		})
	}
}

func TestARemovedCollectorIsNeverStarted(t *testing.T) {
	s := newSite(t)
	s.write("plan/exit-v1", "0")
	if _, err := s.control.RemoveCollector(t.Context(), by, name, "sold"); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.eventually("it says so", func() bool {
		return strings.Contains(s.output.String(), "it was removed: register this machine under another name with `tacho collector add`")
	})
	s.end()
	if got := s.journal("started"); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestALogThatIsAwayIsWaitedFor(t *testing.T) {
	s := newSite(t)
	tries := 0
	s.config.Open = func(context.Context) (eventlog.Aggregates, func(), error) {
		if tries++; tries < 5 {
			return nil, nil, errors.New("NATS does not answer")
		}
		return s.log, func() {}, nil
	}
	s.start()
	s.awaitJournal("started v1", 1)
	s.end()
}

func TestOrdersAreReadAsTheyWereTold(t *testing.T) {
	for text, want := range map[string]*Orders{
		"": nil, "{}": {}, `{"hold":"v2","until":"2026-11-21T09:00:00Z","failed":"why"}`: {
			Hold: "v2", Until: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Failed: "why",
		},
	} {
		got, err := ReadOrders(text)
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if _, err := ReadOrders("yes"); err == nil || !strings.Contains(err.Error(), Variable) {
		t.Errorf("got %v", err)
	}
}

// A supervisor without a directory runs only its own program. It starts it again whatever its exit code, and the collector
// does not know that it is supervised.
func TestWithoutADirectoryTheVersionStays(t *testing.T) {
	s := newSite(t)
	s.config.Dir = ""
	s.config.Environ = append(s.config.Environ, Variable+"={}")
	s.config.Source = shelf{"v2": programText("v2")}
	s.want("v2")
	s.start()
	s.awaitJournal("started v1", 1)
	s.write("plan/leave-v1", "") // it ends with 75
	s.awaitJournal("started v1", 2)
	if _, err := s.control.DrainCollector(t.Context(), by, name, "kernel"); err != nil {
		t.Fatal(err)
	}
	s.write("plan/leave-v1", "")
	s.eventually("it says that the collector was drained", func() bool { return strings.Contains(s.output.String(), "it was drained (kernel)") })
	if _, err := s.control.ActivateCollector(t.Context(), by, name); err != nil {
		t.Fatal(err)
	}
	s.awaitJournal("started v1", 3)
	s.end()
	if got := s.journal("started"); !cmp.Equal(got, []string{"started v1", "started v1", "started v1"}) {
		t.Errorf("got %q", got)
	}
}
