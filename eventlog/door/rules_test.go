package door

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

var (
	ownLane, otherLane = events.Lane{Target: "linux", Set: 1}, events.Lane{Target: "linux", Set: 2}
	noon               = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

func specOn(lane events.Lane, id events.JobID) events.JobSpec {
	return events.JobSpec{ID: id, Artifact: events.Artifact{Suite: "go", Tag: "x", Kind: events.Master}, Target: lane.Target, Set: lane.Set, Definitions: "d", RequestID: "r1"}
}

// viewOf is a lane on which the job of place 2 waits, or runs with the token 20.
func viewOf(running bool) view {
	v := view{at: 100}
	v.standing = job.Standing{Registered: &events.CollectorRegistered{Name: "eider", Target: ownLane.Target, Set: ownLane.Set}, Active: true}
	v.lane.assignment.Serving = "eider"
	v.lane.dispatched = listed(map[uint64]ledger.Dispatch{2: {Seq: 10, Job: specOn(ownLane, "j2")}})
	v.lane.work = job.Lane{Place: 1, Phase: job.Ended, JobID: "j1", Collector: "eider", Token: 5, Attempt: 1}
	v.lane.version = 9
	if running {
		v.lane.work = job.Lane{Place: 2, Phase: job.Current, JobID: "j2", Job: specOn(ownLane, "j2"), Collector: "eider", Instance: "1", Token: 20, Attempt: 1, StartedAt: noon}
		v.lane.begun, v.lane.version = noon, 20
	}
	return v
}

// A collector may write about itself and about the attempt in hand on its own lane, and nothing else, in any
// combination.
func TestWhatMayBeSaidIsItsOwn(t *testing.T) {
	names := rapid.SampledFrom([]events.CollectorName{"eider", "eider", "teal"})
	lanes := rapid.SampledFrom([]events.Lane{ownLane, ownLane, otherLane})
	jobs := rapid.SampledFrom([]events.JobID{"j2", "j2", "j1", "j3"})
	allowed := 0
	rapid.Check(t, func(t *rapid.T) {
		v := viewOf(rapid.Bool().Draw(t, "running"))
		fact := func() events.Fact {
			lane, name, id := lanes.Draw(t, "lane"), names.Draw(t, "name"), jobs.Draw(t, "job")
			place, token, attempt := rapid.Uint64Range(1, 3).Draw(t, "place"), events.Seq(rapid.SampledFrom([]uint64{0, 5, 20}).Draw(t, "token")), rapid.IntRange(0, 2).Draw(t, "attempt")
			switch rapid.IntRange(0, 12).Draw(t, "fact") {
			case 0:
				return events.CollectorOnline{Name: name}
			case 1:
				return events.CollectorOffline{Name: name}
			case 2:
				return events.JobDequeued{Lane: lane, Place: place, Job: specOn(lane, id), Collector: name, Instance: "2", Attempt: attempt}
			case 3:
				outcome := rapid.SampledFrom([]events.Outcome{events.Success, events.Failure, events.Cancelled}).Draw(t, "outcome")
				return events.JobFinished{Lane: lane, Place: place, JobID: id, RequestID: "r1", Collector: name, Token: token, Attempt: attempt, Outcome: outcome}
			case 4:
				return events.AttemptLost{Lane: lane, Place: place, JobID: id, Collector: name, Token: token, Attempt: attempt, Lost: 1}
			case 5:
				return events.AttemptReleased{Lane: lane, Place: place, JobID: id, Collector: name, Token: token, Attempt: attempt}
			case 6:
				return events.AttemptBegan{Lane: lane, JobID: id, Collector: name, Attempt: attempt}
			case 7:
				return events.TestCasesMeasured{Lane: lane, JobID: id, Collector: name, Token: token, Attempt: attempt, Artifact: specOn(lane, id).Artifact, Definitions: "d"}
			case 8:
				return events.CollectorActivated{Name: name}
			case 9:
				return events.JobDispatched{Place: place, Job: specOn(lane, id)}
			case 10:
				return events.RequestCancelled{RequestID: "r1"}
			case 11:
				return events.ResultsClosed{Lane: lane, JobID: id, Attempt: attempt, Token: token}
			}
			return events.LaneAssigned{Lane: lane, Name: name}
		}
		var parts []eventlog.Append
		for range rapid.IntRange(1, 4).Draw(t, "events") {
			f := fact()
			parts = append(parts, eventlog.Append{Subject: f.Subject(), Expected: v.lane.version, Events: []events.Event{{Fact: f, Time: noon}}})
		}
		if check("eider", v, parts, noon) != nil {
			return
		}
		allowed++
		begun, held := v.lane.work.Phase == job.Current, v.lane.work.Phase == job.Current
		for _, p := range parts {
			switch p.Subject {
			case events.CollectorSubject("eider"), events.WorkSubject(ownLane), events.ResultSubject(ownLane, "j2"):
			default:
				t.Fatalf("may append to %s", p.Subject)
			}
			// The others are not about an attempt.
			//exhaustive:ignore
			switch f := p.Events[0].Fact.(type) {
			case events.JobDequeued:
				if begun || f.Place != 2 || f.Attempt != 1 && !held {
					t.Fatalf("may begin %+v", f)
				}
				begun = true
			case events.JobFinished:
				if !begun || f.Outcome == events.Cancelled {
					t.Fatalf("may end %+v", f)
				}
				begun = false
			case events.AttemptLost, events.AttemptReleased:
				begun = false
			case events.ResultsClosed:
				if !held || begun && f.Attempt == v.lane.work.Attempt+1 || f.Token != 20 || f.JobID != "j2" {
					t.Fatalf("may close %+v", f)
				}
			case events.TestCasesMeasured:
				if !held || f.Token != 20 {
					t.Fatalf("may report %+v", f)
				}
			}
		}
	})
	if allowed == 0 {
		t.Fatal("nothing was allowed: the test says nothing")
	}
}

func FuzzRequest(f *testing.F) {
	for _, running := range []bool{true, false} {
		for _, body := range []string{
			`{"v":1,"parts":[{"subject":"tacho.ev.collector.eider","expected":0,"events":[{"id":"01890a5d-ac96-774b-bcce-b302099a8057","type":"collector.online.v1","time":"2026-11-22T12:00:00Z","data":{"name":"eider"}}]}]}`,
			`{"v":1,"parts":[{"subject":"tacho.ev.work.linux.1","expected":20,"events":[{"id":"01890a5d-ac96-774b-bcce-b302099a8057","type":"job.finished.v1","time":"2026-11-22T12:00:00Z","data":{"lane":{"target":"linux","set":1},"place":2,"job_id":"j2","request_id":"r1","collector":"eider","token":20,"attempt":1,"outcome":"success"}}]}]}`,
			`{"v":1,"parts":[{"events":[{"data":null}]}]}`, `{}`, `[]`, `null`, `{"v":1,"beat":{},"output":{}}`,
		} {
			f.Add([]byte(body), running)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, running bool) {
		var req request
		if unmarshal(verbAppend, data, &req) != nil {
			return
		}
		parts, why := understand("eider", req.Parts, noon)
		if why != nil || check("eider", viewOf(running), parts, noon) != nil {
			return
		}
		for _, p := range parts {
			if !p.Subject.Foreign() {
				t.Fatalf("may append to %s", p.Subject)
			}
			for _, e := range p.Events {
				if e.Actor != "collector:eider" || e.Source != "collector" || e.Fact.Subject() != p.Subject || e.Time.Sub(noon).Abs() > clockBehind {
					t.Fatalf("may append %+v", e)
				}
			}
		}
	})
}

func FuzzConnections(f *testing.F) {
	f.Add([]byte(`{"server":{"id":"A"},"data":{"connections":[{"cid":1,"account":"eider","authorized_user":"U","in_msgs":1,"in_bytes":2}]}}`))
	f.Add([]byte(`{"data":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if found, err := readConnections(data); err != nil && found != nil {
			t.Fatal("connections beside an error")
		}
	})
}

func FuzzSender(f *testing.F) {
	f.Add(`{"acc":"eider"}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, text string) {
		var want struct {
			Account events.CollectorName `json:"acc"`
		}
		if json.Unmarshal([]byte(text), &want) != nil {
			want.Account = ""
		}
		// A forged header comes before the server's.
		if got := senderOf([]string{`{"acc":"forged"}`, text}); got != want.Account {
			t.Fatalf("%q is said by %q", text, got)
		}
	})
}
