package farm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/waits"
)

// A simulated farm answers a thousand requests. Then each writer gets a wrong clock, and some requests a report. An observer
// that knows only when the log stored what happened says how long each stage took. The stages that the tables give are those,
// to the millisecond, and they add up. The jobs that began in time are those, too.
func TestStagesOfAThousandRequests(t *testing.T) {
	count := min(simulated, 1000)
	d := simulatedSuite()
	var stored []events.Stored
	synctest.Test(t, func(t *testing.T) {
		log := simulatedLog(t, d, count, time.Duration(count)*(3*24*time.Hour/1000), 1)
		w := &graphWorld{world: &world{t: t, log: log}}
		stored = w.stored()
	})
	clocks := newWrongClocks(t, stored)
	clocks.report()
	url := pgtest.New(t, "migrated", readmodel.Migrate)
	tables, err := readmodel.OpenPools(t.Context(), url, readmodel.Patient(5*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	feed := &slowFeed{log: clocks.log, grown: make(chan struct{})}
	feed.show(len(clocks.log))
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { done <- projector.New(projector.Config{Log: feed, URL: url}).Run(ctx) }()
	err = tables.WaitFor(t.Context(), events.Seq(len(clocks.log)))
	if err != nil {
		t.Fatal(err)
	}
	stop()
	err = <-done
	if err != nil {
		t.Fatal(err)
	}
	list, err := tables.Requests(t.Context(), readmodel.RequestFilter{Limit: 2 * count})
	if err != nil || len(list) != len(clocks.seen) {
		t.Fatalf("%d requests, %v, want %d", len(list), err, len(clocks.seen))
	}
	reported, ended, sums := 0, map[events.RequestState]int{}, waits.Stages{}
	for _, r := range list {
		got, err := tables.Stages(t.Context(), r, clocks.end)
		if err != nil {
			t.Fatal(err)
		}
		want := clocks.stages(r.ID)
		if *got != want {
			t.Fatalf("request %s, %s: stages %+v, want %+v", r.ID, r.State, *got, want)
		}
		if got.ArtifactMS+got.AdmissionMS+got.ExecutionMS+got.ReportMS != got.WholeMS {
			t.Fatalf("request %s: stages %+v do not add up", r.ID, *got)
		}
		ended[r.State]++
		if got.ReportMS > 0 {
			reported++
		}
		sums.ArtifactMS += got.ArtifactMS
		sums.AdmissionMS += got.AdmissionMS
		sums.ExecutionMS += got.ExecutionMS
		sums.WholeMS += got.WholeMS
	}
	clocks.compareWaits(tables)
	t.Logf("%d requests, %v, %d with a report: %+v", len(list), ended, reported, sums)
	if sums.ArtifactMS == 0 || sums.AdmissionMS == 0 || sums.ExecutionMS == 0 || reported == 0 || ended[events.StateCancelled] == 0 {
		t.Error("a stage has no time, or nothing was cancelled")
	}
}

// compareWaits compares how many jobs of each lane began in time with what the observer has seen, for windows of several lengths.
func (w *wrongClocks) compareWaits(tables *readmodel.Reader) {
	hits, runs := 0, 0
	for _, window := range []time.Duration{time.Hour, 24 * time.Hour, 60 * 24 * time.Hour} {
		// The log ends long after the last job: half of the windows end in the middle of it.
		for _, now := range []time.Time{w.end, w.middle} {
			const target = 2 * time.Minute
			want := map[string][2]int{}
			for _, j := range w.jobs {
				due := j.ready.Add(target)
				if due.Before(now.Add(-window)) || !due.Before(now) || j.begun.IsZero() && !j.ended.IsZero() && !j.ended.After(due) {
					continue
				}
				n := want[j.lane.String()]
				n[0]++
				if !j.begun.IsZero() && !j.begun.After(due) {
					n[1]++
				}
				want[j.lane.String()] = n
			}
			got, err := tables.Waits(w.t.Context(), readmodel.WaitsFilter{Window: window, Now: now, Target: target})
			if err != nil {
				w.t.Fatal(err)
			}
			for _, l := range got.Lanes {
				if n := want[l.Lane]; l.Runs != n[0] || l.Hits != n[1] {
					w.t.Errorf("%s until %s: lane %s has %d of %d in time, want %d of %d", window, now, l.Lane, l.Hits, l.Runs, n[1], n[0])
				}
				hits, runs = hits+l.Hits, runs+l.Runs
				delete(want, l.Lane)
			}
			for lane, n := range want {
				w.t.Errorf("%s until %s: lane %s is not there, want %v", window, now, lane, n)
			}
		}
	}
	w.t.Logf("%d of %d jobs in time", hits, runs)
	if hits == 0 || hits == runs {
		w.t.Error("all jobs were in time, or none")
	}
}

// wait is what the observer has seen of a job.
type wait struct {
	lane                events.Lane
	ready, begun, ended time.Time
}

// lookAtJob notes when the log stored that a job was made, begun and ended. The jobs of the simulation need no others.
func (w *wrongClocks) lookAtJob(f events.Fact, at time.Time) {
	at = at.Truncate(time.Millisecond)
	over := func(id events.JobID) {
		if j := w.jobs[id]; j != nil && j.ended.IsZero() {
			j.ended = at
		}
	}
	// The others do not change when a job begins or ends.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobsCreated:
		for _, j := range f.Jobs {
			w.jobs[j.ID] = &wait{lane: j.Lane(), ready: at}
		}
		w.middle = at.Add(time.Minute)
	case events.JobDequeued:
		if j := w.jobs[f.Job.ID]; j.begun.IsZero() {
			j.begun = at
		}
	case events.JobFinished:
		over(f.JobID)
	case events.JobsWithdrawn:
		for _, id := range f.Jobs {
			over(id)
		}
	}
}

// wrongClocks is a log whose writers have wrong clocks, and what an observer with the clock of the log has seen.
type wrongClocks struct {
	t   *testing.T
	r   *rand.Rand
	log []events.Stored
	// seen are the instants of each request in milliseconds: created, artifacts ready, started, ended, reported; 0 for none.
	seen  map[events.RequestID]*[5]int64
	order []events.RequestID
	jobs  map[events.JobID]*wait
	// end is when the log ends, middle a minute after its last jobs were made.
	end, middle time.Time
}

// newWrongClocks sets the clocks of all writers wrong: each event says that it happened up to an hour before or after.
func newWrongClocks(t *testing.T, stored []events.Stored) *wrongClocks {
	w := &wrongClocks{t: t, r: rand.New(rand.NewPCG(3, 5)), seen: map[events.RequestID]*[5]int64{}, jobs: map[events.JobID]*wait{}}
	for _, s := range stored {
		w.look(s)
		header := map[string]string{}
		for name, value := range s.Header {
			header[name] = value
		}
		at := s.StoredAt.Add(time.Duration(w.r.IntN(7200)-3600) * time.Second)
		header[events.HeaderTime] = at.Format(time.RFC3339Nano)
		s.Header = header
		w.log = append(w.log, s)
	}
	return w
}

func (w *wrongClocks) look(s events.Stored) {
	w.end = s.StoredAt
	e, err := events.Decode(s)
	if err != nil {
		w.t.Fatal(err)
	}
	w.lookAtJob(e.Fact, s.StoredAt)
	note := func(id events.RequestID, what int) {
		if w.seen[id][what] == 0 {
			w.seen[id][what] = s.StoredAt.UnixMilli()
		}
	}
	// The others are no steps of a request.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.RequestCreated:
		w.seen[f.RequestID] = &[5]int64{}
		w.order = append(w.order, f.RequestID)
		note(f.RequestID, 0)
		if f.State == events.StateArtifactsReady {
			note(f.RequestID, 1)
		}
	case events.RequestArtifactsReady:
		note(f.RequestID, 1)
	case events.RequestStarted:
		note(f.RequestID, 2)
	case events.RequestCompleted:
		note(f.RequestID, 3)
	case events.RequestFailed:
		note(f.RequestID, 3)
	case events.RequestCancelled:
		note(f.RequestID, 3)
	case events.RequestExpired:
		note(f.RequestID, 3)
	case events.RequestSuperseded:
		note(f.RequestID, 3)
	}
}

