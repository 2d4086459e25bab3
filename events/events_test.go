package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var write = flag.Bool("write-golden", false, "write golden files that do not exist yet; existing ones are never changed")

// golden is the content of a file in testdata: the event as it is stored.
type golden struct {
	Subject Subject           `json:"subject"`
	Header  map[string]string `json:"header"`
	Data    json.RawMessage   `json:"data"`
}

func TestEveryTypeHasAGoldenFileThatIsStillUnderstood(t *testing.T) {
	examples := map[string]Fact{}
	for _, f := range exampleFacts() {
		examples[TypeOf(f)] = f
	}
	old := movedFacts()
	maps.Copy(examples, old)
	maps.Copy(examples, grownFacts())
	for _, name := range Types() {
		if examples[name] == nil {
			t.Errorf("exampleFacts has no %s", name)
		}
	}
	for name := range examples {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".json")
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && *write {
				writeGolden(t, path, examples[name])
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v: run go test ./events -write-golden once for a new type", err)
			}
			var g golden
			if err := json.Unmarshal(raw, &g); err != nil {
				t.Fatal(err)
			}
			var data bytes.Buffer
			if err := json.Compact(&data, g.Data); err != nil {
				t.Fatal(err)
			}
			got, err := Decode(Stored{Seq: 7, Subject: g.Subject, Header: g.Header, Data: data.Bytes()})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(examples[name], got.Fact); diff != "" {
				t.Errorf("the stored event means something else now (-want +got):\n%s", diff)
			}
			if _, moved := old[name]; moved {
				return // this version is read, but never written again
			}
			again, err := Encode(got.Event)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(data.String(), string(again.Data)); diff != "" {
				t.Errorf("written differently now (-file +now):\n%s", diff)
			}
			if diff := cmp.Diff(g.Header, again.Header); diff != "" {
				t.Errorf("envelope (-file +now):\n%s", diff)
			}
			if again.Subject != g.Subject {
				t.Errorf("subject %q, stored as %q", again.Subject, g.Subject)
			}
		})
	}
}

