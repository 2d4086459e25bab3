package events

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// storedAs returns the fact as it is stored at a sequence, on a subject.
func storedAs(t testing.TB, seq Seq, subject Subject, f Fact) Stored {
	t.Helper()
	s, err := Encode(exampleEvent(f))
	if err != nil {
		t.Fatal(err)
	}
	s.Seq, s.Subject, s.StoredAt = seq, subject, exampleEvent(f).Time
	return s
}

// goldenAt returns the event of a golden file at a sequence.
func goldenAt(t *testing.T, seq Seq, name string) Stored {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	return Stored{Seq: seq, Subject: g.Subject, Header: g.Header, Data: g.Data}
}

func TestWhatCollectorsWriteStopsNobody(t *testing.T) {
	unknown := map[string]string{HeaderType: TypePrefix + "nonsense.v1", HeaderTime: "2026-11-22T00:00:00Z", HeaderCause: "0"}
	for name, s := range map[string]Stored{
		"an empty message":               {Subject: WorkSubject(Lane{Target: "x"})},
		"a type that nobody knows":       {Subject: CollectorSubject("a"), Header: unknown},
		"the same among results":         {Subject: ResultSubject(Lane{Target: "x"}, "j1"), Header: unknown},
		"data that is no JSON":           {Subject: CollectorSubject("eider-1"), Header: storedAs(t, 1, "", exampleFacts()[0]).Header, Data: []byte("{")},
		"a request where work belongs":   storedAs(t, 1, WorkSubject(Lane{Target: "x"}), RequestCancelled{RequestID: "r1"}),
		"a registration of its own":      storedAs(t, 1, CollectorSubject("a"), CollectorRegistered{Name: "a"}),
		"an event about another one":     storedAs(t, 1, CollectorSubject("a"), CollectorOnline{Name: "b"}),
		"the work of another lane":       storedAs(t, 1, WorkSubject(Lane{Target: "x"}), AttemptLost{Lane: Lane{Target: "y"}}),
		"a result on another job's":      storedAs(t, 1, ResultSubject(Lane{Target: "x"}, "j1"), AttemptBegan{Lane: Lane{Target: "x"}, JobID: "j2"}),
		"a removal by the removed":       storedAs(t, 1, CollectorSubject("a"), CollectorRemoved{Name: "a"}),
		"the opening of the registry":    storedAs(t, 1, CollectorSubject("a"), RegistryOpened{}),
		"a time before there were any":   {Subject: CollectorSubject("a"), Header: map[string]string{HeaderType: TypePrefix + "collector.offline.v1", HeaderTime: "0001-01-01T00:00:00Z", HeaderCause: "0"}, Data: []byte(`{"name":"a"}`)},
		"a time that cannot be read":     {Subject: CollectorSubject("a"), Header: map[string]string{HeaderType: TypePrefix + "collector.offline.v1", HeaderTime: "later", HeaderCause: "0"}, Data: []byte(`{"name":"a"}`)},
		"a cause that cannot be read":    {Subject: CollectorSubject("a"), Header: map[string]string{HeaderType: TypePrefix + "collector.offline.v1", HeaderTime: "2026-11-22T00:00:00Z", HeaderCause: "-1"}, Data: []byte(`{"name":"a"}`)},
		"types that only look like ours": {Subject: CollectorSubject("a"), Header: map[string]string{HeaderType: "dev.tacho.", HeaderTime: "2026-11-22T00:00:00Z", HeaderCause: "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, litter, err := new(Reader).Understand(s)
			if err != nil || litter == "" {
				t.Errorf("litter %q, error %v", litter, err)
			}
			s.Seq = 3
			if left, err := DecodeAll([]Stored{s}); err != nil || len(left) != 1 || left[0].Fact != nil || left[0].Seq != 3 {
				t.Errorf("read as %v, error %v", left, err)
			}
		})
	}
}

func TestATypeOfANewerCoreStopsWhoNeedsIt(t *testing.T) {
	s := storedAs(t, 1, RequestSubject("r1"), RequestCancelled{RequestID: "r1"})
	s.Header[HeaderType] = TypePrefix + "request.vanished.v9"
	if _, _, err := new(Reader).Understand(s); !errors.Is(err, ErrUnknownType) {
		t.Errorf("understood with %v", err)
	}
	if _, err := DecodeAll([]Stored{s}); !errors.Is(err, ErrUnknownType) {
		t.Errorf("read with %v", err)
	}
}

