package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

var (
	answer = events.CommentWanted{Key: "answer-1", Revision: 1, Purpose: events.CommentAnswer, PR: 14, Body: "awaiting", RequestID: "r1", Temporary: true}
	report = events.CommentWanted{Key: events.ReportKey("r1"), Revision: 1, Purpose: events.CommentReport, PR: 14, Body: "slower", RequestID: "r1", AddLabels: []string{"slow"}}
	tried  = events.CommentAttempted{Key: "answer-1", Revision: 1, Attempt: 1, Instance: "i1"}
	stands = events.CommentPosted{Key: "answer-1", Revision: 1, CommentID: 5}
	folded = events.CommentMinimised{Key: "answer-1"}
	away   = events.CommentPostponed{Key: "answer-1", Revision: 1, Attempt: 1, Until: "2026-03-01T13:00:00Z"}
	never  = events.CommentRefused{Key: "answer-1", Revision: 1}

	try = []events.Fact{
		events.RequestCreated{RequestID: "r1", Kind: events.Try, Suite: "small", Tag: "b", Parent: "a", PR: 14, Key: "k", State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: "r1"},
	}
)

func TestCommentsAreOpenWhileSomethingIsLeftToDo(t *testing.T) {
	lasting, labelled := answer, answer
	lasting.Temporary, lasting.AddLabels = false, []string{"waiting"}
	labelled.AddLabels = []string{"waiting"}
	again := report
	again.Revision, again.Body = 2, "slowest"
	reported := events.CommentPosted{Key: report.Key, Revision: 1, CommentID: 6}
	for _, test := range []struct {
		name  string
		facts []events.Fact
		// open and known are keys; text is all text that is kept.
		open, known, text string
	}{
		{"wanted", []events.Fact{answer}, "[answer-1]", "[answer-1]", "awaiting"},
		{"being written", []events.Fact{answer, tried}, "[answer-1]", "[answer-1]", "awaiting"},
		{"postponed", []events.Fact{answer, tried, away}, "[answer-1]", "[answer-1]", "awaiting"},
		{"it stands, until the report does", []events.Fact{answer, tried, stands}, "[answer-1]", "[answer-1]", ""},
		{"folded away", []events.Fact{answer, tried, stands, folded}, "[]", "[]", ""},
		{"given up", []events.Fact{answer, tried, never}, "[]", "[]", ""},
		{"folded away without its labels", []events.Fact{labelled, tried, stands, folded}, "[]", "[]", ""},
		{"the labels of one that stands", []events.Fact{lasting, tried, stands}, "[answer-1]", "[answer-1]", ""},
		{"labelled", []events.Fact{lasting, tried, stands, events.LabelsSet{Key: "answer-1", Revision: 1}}, "[]", "[]", ""},
		{"a report that stands", []events.Fact{report, reported, events.LabelsSet{Key: report.Key, Revision: 1}}, "[]", "[report-r1]", ""},
		{"a new text for it", []events.Fact{report, reported, events.LabelsSet{Key: report.Key, Revision: 1}, again}, "[report-r1]", "[report-r1]", "slowest"},
		{"what nobody wanted", []events.Fact{tried, stands}, "[]", "[]", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, text := newBook().tell(test.facts...).Outbox, ""
			for _, c := range o.Comments {
				text += c.Wanted.Body
			}
			if keys(o.Open) != test.open || keys(o.Comments) != test.known || text != test.text {
				t.Errorf("open are %s of %s with %q, want %s of %s with %q", keys(o.Open), keys(o.Comments), text, test.open, test.known, test.text)
			}
		})
	}
}

// The ledger keeps of a report what its next revision needs.
func TestAReportIsKept(t *testing.T) {
	b := newBook()
	b.root = "delivery:d1"
	b.tell(report, events.CommentPosted{Key: report.Key, Revision: 1, CommentID: 6}, events.LabelsSet{Key: report.Key, Revision: 1})
	wanted := report
	wanted.Body, wanted.AddLabels = "", nil
	want := &ledger.Comment{
		Seq: 3, At: noon.Add(3 * time.Minute), Wanted: wanted, Digest: ledger.DigestOf("slower"), WantedAt: noon.Add(time.Minute), Root: "delivery:d1",
		Posted: 1, ID: 6, Labelled: 1,
	}
	if diff := cmp.Diff(want, b.Outbox.Comments[report.Key]); diff != "" {
		t.Error(diff)
	}
}