func writeGolden(t *testing.T, path string, f Fact) {
	t.Helper()
	s, err := Encode(exampleEvent(f))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.MarshalIndent(golden{Subject: s.Subject, Header: s.Header, Data: s.Data}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func exampleEvent(f Fact) Event {
	return Event{
		ID: "01890a5d-ac96-774b-bcce-b302099a8057", Time: time.Date(2026, 11, 21, 9, 30, 0, 250e6, time.UTC),
		Source: "scheduler", Actor: "cli:alice", Cause: 41, Root: "command 01890a5d", Fact: f,
	}
}

func TestNoGoldenFileIsLeftOver(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if want := len(Types()) + len(grownFacts()); len(files) != want {
		t.Errorf("%d golden files, want %d: a type that was once written must stay readable", len(files), want)
	}
}

func TestAnOldVersionIsUpcast(t *testing.T) {
	type cancelledV0 struct {
		ID string `json:"id"`
	}
	r := newRegistry(
		is[RequestCancelled]("request.cancelled.v1"),
		was("request.cancelled.v0", func(o cancelledV0) Fact {
			return RequestCancelled{RequestID: RequestID(o.ID), Reason: "not recorded"}
		}),
	)
	got, err := r.decode("request.cancelled.v0", []byte(`{"id":"r1"}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Fact(RequestCancelled{RequestID: "r1", Reason: "not recorded"}), got); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownTypeIsAnErrorAndUnknownFieldsAreNot(t *testing.T) {
	s, err := Encode(exampleEvent(RequestCancelled{RequestID: "r1"}))
	if err != nil {
		t.Fatal(err)
	}
	s.Data = []byte(`{"request_id":"r1","later":true}`)
	if _, err := Decode(s); err != nil {
		t.Errorf("a field of a later program: %v", err)
	}
	s.Header[HeaderType] = TypePrefix + "request.vanished.v9"
	if _, err := Decode(s); !errors.Is(err, ErrUnknownType) {
		t.Errorf("got %v, want ErrUnknownType", err)
	}
}

func TestAnEventWithoutEnvelopeIsNotEncoded(t *testing.T) {
	for name, e := range map[string]Event{
		"id":    {Time: time.Unix(1, 0), Actor: "a", Fact: RequestCancelled{}},
		"time":  {ID: "1", Actor: "a", Fact: RequestCancelled{}},
		"actor": {ID: "1", Time: time.Unix(1, 0), Fact: RequestCancelled{}},
		"fact":  {ID: "1", Time: time.Unix(1, 0), Actor: "a"},
	} {
		if _, err := Encode(e); err == nil {
			t.Errorf("an event without %s was encoded", name)
		}
	}
}

func TestIDsDependOnEveryPartOfTheIdentity(t *testing.T) {
	lane := Lane{Target: "t", Set: 1}
	a := Artifact{Suite: "go", Tag: "x", Kind: Master}
	ids := map[JobID]bool{
		NewJobID(a, "compile", lane, "gc", "opt", nil, nil):                                 true,
		NewJobID(Artifact{Suite: "go", Tag: "y"}, "compile", lane, "gc", "opt", nil, nil):   true,
		NewJobID(Artifact{Suite: "rust", Tag: "x"}, "compile", lane, "gc", "opt", nil, nil): true,
		NewJobID(a, "runtime", lane, "gc", "opt", nil, nil):                                 true,
		NewJobID(a, "compile", Lane{Target: "t", Set: 2}, "gc", "opt", nil, nil):            true,
		NewJobID(a, "compile", Lane{Target: "u", Set: 1}, "gc", "opt", nil, nil):            true,
		NewJobID(a, "compile", lane, "llvm", "opt", nil, nil):                               true,
		NewJobID(a, "compile", lane, "gc", "debug", nil, nil):                               true,
		NewJobID(a, "compile", lane, "gc", "opt", nil, []string{"stable"}):                  true,
		NewJobID(a, "compile", lane, "gc", "opt", []string{"hello*"}, nil):                  true,
	}
	if len(ids) != 10 {
		t.Errorf("%d different ids of 10 identities", len(ids))
	}
	round := JobSpec{ID: NewJobID(a, "compile", lane, "gc", "opt", nil, nil), Artifact: a, Kind: "compile", Target: "t", Set: 1, Backend: "gc", Profile: "opt"}
	var before []JobID
	for n := range 4 {
		if diff := cmp.Diff(before, round.Earlier()); diff != "" || round.Round != n {
			t.Errorf("round %d, want %d; before it (-want +got):\n%s", round.Round, n, diff)
		}
		before = append(before, round.ID)
		if round = round.Again(); ids[round.ID] {
			t.Errorf("round %d has the id of another job", round.Round)
		}
		ids[round.ID] = true
	}
	if NewRequestID("go", Master, "ab") == NewRequestID("go", Try, "ab") {
		t.Error("a master and a try request share an id")
	}
}

func TestSubjectsAreLiteralTokens(t *testing.T) {
	for _, f := range exampleFacts() {
		s := string(f.Subject())
		if !strings.HasPrefix(s, SubjectPrefix) || strings.ContainsAny(s, "*> \t") || strings.Contains(s, "..") {
			t.Errorf("%s: subject %q", TypeOf(f), s)
		}
		if Subject(s).Family() == "" {
			t.Errorf("%s: no family in %q", TypeOf(f), s)
		}
	}
}

func TestCheckTokenKeepsSubjectsLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		if CheckToken("target", s) == nil && strings.ContainsAny(s, ".*> \t\r\n") {
			t.Fatalf("%q passes", s)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, fact := range exampleFacts() {
		s, err := Encode(exampleEvent(fact))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.Header[HeaderType], s.Header[HeaderTime], s.Header[HeaderCause], s.Data)
	}
	f.Fuzz(func(t *testing.T, typ, at, cause string, data []byte) {
		got, err := Decode(Stored{Seq: 1, Data: data, Header: map[string]string{
			HeaderID: "1", HeaderActor: "a", HeaderType: typ, HeaderTime: at, HeaderCause: cause,
		}})
		if err != nil {
			return
		}
		if got.Fact == nil {
			t.Fatal("decoded nothing without an error")
		}
		if !got.Time.IsZero() {
			if _, err := Encode(got.Event); err != nil && !strings.Contains(err.Error(), "RawMessage") {
				t.Fatalf("what was read cannot be written: %v", err)
			}
		}
	})
}

// The marker must be the last line of a comment. A comment that only quotes the line has no marker.
func TestTheMarkerEndsAComment(t *testing.T) {
	key := ReportKey("r1")
	for body, want := range map[string]OutboxKey{
		"slower\n\n" + key.Marker():                  key,
		"slower\r\n\r\n" + key.Marker() + "\r\n\r\n": key,
		key.Marker():                     key,
		"> " + key.Marker():              "",
		key.Marker() + "\nwhat is this?": "",
		"slower " + key.Marker():         "",
		"<!-- tacho: -->":                "",
		"<!-- tacho:x":                   "",
		"":                               "",
	} {
		if got, ok := MarkerOf(body); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", body, got, ok, want)
		}
	}
}