func TestACollectorsOwnWordCountsUntilTheRegistryOpens(t *testing.T) {
	for name := range movedFacts() {
		var r Reader
		if e, litter, err := r.Understand(goldenAt(t, 1, name)); litter != "" || err != nil || e.Fact == nil {
			t.Errorf("%s before: litter %q, error %v", name, litter, err)
		}
		if _, litter, err := r.Understand(storedAs(t, 2, RegistryOpenedSubject(), RegistryOpened{})); litter != "" || err != nil {
			t.Fatalf("opened: litter %q, error %v", litter, err)
		}
		for what, reader := range map[string]*Reader{"one that saw it": &r, "one that was told": ReadFrom(2)} {
			if _, litter, err := reader.Understand(goldenAt(t, 3, name)); !strings.Contains(litter, "registry") || err != nil {
				t.Errorf("%s after, by %s: litter %q, error %v", name, what, litter, err)
			}
		}
		if e, litter, err := ReadFrom(2).Understand(goldenAt(t, 1, name)); litter != "" || err != nil || e.Fact == nil {
			t.Errorf("%s before, by one that was told: litter %q, error %v", name, litter, err)
		}
		if left, err := DecodeAll([]Stored{goldenAt(t, 1, name)}); err != nil || left[0].Fact != nil {
			t.Errorf("%s is read from its old place: %v, error %v", name, left, err)
		}
	}
}

// A farm with more collectors than one append takes is copied in several appends. The last one opens the registry.
func TestACopiedCollectorHasNoMoreSay(t *testing.T) {
	copied := storedAs(t, 1, RegistrySubject("eider-1"), RegistryCopied{CollectorRegistered: CollectorRegistered{Name: "eider-1"}})
	var saw Reader
	if _, litter, err := saw.Understand(copied); litter != "" || err != nil {
		t.Fatalf("litter %q, error %v", litter, err)
	}
	for what, r := range map[string]*Reader{"one that saw the copy": &saw, "one that was told": ReadFrom(0, "eider-1")} {
		if _, litter, err := r.Understand(goldenAt(t, 2, "collector.activated.v1")); litter == "" || err != nil {
			t.Errorf("%s: the copied one: litter %q, error %v", what, litter, err)
		}
		other := goldenAt(t, 3, "collector.activated.v1")
		other.Subject, other.Data = CollectorSubject("teal-1"), []byte(`{"name":"teal-1"}`)
		if _, litter, err := r.Understand(other); litter != "" || err != nil {
			t.Errorf("%s: another one: litter %q, error %v", what, litter, err)
		}
	}
}

func TestAClockOfOthersCannotBeFarAhead(t *testing.T) {
	s := storedAs(t, 1, CollectorSubject("a"), CollectorOffline{Name: "a"})
	at := s.StoredAt
	for ahead, want := range map[time.Duration]time.Time{
		0: at, -time.Hour: at.Add(-time.Hour), clockSkew: at.Add(clockSkew), clockSkew + time.Second: at, 2_000_000 * time.Hour: at,
	} {
		s.Header[HeaderTime] = at.Add(ahead).Format(time.RFC3339Nano)
		e, litter, err := new(Reader).Understand(s)
		if err != nil || litter != "" || !e.Time.Equal(want) {
			t.Errorf("%s ahead: %s, want %s; litter %q, error %v", ahead, e.Time, want, litter, err)
		}
	}
}

func FuzzUnderstandStopsForNoCollector(f *testing.F) {
	for _, fact := range exampleFacts() {
		s := storedAs(f, 1, "", fact)
		f.Add(s.Header[HeaderType], s.Header[HeaderTime], s.Header[HeaderCause], s.Data)
	}
	f.Fuzz(func(t *testing.T, typ, at, cause string, data []byte) {
		for _, subject := range []Subject{CollectorSubject("eider-1"), WorkSubject(Lane{Target: "x"}), ResultSubject(Lane{Target: "x"}, "j1")} {
			e, litter, err := new(Reader).Understand(Stored{Seq: 1, Subject: subject, Data: data, Header: map[string]string{
				HeaderID: "1", HeaderActor: "a", HeaderType: typ, HeaderTime: at, HeaderCause: cause,
			}})
			if err != nil || litter == "" && e.Fact == nil {
				t.Fatalf("error %v, litter %q, fact %v", err, litter, e.Fact)
			}
		}
	})
}

// Tells knows the type of a stored event without decoding it, in any version.
func TestTellsDecodesNothing(t *testing.T) {
	for kind, want := range map[string]bool{
		TypePrefix + "delivery.part.v1": true, TypePrefix + "delivery.part.v2": true, TypePrefix + "delivery.parts.v1": false,
		TypePrefix + "delivery.received.v1": false, "delivery.part.v1": false, TypePrefix + "delivery": false, "": false,
	} {
		s := Stored{Header: map[string]string{HeaderType: kind}, Data: []byte("not JSON")}
		if got := Tells[DeliveryPart](s); got != want {
			t.Errorf("%q tells of a part: %v", kind, got)
		}
	}
}