// report gives two of three requests that ended a report, and gives one of four of these up.
func (w *wrongClocks) report() {
	for i, id := range w.order {
		if w.seen[id][3] == 0 || i%3 == 0 {
			continue
		}
		key := events.OutboxKey(fmt.Sprint("report-", id))
		var settled events.Fact = events.CommentPosted{Key: key, Revision: 1, CommentID: int64(i + 1), URL: "https://github.com/golang/go/1"}
		if i%4 == 0 {
			settled = events.CommentRefused{Key: key, Revision: 1, Reason: "the repository is gone"}
		}
		w.tell(events.CommentWanted{Key: key, Revision: 1, Purpose: events.CommentReport, Repo: "golang/go", PR: 1, RequestID: id, Body: "no change"})
		w.tell(settled)
		w.seen[id][4] = w.end.UnixMilli()
	}
}

func (w *wrongClocks) tell(f events.Fact) {
	seq := events.Seq(len(w.log) + 1)
	s, err := events.Encode(events.Event{ID: fmt.Sprint("report", seq), Time: w.end.Add(-time.Hour), Source: "test", Actor: "test", Root: "test", Fact: f})
	if err != nil {
		w.t.Fatal(err)
	}
	w.end = w.end.Add(time.Duration(w.r.IntN(5_000_000)) * time.Microsecond)
	s.Seq, s.StoredAt = seq, w.end
	w.log = append(w.log, s)
}

// stages returns what the observer says of a request.
func (w *wrongClocks) stages(id events.RequestID) waits.Stages {
	at := *w.seen[id]
	last := at[3]
	for i := 2; i > 0; i-- { // what did not happen took no time
		if at[i] == 0 {
			at[i] = at[i+1]
		}
	}
	s := waits.Stages{ArtifactMS: at[1] - at[0], AdmissionMS: at[2] - at[1], ExecutionMS: at[3] - at[2]}
	if at[4] > 0 {
		s.ReportMS, last = at[4]-at[3], at[4]
	}
	s.WholeMS = last - at[0]
	return s
}

// stored returns the whole log.
func (w *graphWorld) stored() (all []events.Stored) {
	cursor, err := w.log.Follow(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer cursor.Close()
	for events.Seq(len(all)) < w.head() {
		batch, err := cursor.Next(w.t.Context(), 1000)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, batch...)
	}
	return all
}
