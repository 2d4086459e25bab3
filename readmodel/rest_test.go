package readmodel

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

func TestWhenTheJobsOfARequestEnd(t *testing.T) {
	began := whyNoon.Add(-20 * time.Second)
	running := Job{ID: "j0", Target: "linux", State: events.JobInProgress, DequeuedAt: &began, Share: &JobShare{ExpectMS: 60_000}}
	matched := func(id events.JobID, terms ...string) Job {
		return Job{ID: id, State: events.JobQueued, Matched: true, Requires: terms}
	}
	static := func(id events.JobID, set events.Set) Job {
		return Job{ID: id, State: events.JobQueued, Target: "linux", Set: set}
	}
	optional, ended := matched("j7", "exclusive"), Job{ID: "j8", State: events.JobSuccess}
	optional.Optional = true
	e := rest{now: whyNoon}
	last := e.last([]Job{running, static("j1", 0), static("j2", 0), static("j3", 1), matched("j4", "cpus=2"), matched("j5", "cpus=2"), matched("j6"), optional, ended})
	want := map[string]events.JobID{"linux/0": "j2", "linux/1": "j3", "any cpus=2": "j5", "any ": "j6"}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
	minute := []whyLength{{60_000}}
	behind := waitingJob()
	behind.lengths, behind.leaves[0].Before, behind.leaves[0].Waiting = minute, 3, 4
	first := waitingJob()
	first.lengths = minute
	for _, tc := range []struct {
		name string
		rows []whyRows
		rest *RequestRest
	}{
		{"one runs", nil, &RequestRest{true, 20_000, 80_000, "its jobs end in about 20 s to 1 min 20 s"}},
		{"the last one counts", []whyRows{first, behind}, &RequestRest{true, 120_000, 480_000, "its jobs end in about 2 min to 8 min"}},
		{"nothing like it has ended", []whyRows{behind, waitingJob()}, &RequestRest{Words: "when its jobs end is not known: no job like job j1 has ended yet"}},
		{"paused", []whyRows{behind, func() whyRows {
			r := waitingJob()
			r.lengths, r.queues = minute, []NamedQueue{{Name: "alice", Paused: true}}
			return r
		}()}, &RequestRest{Words: "when its jobs end is not known: of job j1, queue alice is paused"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ends := e
			for _, rows := range tc.rows {
				ends.wait(rows)
			}
			if diff := cmp.Diff(tc.rest, ends.said()); diff != "" {
				t.Error(diff)
			}
		})
	}
	unshared := running
	unshared.Share = nil
	e = rest{now: whyNoon}
	e.last([]Job{unshared})
	if said := e.said(); said.Known || said.Words != "when its jobs end is not known: how long job j0 takes is not known" {
		t.Errorf("%+v", said)
	}
	if said := (&rest{}).said(); said != nil {
		t.Errorf("%+v", said)
	}
}