func TestAnAttemptIsKnownUntilItsOutcomeIs(t *testing.T) {
	for _, test := range []struct {
		name     string
		last     events.Fact
		instance string
		until    time.Time
	}{
		{"under way", tried, "i1", time.Time{}},
		{"postponed", away, "", noon.Add(time.Hour)},
		{"until no time", events.CommentPostponed{Key: "answer-1", Revision: 1, Until: "soon"}, "", time.Time{}},
		{"wanted anew", answer, "", time.Time{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newBook().tell(answer, tried, test.last).Outbox.Comments["answer-1"]
			if c.Instance != test.instance || !c.Until.Equal(test.until) || c.Seq != 3 || c.WantedAt != noon.Add(time.Minute) {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestWhatEndedIsUnreportedUntilItsReportIsWanted(t *testing.T) {
	done := events.RequestCompleted{RequestID: "r1"}
	old := newBook().tell(append(try, done)...)
	old.now = old.now.Add(60 * 24 * time.Hour)
	old.Seq = 995 // the ledger looks for old ones at each 997th event
	other := func(kind events.RequestKind, pr int) []events.Fact {
		return []events.Fact{
			events.RequestCreated{RequestID: "r2", Kind: kind, Suite: "small", Tag: "c", PR: pr, Key: "l", State: events.StateArtifactsReady}, events.RequestStarted{RequestID: "r2"},
		}
	}
	for _, test := range []struct {
		name  string
		book  *book
		facts []events.Fact
		want  string
	}{
		{"in progress", newBook(), try, "[]"},
		{"completed", newBook(), append(try, done), "[r1]"},
		{"failed", newBook(), append(try, events.RequestFailed{RequestID: "r1"}), "[r1]"},
		{"cancelled", newBook(), append(try, events.RequestCancelled{RequestID: "r1"}), "[]"},
		{"its report is wanted", newBook(), append(try, done, report), "[]"},
		{"it ends again", newBook(), append(try, done, report, done), "[]"},
		{"it has no pull request", newBook(), append(other(events.Master, 0), events.RequestCompleted{RequestID: "r2"}), "[]"},
		{"it is a release", newBook(), append(other(events.Release, 3), events.RequestCompleted{RequestID: "r2"}), "[]"},
		{"one of long ago is forgotten", old, append(other(events.Master, 3), events.RequestCompleted{RequestID: "r2"}), "[r2]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := keys(test.book.tell(test.facts...).Outbox.Unreported); got != test.want {
				t.Errorf("unreported are %s, want %s", got, test.want)
			}
		})
	}
}

// results stores results of a job. Their content is never read.
func (b *book) results(id events.JobID, kind string) *book {
	lane := events.Lane{Target: "x", Set: 1}
	if _, err := b.Take(events.Stored{
		Seq: b.Seq + 1, Subject: events.ResultSubject(lane, id), StoredAt: noon, Data: []byte("not JSON"), Header: map[string]string{events.HeaderType: events.TypePrefix + kind},
	}); err != nil {
		panic(err)
	}
	return b
}

func TestResultsAfterAReportAreLate(t *testing.T) {
	const measured, failed = "test_cases.measured.v1", "error.recorded.v1"
	made := func(id events.JobID, by events.RequestID, tag events.Tag) events.Fact {
		spec := events.JobSpec{ID: id, RequestID: by, Artifact: events.Artifact{Suite: "small", Tag: tag}, Target: "x", Set: 1}
		return events.JobsCreated{RequestID: by, Jobs: []events.JobSpec{spec}}
	}
	ends := func(id events.JobID, by events.RequestID) []events.Fact {
		return []events.Fact{
			made(id, by, "z"),
			events.JobDispatched{Place: 1, Job: events.JobSpec{ID: id, RequestID: by, Target: "x", Set: 1}},
			events.JobFinished{Lane: events.Lane{Target: "x", Set: 1}, Place: 1, JobID: id, RequestID: "r1", Outcome: events.Failure},
		}
	}
	reported := func() *book { return newBook().tell(append(try, events.RequestCompleted{RequestID: "r1"}, report)...) }
	anew := report
	anew.Revision = 2
	for _, test := range []struct {
		name string
		book *book
		want string
	}{
		{"of the artifact", reported().tell(made("j1", "r1", "b")).results("j1", measured), "[r1]"},
		{"of the parent, for another request", reported().tell(made("j1", "r0", "a")).results("j1", measured), "[r1]"},
		{"of something else", reported().tell(made("j1", "r0", "c")).results("j1", measured), "[]"},
		{"of a job that nobody knows", reported().results("j1", measured), "[]"},
		{"an error", reported().tell(made("j1", "r1", "b")).results("j1", failed), "[]"},
		{"before the report", newBook().tell(append(try, made("j1", "r1", "b"))...).results("j1", measured), "[]"},
		{"a repair ended", reported().tell(ends("j1", "r1")...), "[r1]"},
		{"a job of another request ended, whatever it says", reported().tell(ends("j1", "r2")...), "[]"},
		{"an end that does not count", reported().tell(ends("j1", "r1")[2]), "[]"},
		{"the report was made anew", reported().tell(made("j1", "r1", "b")).results("j1", measured).tell(anew), "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := keys(test.book.Outbox.Late); got != test.want {
				t.Errorf("late are %s, want %s", got, test.want)
			}
		})
	}
	// Results that came while the report was made are not in it.
	b := reported().tell(made("j1", "r1", "b")).results("j1", measured)
	b.Fold(events.Recorded{Seq: b.Seq + 1, Event: events.Event{Cause: b.Seq - 1, Fact: anew}})
	if got := keys(b.Outbox.Late); got != "[r1]" {
		t.Errorf("late are %s", got)
	}
}

// A ledger from a snapshot knows the same about deliveries and comments as one from the whole log.
func TestTheSectionsAreInASnapshot(t *testing.T) {
	built := handled("d0")
	built.Outcome, built.PR, built.Command = events.DeliveryIgnored, 14, events.BuiltWord+"b"
	waits := events.RequestCreated{RequestID: "r3", Kind: events.Try, Suite: "small", PR: 15, Key: "comment-9", State: events.StateWaitingForArtifacts}
	gone, late := waits, append([]events.Fact{}, try...)
	gone.RequestID = "r4"
	made := events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{{ID: "j1", RequestID: "r1", Artifact: events.Artifact{Suite: "small", Tag: "b"}, Target: "x", Set: 1}}}
	late = append(late, received("d1"), built, answer, tried, away, waits, events.CommentWanted{Key: events.QueuedKey("r3"), Revision: 1, RequestID: "r3"},
		gone, events.RequestExpired{RequestID: "r4"}, made, events.RequestCompleted{RequestID: "r1"}, report)
	for at := range late {
		whole, part := newBook(), newBook()
		whole.root, part.root = "delivery:d1", "delivery:d1"
		part.tell(late[:at]...).Ledger = restore(t, snapshot(t, part.Ledger))
		whole.tell(late...).results("j1", "test_cases.measured.v1")
		part.tell(late[at:]...).results("j1", "test_cases.measured.v1")
		if diff := cmp.Diff(string(snapshot(t, whole.Ledger)), string(snapshot(t, part.Ledger))); diff != "" {
			t.Fatalf("from a snapshot at %d: %s", at, diff)
		}
		d, o := whole.Deliveries, whole.Outbox
		if len(d.Open) == 0 || len(d.Built) == 0 || len(d.Announced) == 0 || len(d.Expired) == 0 || len(o.Open) == 0 || len(o.Late) == 0 || len(o.Reported) == 0 {
			t.Fatalf("the story leaves something out: %+v %+v", d, o)
		}
	}
}
